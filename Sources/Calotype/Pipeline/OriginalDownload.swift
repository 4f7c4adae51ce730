import Foundation
import Synchronization

/// One download of an original: collects the body, tells of progress, and completes once.
final class OriginalDownload: HTTPReceiver {
  struct Downloaded: Sendable {
    var head: HTTPResponseHead
    var data: Data
    var metrics: HTTPTransferMetrics
    var requestTime: Double
    var responseTime: Double
  }

  private struct State {
    var head: HTTPResponseHead?
    var data = Data()
    var transfer: (any HTTPTransfer)?
    var isCancelled = false
    var responseTime = 0.0
  }

  private let state = Lock(State())
  private let requestTime = Date().timeIntervalSince1970
  private let onProgress: @Sendable (Int, Int?) -> Void
  private let onCompletion: @Sendable (Result<Downloaded, HTTPTransportError>) -> Void
  private let url: URL

  init(
    url: URL, onProgress: @escaping @Sendable (Int, Int?) -> Void,
    onCompletion: @escaping @Sendable (Result<Downloaded, HTTPTransportError>) -> Void
  ) {
    self.url = url
    self.onProgress = onProgress
    self.onCompletion = onCompletion
  }

  func start(_ request: HTTPRequest, on transport: any HTTPTransport) {
    let transfer = transport.send(request, to: self)
    let isCancelled = state.withLock { state in
      state.transfer = transfer
      return state.isCancelled
    }
    if isCancelled { transfer.cancel() }
  }

  func cancel() {
    let transfer = state.withLock { state in
      state.isCancelled = true
      return state.transfer
    }
    transfer?.cancel()
  }

  func setPriority(_ priority: ImageRequest.Priority) {
    state.withLock { $0.transfer }?.setPriority(priority)
  }

  func didReceive(_ head: HTTPResponseHead) {
    state.withLock { state in
      state.head = head
      state.responseTime = Date().timeIntervalSince1970
      if let length = head.contentLength { state.data.reserveCapacity(min(length, 1 << 20)) }
    }
  }

  func didReceive(_ bytes: UnsafeRawBufferPointer) {
    let (count, total) = state.withLock { state in
      state.data.append(contentsOf: bytes)
      let isEncoded = state.head?.headers["Content-Encoding"] != nil
      return (state.data.count, isEncoded ? nil : state.head?.contentLength)
    }
    onProgress(count, total)
  }

  func didComplete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    let state = state.withLock { state in
      state.transfer = nil
      return (state.head, state.data, state.responseTime)
    }
    switch result {
    case .failure(let error): onCompletion(.failure(error))
    case .success(let metrics):
      guard let head = state.0 else {
        return onCompletion(
          .failure(HTTPTransportError(.badResponse, url: url, message: "the response has no head")))
      }
      onCompletion(
        .success(
          Downloaded(
            head: head, data: state.1, metrics: metrics, requestTime: requestTime, responseTime: state.2)))
    }
  }
}
