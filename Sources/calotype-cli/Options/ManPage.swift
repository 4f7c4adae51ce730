import Calotype

/// The man page, made from the options' table (man(7) macros, as mandoc and groff read them).
enum ManPage {
  static func page(_ commands: [Command]) -> String {
    var text = """
      .TH CALOTYPE 1 "" "Calotype \(CalotypeVersion.string)" "User Commands"
      .SH NAME
      calotype \\- download lists of pictures once, cache, resize and lay them out
      .SH SYNOPSIS
      .B calotype
      .I COMMAND
      [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...
      .SH COMMANDS

      """
    for command in commands {
      text += ".SS \(quoted(Help.usage(command)))\n\(escaped(command.summary)).\n"
      for paragraph in command.details.split(separator: "\n") {
        text += ".PP\n\(escaped(String(paragraph)))\n"
      }
      for group in command.groups + [OptionGroup(title: "Other", options: [Command.helpOption])] {
        text += ".PP\n\\fI\(escaped(group.title))\\fR\n"
        for option in group.options { text += ".TP\n\(tag(option))\n\(escaped(option.wholeHelp)).\n" }
      }
      if !command.examples.isEmpty {
        text += ".PP\n\\fIExamples\\fR\n"
        for example in command.examples {
          text += ".TP\n\\fB\(escaped(example.line))\\fR\n\(escaped(example.does)).\n"
        }
      }
    }
    text += """
      .SH EXIT STATUS
      .TP
      .B 0
      All was done.
      .TP
      .B 1
      Something failed; each failure is named with its reason.
      .TP
      .B 2
      The command line is wrong.
      .TP
      .B 130
      Interrupted. The same command does what is missing.
      .SH ENVIRONMENT
      .TP
      .B XDG_CACHE_HOME
      Where the cache's folder is; ~/.cache by default.
      .TP
      .B NO_COLOR
      No colours, where it is set.

      """
    return text
  }

  private static func tag(_ option: Option) -> String {
    var text = option.letter.map { "\\fB\\-\($0)\\fR, " } ?? ""
    text += "\\fB\\-\\-\(escaped(option.name))\\fR"
    if let argument = option.argument { text += " \\fI\(escaped(argument))\\fR" }
    return text
  }

  private static func quoted(_ text: String) -> String {
    "\"\(escaped(text).replacing("\"", with: "\\(dq"))\""
  }

  /// A text that roff takes as it is: backslashes and dashes kept, no line that begins with a control.
  private static func escaped(_ text: String) -> String {
    let text = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("…", with: "...")
    return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
  }
}
