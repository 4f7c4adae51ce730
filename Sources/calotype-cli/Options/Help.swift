/// The help that `--help` shows, made from the options' table.
enum Help {
  static let width = 88

  /// What the tool is and its commands.
  static func overview(_ commands: [Command]) -> String {
    var text = """
      Downloads lists of pictures once, caches, resizes and lays them out.

      Usage: calotype COMMAND [OPTION]... [ARGUMENT]...

      Commands:

      """
    for command in commands {
      text += "  \(command.name.padded(to: 13))\(command.summary)\n"
    }
    text += """

      Options:
        -h, --help     Show this help, or a command's: calotype COMMAND --help
            --version  Show the version

      Exit status: 0 all done, 1 something failed, 2 the command line is wrong, 130 interrupted.

      """
    return text
  }

  /// A command's help.
  static func command(_ command: Command) -> String {
    var text = "\(command.summary).\n\nUsage: \(usage(command))\n\n"
    text += wrapped(command.details, indent: 0) + "\n"
    let groups = command.groups + [OptionGroup(title: "Other", options: [Command.helpOption])]
    for group in groups where !group.options.isEmpty {
      text += "\n\(group.title):\n"
      for option in group.options { text += line(option) }
    }
    if !command.examples.isEmpty {
      text += "\nExamples:\n"
      for example in command.examples { text += "  \(example.line)\n      \(example.does)\n" }
    }
    return text
  }

  static func usage(_ command: Command) -> String {
    "calotype \(command.name)\(command.groups.isEmpty ? "" : " [OPTION]...")\(command.operands.isEmpty ? "" : " \(command.operands)")"
  }

  private static func line(_ option: Option) -> String {
    let column = 30
    let start = "  " + option.synopsis
    let lines = wrapped(option.wholeHelp, indent: column).drop { $0 == " " }
    if start.count + 2 > column { return start + "\n" + String(repeating: " ", count: column) + lines + "\n" }
    return start.padded(to: column) + lines + "\n"
  }

  /// A text broken between words, each line but the first of a paragraph indented.
  static func wrapped(_ text: String, indent: Int) -> String {
    let margin = String(repeating: " ", count: indent)
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { paragraph in
      var lines: [String] = [], line = margin
      for word in paragraph.split(separator: " ") {
        if line.count + 1 + word.count > width, line.count > indent {
          lines.append(line)
          line = margin
        }
        line += (line.count > indent ? " " : "") + word
      }
      return (lines + [line]).joined(separator: "\n")
    }.joined(separator: "\n")
  }
}

extension String {
  /// The text with spaces behind it up to a width.
  func padded(to width: Int) -> String {
    count >= width ? self : self + String(repeating: " ", count: width - count)
  }
}
