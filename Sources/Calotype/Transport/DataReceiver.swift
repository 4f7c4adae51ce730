import Foundation

/// Collects a response's body and reports how far it is.
final class DataReceiver: HTTPReceiver {
  typealias Completion =
    @Sendable (Result<(head: HTTPResponseHead, data: Data, metrics: HTTPTransferMetrics), HTTPTransportError>)
    -> Void

  private let request: HTTPRequest
  private let onResponse: (@Sendable (HTTPResponseHead) -> Void)?
  private let onProgress: (@Sendable (_ received: Int, _ total: Int?) -> Void)?
  private let onCompletion: Completion

  // Sound without a lock: receivers are called by one transfer, one call after the other.
  nonisolated(unsafe) private var head: HTTPResponseHead?
  nonisolated(unsafe) private var total: Int?
  nonisolated(unsafe) private var body = BodyBuffer()
  nonisolated(unsafe) private var isOutOfMemory = false

  /// Creates a receiver. The closures are called on the transport's thread.
  init(
    request: HTTPRequest, onResponse: (@Sendable (HTTPResponseHead) -> Void)? = nil,
    onProgress: (@Sendable (_ received: Int, _ total: Int?) -> Void)? = nil,
    onCompletion: @escaping Completion
  ) {
    self.request = request
    self.onResponse = onResponse
    self.onProgress = onProgress
    self.onCompletion = onCompletion
  }

  func didReceive(_ head: HTTPResponseHead) {
    self.head = head
    total = head.decodedLength(for: request)
    if request.method != "HEAD" { body.reserve(announced: head.contentLength) }
    onResponse?(head)
  }

  func didReceive(_ bytes: UnsafeRawBufferPointer) {
    guard !isOutOfMemory else { return }
    isOutOfMemory = !body.append(bytes)
    onProgress?(body.count, total)
  }

  func didComplete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    switch result {
    case .failure(let error): onCompletion(.failure(error))
    case .success(let metrics):
      guard let head, !isOutOfMemory else {
        let message = isOutOfMemory ? "there is no memory for the response" : "there was no response"
        return onCompletion(.failure(HTTPTransportError(.other, url: request.url, message: message)))
      }
      onCompletion(.success((head, body.takeData(), metrics)))
    }
  }
}

extension HTTPResponseHead {
  /// How many bytes the receiver of a body will be given, where that can be known: not for a body whose
  /// coding is undone on the way, since the announced length is that of the coded bytes.
  func decodedLength(for request: HTTPRequest) -> Int? {
    if request.decodesContentEncoding, let coding = headers["Content-Encoding"],
      !coding.isEmpty, !coding.equalsIgnoringASCIICase("identity")
    {
      return nil
    }
    return contentLength
  }
}

extension HTTPTransport {
  /// Sends one request and waits for the whole response. Redirects are not followed. Cancelling the task
  /// cancels the transfer.
  ///
  /// - Throws: ``HTTPTransportError``; a status that tells of failure is not an error here.
  public func data(
    for request: HTTPRequest
  ) async throws(HTTPTransportError) -> (head: HTTPResponseHead, body: Data) {
    let response = try await collect(request) { self.send($0, to: $1) }
    return (response.head, response.data)
  }
}

/// Starts a transfer and waits for its whole response, and passes the task's cancellation on to it.
func collect(
  _ request: HTTPRequest, start: (HTTPRequest, any HTTPReceiver) -> any HTTPTransfer
) async throws(HTTPTransportError) -> (head: HTTPResponseHead, data: Data, metrics: HTTPTransferMetrics) {
  let canceller = TransferHandle()
  let result = await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in
      let receiver = DataReceiver(request: request) { continuation.resume(returning: $0) }
      canceller.set(start(request, receiver))
    }
  } onCancel: {
    canceller.cancel()
  }
  return try result.get()
}
