import Foundation

// Sound as Sendable: what changes is behind a lock.
/// Downloads a picture, and decodes it, on an operation queue of one's own.
///
/// ```swift
/// let queue = OperationQueue()
/// queue.maxConcurrentOperationCount = 3
/// let download = DownloadOperation(url: url)
/// download.delegate = self
/// queue.addOperation(download)
/// ```
///
/// It holds a place in the queue, but no thread: the transport's thread completes it. ``Operation/queuePriority``
/// orders it in its queue and then in the transport. Nothing is cached; for that there is ``ImagePipeline``.
public final class DownloadOperation: AsynchronousOperation, @unchecked Sendable {
  private struct State {
    var transfer: (any HTTPTransfer)?
    var decode: DecodeOperation?
    var hasEnded = false
    var status = 0
    var original: DownloadedOriginal?
    var result: Result<ImageContainer, ImagePipeline.Error>?
  }

  /// What the pipeline is told, in place of a delegate.
  struct Handlers: Sendable {
    /// The response's head has come; called on the transport's thread.
    var onResponse: (@Sendable (HTTPResponseHead) -> Void)?
    /// More of the body has come; called on the transport's thread.
    var onProgress: (@Sendable (_ received: Int, _ total: Int?) -> Void)?
    /// The end; called once, on the transport's thread or the one that cancels.
    var onCompletion: @Sendable (Result<DownloadedOriginal, ImagePipeline.Error>) -> Void
  }

  /// The most bytes of an answer without a picture that are read to be able to use the connection again.
  private static let maximumErrorBodySize = 64 << 10

  /// Where pictures are decoded. A queue of its own, so that nothing else's work delays it.
  private static let decodeQueue: OperationQueue = {
    let queue = OperationQueue()
    queue.name = "calotype.decode"
    queue.maxConcurrentOperationCount = max(2, ProcessInfo.processInfo.activeProcessorCount)
    queue.qualityOfService = .userInitiated
    return queue
  }()

  /// What is asked for. Its cache policy and storage do not matter here.
  public let request: ImageRequest
  private let client: HTTPClient
  private let decoder: (any ImageDecoding)?
  private let handlers: Handlers?
  private let state = Lock(State())
  private let mailbox: DownloadMailbox

  /// Creates an operation that downloads and decodes.
  ///
  /// - Parameters:
  ///   - request: The address, headers, size and processors.
  ///   - transport: What downloads.
  ///   - decoder: What decodes, on threads of its own.
  public convenience init(
    request: ImageRequest, transport: any HTTPTransport = CurlTransport.shared,
    decoder: any ImageDecoding = ImageDecoder()
  ) {
    self.init(request: request, client: HTTPClient(transport: transport), decoder: decoder, handlers: nil)
  }

  /// Creates an operation that downloads and decodes a picture at its own size.
  public convenience init(
    url: URL, transport: any HTTPTransport = CurlTransport.shared, decoder: any ImageDecoding = ImageDecoder()
  ) {
    self.init(request: ImageRequest(url: url), transport: transport, decoder: decoder)
  }

  /// Creates an operation that downloads and decodes nothing: ``original`` is its result, for instance
  /// for a ``DecodeOperation`` that depends on it.
  public convenience init(
    downloading request: ImageRequest, transport: any HTTPTransport = CurlTransport.shared
  ) {
    self.init(request: request, client: HTTPClient(transport: transport), decoder: nil, handlers: nil)
  }

  /// Creates an operation that downloads, decodes nothing and tells a closure.
  convenience init(downloading request: ImageRequest, client: HTTPClient, handlers: Handlers) {
    self.init(request: request, client: client, decoder: nil, handlers: handlers)
  }

  private init(
    request: ImageRequest, client: HTTPClient, decoder: (any ImageDecoding)?, handlers: Handlers?
  ) {
    self.request = request
    self.client = client
    self.decoder = decoder
    self.handlers = handlers
    mailbox = DownloadMailbox()
    super.init()
    if request.priority != .normal { queuePriority = .init(request.priority) }
  }

  // MARK: Results

  /// Who is told of what happens. It is not kept alive, and nothing is called after it has been told of
  /// the end.
  public weak var delegate: (any DownloadOperationDelegate)? {
    get { mailbox.delegate }
    set { mailbox.delegate = newValue }
  }

  /// Where the delegate is called; `nil`, the default, for the main actor. Calls come one after the other
  /// on any queue.
  public var delegateQueue: OperationQueue? {
    get { mailbox.queue }
    set { mailbox.queue = newValue }
  }

  /// The picture or the error; `nil` before the end, and where nothing was to be decoded and nothing failed.
  public var result: Result<ImageContainer, ImagePipeline.Error>? { state.withLock { $0.result } }

  /// The bytes as they were downloaded, of an operation that does not decode; `nil` before the end and
  /// where the download failed.
  public var original: DownloadedOriginal? { state.withLock { $0.original } }

  // MARK: Operation

  /// Which of the waiting operations goes first, in the queue and then in the transport.
  public override var queuePriority: Operation.QueuePriority {
    didSet { state.withLock { $0.transfer }?.setPriority(.init(queuePriority)) }
  }

