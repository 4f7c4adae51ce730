import Calotype
import Foundation
import TestSupport
import Testing

/// HTTP's rules of caching as `calotype get` shows them: each case is some requests one after the other, each
/// by a process of its own, what the server answers to them, and where each answer must come from. Cases run
/// side by side on one cache folder.
@Suite(.serialized) struct ConformanceTests {
  @Test(arguments: ConformanceCases.groups.keys.sorted())
  func keepsToTheRules(_ group: String) async throws {
    let bench = try ConformanceBench()
    let cases = try #require(ConformanceCases.groups[group])
    await withTaskGroup(of: [String].self) { tasks in
      var waiting = cases[...]
      var running = 0
      while let next = waiting.popFirst() {
        if running == 4 {
          for fault in await tasks.next() ?? [] { Issue.record("\(fault)") }
          running -= 1
        }
        tasks.addTask { await bench.faults(of: next) }
        running += 1
      }
      for await faults in tasks { for fault in faults { Issue.record("\(fault)") } }
    }
    #expect(bench.server.requests.count > 0)
  }
}

/// One request, what the server answers, and what must come of it.
struct Step: Sendable {
  enum Origin: Sendable {
    /// The server's answer to this request.
    case network
    /// An answer to an earlier one.
    case cached
    /// An earlier one, which the server has confirmed with a 304.
    case confirmed
    /// Not looked at.
    case any
  }

  var method = "GET"
  var send: [(String, String)] = []
  var arguments: [String] = []
  var payload: String?
  var path = ""

  var status = 200
  var answer: [(String, String)] = []
  var body: String?
  var interim: [Int] = []
  var disconnects = false
  /// Seconds that pass after it.
  var pause = 0.0

  var from = Origin.network
  var showsStatus: Int?
  var shows: [(String, String)] = []
  var lacks: [String] = []
  var text: String?
  /// The least that the Age header may say.
  var age: Int?
  /// What the server must have been sent; `nil` for a header that must be missing.
  var asked: [(String, String?)] = []
}

struct ConformanceCase: Sendable {
  var name: String
  var steps: [Step]
}

/// Runs cases on a server and a cache folder of their own.
final class ConformanceBench: Sendable {
  let server: ScriptedServer
  let tool: Tool
  private let current: Lock<[String: (number: Int, step: Step)]>

  init() throws {
    tool = try Tool()
    let current = Lock<[String: (number: Int, step: Step)]>([:])
    self.current = current
    server = try ScriptedServer { request in
      let name = String(request.path.dropFirst().prefix { $0 != "/" })
      guard let (number, step) = current.withLock({ $0[name] }) else { return .status(404) }
      return Self.answer(request, name: name, number: number, step)
    }
  }

  private static func answer(
    _ request: ScriptedServer.Request, name: String, number: Int, _ step: Step
  ) -> Script {
    if step.disconnects { return .close }
    var headers = step.answer + [("X-Number", "\(number)")]
    let isConditional = request.header("If-None-Match") != nil || request.header("If-Modified-Since") != nil
    if case .confirmed = step.from, isConditional { return .status(304, headers: headers) }
    if !headers.contains(where: { $0.0 == "Content-Type" }) { headers.append(("Content-Type", "text/plain")) }
    let body = Array((step.body ?? "\(name) \(number)").utf8)
    let interim = step.interim.map { TestSupport.Step.interimResponse($0) }
    return Script(interim + [TestSupport.Step.response(step.status, headers, body: body)])
  }

  /// What was wrong with a case.
  func faults(of one: ConformanceCase) async -> [String] {
    var bodies: [String] = []
    for (number, step) in one.steps.enumerated() {
      current.withLock { $0[one.name] = (number, step) }
      let seen = server.requests.count { $0.path.hasPrefix("/\(one.name)/") }
      do {
        let shown = try await get(one.name, step)
        let requests = server.requests.filter { $0.path.hasPrefix("/\(one.name)/") }.dropFirst(seen)
        let faults = check(step, number, shown, requests.first, requests.count, bodies)
        if !faults.isEmpty { return faults.map { "\(one.name), request \(number): \($0)" } }
        bodies.append(shown.text)
      } catch {
        return ["\(one.name), request \(number): \(error)"]
      }
      if step.pause > 0 { letTimePass(step.pause, url(one.name, step)) }
    }
    return []
  }

