import Calotype
import Foundation

/// The tool: finds the command and runs it.
enum Tool {
  static let commandNames = [
    "fetch", "get", "thumbnail", "info", "show", "cache", "doctor", "completions", "man",
  ]

  /// A command's table, made when it is asked for.
  static func command(_ name: String) -> Command? {
    switch name {
    case "fetch": FetchCommand.command()
    case "get": GetCommand.command()
    case "thumbnail": ThumbnailCommand.command()
    case "info": InfoCommand.command()
    case "show": ShowCommand.command()
    case "cache": CacheCommand.command()
    case "doctor": DoctorCommand.command()
    case "completions": ManualCommands.completions()
    case "man": ManualCommands.man()
    default: nil
    }
  }

  static func allCommands() -> [Command] { commandNames.compactMap(command) }

  /// Answers `--version`; `nil` where something else is asked for.
  static func version(_ arguments: [String]) -> Int32? {
    guard let first = arguments.first, ["--version", "-V"].contains(first) else { return nil }
    Terminal.standardOutput.line("calotype \(CalotypeVersion.string)")
    return 0
  }

  /// Refuses what is no text: names of other bytes could not be found again, nor be written.
  ///
  /// - Parameter arguments: The bytes of each, without the program's name.
  static func refusal(_ arguments: [[UInt8]]) -> Int32? {
    guard let wrong = arguments.first(where: { String(validating: $0, as: UTF8.self) == nil }) else {
      return nil
    }
    Terminal.standardError.line(
      "calotype: an argument is not UTF-8: \(Escaping.displaySafe(bytes: wrong)); rename the file, or give it to standard input"
    )
    return 2
  }

  /// Runs a command line; the result is the exit status.
  static func run(_ arguments: [String]) async -> Int32 {
    guard let first = arguments.first else {
      Terminal.standardError.write(Help.overview(allCommands()))
      return 2
    }
    switch first {
    case "--help", "-h", "help":
      guard arguments.count > 1 else {
        Terminal.standardOutput.write(Help.overview(allCommands()))
        return 0
      }
      guard let command = command(arguments[1]) else { return unknownCommand(arguments[1]) }
      Terminal.standardOutput.write(Help.command(command))
      return 0
    default:
      guard let command = command(first) else { return unknownCommand(first) }
      return await run(command, Array(arguments.dropFirst()))
    }
  }

  private static func run(_ command: Command, _ arguments: [String]) async -> Int32 {
    do {
      let parsed = try OptionParser.parse(command, arguments)
      if parsed.has("help") {
        Terminal.standardOutput.write(Help.command(command))
        return 0
      }
      try parsed.check(command)
      return try await command.run(parsed)
    } catch let error as UsageError {
      Terminal.standardError.line(Escaping.displaySafe("calotype \(command.name): \(error.message)"))
      Terminal.standardError.line("Try 'calotype \(command.name) --help'.")
      return 2
    } catch {
      Terminal.standardError.line(
        Escaping.displaySafe("calotype \(command.name): \(FetchJob.describe(error).message)"))
      return 1
    }
  }

  private static func unknownCommand(_ name: String) -> Int32 {
    let shown = Escaping.address(name)
    var message = "calotype: there is no command \(shown)"
    if name.hasPrefix("-") { message = "calotype: there is no option \(shown)" }
    let names = name.hasPrefix("-") ? ["--help", "--version"] : commandNames
    if let near = OptionParser.nearest(to: name, in: names) { message += "; did you mean \(near)?" }
    Terminal.standardError.line(Escaping.displaySafe(message))
    Terminal.standardError.line("Try 'calotype --help'.")
    return 2
  }
}
