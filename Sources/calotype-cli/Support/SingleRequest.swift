import Calotype
import Foundation

/// Sends one request through HTTP's caching.
struct SingleRequest: Sendable {
  struct Response: Sendable {
    var head: HTTPResponseHead
    var body: Data
    var source: ImageResponse.Source
  }

  var transport: CurlTransport
  var cache: DiskCache?
  var mode: ImageRequest.CachePolicy
  var followsRedirects: Bool
  var retries: Int

  func send(_ request: HTTPRequest) async throws -> Response {
    let receiver = SingleReceiver()
    let (head, body) = try await receiver.receive(request, transport)
    return Response(head: head, body: body, source: .network)
  }
}

private final class SingleReceiver: HTTPReceiver {
  private struct State {
    var head: HTTPResponseHead?
    var body = Data()
    var continuation: CheckedContinuation<Void, any Error>?
    var transfer: (any HTTPTransfer)?
  }

  private let state = Lock(State())

  func receive(_ request: HTTPRequest, _ transport: CurlTransport) async throws -> (HTTPResponseHead, Data) {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        state.withLock { $0.continuation = continuation }
        let transfer = transport.send(request, to: self)
        state.withLock { $0.transfer = transfer }
        if Task.isCancelled { transfer.cancel() }
      }
    } onCancel: {
      state.withLock { $0.transfer }?.cancel()
    }
    return try state.withLock { state in
      guard let head = state.head else {
        throw HTTPTransportError(.badResponse, url: request.url, message: "there was no response")
      }
      return (head, state.body)
    }
  }

  func didReceive(_ head: HTTPResponseHead) { state.withLock { $0.head = head } }
  func didReceive(_ bytes: UnsafeRawBufferPointer) { state.withLock { $0.body.append(contentsOf: bytes) } }
  func didComplete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    let continuation = state.withLock { $0.continuation }
    continuation?.resume(with: result.map { _ in () }.mapError { $0 as any Error })
  }
}
