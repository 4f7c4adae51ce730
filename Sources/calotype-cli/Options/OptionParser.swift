@preconcurrency import CSystem
import Foundation

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Darwin)
  @preconcurrency import Darwin
#endif

/// Parses a command's arguments with `getopt_long`, so that options may be joined (`-qo DIR`), shortened
/// where that is unambiguous, given as `--size=48` or `--size 48`, and mixed with operands; `--` ends them.
enum OptionParser {
  static func parse(_ command: Command, _ arguments: [String]) throws -> Arguments {
    var result = Arguments(command: command.name)
    let options = command.options
    // getopt_long keeps pointers to all of these while it runs.
    let names = options.map { strdup($0.name) }
    var argv: [UnsafeMutablePointer<CChar>?] =
      (["calotype \(command.name)"] + arguments).map { strdup($0) } + [nil]
    let copies = argv
    defer { (names + copies).forEach { free($0) } }
    let firstLong: Int32 = 1000
    var long = options.indices.map { index in
      option(
        name: names[index], has_arg: options[index].argument == nil ? no_argument : required_argument,
        flag: nil,
        val: firstLong + Int32(index))
    }
    long.append(option())
    // A colon at the start: a missing argument is told from an unknown option.
    let short =
      ":" + options.compactMap { o in o.letter.map { "\($0)\(o.argument == nil ? "" : ":")" } }.joined()
    optind = 0
    opterr = 0
    while true {
      let code = getopt_long(Int32(argv.count - 1), &argv, short, long, nil)
      if code == -1 { break }
      let given = argv[Int(optind) - 1].map { String(cString: $0) } ?? ""
      switch code {
      case 0x3F: throw unknown(given, options)
      case 0x3A: throw UsageError("\(missing(given, options)) needs an argument")
      case firstLong...:
        let found = options[Int(code - firstLong)]
        result.options.append(
          (found.name, found.argument == nil ? "" : optarg.map { String(cString: $0) } ?? ""))
      default:
        guard let scalar = Unicode.Scalar(UInt32(code)),
          let found = options.first(where: { $0.letter == Character(scalar) })
        else { throw unknown(given, options) }
        result.options.append(
          (found.name, found.argument == nil ? "" : optarg.map { String(cString: $0) } ?? ""))
      }
    }
    while Int(optind) < argv.count - 1 {
      if let text = argv[Int(optind)] { result.operands.append(String(cString: text)) }
      optind += 1
    }
    return result
  }

  private static func missing(_ given: String, _ options: [Option]) -> String {
    guard !given.hasPrefix("--"), let letter = Unicode.Scalar(UInt32(optopt)) else { return given }
    return options.first { $0.letter == Character(letter) }.map { "-\(letter) (--\($0.name))" }
      ?? "-\(letter)"
  }

  private static func unknown(_ given: String, _ options: [Option]) -> UsageError {
    guard given.hasPrefix("--") else {
      let letter = Unicode.Scalar(UInt32(optopt)).map(String.init) ?? ""
      return UsageError("there is no option -\(letter.isEmpty || optopt >= 1000 ? given : letter)")
    }
    let parts = given.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = parts.first.map(String.init) ?? ""
    if let exact = options.first(where: { $0.name == name }), exact.argument == nil, parts.count > 1 {
      return UsageError("--\(name) takes no argument")
    }
    let starting = options.filter { $0.name.hasPrefix(name) }.map { "--\($0.name)" }
    if starting.count > 1 { return UsageError("--\(name) may be \(starting.joined(separator: " or "))") }
    let message = "there is no option --\(name)"
    guard let near = nearest(to: name, in: options.map(\.name)) else { return UsageError(message) }
    return UsageError("\(message); did you mean --\(near)?")
  }

  /// The name that a mistyped one most likely means, or `nil` where none is near.
  static func nearest(to word: String, in names: [String]) -> String? {
    let ranked = names.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
    guard let (name, distance) = ranked, distance <= max(1, min(word.count, name.count) / 3 + 1) else {
      return nil
    }
    return name
  }

  /// Insertions, deletions, exchanges and swaps of neighbours that lead from one word to the other.
  private static func distance(_ left: String, _ right: String) -> Int {
    let a = Array(left.utf8.prefix(40)), b = Array(right.utf8.prefix(40))
    var rows = [[Int]](repeating: [Int](repeating: 0, count: b.count + 1), count: a.count + 1)
    for i in 0...a.count { rows[i][0] = i }
    for j in 0...b.count { rows[0][j] = j }
    guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
    for i in 1...a.count {
      for j in 1...b.count {
        rows[i][j] = min(
          rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
          rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
        }
      }
    }
    return rows[a.count][b.count]
  }
}
