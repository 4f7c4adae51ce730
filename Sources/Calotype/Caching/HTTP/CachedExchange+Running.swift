import Foundation

extension CachedExchange {
  /// Takes all steps to the end on a transport, and stores what may be stored. Nothing is tried again.
  ///
  /// Cancelling the Swift task cancels the transfer under way.
  ///
  /// - Parameters:
  ///   - transport: Sends the requests.
  ///   - onTransfer: Told what each transfer took.
  /// - Returns: The response, or `nil` where nothing stored can answer and the request forbids asking.
  package func run(
    on transport: any HTTPTransport, onTransfer: (HTTPTransferMetrics) -> Void = { _ in }
  ) async throws(HTTPTransportError) -> Outcome? {
    try await run(from: begin(), on: transport, onTransfer)
  }

  /// Asks the server behind an outcome that wants it.
  package func runRevalidation(on transport: any HTTPTransport) async throws(HTTPTransportError) {
    _ = try await run(from: revalidate(), on: transport) { _ in }
  }

  private func run(
    from first: Step, on transport: any HTTPTransport, _ onTransfer: (HTTPTransferMetrics) -> Void
  ) async throws(HTTPTransportError) -> Outcome? {
    var step = first
    while true {
      switch step {
      case .ask(let request):
        let ending = await send(request, on: transport)
        switch ending.result {
        case .failure(let error): step = failed(error, partial: ending.received)
        case .success(let metrics):
          onTransfer(metrics)
          guard let received = ending.received else { return nil }
          step = self.received(received)
        }
      case .finished(let outcome):
        if let storable = outcome.storable { store(storable) }
        return outcome
      case .unsatisfiable: return nil
      case .failed(let error): throw error
      }
    }
  }

  private func send(_ request: HTTPRequest, on transport: any HTTPTransport) async -> OriginalDownload.Ending
  {
    let box = Lock<OriginalDownload?>(nil)
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let download = OriginalDownload(request, resumeOffset: resumeOffset, resumeTotal: resumeTotal) { _ in
        } onCompletion: { ending in
          continuation.resume(returning: ending)
        }
        box.withLock { $0 = download }
        download.start(on: transport)
        if Task.isCancelled { download.cancel() }
      }
    } onCancel: {
      box.withLock { $0 }?.cancel()
    }
  }
}
