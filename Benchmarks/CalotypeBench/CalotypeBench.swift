import Foundation

/// Runs the benchmarks that the command line names, or all.
@main
struct CalotypeBench {
  private static let usage = """
    usage: calotype-bench [--quick] [--json FILE] [--list] [NAME …]

      --quick      fewer and shorter runs: shows that all works; not for quoting
      --json FILE  writes the figures there too
      --list       names what can be measured
      NAME …       measures only these
    """

  private var context = BenchmarkContext()
  private var jsonPath: String?
  private var names: [String] = []

  static func main() async {
    #if DEBUG
      complain("a debug build; the figures mean nothing")
    #endif
    exit(await CalotypeBench(CommandLine.arguments.dropFirst()).run())
  }

  /// Reads the command line; leaves the process where it only asks for help, or is wrong.
  private init(_ arguments: ArraySlice<String>) {
    var arguments = arguments
    while let argument = arguments.popFirst() {
      switch argument {
      case "--quick": context.isQuick = true
      case "--json":
        guard let path = arguments.popFirst() else { Self.leave("--json needs a file's name") }
        jsonPath = path
      case "--list":
        for benchmark in allBenchmarks { print("\(benchmark.name)\t\(benchmark.summary)") }
        exit(0)
      case "-h", "--help":
        print(Self.usage)
        exit(0)
      case _ where argument.hasPrefix("-"): Self.leave("\(argument) is not an option")
      default:
        guard allBenchmarks.contains(where: { $0.name == argument }) else {
          Self.leave("there is no benchmark '\(argument)'; --list names them")
        }
        names.append(argument)
      }
    }
  }

  /// Runs what was picked; the status to leave with.
  private func run() async -> Int32 {
    var results: [BenchmarkResult] = []
    var failed = false
    for benchmark in allBenchmarks where names.isEmpty || names.contains(benchmark.name) {
      do {
        let rows = try await benchmark.init().run(context)
        if rows.isEmpty { continue }
        results.append(BenchmarkResult(name: benchmark.name, rows: rows))
        print(table(of: rows, title: "\(benchmark.name): \(benchmark.summary)"))
      } catch {
        failed = true
        Self.complain("\(benchmark.name): \(error)")
      }
    }
    if let jsonPath {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      do {
        try encoder.encode(results).write(to: URL(fileURLWithPath: jsonPath))
      } catch {
        failed = true
        Self.complain("\(jsonPath): \(error)")
      }
    }
    return failed ? 1 : 0
  }

  private static func leave(_ message: String) -> Never {
    complain("\(message)\n\(usage)")
    exit(2)
  }

  private static func complain(_ message: String) {
    FileHandle.standardError.write(Data("calotype-bench: \(message)\n".utf8))
  }
}
