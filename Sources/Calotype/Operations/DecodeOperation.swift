import Foundation

// Sound as Sendable: what changes is behind a lock.
/// Decodes an original and applies the request's processors, on the thread that its queue gives it.
///
/// Cancelling it reaches into the decode: it ends within a few rows.
public final class DecodeOperation: Operation, @unchecked Sendable {
  private enum Source {
    case data(Data)
    case download(DownloadOperation)
  }

  /// What is asked for: its size and processors matter here.
  public let request: ImageRequest

  private let decoder: any ImageDecoding
  private let limits: ImageDecodingLimits
  private let cancellation = CancellationFlag()
  private let state: Lock<(source: Source?, result: Result<ImageContainer, ImagePipeline.Error>?)>
  private let onResult: (@Sendable (Result<ImageContainer, ImagePipeline.Error>) -> Void)?

  /// Creates an operation that decodes bytes.
  public convenience init(
    data: Data, request: ImageRequest, decoder: any ImageDecoding = ImageDecoder(),
    limits: ImageDecodingLimits = .init()
  ) {
    self.init(.data(data), request, decoder, limits, onResult: nil)
  }

  /// Creates an operation that decodes what a download brings, and depends on it. The download is to be
  /// one that does not decode, made with ``DownloadOperation/init(downloading:transport:)``.
  public convenience init(
    download: DownloadOperation, decoder: any ImageDecoding = ImageDecoder(),
    limits: ImageDecodingLimits = .init()
  ) {
    self.init(.download(download), download.request, decoder, limits, onResult: nil)
    addDependency(download)
  }

  /// Creates an operation that decodes bytes and tells a closure on its thread. The closure is not called
  /// where the operation is cancelled before its start.
  convenience init(
    data: Data, request: ImageRequest, decoder: any ImageDecoding,
    onResult: @escaping @Sendable (Result<ImageContainer, ImagePipeline.Error>) -> Void
  ) {
    self.init(.data(data), request, decoder, .init(), onResult: onResult)
  }

  private init(
    _ source: Source, _ request: ImageRequest, _ decoder: any ImageDecoding, _ limits: ImageDecodingLimits,
    onResult: (@Sendable (Result<ImageContainer, ImagePipeline.Error>) -> Void)?
  ) {
    self.request = request
    self.decoder = decoder
    self.limits = limits
    self.onResult = onResult
    state = Lock((source, nil))
  }

  /// The picture or the error; `nil` before the end.
  public var result: Result<ImageContainer, ImagePipeline.Error>? {
    state.withLock { $0.result } ?? (isFinished && isCancelled ? .failure(error(.decode, .cancelled)) : nil)
  }

  /// Ends the operation early; a decode under way stops within a few rows.
  public override func cancel() {
    super.cancel()
    cancellation.cancel()
  }

  /// Runs ``main()``, unless the operation has been cancelled.
  public override func start() {
    super.start()
    if isCancelled { leaveDependencies() }
  }

  /// Decodes and processes, unless cancelled before.
  public override func main() {
    let result: Result<ImageContainer, ImagePipeline.Error>
    do throws(ImagePipeline.Error) {
      result = .success(try process(try decode(try original())))
    } catch {
      result = .failure(error)
    }
    state.withLock { state in
      state.result = result
      state.source = nil
    }
    onResult?(result)
  }

  private func original() throws(ImagePipeline.Error) -> Data {
    try checkCancelled(.decode)
    switch state.withLock({ $0.source }) {
    case .data(let data): return data
    case .download(let download):
      if let original = download.original { return original.data }
      if case .failure(let failure) = download.result { throw failure }
      throw error(.decode, .invalidRequest("the download that this decode depends on has no bytes to decode"))
    case nil: throw error(.decode, .cancelled)
    }
  }

  private func decode(_ data: Data) throws(ImagePipeline.Error) -> ImageContainer {
    try checkCancelled(.decode)
    do {
      return try decoder.decode(data, for: request, limits: limits, cancellation: cancellation)
    } catch {
      throw self.error(.decode, error == .cancelled ? .cancelled : .decoding(error))
    }
  }

  private func process(_ container: ImageContainer) throws(ImagePipeline.Error) -> ImageContainer {
    var container = container
    for processor in request.processors {
      try checkCancelled(.process)
      do {
        container.bitmap = try processor.process(container.bitmap, within: limits, cancellation: cancellation)
      } catch {
        if cancellation.isCancelled || error is CancellationError { throw self.error(.process, .cancelled) }
        throw self.error(
          .process, .processing(identifier: processor.identifier, reason: String(describing: error)))
      }
    }
    try checkCancelled(.process)
    return container
  }

  private func checkCancelled(_ stage: ImagePipeline.Error.Stage) throws(ImagePipeline.Error) {
    if isCancelled { throw error(stage, .cancelled) }
  }

  private func error(_ stage: ImagePipeline.Error.Stage, _ cause: ImagePipeline.Error.Cause)
    -> ImagePipeline.Error
  {
    ImagePipeline.Error(url: request.url, stage: stage, cause: cause)
  }
}
