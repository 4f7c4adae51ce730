import Calotype
import Foundation

/// An HTTP server in the test's own process, on loopback, that does exactly what a script says: answers
/// late, in pieces, too short, for ever, not at all, or with nonsense. It logs what it was asked.
///
///     let server = try ScriptedServer { request in
///       switch request.path {
///       case "/a.png": .ok(bytes, type: "image/png")
///       case "/late": [.pause(milliseconds: 50), .response(200, body: bytes)]
///       case "/short": [.head(200, [("Content-Length", "1000")]), .body(bytes), .close]
///       default: .status(404)
///       }
///     }
///     let url = server.url("/a.png")
///     …
///     try await server.waitForRequests(1)
///     #expect(server.requests[0].header("Accept") == nil)
///
/// Instead of a closure, a table of routes can be given, and changed while the server runs; a route with
/// several scripts uses one after the other and then the last again:
///
///     let server = try ScriptedServer(routes: ["/now": [.redirect("/v1")]])
///     server.route("/flaky", .reset, .ok(bytes))
///
/// A script is a list of ``Step``s. To let the test say when the server goes on, use a ``Gate``:
/// `[.head(200, [("Content-Length", "8")]), .body(half), .wait(gate), .body(half)]`, and `gate.open()`.
///
/// After a script the connection is kept open for another request unless the script closed it, so a
/// script that gives no length has to end in `.close`. Each connection has a thread, which is good for
/// some hundreds of them. A peer's close is noticed while a script pauses, waits or hangs, while it
/// sends, and between requests; ``waitForClose(connection:timeout:)`` waits for it.
/// ``stop()`` (or letting go of the server) ends all of it.
public final class ScriptedServer: Sendable {
  /// What was asked.
  public struct Request: Sendable {
    /// Which request this is, counted over the whole server from 0.
    public var index: Int
    /// Which connection it came on, counted from 0 in the order they were accepted.
    public var connection: Int
    /// The method as sent.
    public var method: String
    /// The request target as sent, query included.
    public var target: String
    /// The header fields in order, as sent.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: [UInt8]
    /// When its last byte had come.
    public var time: ContinuousClock.Instant

    /// The target without its query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The first value of a name, or `nil`.
    public func header(_ name: String) -> String? { values(name).first }

    /// All values of a name.
    public func values(_ name: String) -> [String] {
      headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
  }

  /// A connection that was accepted.
  public struct Connection: Sendable {
    /// Its number, from 0.
    public var index: Int
    /// When it was accepted.
    public var openedAt: ContinuousClock.Instant
    /// When either side closed it, `nil` while it is open.
    public var closedAt: ContinuousClock.Instant?
    /// Whether the peer closed it, rather than the script.
    public var wasClosedByPeer = false
    /// Bytes sent on it.
    public var bytesSent = 0
  }

  /// Why a wait ended without what it waited for.
  public struct TimedOut: Swift.Error, CustomStringConvertible {
    /// What was waited for, and how things stood.
    public var description: String
  }

  struct State {
    var requests: [Request] = []
    var connections: [Connection] = []
    var descriptors: [Int: Int32] = [:]
    var routes: [String: [Script]] = [:]
    var routeUses: [String: Int] = [:]
    var waiters: [Int: Waiter] = [:]
    var nextWaiter = 0
    var isStopped = false
  }

  struct Waiter {
    var isSatisfied: @Sendable (borrowing State) -> Bool
    var continuation: CheckedContinuation<Bool, Never>
  }

  /// The port it listens on.
  public let port: UInt16
  /// The address it listens on.
  public let host: String
  let state = Lock(State())
  private let listener: Int32
  private let handler: @Sendable (Request) -> Script

  /// Starts a server on a free port of 127.0.0.1, or of another address of the loopback network, that asks a
  /// closure for each answer. The closure is called on the connection's thread and may block.
  public init(host: String = "127.0.0.1", _ handler: @escaping @Sendable (Request) -> Script) throws {
    (listener, port) = try Self.listen(host)
    self.host = host
    self.handler = handler
    start()
  }

  /// Starts a server that answers from a table of paths; 404 for all else.
  public convenience init(routes: [String: [Script]] = [:]) throws {
    let table = RouteTable(routes)
    try self.init { table.script(for: $0) }
    routeTable.withLock { $0 = table }
  }

  deinit { stop() }

  private let routeTable = Lock<RouteTable?>(nil)

  /// Sets what a path is answered with: the scripts one after the other, then the last again and again.
  /// For servers made from a table.
  public func route(_ path: String, _ scripts: Script...) {
    guard let table = routeTable.withLock({ $0 }) else { preconditionFailure("this server has a closure") }
    table.set(path, scripts)
  }

  /// The address of a path on this server.
  public func url(_ target: String) -> URL { URL(string: "http://\(host):\(port)\(target)")! }

  /// What was asked so far.
  public var requests: [Request] { state.withLock { $0.requests } }

  /// Forgets what was asked, as a server that runs for long has to.
  public func forgetRequests() { update { $0.requests = [] } }

  /// What was asked so far for one path.
  public func requests(_ path: String) -> [Request] { requests.filter { $0.path == path } }

  /// The connections accepted so far.
  public var connections: [Connection] { state.withLock { $0.connections } }

  /// How many connections are open.
  public var openConnectionCount: Int { state.withLock { $0.connections.count { $0.closedAt == nil } } }

  // MARK: Waiting

