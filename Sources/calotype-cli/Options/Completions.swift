/// Completions for the shells, made from the options' table.
enum Completions {
  static let shells = ["bash", "zsh", "fish"]

  static func script(_ shell: String, _ commands: [Command]) -> String {
    switch shell {
    case "bash": bash(commands)
    case "zsh": zsh(commands)
    default: fish(commands)
    }
  }

  private static func bash(_ commands: [Command]) -> String {
    var text = """
      # bash completion for calotype
      _calotype() {
        local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
        if [[ $COMP_CWORD -eq 1 ]]; then
          COMPREPLY=($(compgen -W "\(commands.map(\.name).joined(separator: " ")) --help --version" -- "$current"))
          return
        fi
        case "${COMP_WORDS[1]}" in

      """
    for command in commands {
      text += "    \(command.name))\n      case \"$previous\" in\n"
      for option in command.options where option.argument != nil {
        let names = (option.letter.map { ["-\($0)"] } ?? []) + ["--\(option.name)"]
        let words =
          option.values.isEmpty
          ? (option.isPath ? "COMPREPLY=($(compgen -f -- \"$current\"))" : "COMPREPLY=()")
          : "COMPREPLY=($(compgen -W \"\(option.values.joined(separator: " "))\" -- \"$current\"))"
        text += "        \(names.joined(separator: "|"))) \(words); return ;;\n"
      }
      let words = command.options.map { "--\($0.name)" } + command.operandValues
      text += """
              esac
              COMPREPLY=($(compgen -W "\(words.joined(separator: " "))" -- "$current"))
              [[ $current != -* ]] && COMPREPLY+=($(compgen -f -- "$current"))
              ;;

        """
    }
    return text + "  esac\n}\ncomplete -o filenames -F _calotype calotype\n"
  }

  private static func zsh(_ commands: [Command]) -> String {
    var text = "#compdef calotype\n_calotype() {\n  local -a commands\n  commands=(\n"
    for command in commands { text += "    '\(command.name):\(quoted(command.summary))'\n" }
    text += """
        )
        if (( CURRENT == 2 )); then
          _describe command commands
          return
        fi
        case "$words[2]" in

      """
    for command in commands {
      text += "    \(command.name))\n      shift words; (( CURRENT-- ))\n      _arguments \\\n"
      for option in command.options {
        let help = quoted(option.help).replacing("[", with: "\\[").replacing("]", with: "\\]")
        let action =
          option.argument.map { name in
            ":\(quoted(name).replacing(":", with: "")):"
              + (option.values.isEmpty
                ? (option.isPath ? "_files" : " ") : "(\(option.values.joined(separator: " ")))")
          } ?? ""
        for name in (option.letter.map { ["-\($0)"] } ?? []) + ["--\(option.name)"] {
          text += "        '*\(name)[\(help)]\(action)' \\\n"
        }
      }
      let operands =
        command.operandValues.isEmpty ? "_files" : "(\(command.operandValues.joined(separator: " ")))"
      text += "        '*:argument:\(operands)'\n      ;;\n"
    }
    return text + "  esac\n}\ncompdef _calotype calotype\n"
  }

  private static func fish(_ commands: [Command]) -> String {
    var text = "# fish completion for calotype\n"
    let none = "not __fish_seen_subcommand_from \(commands.map(\.name).joined(separator: " "))"
    for command in commands {
      text += "complete -c calotype -n '\(none)' -a \(command.name) -d '\(quoted(command.summary))'\n"
    }
    for command in commands {
      let condition = "__fish_seen_subcommand_from \(command.name)"
      for option in command.options {
        text += "complete -c calotype -n '\(condition)' -l \(option.name)"
        if let letter = option.letter { text += " -s \(letter)" }
        if option.argument != nil { text += option.isPath ? " -r" : " -x" }
        if !option.values.isEmpty { text += " -a '\(option.values.joined(separator: " "))'" }
        text += " -d '\(quoted(option.help))'\n"
      }
      if !command.operandValues.isEmpty {
        text +=
          "complete -c calotype -n '\(condition)' -a '\(command.operandValues.joined(separator: " "))'\n"
      }
    }
    return text
  }

  /// A text inside single quotes, in all three shells: without any.
  private static func quoted(_ text: String) -> String { text.replacing("'", with: "’") }
}
