import Calotype
import Foundation

/// The parts that all windows share: the pipeline with its caches, the kept lists, and who counts what happens.
@MainActor
final class Services {
  let memoryCache = MemoryCache()
  let storedLists = StoredLists()
  let activity = Activity()
  private(set) var diskCache: DiskCache
  private(set) var pipeline: ImagePipeline
  /// Pipelines of earlier settings, whose work is still under way.
  private var earlier: [ImagePipeline] = []

  init(_ preferences: Preferences) {
    (diskCache, pipeline) = Self.make(preferences, memoryCache: memoryCache, diskCache: nil)
    pipeline.delegate = activity
  }

  /// Makes the pipeline that the preferences want. What is in memory and on disk stays.
  func apply(_ preferences: Preferences) {
    earlier.append(pipeline)
    (diskCache, pipeline) = Self.make(preferences, memoryCache: memoryCache, diskCache: diskCache)
    pipeline.delegate = activity
  }

  private static func make(
    _ preferences: Preferences, memoryCache: MemoryCache, diskCache: DiskCache?
  ) -> (DiskCache, ImagePipeline) {
    let limit = preferences.cacheMegabytes == 0 ? nil : preferences.cacheMegabytes << 20
    let disk =
      diskCache.flatMap { $0.configuration.sizeLimit == limit ? $0 : nil }
      ?? DiskCache(configuration: DiskCache.Configuration(sizeLimit: limit))
    var configuration = ImagePipeline.Configuration(
      transport: CurlTransport.shared, memoryCache: memoryCache, diskCache: disk, decoder: ImageDecoder(),
      encoder: ImageEncoder())
    configuration.maximumConcurrentDownloads = preferences.downloadsAtOnce
    configuration.freshness = preferences.freshness
    // What strangers' servers send is read by somebody who has nothing to lose, wherever that can be had.
    configuration.isolation = .whenAvailable
    return (disk, ImagePipeline(configuration: configuration))
  }

  /// Ends all work and waits, for so long at most, until what was delivered has been stored.
  func shutDown(within limit: Double) {
    let pipelines = earlier + [pipeline]
    let disk = diskCache
    for pipeline in pipelines { pipeline.cancelAll() }
    let done = DispatchSemaphore(value: 0)
    Task.detached(priority: .userInitiated) {
      for pipeline in pipelines { await pipeline.flush() }
      // It waits for the disk: not on one of Swift's threads.
      DispatchQueue.global().async {
        disk.flush()
        done.signal()
      }
    }
    _ = done.wait(timeout: .now() + limit)
  }
}

/// Counts what a pipeline does, on whichever thread it happens, and tells of it now and then.
final class Activity: ImagePipelineDelegate {
  /// What has happened so far.
  struct Counts: Equatable, Sendable {
    var fromDisk = 0
    var fromNetwork = 0
    var failed = 0
  }

  private struct State {
    var counts = Counts()
    var isToldSoon = false
    var listeners: [Int: @MainActor () -> Void] = [:]
    var last = 0
  }

  private let state = Lock(State())

  var counts: Counts { state.withLock { $0.counts } }

  /// Calls a closure on the main thread after something has happened, a few times a second at most.
  func listen(_ body: @escaping @MainActor () -> Void) -> Int {
    state.withLock { state in
      state.last += 1
      state.listeners[state.last] = body
      return state.last
    }
  }

  func forget(_ listener: Int) { state.withLock { $0.listeners[listener] = nil } }

  /// Says that something has happened.
  func note(_ change: (inout Counts) -> Void = { _ in }) {
    let tells = state.withLock { state in
      change(&state.counts)
      defer { state.isToldSoon = true }
      return !state.isToldSoon
    }
    guard tells else { return }
    DispatchQueue.main.asyncAfter(deadline: .now() + 0.2) { [weak self] in
      let listeners = self?.state.withLock { state in
        state.isToldSoon = false
        return Array(state.listeners.values)
      }
      MainActor.assumeIsolated { for listener in listeners ?? [] { listener() } }
    }
  }

  func imagePipeline(_ pipeline: ImagePipeline, task: ImageTask, didReceive event: ImageTask.Event) {
    guard case .finished(let result) = event else { return }
    note { counts in
      switch result {
      case .success(let response):
        switch response.source {
        case .memory: break
        case .network: counts.fromNetwork += 1
        default: counts.fromDisk += 1
        }
      case .failure(let error): if !error.isCancelled { counts.failed += 1 }
      }
    }
  }

  func imagePipeline(
    _ pipeline: ImagePipeline, for imageRequest: ImageRequest, didReceive event: ImagePipeline.DownloadEvent
  ) { note() }
}