  /// Waits until so many requests have come in all, and gives them.
  @discardableResult
  public func waitForRequests(_ count: Int, timeout: Duration = .seconds(20)) async throws -> [Request] {
    try await wait("\(count) requests", timeout) { $0.requests.count >= count }
    return requests
  }

  /// Waits until so many connections have been accepted.
  public func waitForConnections(_ count: Int, timeout: Duration = .seconds(20)) async throws {
    try await wait("\(count) connections", timeout) { $0.connections.count >= count }
  }

  /// Waits until a connection is closed, and says when it was.
  @discardableResult
  public func waitForClose(
    connection: Int = 0, timeout: Duration = .seconds(20)
  ) async throws -> ContinuousClock.Instant {
    try await wait("the close of connection \(connection)", timeout) {
      $0.connections.indices.contains(connection) && $0.connections[connection].closedAt != nil
    }
    return connections[connection].closedAt!
  }

  /// Waits until no connection is open.
  public func waitForAllClosed(timeout: Duration = .seconds(20)) async throws {
    try await wait("the close of all connections", timeout) {
      $0.connections.allSatisfy { $0.closedAt != nil }
    }
  }

  private func wait(
    _ what: String, _ timeout: Duration, until isSatisfied: @escaping @Sendable (borrowing State) -> Bool
  ) async throws {
    let hasCome = await withCheckedContinuation { continuation in
      let identifier: Int? = state.withLock { state in
        if isSatisfied(state) { return nil }
        state.nextWaiter += 1
        state.waiters[state.nextWaiter] = Waiter(isSatisfied: isSatisfied, continuation: continuation)
        return state.nextWaiter
      }
      guard let identifier else { return continuation.resume(returning: true) }
      let seconds = Double(timeout.components.seconds) + Double(timeout.components.attoseconds) / 1e18
      DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [weak self] in
        let late = self?.state.withLock { $0.waiters.removeValue(forKey: identifier) }
        late?.continuation.resume(returning: false)
      }
    }
    guard !hasCome else { return }
    let (requestCount, connectionCount, openCount) = state.withLock {
      ($0.requests.count, $0.connections.count, $0.connections.count { $0.closedAt == nil })
    }
    throw TimedOut(
      description: "waited \(timeout) for \(what): there were \(requestCount) requests, "
        + "\(connectionCount) connections, \(openCount) of them open")
  }

  /// Changes the state and wakes whoever waited for that.
  func update<Value: Sendable>(_ change: (inout State) -> Value) -> Value {
    let (value, satisfied) = state.withLock { state in
      let value = change(&state)
      var satisfied: [CheckedContinuation<Bool, Never>] = []
      for (identifier, waiter) in state.waiters where waiter.isSatisfied(state) {
        satisfied.append(waiter.continuation)
        state.waiters[identifier] = nil
      }
      return (value, satisfied)
    }
    for continuation in satisfied { continuation.resume(returning: true) }
    return value
  }

  // MARK: Serving

  private static func listen(_ host: String) throws -> (Int32, UInt16) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var one: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr(host)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(listener, pointer, length) == 0 && Glibc.listen(listener, 1024) == 0
          && getsockname(listener, pointer, &length) == 0
      }
    }
    guard result else { throw TimedOut(description: "no port: \(String(cString: strerror(errno)))") }
    return (listener, UInt16(bigEndian: address.sin_port))
  }

  private func start() {
    let listener = listener
    let handler = handler
    Self.detach { [weak self] in
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else {
          if errno == EINTR || errno == ECONNABORTED { continue }
          break
        }
        guard let index = self?.accepted(descriptor) else {
          close(descriptor)
          break
        }
        Self.detach { [weak self] in
          var connection = ScriptedConnection(descriptor: descriptor, index: index)
          let end = connection.serve(handler: handler) { change in self?.update(change) }
          self?.closed(index, end)
          close(descriptor)
        }
      }
      close(listener)
    }
  }

  private func accepted(_ descriptor: Int32) -> Int? {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    return update { state -> Int? in
      guard !state.isStopped else { return nil }
      let index = state.connections.count
      state.connections.append(Connection(index: index, openedAt: .now))
      state.descriptors[index] = descriptor
      return index
    }
  }

  private func closed(_ index: Int, _ end: ScriptedConnection.End) {
    update { state in
      state.descriptors[index] = nil
      state.connections[index].closedAt = .now
      state.connections[index].wasClosedByPeer = end == .peer
    }
  }

  /// Closes everything. Scripts that wait, pause or send end.
  public func stop() {
    let descriptors: [Int32] = state.withLock { state in
      guard !state.isStopped else { return [] }
      state.isStopped = true
      // A shut-down socket wakes its thread, which then closes it.
      return Array(state.descriptors.values) + [listener]
    }
    for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  static func detach(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread(block: body)
    thread.stackSize = 512 << 10
    thread.start()
  }
}

/// Which script answers a path, and how often it has.
private final class RouteTable: Sendable {
  private let entries: Lock<[String: (scripts: [Script], uses: Int)]>

  init(_ routes: [String: [Script]]) { entries = Lock(routes.mapValues { ($0, 0) }) }

  func set(_ path: String, _ scripts: [Script]) { entries.withLock { $0[path] = (scripts, 0) } }

  func script(for request: ScriptedServer.Request) -> Script {
    entries.withLock { entries in
      guard let entry = entries[request.path], !entry.scripts.isEmpty else { return .status(404) }
      entries[request.path]?.uses += 1
      return entry.scripts[min(entry.uses, entry.scripts.count - 1)]
    }
  }
}
