/// `calotype completions` and `calotype man`.
enum ManualCommands {
  static func completions() -> Command {
    Command(
      name: "completions", summary: "Write a shell's completions", operands: "bash|zsh|fish",
      details:
        "Write the completions of a shell to standard output, to be put where the shell looks for them.",
      groups: [],
      examples: [
        (
          "calotype completions bash > ~/.local/share/bash-completion/completions/calotype",
          "Completions for bash"
        ),
        ("calotype completions zsh > ~/.zfunc/_calotype", "Completions for zsh, in a folder of fpath"),
        ("calotype completions fish > ~/.config/fish/completions/calotype.fish", "Completions for fish"),
      ],
      operandValues: Completions.shells
    ) { arguments in
      guard arguments.operands.count == 1, Completions.shells.contains(arguments.operands[0]) else {
        throw UsageError("name a shell: bash, zsh or fish")
      }
      Terminal.standardOutput.write(Completions.script(arguments.operands[0], Tool.allCommands()))
      return 0
    }
  }

  static func man() -> Command {
    Command(
      name: "man", summary: "Write the man page", operands: "",
      details: "Write the man page to standard output.", groups: [],
      examples: [("calotype man | man -l -", "Read it")]
    ) { arguments in
      guard arguments.operands.isEmpty else { throw UsageError("man takes no arguments") }
      Terminal.standardOutput.write(ManPage.page(Tool.allCommands()))
      return 0
    }
  }
}
