import Foundation

extension CachedExchange {
  /// What an exchange took.
  package struct Effort: Sendable {
    /// How often the network was asked, the hops of redirects and further tries included.
    package var requests = 0
    /// The transfers that went well, in order.
    package var transfers: [HTTPTransferMetrics] = []

    package init() {}
  }

  /// Takes all steps to the end on a transport, and stores what may be stored.
  ///
  /// Cancelling the Swift task cancels the transfer under way, and a wait for another try.
  ///
  /// - Parameters:
  ///   - first: What ``begin()`` gave, where it was called already.
  ///   - transport: Sends the requests.
  ///   - retry: Whether and when what failed is tried again; never by default.
  ///   - effort: What it took is added here.
  /// - Returns: The response, or `nil` where nothing stored can answer and the request forbids asking.
  package func run(
    from first: Step? = nil, on transport: any HTTPTransport, retry: RetryPolicy = .never,
    effort: inout Effort
  ) async throws(HTTPTransportError) -> Outcome? {
    var step = first ?? begin()
    var tries = 0
    var generator = JitterGenerator()
    while true {
      switch step {
      case .ask(let request): step = try await take(request, on: transport, &effort)
      case .unsatisfiable: return nil
      case .finished(let outcome):
        tries += 1
        let decision = retry.decision(
          after: .response(status: outcome.head.status, headers: outcome.head.headers),
          method: request.method, tries: tries, now: wallClockSeconds(), using: &generator)
        if outcome.source == .network, case .retry(let delay) = decision, await Self.wait(delay) {
          step = begin()
        } else {
          if let storable = outcome.storable { store(storable) }
          return outcome
        }
      case .failed(let error):
        tries += 1
        let decision = retry.decision(
          after: .failure(error.code), method: request.method, tries: tries, now: wallClockSeconds(),
          using: &generator)
        guard case .retry(let delay) = decision, await Self.wait(delay) else { throw error }
        step = begin()
      }
    }
  }

  /// Asks the server behind an outcome that wants it, and stores what comes.
  package func runRevalidation(on transport: any HTTPTransport) async throws(HTTPTransportError) {
    var step = revalidate()
    var effort = Effort()
    while case .ask(let request) = step { step = try await take(request, on: transport, &effort) }
    if case .finished(let outcome) = step, let storable = outcome.storable { store(storable) }
  }

  /// Waits; whether that went to its end.
  private static func wait(_ seconds: Double) async -> Bool {
    await Timers.shared.sleep(min(seconds, 86_400))
  }

  private func take(
    _ request: HTTPRequest, on transport: any HTTPTransport, _ effort: inout Effort
  ) async throws(HTTPTransportError) -> Step {
    let ending = await send(request, on: transport)
    effort.requests += 1
    switch ending.result {
    case .failure(let error): return failed(error, partial: ending.received)
    case .success(let metrics):
      effort.transfers.append(metrics)
      guard let received = ending.received else {
        throw HTTPTransportError(.badResponse, url: request.url, message: "there was no response")
      }
      return self.received(received)
    }
  }

  private func send(_ request: HTTPRequest, on transport: any HTTPTransport) async -> OriginalDownload.Ending
  {
    let box = Lock<OriginalDownload?>(nil)
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let download = OriginalDownload(
          request, of: self, onProgress: { _ in },
          onCompletion: { ending in continuation.resume(returning: ending) })
        box.withLock { $0 = download }
        download.start(on: transport)
        if Task.isCancelled { download.cancel() }
      }
    } onCancel: {
      box.withLock { $0 }?.cancel()
    }
  }
}
