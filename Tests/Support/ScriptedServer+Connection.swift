import Foundation

/// POLLRDHUP, which the Glibc module does not have.
private let pollPeerClosed: Int16 = 0x2000

/// One connection of a ``ScriptedServer``, on its own thread.
struct ScriptedConnection {
  /// Who ended it.
  enum End { case peer, script }

  typealias Update = ((inout ScriptedServer.State) -> Void) -> Void

  let descriptor: Int32
  let index: Int
  private var unread: [UInt8] = []

  init(descriptor: Int32, index: Int) {
    self.descriptor = descriptor
    self.index = index
  }

  /// Answers requests until one side closes.
  mutating func serve(
    handler: @Sendable (ScriptedServer.Request) -> Script, update: Update
  ) -> End {
    while var request = readRequest() {
      update { state in
        request.index = state.requests.count
        state.requests.append(request)
      }
      let script = handler(request)
      for step in script.steps {
        switch perform(step, isHead: request.method == "HEAD", update) {
        case .goesOn: break
        case .ended: return .script
        case .peerClosed: return .peer
        }
      }
      // A server that closes after `Connection: close` of its own does so by a step; a client that asks
      // for it is obeyed here.
      if request.header("Connection")?.lowercased() == "close" { return .script }
    }
    return .peer
  }

  // MARK: Steps

  private enum Outcome { case goesOn, ended, peerClosed }

  private func perform(_ step: Step, isHead: Bool, _ update: Update) -> Outcome {
    switch step {
    case .response(let status, let headers, let body):
      let hasLength =
        headers.contains { $0.0.lowercased() == "content-length" } || status == 304 || status == 204
      let head = Self.head(status, headers + (hasLength ? [] : [("Content-Length", "\(body.count)")]))
      return send(isHead ? head : head + body, update)
    case .head(let status, let headers): return send(Self.head(status, headers), update)
    case .raw(let bytes), .body(let bytes): return send(bytes, update)
    case .drip(let bytes, let milliseconds):
      for byte in bytes {
        guard case .goesOn = send([byte], update) else { return .peerClosed }
        guard case .goesOn = pause(milliseconds: milliseconds) else { return .peerClosed }
      }
      return .goesOn
    case .chunk(let bytes):
      return send(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [13, 10], update)
    case .lastChunk: return send(Array("0\r\n\r\n".utf8), update)
    case .endless(let bytes):
      while case .goesOn = send(bytes, update) {}
      return .peerClosed
    case .pause(let milliseconds): return pause(milliseconds: milliseconds)
    case .wait(let gate): return pause(milliseconds: -1, until: gate)
    case .open(let gate):
      gate.open()
      return .goesOn
    case .run(let body):
      body()
      return .goesOn
    case .close:
      shutdown(descriptor, Int32(SHUT_WR))
      drain()
      return .ended
    case .reset:
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
      return .ended
    case .hang: return pause(milliseconds: -1)
    }
  }

  private static func head(_ status: Int, _ headers: [(String, String)]) -> [UInt8] {
    var text = "HTTP/1.1 \(status) \(reasons[status] ?? "Status")\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    return Array((text + "\r\n").utf8)
  }

  private static let reasons = [
    200: "OK", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently",
    302: "Found", 303: "See Other", 304: "Not Modified", 404: "Not Found", 500: "Internal Server Error",
    503: "Service Unavailable",
  ]

  private func send(_ bytes: [UInt8], _ update: Update) -> Outcome {
    var sent = 0
    let isWhole = bytes.withUnsafeBytes { buffer in
      while sent < buffer.count {
        let count = Glibc.send(
          descriptor, buffer.baseAddress! + sent, buffer.count - sent, Int32(MSG_NOSIGNAL))
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
    let index = index
    update { $0.connections[index].bytesSent += sent }
    return isWhole ? .goesOn : .peerClosed
  }

  /// Waits for the time, the gate, or the peer's close, whichever is first. Time below 0 is for ever.
  private func pause(milliseconds: Int, until gate: Gate? = nil) -> Outcome {
    let end = ContinuousClock.now + .milliseconds(max(milliseconds, 0))
    while true {
      var left: Int32 = -1
      if milliseconds >= 0 {
        let rest = end - .now
        guard rest > .zero else { return .goesOn }
        left = Int32(rest.components.seconds * 1000 + rest.components.attoseconds / 1_000_000_000_000_000) + 1
      }
      // Only the peer's close is of interest: a request sent ahead is read when its turn comes.
      var descriptors = [pollfd(fd: descriptor, events: pollPeerClosed, revents: 0)]
      if let gate { descriptors.append(pollfd(fd: gate.descriptor, events: Int16(POLLIN), revents: 0)) }
      let count = poll(&descriptors, nfds_t(descriptors.count), left)
      if count < 0 && errno != EINTR { return .peerClosed }
      guard count > 0 else { continue }
      if descriptors[0].revents != 0 { return .peerClosed }
      if gate != nil, descriptors[1].revents != 0 { return .goesOn }
    }
  }

  /// Reads what the peer still sends, so that closing does not turn into a reset that takes the answer
  /// with it.
  private func drain() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      var descriptors = [pollfd(fd: descriptor, events: Int16(POLLIN) | pollPeerClosed, revents: 0)]
      guard poll(&descriptors, 1, 2000) > 0 else { return }
      guard recv(descriptor, &buffer, buffer.count, 0) > 0 else { return }
    }
  }

  // MARK: Requests

  private mutating func readRequest() -> ScriptedServer.Request? {
    guard let head = readHead() else { return nil }
    let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard words.count == 3 else { return nil }
    var headers: [(name: String, value: String)] = []
    for line in lines.dropFirst() where !line.isEmpty {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      headers.append((String(parts[0]), parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""))
    }
    var request = ScriptedServer.Request(
      index: 0, connection: index, method: words[0], target: words[1], headers: headers, body: [], time: .now)
    if let length = request.header("Content-Length").flatMap(Int.init), length > 0 {
      guard let body = read(length) else { return nil }
      request.body = body
      request.time = .now
    }
    return request
  }

  private mutating func readHead() -> [UInt8]? {
    let end: [UInt8] = [13, 10, 13, 10]
    var searched = 0
    while true {
      if unread.count >= 4 {
        for start in searched...(unread.count - 4) where unread[start] == 13 {
          guard unread[start..<start + 4].elementsEqual(end) else { continue }
          let head = Array(unread[..<start])
          unread.removeFirst(start + 4)
          return head
        }
        searched = unread.count - 3
      }
      guard fill() else { return nil }
    }
  }

  private mutating func read(_ count: Int) -> [UInt8]? {
    while unread.count < count { guard fill() else { return nil } }
    let bytes = Array(unread[..<count])
    unread.removeFirst(count)
    return bytes
  }

  private mutating func fill() -> Bool {
    let count = withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { buffer -> Int in
      while true {
        let count = recv(descriptor, buffer.baseAddress!, buffer.count, 0)
        if count < 0 && errno == EINTR { continue }
        if count > 0 { unread += buffer[..<count] }
        return count
      }
    }
    return count > 0
  }
}
