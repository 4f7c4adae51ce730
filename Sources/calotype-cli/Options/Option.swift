/// One option of a command: what parses it, and what the help, the completions and the man page say of it.
struct Option {
  /// The long name, without dashes.
  var name: String
  /// The one-letter name.
  var letter: Character?
  /// What the option's argument is called; `nil` where it takes none.
  var argument: String?
  /// What it does, in a sentence without a full stop.
  var help: String
  /// The arguments there are, where they can be listed.
  var values: [String] = []
  /// Whether the argument is a file or a folder, for the completions.
  var isPath = false

  /// An option without an argument.
  init(_ name: String, _ letter: Character? = nil, help: String) { self.init(name, letter, nil, help) }

  /// An option whose argument is one of a type's words.
  init(_ name: String, _ letter: Character?, _ argument: String, _ choice: any Choice.Type, _ help: String) {
    self.init(name, letter, argument, help)
    values = choice.words
  }

  init(_ name: String, _ letter: Character?, _ argument: String?, isPath: Bool = false, _ help: String) {
    self.name = name
    self.letter = letter
    self.argument = argument
    self.help = help
    self.isPath = isPath
  }

  /// The help with the arguments that there are.
  var wholeHelp: String {
    values.isEmpty ? help : "\(help) (\(argument ?? ""): \(values.joined(separator: ", ")))"
  }

  /// For example `-o, --output DIR`.
  var synopsis: String {
    let short = letter.map { "-\($0), " } ?? "    "
    return "\(short)--\(name)\(argument.map { " \($0)" } ?? "")"
  }
}

/// Options that belong together, under a heading in the help.
struct OptionGroup {
  var title: String
  var options: [Option]
}

/// A command of the tool.
struct Command {
  var name: String
  /// What it does, in one line.
  var summary: String
  /// What follows the options, such as `LIST…`.
  var operands: String
  /// A paragraph or two.
  var details: String
  var groups: [OptionGroup]
  /// Command lines, each with what it does.
  var examples: [(line: String, does: String)] = []
  /// The first operands there are, for the completions.
  var operandValues: [String] = []
  /// Does the work; the result is the exit status.
  var run: @Sendable (Arguments) async throws -> Int32

  var options: [Option] { groups.flatMap(\.options) + [Self.helpOption] }

  static let helpOption = Option("help", "h", help: "Show this help and exit")
}

/// A command's arguments, parsed.
struct Arguments {
  /// The command's name, for messages.
  var command: String
  /// Options in the order they were given in.
  var options: [(name: String, value: String)] = []
  /// What is no option.
  var operands: [String] = []

  /// Whether an option was given.
  func has(_ name: String) -> Bool { options.contains { $0.name == name } }
  /// An option's last value.
  subscript(_ name: String) -> String? { options.last { $0.name == name }?.value }
  /// All values of an option.
  func values(_ name: String) -> [String] { options.filter { $0.name == name }.map(\.value) }

  /// Checks what is wrong for every command: names that are empty, and standard input read twice.
  func check(_ command: Command) throws {
    if operands.contains("") {
      throw UsageError(
        "an argument is empty, where a \(command.operands.replacing("...", with: "")) was to be")
    }
    if operands.count(where: { $0 == "-" }) > 1 {
      throw UsageError("- is standard input, which can be read once")
    }
    let paths = command.options.filter(\.isPath).map(\.name)
    if let empty = options.first(where: { $0.value.isEmpty && paths.contains($0.name) }) {
      throw UsageError("--\(empty.name) is empty: name a file or a folder")
    }
  }

  /// A whole number, checked against a range.
  func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
    guard let text = self[name] else { return nil }
    guard let value = Int(text), range.contains(value) else {
      throw UsageError(
        "--\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound), not \(text)")
    }
    return value
  }

  /// A number, checked against a range.
  func number(_ name: String, in range: ClosedRange<Double>) throws -> Double? {
    guard let text = self[name] else { return nil }
    guard let value = Double(text), range.contains(value) else {
      throw UsageError(
        "--\(name) takes a number from \(range.lowerBound) to \(range.upperBound), not \(text)")
    }
    return value
  }
}

/// A command line that cannot be followed: exit status 2.
struct UsageError: Error {
  var message: String
  init(_ message: String) { self.message = message }
}

/// Work that failed, with a message for the person: exit status 1.
struct Failure: Error {
  var code: String
  var message: String
  init(_ message: String, code: String = "not_written") {
    self.message = message
    self.code = code
  }
}