  private struct Shown {
    var status: Int
    var headers: [(name: String, value: String)]
    var text: String
    var source: String

    func value(_ name: String) -> String? {
      let values = headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
      return values.isEmpty ? nil : values.joined(separator: ", ")
    }
  }

  private func url(_ name: String, _ step: Step) -> URL { server.url("/\(name)/\(step.path)") }

  private func get(_ name: String, _ step: Step) async throws -> Shown {
    var arguments = ["get", url(name, step).absoluteString, "--cache-dir", "cache", "--json", "--no-follow"]
    if step.method != "GET" { arguments += ["-X", step.method] }
    for (name, value) in step.send { arguments += ["-H", "\(name): \(value)"] }
    if step.payload != nil { arguments += ["--body", "-"] }
    let result = try await tool.run(
      arguments + step.arguments, input: Data((step.payload ?? "").utf8))
    guard result.status == 0, let json = try jsonLines(result.output).first else {
      throw Failed(description: "it failed: \(result.errorText)")
    }
    let headers = (json["headers"] as? [[String]] ?? []).map { (name: $0[0], value: $0[1]) }
    let body = Data(base64Encoded: json["body_base64"] as? String ?? "") ?? Data()
    return Shown(
      status: json["status"] as? Int ?? 0, headers: headers, text: String(decoding: body, as: UTF8.self),
      source: json["source"] as? String ?? "")
  }

  private struct Failed: Error, CustomStringConvertible { var description: String }

  private func check(
    _ step: Step, _ number: Int, _ shown: Shown, _ request: ScriptedServer.Request?, _ count: Int,
    _ earlier: [String]
  ) -> [String] {
    var faults: [String] = []
    let place = shown.value("X-Number")
    switch step.from {
    case .network:
      if place != "\(number)" { faults.append("it came from the cache") }
    case .cached:
      if place == "\(number)" || count > 0 { faults.append("it came from the server") }
    case .confirmed:
      if shown.source != "revalidated" { faults.append("it was not asked about, but \(shown.source)") }
    case .any: break
    }
    let status = step.showsStatus ?? step.status
    if shown.status != status { faults.append("the status is \(shown.status), not \(status)") }
    for (name, value) in step.shows where shown.value(name) != value {
      faults.append("\(name) is \(shown.value(name) ?? "missing"), not \(value)")
    }
    for name in step.lacks where shown.value(name) != nil { faults.append("\(name) is there") }
    if let text = step.text, shown.text != text { faults.append("the body is \(shown.text), not \(text)") }
    if let age = step.age, (shown.value("Age").flatMap { Int($0) } ?? -1) < age {
      faults.append("Age is \(shown.value("Age") ?? "missing"), less than \(age)")
    }
    for (name, value) in step.asked where request?.header(name) != value {
      faults.append("\(name) was sent as \(request?.header(name) ?? "nothing")")
    }
    return faults
  }

  /// Makes what is stored older, as if that time had passed.
  private func letTimePass(_ seconds: Double, _ url: URL) {
    let cache = DiskCache(directory: tool.folder.file("cache"))
    let key = ImageRequest(url: url).cacheKey.address
    guard var metadata = cache.entry(for: key)?.metadata else { return }
    metadata.requestTime -= seconds
    metadata.responseTime -= seconds
    for name in ["Date", "Expires"] {
      if let text = metadata.headers[name], let date = When.parse(text) {
        metadata.headers[name] = When.text(date - seconds)
      }
    }
    cache.updateMetadata(metadata, for: key)
  }
}

extension TestSupport.Step {
  static func interimResponse(_ status: Int) -> TestSupport.Step {
    .raw("HTTP/1.1 \(status) Interim\r\nLink: </style.css>; rel=preload\r\n\r\n")
  }
}

/// Dates as HTTP writes them.
enum When {
  private static let format: DateFormatter = {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "GMT")
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return format
  }()

  static func text(_ seconds: Double) -> String { format.string(from: Date(timeIntervalSince1970: seconds)) }
  static func parse(_ text: String) -> Double? { format.date(from: text)?.timeIntervalSince1970 }
  /// So many seconds from now.
  static func `in`(_ seconds: Double) -> String {
    text(Date().timeIntervalSince1970.rounded(.down) + seconds)
  }
}
