import Foundation

/// One logical load on a transport: redirects followed, credentials kept to their origin. What asks again,
/// goes on with a broken download or revalidates belongs here too.
package struct HTTPClient: Sendable {
  /// How to load.
  package struct Options: Sendable {
    /// Whether redirects are followed; otherwise the redirect is the response.
    package var followsRedirects = true
    /// The most redirects that are followed.
    package var maximumRedirectCount = 10
    /// Whether a redirect may lead from https to http.
    package var allowsInsecureRedirects = false
    /// Names, in lower case, of headers that stay with their origin beside those that always do.
    package var secretHeaderNames: Set<String> = []

    package init() {}

    /// Whether a header is not to be passed on to another origin. `Host` is among them, since it is the
    /// first origin's name.
    func isSecret(_ name: String) -> Bool {
      let name = name.lowercased()
      return ["authorization", "cookie", "proxy-authorization", "host"].contains(name)
        || secretHeaderNames.contains(name)
    }
  }

  /// What sends each single request.
  package let transport: any HTTPTransport

  package init(transport: any HTTPTransport) { self.transport = transport }

  /// Starts a load.
  ///
  /// - Returns: A handle to the whole load, through all of its redirects.
  @discardableResult
  package func load(
    _ request: HTTPRequest, options: Options = .init(), receiver: any HTTPReceiver
  ) -> any HTTPTransfer {
    guard options.followsRedirects else { return transport.send(request, to: receiver) }
    let load = HTTPLoad(request: request, options: options, transport: transport, receiver: receiver)
    load.start()
    return load
  }

  /// Loads and waits for the whole response. Cancelling the task cancels the load.
  package func data(
    for request: HTTPRequest, options: Options = .init()
  ) async throws(HTTPTransportError) -> (head: HTTPResponseHead, data: Data, metrics: HTTPTransferMetrics) {
    try await collect(request) { load($0, options: options, receiver: $1) }
  }
}

/// A load that follows redirects.
final class HTTPLoad: HTTPTransfer, HTTPReceiver {
  private struct Shared {
    var transfer: (any HTTPTransfer)?
    var hop = 0
    var priority: ImageRequest.Priority?
    var isCancelled = false
  }

  /// The most bytes of a redirect's own body that are read to be able to use the connection again.
  private static let maximumRedirectBodySize = 64 << 10

  private let options: HTTPClient.Options
  private let transport: any HTTPTransport
  private let shared = Lock(Shared())

  // Sound without a lock: touched before the first request is sent and then by the transport's calls
  // alone, which come one after the other; a hop is sent only after the calls of the one before it.
  nonisolated(unsafe) private var receiver: (any HTTPReceiver)?
  nonisolated(unsafe) private var request: HTTPRequest
  nonisolated(unsafe) private var nextRequest: HTTPRequest?
  nonisolated(unsafe) private var failure: HTTPTransportError?
  nonisolated(unsafe) private var discardedByteCount = 0
  nonisolated(unsafe) private var earlier = HTTPTransferMetrics()

  init(
    request: HTTPRequest, options: HTTPClient.Options, transport: any HTTPTransport,
    receiver: any HTTPReceiver
  ) {
    var request = request
    if request.redirectChain == nil { request.redirectChain = RedirectChain() }
    self.request = request
    self.options = options
    self.transport = transport
    self.receiver = receiver
  }

  func start() { send(request, hop: 0) }

  private func send(_ request: HTTPRequest, hop: Int) {
    let transfer = transport.send(request, to: self)
    let isCancelled = shared.withLock { shared in
      // A later hop may have begun on the transport's thread before this line.
      if shared.hop == hop { shared.transfer = transfer }
      return shared.isCancelled
    }
    if isCancelled { transfer.cancel() }
  }

  func cancel() {
    let transfer = shared.withLock { shared in
      shared.isCancelled = true
      return shared.transfer
    }
    transfer?.cancel()
  }

  func setPriority(_ priority: ImageRequest.Priority) {
    let transfer = shared.withLock { shared in
      shared.priority = priority
      return shared.transfer
    }
    transfer?.setPriority(priority)
  }

  // MARK: The transport's calls

  func didReceive(_ head: HTTPResponseHead) {
    do throws(HTTPTransportError) {
      if let next = try HTTPRedirect.next(after: request, response: head, options: options) {
        guard earlier.redirectCount < options.maximumRedirectCount else {
          throw HTTPTransportError(
            .tooManyRedirects, url: request.url,
            message:
              "more than \(options.maximumRedirectCount) redirects, the last to \(next.url.displayText)")
        }
        nextRequest = next
        if let length = head.contentLength, length > Self.maximumRedirectBodySize { endHop() }
      } else {
        receiver?.didReceive(head)
      }
    } catch {
      failure = error
      endHop()
    }
  }

  func didReceive(_ bytes: UnsafeRawBufferPointer) {
    guard nextRequest != nil || failure != nil else {
      receiver?.didReceive(bytes)
      return
    }
    discardedByteCount += bytes.count
    if discardedByteCount > Self.maximumRedirectBodySize { endHop() }
  }

  func didComplete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    if case .success(let metrics) = result { add(metrics) }
    if let failure { return complete(.failure(isCancelled ? .cancelled(request.url) : failure)) }
    guard var next = nextRequest else { return complete(result.map { _ in earlier }) }
    let (hop, isCancelled) = shared.withLock { shared in
      shared.hop += 1
      shared.transfer = nil
      if let priority = shared.priority { next.priority = priority }
      return (shared.hop, shared.isCancelled)
    }
    guard !isCancelled else { return complete(.failure(.cancelled(request.url))) }
    earlier.redirectCount += 1
    nextRequest = nil
    discardedByteCount = 0
    request = next
    send(next, hop: hop)
  }

  private var isCancelled: Bool { shared.withLock { $0.isCancelled } }

  /// Ends the transfer under way but not the load.
  private func endHop() { shared.withLock { $0.transfer }?.cancel() }

  private func complete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    let receiver = receiver
    self.receiver = nil
    shared.withLock { $0.transfer = nil }
    receiver?.didComplete(result)
  }

  /// Adds a hop's measures: moments count from the start of the first.
  private func add(_ metrics: HTTPTransferMetrics) {
    var sum = metrics
    let offset = earlier.total
    sum.queued += earlier.queued
    for moment in [
      \HTTPTransferMetrics.nameLookup, \.connect, \.secureConnect, \.firstByte, \.total,
    ] where sum[keyPath: moment] > 0 {
      sum[keyPath: moment] += offset
    }
    sum.bytesReceived += earlier.bytesReceived
    sum.redirectCount = earlier.redirectCount
    earlier = sum
  }
}
