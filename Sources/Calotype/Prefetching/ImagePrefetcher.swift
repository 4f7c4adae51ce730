import Foundation

/// Loads pictures before anyone asks for them, such as those of the rows that a list will show next.
///
/// A prefetch is the same load as any other, at ``ImageRequest/Priority/veryLow``: whoever shows the picture
/// meanwhile joins it and raises its priority, and stopping the prefetch then changes nothing for them. It never
/// delays what is visible: it waits for everything else, its downloads take no place from others
/// (``ImagePipeline/Configuration/maximumConcurrentDownloads``), and its decodes leave a thread free.
///
/// ```swift
/// let prefetcher = ImagePrefetcher(destination: .disk)
/// prefetcher.start(with: requestsOfTheNextRows)
/// prefetcher.stop(with: requestsOfRowsThatTurnedOutFarAway)
/// ```
///
/// When memory is short, what has not begun is cancelled. When its last reference goes, everything is stopped.
public final class ImagePrefetcher: Sendable {
  /// What a prefetch leaves behind.
  public enum Destination: String, Hashable, Sendable, CaseIterable {
    /// The finished print in the memory cache, and on disk what the pipeline's policy keeps there.
    case memory
    /// What the pipeline's policy keeps on disk, the original or the print; nothing in memory.
    case disk
    /// The original on disk. It is not decoded.
    case original
  }

  /// How far it is, since there was last nothing to do.
  public struct Progress: Hashable, Sendable {
    /// Requests that have been loaded, or were there.
    public var loaded = 0
    /// Requests that have failed.
    public var failed = 0
    /// Requests that were stopped, or cancelled for want of memory.
    public var stopped = 0
    /// Requests in all.
    public var total = 0

    /// Requests that have ended.
    public var ended: Int { loaded + failed + stopped }
    /// 0 to 1; 1 where there is nothing to do.
    public var fraction: Double { total == 0 ? 1 : Double(ended) / Double(total) }

    /// Creates a progress of nothing.
    public init() {}
  }

  /// Something that happened.
  public enum Event: Sendable {
    /// A request has ended, as each does once: where the picture came from, or why there is none; cancelled
    /// where it was stopped.
    case finished(ImageRequest, Result<ImageResponse.Source, ImagePipeline.Error>)
    /// Nothing is left to do; what came of it all.
    case idle(Progress)
  }

  /// Loads the pictures.
  public let pipeline: ImagePipeline
  /// What is left behind.
  public let destination: Destination
  /// How many loads are under way at once.
  public let maximumConcurrentLoads: Int

  private enum Work {
    case task(ImageTask)
    case data(DataLoad)
  }

  private struct Entry {
    let request: ImageRequest
    /// Tells this entry from earlier ones of its key.
    let token: UInt64
    var isRunning = false
    /// Missing for a moment while it is being started.
    var work: Work?
    var isStopped = false
  }

  private struct State {
    var entries: [ImageCacheKey: Entry] = [:]
    /// What waits, in order from ``head`` on. What has been stopped stays until its turn comes.
    var queue: [(key: ImageCacheKey, token: UInt64)] = []
    var head = 0
    var running = 0
    var lastToken: UInt64 = 0
    var isPaused = false
    /// Whether a thread is starting loads, so that no other need.
    var isStarting = false
    var progress = Progress()
    var observers: [AsyncStream<Event>.Continuation] = []
  }

  private let state = Lock(State())

  /// Creates a prefetcher.
  ///
  /// - Parameters:
  ///   - pipeline: Loads the pictures.
  ///   - destination: What is left behind, ``Destination/memory`` by default.
  ///   - maximumConcurrentLoads: How many loads are under way at once, at least 1; 2 by default.
  public init(
    pipeline: ImagePipeline = .shared, destination: Destination = .memory, maximumConcurrentLoads: Int = 2
  ) {
    self.pipeline = pipeline
    self.destination = destination
    self.maximumConcurrentLoads = max(1, maximumConcurrentLoads)
    pipeline.prefetchers.withLock { prefetchers in
      prefetchers.removeAll { $0.value == nil }
      prefetchers.append(WeakPrefetcher(value: self))
    }
  }