  public override func execute() {
    var httpRequest = HTTPRequest(
      url: request.url, headers: request.headers, priority: .init(queuePriority))
    httpRequest.addressPolicy = request.addressPolicy
    let receiver = DataReceiver(
      request: httpRequest,
      onResponse: { [self] in didReceive($0) },
      onProgress: { [self] in didReceive($0, of: $1) },
      onCompletion: { [self] in didDownload($0) })
    let transfer = client.load(httpRequest, receiver: receiver)
    let hasEnded = state.withLock { state in
      if !state.hasEnded { state.transfer = transfer }
      return state.hasEnded
    }
    // Harmless where the transfer itself was the end; needed where the operation was cancelled meanwhile.
    if hasEnded { transfer.cancel() }
  }

  public override func didCancel() { end(.failure(error(.download, .cancelled))) }

  // MARK: The download

  private func didReceive(_ head: HTTPResponseHead) {
    state.withLock { $0.status = head.status }
    guard !isCancelled else { return }
    if !isAcceptable(head.status) {
      if let length = head.contentLength, length > Self.maximumErrorBodySize {
        end(.failure(error(.download, .status(head.status))))
      }
      return
    }
    handlers?.onResponse?(head)
    mailbox.post(from: self) { $0.head = head }
  }

  private func didReceive(_ received: Int, of total: Int?) {
    guard !isCancelled else { return }
    let status = state.withLock { $0.status }
    guard isAcceptable(status) else {
      if received > Self.maximumErrorBodySize { end(.failure(error(.download, .status(status)))) }
      return
    }
    handlers?.onProgress?(received, total)
    mailbox.post(from: self) { $0.progress = (received, total) }
  }

  private func didDownload(
    _ result: Result<(head: HTTPResponseHead, data: Data, metrics: HTTPTransferMetrics), HTTPTransportError>
  ) {
    switch result {
    case .failure(let failure):
      end(.failure(error(.download, failure.code == .cancelled ? .cancelled : .transport(failure))))
    case .success(let response):
      guard isAcceptable(response.head.status) else {
        return end(.failure(error(.download, .status(response.head.status))))
      }
      let original = DownloadedOriginal(data: response.data, head: response.head, metrics: response.metrics)
      mailbox.post(from: self) { $0.original = original }
      if let decoder { decode(original, with: decoder) } else { end(.success(nil), original: original) }
    }
  }

  /// Whether a status comes with a picture. 206 does not: no part was asked for.
  private func isAcceptable(_ status: Int) -> Bool {
    (200..<300).contains(status) && (status != 206 || request.headers["Range"] != nil)
  }

  private func decode(_ original: DownloadedOriginal, with decoder: any ImageDecoding) {
    let decode = DecodeOperation(data: original.data, request: request, decoder: decoder) { [self] result in
      end(result.map { $0 })
    }
    decode.queuePriority = queuePriority
    let hasEnded = state.withLock { state in
      state.decode = decode
      return state.hasEnded
    }
    if !hasEnded { Self.decodeQueue.addOperation(decode) }
  }

  // MARK: The end

  /// Ends the operation; calls after the first change nothing.
  private func end(
    _ result: Result<ImageContainer?, ImagePipeline.Error>, original: DownloadedOriginal? = nil
  ) {
    let work: (transfer: (any HTTPTransfer)?, decode: DecodeOperation?)? = state.withLock { state in
      guard !state.hasEnded else { return nil }
      state.hasEnded = true
      state.original = original
      switch result {
      case .success(let image): state.result = image.map { .success($0) }
      case .failure(let error): state.result = .failure(error)
      }
      defer {
        state.transfer = nil
        state.decode = nil
      }
      return (state.transfer, state.decode)
    }
    guard let work else { return }
    if case .failure = result {
      work.transfer?.cancel()
      work.decode?.cancel()
    }
    if let handlers {
      switch result {
      case .success: if let original { handlers.onCompletion(.success(original)) }
      case .failure(let error): handlers.onCompletion(.failure(error))
      }
    }
    mailbox.post(from: self) { $0.end = result }
    finish()
  }

  private func error(_ stage: ImagePipeline.Error.Stage, _ cause: ImagePipeline.Error.Cause)
    -> ImagePipeline.Error
  {
    ImagePipeline.Error(url: request.url, stage: stage, cause: cause)
  }
}

/// An original as it was downloaded.
public struct DownloadedOriginal: Sendable {
  /// The bytes.
  public var data: Data
  /// The response's head; its address is the one behind all redirects.
  public var head: HTTPResponseHead
  /// What the download took.
  public var metrics: HTTPTransferMetrics

  /// Creates an original.
  public init(data: Data, head: HTTPResponseHead, metrics: HTTPTransferMetrics = .init()) {
    self.data = data
    self.head = head
    self.metrics = metrics
  }
}

extension ImageRequest.Priority {
  /// The priority that an operation's stands for.
  init(_ priority: Operation.QueuePriority) {
    self =
      switch priority {
      case .veryLow: .veryLow
      case .low: .low
      case .high: .high
      case .veryHigh: .veryHigh
      default: .normal
      }
  }
}

extension Operation.QueuePriority {
  /// The operation's priority that a request's stands for.
  init(_ priority: ImageRequest.Priority) {
    self =
      switch priority {
      case .veryLow: .veryLow
      case .low: .low
      case .normal: .normal
      case .high: .high
      case .veryHigh: .veryHigh
      }
  }
}
