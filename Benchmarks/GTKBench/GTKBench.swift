// What the desktop's list costs, on a screen without a monitor. Each measurement is a process of its own; what is
// compared runs by turns.
//
//   calotype-gtk-bench [--quick] [--json FILE] [frames] [memory] [start]
import Calotype
import CalotypeGTK
import Foundation
import TestSupport

/// One figure, in the form of the other benchmarks' files.
struct Row: Codable {
  var title: String, value: Double, unit: String
  var peer: String?, peerValue: Double?, ratio: Double?, goal: Double?
  var runs: Int
  var note: String?
}

struct Failure: Error, CustomStringConvertible { let description: String }

func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

struct Parent {
  let isQuick: Bool
  let desktop: DesktopSession
  let server: NginxServer
  let names: String
  let cache: TemporaryFolder

  init(isQuick: Bool) throws {
    self.isQuick = isQuick
    desktop = try DesktopSession()
    let icons = URL(fileURLWithPath: "Examples/icons")
    server = try NginxServer(serving: icons)
    names = try FileManager.default.contentsOfDirectory(atPath: icons.path).filter { $0.hasSuffix(".png") }
      .sorted().joined(separator: ",")
    cache = try TemporaryFolder()
  }

  func child(_ words: [String]) async throws -> [String: Double] {
    var environment = desktop.environment
    environment["GTK_A11Y"] = "none"
    environment["XDG_CACHE_HOME"] = cache.path
    let began = "began=\(Double(DispatchTime.now().uptimeNanoseconds) * 1e-9)"
    let program = CommandLine.arguments[0]
    let result = try await runProcess(program, ["child", began] + words, environment: environment)
    guard result.status == 0,
      let values = try JSONSerialization.jsonObject(with: result.output) as? [String: Double]
    else { throw Failure(description: "\(words): \(result.status) \(result.errorText)") }
    return values
  }

  var pictures: [String] { ["server=\(server.url("fresh/").absoluteString)", "names=\(names)"] }

  func frames() async throws -> [Row] {
    let pairs = isQuick ? 1 : 3
    let flings = "flings=\(isQuick ? 4 : 36)"
    var (with, without): ([[String: Double]], [[String: Double]]) = ([], [])
    for _ in 0..<pairs {
      without.append(try await child(["measure=fling", flings]))
      with.append(try await child(["measure=fling", flings] + pictures))
    }
    func row(_ title: String, _ key: String, goal: Double?) -> Row {
      let ours = with.map { ($0[key] ?? 0) * 1000 }, plain = without.map { ($0[key] ?? 0) * 1000 }
      return Row(
        title: title, value: summary(ours).median, unit: "ms", peer: "rows without pictures",
        peerValue: summary(plain).median, ratio: summary(zip(ours, plain).map { $0 / $1 }).median, goal: goal,
        runs: pairs,
        note: "frames \(Int(with[0]["frames"] ?? 0)) and \(Int(without[0]["frames"] ?? 0)), over 50 ms "
          + "\(with.map { Int($0["over50"] ?? 0) }) and \(without.map { Int($0["over50"] ?? 0) })")
    }
    return [
      row("a frame while flinging 10,000 rows, p50", "cost50", goal: nil),
      row("a frame while flinging 10,000 rows, p99", "cost99", goal: 1.3),
      row("the slowest frame", "costMax", goal: nil),
      row("from frame to frame, p99", "interval99", goal: 1.3),
      Row(
        title: "our longest work at once on the main thread",
        value: summary(with.map { ($0["workMax"] ?? 0) * 1000 }).median, unit: "ms of processor", goal: 2,
        runs: pairs,
        note: String(format: "p99 %.2f ms", summary(with.map { ($0["work99"] ?? 0) * 1000 }).median)),
    ]
  }

  func memory() async throws -> [Row] {
    let values = try await child(
      ["measure=memory", "cache-megabytes=64", "speed=\(isQuick ? 100_000 : 12_000)"] + pictures)
    let megabyte = 1_048_576.0
    let grown = ((values["after"] ?? 0) - (values["before"] ?? 0)) / megabyte
    return [
      Row(
        title: "memory after 10,000 rows and back", value: (values["after"] ?? 0) / megabyte, unit: "MB",
        goal: 64 + 80, runs: 1,
        note: "before \(Int((values["before"] ?? 0) / megabyte)) MB; the cache's limit is 64 MB, it holds "
          + "\(Int((values["cacheCost"] ?? 0) / megabyte)) MB in \(Int(values["cacheCount"] ?? 0)) pictures"),
      Row(title: "memory grown by", value: grown, unit: "MB", goal: 64 + 80, runs: 1),
    ]
  }

  func start() async throws -> [Row] {
    let words = ["measure=start", "disk=yes"] + pictures
    _ = try await child(words)
    let pairs = isQuick ? 2 : 11
    var (ours, empty): ([[String: Double]], [[String: Double]]) = ([], [])
    for _ in 0..<pairs {
      empty.append(try await child(["measure=start"]))
      ours.append(try await child(words))
    }
    func row(_ title: String, _ key: String, goal: Double?) -> Row {
      let (ours, empty) = (ours.map { $0[key] ?? 0 }, empty.map { $0[key] ?? 0 })
      return Row(
        title: title, value: summary(ours).median * 1000, unit: "ms", peer: "an empty window",
        peerValue: summary(empty).median * 1000, ratio: summary(zip(ours, empty).map { $0 / $1 }).median,
        goal: goal, runs: pairs)
    }
    return [
      row("start to the first row's cached icon", "seconds", goal: 1.3),
      row("processor time of that", "cpu", goal: nil),
    ]
  }
}

@main
struct GTKBench {
  // Not async: a child's main thread is GLib's.
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "child" {
      var words: [String: String] = [:]
      for argument in arguments.dropFirst() {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        if parts.count == 2 { words[parts[0]] = parts[1] }
      }
      MainActor.assumeIsolated { Child(words: words).run() }
    }
    Task { await measure(arguments) }
    dispatchMain()
  }

  private static func measure(_ arguments: [String]) async {
    do {
      let parent = try Parent(isQuick: arguments.contains("--quick"))
      var rows: [Row] = []
      let measures: [(name: String, run: @Sendable () async throws -> [Row])] = [
        ("frames", parent.frames), ("memory", parent.memory), ("start", parent.start),
      ]
      let wanted = arguments.filter { argument in measures.contains { $0.name == argument } }
      for (name, measure) in measures where wanted.isEmpty || wanted.contains(name) {
        for row in try await measure() {
          rows.append(row)
          var line = String(format: "%@: %.1f %@", row.title, row.value, row.unit)
          if let peer = row.peer, let value = row.peerValue, let ratio = row.ratio {
            line += String(format: "; %@ %.1f; ratio %.2f", peer, value, ratio)
          }
          if let goal = row.goal { line += String(format: " (goal %.1f)", goal) }
          say(line + (row.note.map { "; \($0)" } ?? ""))
        }
      }
      if let at = arguments.firstIndex(of: "--json"), at + 1 < arguments.count {
        struct Result: Codable { var name: String, rows: [Row] }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode([Result(name: "desktop", rows: rows)]).write(
          to: URL(fileURLWithPath: arguments[at + 1]))
      }
    } catch {
      FileHandle.standardError.write(Data("calotype-gtk-bench: \(error)\n".utf8))
      exit(1)
    }
    exit(0)
  }
}
