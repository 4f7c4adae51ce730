import Foundation
import Synchronization

/// Loads prints: from the memory cache, the disk cache, or the network, each picture once however many
/// tasks ask for it.
///
/// ```swift
/// let image = try await ImagePipeline.shared.image(for: url)
/// ```
///
/// A pipeline may be used from any thread. A memory hit answers in the same turn; everything else happens
/// off the caller's thread.
public final class ImagePipeline: Sendable {
  /// The parts and limits that the pipeline was made with.
  public let configuration: Configuration

  /// Changes what the pipeline does and sees what happens in it. Held weakly.
  public var delegate: (any ImagePipelineDelegate)? {
    get { delegateBox.withLock { $0.value } }
    set {
      delegateBox.withLock { $0.value = newValue }
      hasDelegate.store(newValue != nil, ordering: .relaxed)
    }
  }

  struct WeakDelegate { weak var value: (any ImagePipelineDelegate)? }
  private let delegateBox = Lock(WeakDelegate())
  private let hasDelegate = Atomic<Bool>(false)

  let core: Lock<Core>
  /// What all loads keep to, for each policy of what counts as fresh.
  let exchangeRules: ExchangeRules
  /// What the keys of prints end with that the configuration's credentials may have been needed for.
  private let credentials: String
  let workQueue: WorkQueue
  /// The decoder, where it is one that makes previews.
  let previewDecoder: (any PreviewDecoding)?
  /// Where a larger print may be found for a smaller one.
  let printIndex: Lock<PrintIndex>
  /// Counts print loads that ended, so that a caller who missed the memory cache knows whether to look again.
  let endedLoads = Atomic<Int>(0)

  private let isSparing = Atomic<Bool>(false)

  let memoryMonitor: MemoryPressureMonitor
  let watchesMemory = Atomic<Bool>(false)
  let memoryObservation = Lock<MemoryPressureMonitor.Observation?>(nil)
  /// The prefetchers that are told of a want of memory.
  let prefetchers = Lock<[WeakPrefetcher]>([])

  /// Creates a pipeline from its parts.
  public convenience init(configuration: Configuration) {
    self.init(configuration: configuration, memoryMonitor: .shared)
  }

  /// Creates a pipeline that listens to a monitor of the caller's.
  init(configuration: Configuration, memoryMonitor: MemoryPressureMonitor) {
    self.configuration = configuration.withIsolatedDecoder()
    self.memoryMonitor = memoryMonitor
    core = Lock(Core(configuration: configuration))
    exchangeRules = ExchangeRules(configuration)
    credentials = configuration.headers.credentialsKey
    previewDecoder = self.configuration.decoder as? any PreviewDecoding
    printIndex = Lock(PrintIndex(targetSizes: configuration.printSizes))
    workQueue = WorkQueue(label: "calotype.work", width: configuration.decodingWidth)
  }

  /// The delegate, without taking a lock where there is none.
  var currentDelegate: (any ImagePipelineDelegate)? {
    hasDelegate.load(ordering: .relaxed) ? delegate : nil
  }

  // MARK: Asking

  /// A request with what the configuration adds to it.
  func completed(_ request: ImageRequest) -> ImageRequest {
    request.withDefault(configuration.addressPolicy).filed(by: credentials)
  }

  /// The print for a request: its pixels.
  ///
  /// Cancelling the Swift task that waits cancels the load, unless others wait for it.
  public nonisolated(nonsending) func image(for request: ImageRequest) async throws(Error) -> Bitmap {
    let request = completed(request)
    if request.cachePolicy.readsStored, let image = answerInMemory(for: request) { return image.bitmap }
    return try await task(for: request).response.image
  }

  /// The picture at an address, at its own size.
  public nonisolated(nonsending) func image(for url: URL) async throws(Error) -> Bitmap {
    try await image(for: ImageRequest(url: url))
  }

  /// Starts a request and returns the task that waits for it.
  public func task(for request: ImageRequest) -> ImageTask { start(request) }

  /// Starts a request for the picture at an address, at its own size.
  public func task(for url: URL) -> ImageTask { start(ImageRequest(url: url)) }

