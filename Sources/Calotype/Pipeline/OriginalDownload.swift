import Foundation

/// One request for an original: collects the body, tells of progress, and completes once. What came of a
/// broken-off body is handed over too, so that it can be gone on with.
final class OriginalDownload: HTTPReceiver {
  struct Ending: Sendable {
    /// What came; of a failed download the beginning, where its head came at all.
    var received: CachedExchange.Received?
    var result: Result<HTTPTransferMetrics, HTTPTransportError>
  }

  private struct Handle {
    var transfer: (any HTTPTransfer)?
    var isCancelled = false
  }

  private let request: HTTPRequest
  /// Bytes that are there already, and the whole length, where the request asks for the rest of a body.
  private let resumeOffset: Int
  private let resumeTotal: Int?
  private let onProgress: @Sendable (ImageTask.Progress) -> Void
  private let onCompletion: @Sendable (Ending) -> Void
  private let handle = Lock(Handle())
  private let requestTime = wallClockSeconds()

  // Sound without a lock: receivers are called by one transfer, one call after the other.
  nonisolated(unsafe) private var head: HTTPResponseHead?
  nonisolated(unsafe) private var responseTime = 0.0
  nonisolated(unsafe) private var offset = 0
  nonisolated(unsafe) private var total: Int?
  nonisolated(unsafe) private var body = BodyBuffer()
  nonisolated(unsafe) private var isOutOfMemory = false

  init(
    _ request: HTTPRequest, resumeOffset: Int = 0, resumeTotal: Int? = nil,
    onProgress: @escaping @Sendable (ImageTask.Progress) -> Void,
    onCompletion: @escaping @Sendable (Ending) -> Void
  ) {
    self.request = request
    self.resumeOffset = resumeOffset
    self.resumeTotal = resumeTotal
    self.onProgress = onProgress
    self.onCompletion = onCompletion
  }

  func start(on transport: any HTTPTransport) {
    let transfer = transport.send(request, to: self)
    let isCancelled = handle.withLock { handle in
      handle.transfer = transfer
      return handle.isCancelled
    }
    if isCancelled { transfer.cancel() }
  }

  func cancel() {
    let transfer = handle.withLock { handle in
      handle.isCancelled = true
      return handle.transfer
    }
    transfer?.cancel()
  }

  func setPriority(_ priority: ImageRequest.Priority) {
    handle.withLock { $0.transfer }?.setPriority(priority)
  }

  func didReceive(_ head: HTTPResponseHead) {
    self.head = head
    responseTime = wallClockSeconds()
    total = head.decodedLength(for: request)
    body.reserve(announced: head.contentLength)
    guard head.status == 206, resumeOffset > 0 else { return }
    offset = resumeOffset
    total = resumeTotal ?? total.map { $0 + resumeOffset }
    onProgress(ImageTask.Progress(completed: offset, total: total))
  }

  func didReceive(_ bytes: UnsafeRawBufferPointer) {
    guard !isOutOfMemory else { return }
    isOutOfMemory = !body.append(bytes)
    onProgress(ImageTask.Progress(completed: offset + body.count, total: total))
  }

  func didComplete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    handle.withLock { $0.transfer = nil }
    var result = result
    if case .success = result, head == nil || isOutOfMemory {
      let message = isOutOfMemory ? "there is no memory for the response" : "there was no response"
      result = .failure(HTTPTransportError(.other, url: request.url, message: message))
    }
    let received = head.map {
      CachedExchange.Received(
        head: $0, body: body.takeData(), requestTime: requestTime, responseTime: responseTime)
    }
    onCompletion(Ending(received: received, result: result))
  }
}
