import Calotype
import Foundation

/// A log of what went over the network, as HTTP Archive 1.2, which browsers' tools show as a waterfall.
///
/// It is written from what each task measured: of a response there are its status and what the picture is, not its
/// headers. Passwords in addresses and headers that may hold secrets are left out.
final class HTTPArchive: Sendable {
  private let lines: LineWriter
  private let state = Lock((entries: 0, isFinished: false))

  /// Begins an archive; an older file is emptied.
  init(path: String) throws {
    lines = try LineWriter(path: path)
    var creator = JSONText()
    creator.add("name", "Calotype")
    creator.add("version", CalotypeVersion.string)
    lines.write(#"{"log":{"version":"1.2","creator":\#(creator.object),"entries":["#)
  }

  /// One request, as far as it is known.
  struct Entry {
    var url: URL
    /// The headers that were asked for; those that may hold secrets are left out.
    var headers: HTTPHeaders
    /// The status; 0 where no response came.
    var status: Int
    /// When the row was begun.
    var started: Date
    var metrics: ImageTaskMetrics?
    var format: ImageFormat?
    /// What went wrong.
    var comment: String?
    /// How long a failure took, of which no more is known.
    var seconds = 0.0
  }

  /// Adds a request.
  func add(_ entry: Entry) {
    let json = Self.json(entry)
    state.withLock { state in
      guard !state.isFinished else { return }
      lines.write((state.entries == 0 ? "" : ",") + json)
      state.entries += 1
    }
  }

  /// Completes the file; whether all of it could be written.
  func finish() -> Bool {
    state.withLock { state in
      if !state.isFinished { lines.write("]}}") }
      state.isFinished = true
      return lines.flush()
    }
  }

  private static func json(_ entry: Entry) -> String {
    let transfer = entry.metrics?.transfer
    let times = Timings(entry)
    var json = JSONText()
    json.add("startedDateTime", times.start.formatted(.iso8601WithMilliseconds))
    json.add("time", json: Format.decimal(times.sum, 3))
    json.add("request", json: request(entry))
    json.add("response", json: response(entry))
    json.add("cache", json: "{}")
    json.add("timings", json: times.json)
    if let address = transfer?.remoteAddress { json.add("serverIPAddress", address) }
    if let comment = entry.comment { json.add("comment", comment) }
    return json.object
  }

  private static func version(_ entry: Entry) -> String {
    entry.metrics?.transfer.map { "HTTP/\($0.protocolVersion)" } ?? "unknown"
  }

  private static func request(_ entry: Entry) -> String {
    let secrets = entry.headers.namesOfPossibleSecrets
    let headers = entry.headers.fields.filter { !secrets.contains($0.name.lowercased()) }
    let query = URLComponents(url: entry.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
    var json = JSONText()
    json.add("method", "GET")
    json.add("url", entry.url.displayText)
    json.add("httpVersion", version(entry))
    json.add("cookies", json: "[]")
    json.add("headers", json: pairs(headers.map { ($0.name, $0.value) }))
    json.add("queryString", json: pairs(query.map { ($0.name, $0.value ?? "") }))
    json.add("headersSize", -1)
    json.add("bodySize", 0)
    return json.object
  }

  private static func response(_ entry: Entry) -> String {
    var content = JSONText()
    content.add("size", entry.metrics?.originalByteCount ?? 0)
    content.add("mimeType", entry.format.map(mediaType) ?? "x-unknown")
    var json = JSONText()
    json.add("status", entry.status)
    json.add("statusText", "")
    json.add("httpVersion", version(entry))
    json.add("cookies", json: "[]")
    json.add("headers", json: "[]")
    json.add("content", json: content.object)
    json.add("redirectURL", "")
    json.add("headersSize", -1)
    json.add("bodySize", -1)
    if let bytes = entry.metrics?.transfer?.bytesReceived { json.add("_transferSize", bytes) }
    return json.object
  }

  private static func pairs(_ pairs: [(String, String)]) -> String {
    let objects = pairs.map { name, value in
      var json = JSONText()
      json.add("name", name)
      json.add("value", value)
      return json.object
    }
    return "[\(objects.joined(separator: ","))]"
  }

  private static func mediaType(_ format: ImageFormat) -> String {
    format == .ico ? "image/vnd.microsoft.icon" : "image/\(format.rawValue)"
  }
}

/// An entry's phases in milliseconds; -1 for what did not occur or is not known.
private struct Timings {
  var start: Date
  var blocked = -1.0, dns = -1.0, connect = -1.0, ssl = -1.0
  // These three are always numbers. Sending takes no time that was measured: it is in the wait.
  var send = 0.0, wait = 0.0, receive = 0.0

  init(_ entry: HTTPArchive.Entry) {
    start = entry.started
    guard let metrics = entry.metrics, let transfer = metrics.transfer else {
      wait = entry.seconds * 1000
      return
    }
    let queue = metrics.stages.first { $0.stage == .queue }
    if let queue { start.addTimeInterval(queue.start) }
    blocked = ((queue.map { $0.end - $0.start } ?? 0) + transfer.queued) * 1000
    // Each moment counts from the transfer's start, and those that did not occur are 0.
    var last = 0.0
    func phase(_ moment: Double) -> Double {
      guard moment > 0 else { return -1 }
      defer { last = max(last, moment) }
      return max(0, moment - last) * 1000
    }
    if !transfer.reusedConnection {
      dns = phase(transfer.nameLookup)
      connect = phase(transfer.connect)
      ssl = phase(transfer.secureConnect)
      // TLS counts among the connecting too.
      if ssl > 0 { connect = max(0, connect) + ssl }
    }
    wait = max(0, phase(transfer.firstByte))
    receive = max(0, phase(transfer.total))
  }

  /// What the phases take together: TLS is in the connecting already.
  var sum: Double { [blocked, dns, connect, send, wait, receive].filter { $0 > 0 }.reduce(0, +) }

  var json: String {
    var json = JSONText()
    for (name, value) in [
      ("blocked", blocked), ("dns", dns), ("connect", connect), ("ssl", ssl), ("send", send), ("wait", wait),
      ("receive", receive),
    ] {
      json.add(name, json: value < 0 ? "-1" : Format.decimal(value, 3))
    }
    return json.object
  }
}

extension FormatStyle where Self == Date.ISO8601FormatStyle {
  /// For example `2026-11-30T19:51:14.123Z`.
  fileprivate static var iso8601WithMilliseconds: Date.ISO8601FormatStyle {
    Date.ISO8601FormatStyle(includingFractionalSeconds: true)
  }
}