  /// The print that the memory cache holds for a request, or `nil`. It answers at once and asks nothing else.
  ///
  /// A print that is stale is held back, as the server may have another, unless the request or its
  /// ``FreshnessPolicy`` takes it.
  public func cachedImage(for request: ImageRequest) -> ImageContainer? {
    let request = completed(request)
    guard let image = configuration.memoryCache?.image(for: request.cacheKey) else { return nil }
    return image.isFresh || freshness(of: request) == .staleWhileRevalidate || request.cachePolicy.takesStale
      ? image : nil
  }

  /// The print in memory that answers a request for good.
  func answerInMemory(for request: ImageRequest) -> ImageContainer? {
    guard let image = configuration.memoryCache?.image(for: request.cacheKey) else { return nil }
    return image.isFresh || request.cachePolicy.takesStale ? image : nil
  }

  /// The original's bytes, from the disk cache or the network. They are not decoded, but told by their
  /// first bytes: only those of an image are stored.
  public nonisolated(nonsending) func data(for request: ImageRequest) async throws(Error) -> DataResponse {
    let request = completed(request)
    guard request.extrasBox == nil else { return try await dataWithAlternatives(for: request) }
    return try await ownData(for: request)
  }

  /// The bytes at a request's own address.
  nonisolated(nonsending) func ownData(for request: ImageRequest) async throws(Error) -> DataResponse {
    let load = DataLoad(request: request)
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in start(load) { continuation.resume(returning: $0) } }
    } onCancel: {
      cancel(load)
    }
    let original = try result.get()
    return DataResponse(
      data: original.data, status: original.metadata.status, headers: original.metadata.headers,
      source: original.source, isStale: original.outcome.isStale, age: original.outcome.age,
      metrics: metrics(since: load.startTime, original))
  }

  /// An original's bytes and where they came from.
  public struct DataResponse: Sendable {
    /// The bytes as downloaded.
    public var data: Data
    /// The status that they came with.
    public var status: Int
    /// The headers that they came with.
    public var headers: HTTPHeaders
    /// Where they came from.
    public var source: ImageResponse.Source
    /// Whether they are stale: see ``ImageResponse/isStale``.
    public var isStale = false
    /// How many seconds ago the server sent or confirmed them: see ``ImageResponse/age``.
    public var age: Double?
    /// What it took.
    public var metrics: ImageTaskMetrics
  }

  /// Whether the network is to be spared, as while it is metered or slow: then a request's
  /// ``ImageRequest/lowDataURL`` is asked in the place of its own address, where that is in no cache. The program
  /// says so (NetworkManager's `Metered` tells on a desktop); it holds for what is started from then on.
  public var sparesData: Bool {
    get { isSparing.load(ordering: .relaxed) }
    set { isSparing.store(newValue, ordering: .relaxed) }
  }

  // MARK: Holding back

  /// Whether downloads are held back, as while a person scrolls. Downloads under way run to their end and
  /// are delivered, and the caches answer; no download starts. When it is set back to `false` the most
  /// urgent start first.
  public var isSuspended: Bool {
    get { core.withLock { $0.isSuspended } }
    set {
      let admitted = core.withLock { core -> [OriginalLoad] in
        core.isSuspended = newValue
        return core.admitDownloads(now: monotonicNanoseconds())
      }
      start(admitted)
    }
  }

  /// How many downloads run and how many wait for their turn.
  package var downloadCounts: (running: Int, waiting: Int) { core.withLock { $0.downloadCounts } }

  /// Waits until everything that was delivered has also been stored.
  public func flush() async {
    await withUnsafeContinuation { continuation in
      let isIdle = core.withLock { core in
        guard !core.isIdle else { return true }
        core.idleWaiters.append(continuation)
        return false
      }
      if isIdle { continuation.resume() }
    }
  }
}

extension ImageRequest.CachePolicy {
  /// Whether what the caches hold may answer.
  var readsStored: Bool {
    switch self {
    case .default, .forceCache, .onlyIfCached: true
    case .reload, .noCache, .noStore: false
    }
  }

  /// Whether what the caches hold may answer however old it is.
  var takesStale: Bool { self == .forceCache || self == .onlyIfCached }
}
