import Foundation

/// One request for an original: collects the body, tells of progress, and completes once. What came of a
/// broken-off body is handed over too, so that it can be gone on with.
final class OriginalDownload: HTTPReceiver {
  struct Ending: Sendable {
    /// What came; of a failed download the beginning, where its head came at all.
    var received: CachedExchange.Received?
    var result: Result<HTTPTransferMetrics, HTTPTransportError>
  }

  let request: HTTPRequest
  /// Bytes that are there already, and the whole length, where the request asks for the rest of a body.
  private let resumeOffset: Int
  private let resumeTotal: Int?
  /// Makes what keeps the body while it comes, where it can be gone on with later.
  private let exchange: CachedExchange
  private let onProgress: @Sendable (ImageTask.Progress) -> Void
  private let onCompletion: @Sendable (Ending) -> Void
  private let handle = TransferHandle()
  private let requestTime = wallClockSeconds()

  /// Held while the body is touched: pieces of it are taken out on another thread.
  private let guardian = Lock(Keeping())

  private struct Keeping {
    var previews: PreviewSession?
    var keeper: PartKeeper?
    var hasAsked = false
    /// Bytes that were handed to the keeper.
    var keptCount = 0
    var isScheduled = false
    var hasEnded = false
  }

  /// A piece is kept from this many bytes on.
  private static let pieceLength = 64 << 10
  /// How long a piece may still grow, in seconds. What is there before needs no keeping.
  private static let patience = 0.005
  /// From here on a download counts as a long one, of which each piece is kept at once.
  private static let longDownload = 0.03

  // Sound without a lock: receivers are called by one transfer, one call after the other; the body is also
  // touched by the keeper's thread, under the guardian.
  nonisolated(unsafe) private var head: HTTPResponseHead?
  nonisolated(unsafe) private var responseTime = 0.0
  nonisolated(unsafe) private var offset = 0
  nonisolated(unsafe) private var total: Int?
  nonisolated(unsafe) private var body = BodyBuffer()
  nonisolated(unsafe) private var isOutOfMemory = false

  init(
    _ request: HTTPRequest, of exchange: CachedExchange,
    onProgress: @escaping @Sendable (ImageTask.Progress) -> Void,
    onCompletion: @escaping @Sendable (Ending) -> Void
  ) {
    self.request = request
    self.exchange = exchange
    resumeOffset = exchange.resumeOffset
    resumeTotal = exchange.resumeTotal
    self.onProgress = onProgress
    self.onCompletion = onCompletion
  }

  func start(on transport: any HTTPTransport) {
    handle.set(transport.send(request, to: self))
  }

  func cancel() {
    previews?.end()
    handle.cancel()
  }

  func setPriority(_ priority: ImageRequest.Priority) {
    handle.setPriority(priority)
  }

  func didReceive(_ head: HTTPResponseHead) {
    self.head = head
    responseTime = wallClockSeconds()
    total = head.decodedLength(for: request)
    body.reserve(announced: head.contentLength)
    guard head.status == 206, resumeOffset > 0 else { return }
    offset = resumeOffset
    total =
      resumeTotal
      ?? total.flatMap { rest in
        let (sum, overflows) = rest.addingReportingOverflow(resumeOffset)
        return overflows ? nil : sum
      }
    onProgress(ImageTask.Progress(completed: offset, total: total))
  }

  func didReceive(_ bytes: UnsafeRawBufferPointer) {
    guard !isOutOfMemory else { return }
    let (count, isAppended) = guardian.withLock { keeping in
      let isAppended = body.append(bytes)
      schedule(&keeping)
      return (body.count, isAppended)
    }
    isOutOfMemory = !isAppended
    onProgress(ImageTask.Progress(completed: offset + count, total: total))
  }

  // MARK: What has come

  /// Makes pictures of what has come; set on the transport's thread where somebody wants them.
  var previews: PreviewSession? {
    get { guardian.withLock { $0.previews } }
    set { guardian.withLock { $0.previews = newValue } }
  }

  /// The response's head. For the transport's thread.
  var receivedHead: HTTPResponseHead? { head }

  /// A copy of the bytes of this response from a position on; empty once it has ended.
  func copyBody(from start: Int) -> Data { guardian.withLock { _ in body.copy(from: start) } }

  // MARK: Keeping what has come

  /// Arranges for what has come to be kept, where there is enough of it and it is not all there in a moment.
  private func schedule(_ keeping: inout Keeping) {
    guard !keeping.isScheduled, body.count - keeping.keptCount >= Self.pieceLength else {
      return
    }
    if !keeping.hasAsked {
      keeping.hasAsked = true
      keeping.keeper = head.flatMap {
        exchange.partKeeper(for: $0, requestTime: requestTime, responseTime: responseTime)
      }
    }
    guard keeping.keeper != nil else { return }
    keeping.isScheduled = true
    let isLong = wallClockSeconds() - responseTime > Self.longDownload
    if isLong {
      PartKeeper.queue.async { [self] in keepArrived() }
    } else {
      Timers.shared.after(Self.patience) { [self] in PartKeeper.queue.async { [self] in keepArrived() } }
    }
  }

  private func keepArrived() {
    let taken = guardian.withLock { keeping -> (PartKeeper, Data)? in
      guard !keeping.hasEnded, let keeper = keeping.keeper else { return nil }
      let piece = body.copy(from: keeping.keptCount)
      keeping.keptCount = body.count
      return (keeper, piece)
    }
    guard let (keeper, piece) = taken else { return }
    keeper.keep(piece)
    guardian.withLock { keeping in
      keeping.isScheduled = false
      if !keeping.hasEnded { schedule(&keeping) }
    }
  }

  func didComplete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    handle.clear()
    var result = result
    if case .success = result, head == nil || isOutOfMemory {
      let message = isOutOfMemory ? "there is no memory for the response" : "there was no response"
      result = .failure(HTTPTransportError(.other, url: request.url, message: message))
    }
    let (data, keeper, previews) = guardian.withLock { keeping in
      keeping.hasEnded = true
      return (body.takeData(), keeping.keeper, keeping.previews)
    }
    previews?.end()
    var received = head.map {
      CachedExchange.Received(head: $0, body: data, requestTime: requestTime, responseTime: responseTime)
    }
    received?.parts = keeper
    onCompletion(Ending(received: received, result: result))
  }
}