  deinit {
    let (works, observers) = state.withLock { ($0.entries.values.compactMap(\.work), $0.observers) }
    for work in works { cancel(work) }
    for observer in observers { observer.finish() }
  }

  // MARK: Asking

  /// Loads prints. What is being prefetched already is not asked for twice; the requests' own priorities do not
  /// count.
  public func start(with requests: [ImageRequest]) {
    let isNew = state.withLock { state in
      let before = state.progress.total
      for var request in requests {
        let key = key(of: request)
        guard state.entries[key] == nil else { continue }
        request.priority = .veryLow
        switch destination {
        case .memory: request.storage.formUnion(.memory)
        case .disk: request.storage = .disk
        case .original: request.storage = .diskOriginal
        }
        state.lastToken += 1
        state.entries[key] = Entry(request: request, token: state.lastToken)
        state.queue.append((key, state.lastToken))
        state.progress.total += 1
      }
      // Lists that are scrolled to and fro ask and stop again and again.
      if state.queue.count - state.head > 2 * state.entries.count + 64 {
        state.queue = state.queue[state.head...].filter { [entries = state.entries] in
          entries[$0.key]?.token == $0.token
        }
        state.head = 0
      }
      return state.progress.total > before
    }
    // Off the caller's thread, which may be the main thread: thousands may have to be looked up.
    if isNew { goOnElsewhere() }
  }

  /// Loads the pictures at addresses, at their own size.
  public func start(with urls: [URL]) { start(with: urls.map { ImageRequest(url: $0) }) }

  /// Stops the prefetches of requests. What others wait for by now goes on for them.
  public func stop(with requests: [ImageRequest]) { stop(keys: requests.map(key)) }

  /// Stops the prefetches of the pictures at addresses, at their own size.
  public func stop(with urls: [URL]) { stop(with: urls.map { ImageRequest(url: $0) }) }

  /// Stops every prefetch.
  public func stop() { stop(keys: state.withLock { Array($0.entries.keys) }) }

  /// Whether nothing new is begun. What is under way goes on.
  public var isPaused: Bool {
    get { state.withLock { $0.isPaused } }
    set {
      state.withLock { $0.isPaused = newValue }
      if !newValue { goOnElsewhere() }
    }
  }

  /// How far it is, since there was last nothing to do.
  public var progress: Progress { state.withLock { $0.progress } }

  /// Everything that happens from now on. Each use makes a stream of its own, which ends with the prefetcher.
  public var events: AsyncStream<Event> {
    AsyncStream { continuation in state.withLock { $0.observers.append(continuation) } }
  }

  // MARK: Working

  private func key(of request: ImageRequest) -> ImageCacheKey {
    // Prints of one picture share their original.
    destination == .original ? ImageCacheKey(address: request.cacheKey.address) : request.cacheKey
  }

  private func goOnElsewhere() {
    pipeline.workQueue.submit(priority: .veryLow) { [weak self] in self?.goOn() }
  }

  /// Begins what there is a place for.
  private func goOn() {
    let isMine = state.withLock { state in
      guard !state.isStarting else { return false }
      state.isStarting = true
      return true
    }
    guard isMine else { return }
    while let (key, entry) = state.withLock({ next(&$0) }) { begin(entry, key) }
  }

  /// The next to begin, which then counts as running; `nil` where there is none or no place.
  private func next(_ state: inout State) -> (ImageCacheKey, Entry)? {
    while !state.isPaused, state.running < maximumConcurrentLoads, state.head < state.queue.count {
      let (key, token) = state.queue[state.head]
      state.head += 1
      if state.head >= 1024, state.head * 2 > state.queue.count {
        state.queue.removeFirst(state.head)
        state.head = 0
      }
      guard let entry = state.entries[key], entry.token == token else { continue }
      state.entries[key]?.isRunning = true
      state.running += 1
      return (key, entry)
    }
    if state.head == state.queue.count {
      state.queue = []
      state.head = 0
    }
    state.isStarting = false
    return nil
  }

  private func begin(_ entry: Entry, _ key: ImageCacheKey) {
    let token = entry.token
    let request = pipeline.completed(entry.request)
    if destination == .memory, request.cachePolicy.readsStored, pipeline.answerInMemory(for: request) != nil {
      return finished(key, token, .success(.memory))
    }
    let work: Work
    if wantsOnlyTheOriginal(request) {
      let load = DataLoad(request: request)
      work = .data(load)
      pipeline.start(load) { [weak self] result in self?.finished(key, token, result.map(\.source)) }
    } else {
      let task = pipeline.start(request, looksInMemory: destination == .memory)
      work = .task(task)
      task.whenFinished { [weak self] result in self?.finished(key, token, result.map(\.source)) }
    }
    let isStopped = state.withLock { state in
      guard state.entries[key]?.token == token else { return false }
      state.entries[key]?.work = work
      return state.entries[key]?.isStopped ?? false
    }
    if isStopped { cancel(work) }
  }

  private func wantsOnlyTheOriginal(_ request: ImageRequest) -> Bool {
    switch destination {
    case .memory: false
    case .original: true
    case .disk:
      request.cacheKey.variant.isEmpty || pipeline.configuration.diskStorage == .originals
    }
  }

  private func finished(
    _ key: ImageCacheKey, _ token: UInt64, _ result: Result<ImageResponse.Source, ImagePipeline.Error>
  ) {
    state.withLock { state in
      guard let entry = state.entries[key], entry.token == token else { return }
      state.entries[key] = nil
      state.running -= 1
      end(entry.request, with: result, in: &state)
    }
    goOn()
  }

  /// Counts a request as ended and tells of it.
  private func end(
    _ request: ImageRequest, with result: Result<ImageResponse.Source, ImagePipeline.Error>,
    in state: inout State
  ) {
    switch result {
    case .success: state.progress.loaded += 1
    case .failure(let error) where error.isCancelled: state.progress.stopped += 1
    case .failure: state.progress.failed += 1
    }
    // Told under the lock, so that the order is the same for all; a stream only takes it in.
    tell(.finished(request, result), in: &state)
    guard state.entries.isEmpty else { return }
    tell(.idle(state.progress), in: &state)
    state.progress = Progress()
  }

  private func tell(_ event: Event, in state: inout State) {
    state.observers.removeAll { observer in
      if case .terminated = observer.yield(event) { true } else { false }
    }
  }

  // MARK: Stopping

  /// Drops what has not begun: memory is short.
  func cancelWaiting() {
    stop(keys: state.withLock { $0.entries.filter { !$0.value.isRunning }.map(\.key) }, evenRunning: false)
  }

  private func stop(keys: [ImageCacheKey], evenRunning: Bool = true) {
    let works = state.withLock { state -> [Work] in
      var works: [Work] = []
      for key in keys {
        guard let entry = state.entries[key] else { continue }
        if entry.isRunning {
          guard evenRunning else { continue }
          state.entries[key]?.isStopped = true
          if let work = entry.work { works.append(work) }
        } else {
          state.entries[key] = nil
          let error = ImagePipeline.Error(url: entry.request.url, stage: .request, cause: .cancelled)
          end(entry.request, with: .failure(error), in: &state)
        }
      }
      return works
    }
    // Each ends with its load's own word.
    for work in works { cancel(work) }
  }

  private func cancel(_ work: Work) {
    switch work {
    case .task(let task): task.cancel()
    case .data(let load): pipeline.cancel(load)
    }
  }
}

/// A prefetcher as its pipeline knows it.
struct WeakPrefetcher: Sendable {
  private(set) weak var value: ImagePrefetcher?

  init(value: ImagePrefetcher) { self.value = value }
}
