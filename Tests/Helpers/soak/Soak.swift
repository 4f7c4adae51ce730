import Foundation
import TestSupport

#if DEBUG
  @testable import Calotype
#else
  import Calotype
#endif

/// Prints a line at once, also into a pipe.
func say(_ line: String) {
  print(line)
  fflush(nil)
}

/// The whole of a soak: rounds of loads on pipelines that come and go, over one cache folder.
final class Soak: Sendable {
  private let seed: UInt64
  private let server: MisbehavingServer
  private let folder: TemporaryFolder
  private let counts = Lock(SoakCounts())
  private let stage = Lock((name: "beginning", since: ContinuousClock.now))
  private let watched = Lock<ImagePipeline?>(nil)
  /// How long one stage of a round may take, in seconds, before something is said to hang.
  private static let patience = 90.0

  init(seed: UInt64) throws {
    self.seed = seed
    server = try MisbehavingServer(seed: seed)
    folder = try TemporaryFolder()
  }

  /// Runs; whether everything held.
  func run(seconds: Double) async -> Bool {
    say("soak: \(Int(seconds)) s, seed \(seed)")
    watch()
    let start = ContinuousClock.now
    var random = SoakRandom(state: seed)
    // What is only made once is there before memory is measured.
    for _ in 0..<3 { await round(seconds: 2, &random) }
    let before = await Measures.settled()
    var next = 30.0
    while elapsed(start) < seconds {
      await round(seconds: 5, &random)
      if elapsed(start) > next {
        next += 30
        say("\(Int(elapsed(start))) s: \(counts.withLock { $0.summary }); \(Measures.now())")
      }
    }
    let after = await Measures.settled()
    server.stop()
    return report(before, after, elapsed(start))
  }

  /// Ends the program where a stage does not end: a load that never ends, or a store that is waited for.
  private func watch() {
    Thread.detachNewThread { [self] in
      while true {
        sleep(5)
        let (name, since) = stage.withLock { $0 }
        guard elapsed(since) > Self.patience else { continue }
        say("FAULT: \(name) has not ended after \(Int(elapsed(since))) s: \(counts.withLock { $0.summary })")
        if let pipeline = watched.withLock({ $0 }) { say(pipeline.soakState) }
        exit(1)
      }
    }
  }

  private func enter(_ name: String) { stage.withLock { $0 = (name, .now) } }

  private func elapsed(_ start: ContinuousClock.Instant) -> Double {
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  private func report(_ before: Measures, _ after: Measures, _ seconds: Double) -> Bool {
    let counts = counts.withLock { $0 }
    let cache = DiskCache(directory: folder.url)
    // Entries that were spoilt and that nobody has read since are found, and dropped; then there is nothing.
    let found = cache.verify().damaged.count
    let verify = cache.verify()
    say("in \(Int(seconds)) s: \(counts.summary)")
    say(
      "failures: \(counts.codes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))"
    )
    say("before: \(before)")
    say("after:  \(after)")
    say(
      "verify: \(found) spoilt entries dropped, then \(verify.entries) entries, \(verify.damaged.count) damaged, \(verify.leftovers) left behind"
    )
    var faults: [String] = []
    if counts.ended != counts.started {
      faults.append("\(counts.started - counts.ended) loads have not ended")
    }
    if counts.endedAgain > 0 { faults.append("\(counts.endedAgain) loads ended more than once") }
    if counts.wrongPictures > 0 { faults.append("\(counts.wrongPictures) loads gave another's picture") }
    if found > counts.spoilt {
      faults.append("\(found) damaged entries, of which \(counts.spoilt) were spoilt")
    }
    if !verify.isClean { faults.append("the cache is not in order") }
    // Allocators keep some of what was free; a leak of each load would be far more than this.
    if after.residentBytes > before.residentBytes + 24 << 20 { faults.append("memory has grown") }
    if after.files > before.files + 8 { faults.append("files are left open") }
    if after.threads > before.threads + 16 { faults.append("threads are left") }
    for fault in faults { say("FAULT: \(fault)") }
    say(faults.isEmpty ? "soak: all held" : "soak: \(faults.count) faults")
    return faults.isEmpty
  }

  // MARK: A round

  /// A program's life: a pipeline over the folder, loads without pause, and all of it ended.
  private func round(seconds: Double, _ random: inout SoakRandom) async {
    counts.withLock { $0.restarts += 1 }
    let cache = DiskCache(
      directory: folder.url, configuration: .init(sizeLimit: Int.random(in: 1...12, using: &random) << 20))
    var transport = CurlTransport.Configuration()
    transport.stallTimeout = 0.5
    transport.totalTimeout = 4
    var configuration = ImagePipeline.Configuration(
      transport: CurlTransport(configuration: transport),
      memoryCache: MemoryCache(configuration: .init(costLimit: 2 << 20)),
      diskCache: cache, decoder: ImageDecoder(), encoder: ImageEncoder())
    configuration.diskStorage =
      ImagePipeline.Configuration.DiskStoragePolicy.allCases.randomElement(using: &random) ?? .all
    configuration.retry.maximumTries = Int.random(in: 1...3, using: &random)
    configuration.retry.baseDelay = 0.01
    configuration.maximumOriginalSize = 1 << 20
    let pipeline = ImagePipeline(configuration: configuration)
    let ends = SoakEnds(counts)
    pipeline.delegate = ends
    watched.withLock { $0 = pipeline }
    enter("loading")
    let start = ContinuousClock.now
    await withDiscardingTaskGroup { group in
      var running = 0
      while elapsed(start) < seconds {
        let load = SoakLoad(&random, server)
        counts.withLock { $0.started += 1 }
        group.addTask { [counts] in await load.run(on: pipeline, counts) }
        running += 1
        if running % 32 == 0 {
          disturb(pipeline, cache, &random)
          try? await Task.sleep(for: .milliseconds(Int.random(in: 1...40, using: &random)))
        }
      }
      pipeline.isSuspended = false
      if Bool.random(using: &random) { pipeline.cancelAll() }
    }
    enter("the pipeline's flush")
    await pipeline.flush()
    enter("the cache's flush")
    if Bool.random(using: &random) { cache.flush() }
    enter("the pause between rounds")
    watched.withLock { $0 = nil }
    server.forget()
    withExtendedLifetime(ends) {}
  }

  /// What happens to a program beside its loads.
  private func disturb(_ pipeline: ImagePipeline, _ cache: DiskCache, _ random: inout SoakRandom) {
    switch Int.random(in: 0..<16, using: &random) {
    case 0: pipeline.handleMemoryWarning()
    case 1: cache.trim(toSize: Int.random(in: 0...(4 << 20), using: &random))
    case 2: cache.removeAll()
    case 3: pipeline.isSuspended = true
    case 4, 5: pipeline.isSuspended = false
    case 6: pipeline.cancelAll()
    case 7: spoil(cache, &random)
    case 8: try? FileManager.default.removeItem(atPath: cache.path)
    default: break
    }
    counts.withLock { $0.disturbances += 1 }
  }

  /// Flips a bit of an entry, or cuts it, as a bad disk does.
  private func spoil(_ cache: DiskCache, _ random: inout SoakRandom) {
    let shards = (try? FileManager.default.contentsOfDirectory(atPath: cache.path)) ?? []
    guard let shard = shards.filter({ $0.utf8.count == 2 }).randomElement(using: &random) else { return }
    let folder = "\(cache.path)/\(shard)"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    guard let name = names.filter({ !$0.hasPrefix("tmp-") }).randomElement(using: &random) else { return }
    let file = open("\(folder)/\(name)", O_RDWR | O_CLOEXEC)
    guard file >= 0 else { return }
    defer { close(file) }
    let length = Int(lseek(file, 0, SEEK_END))
    guard length > 0 else { return }
    let at = Int.random(in: 0..<length, using: &random)
    if Bool.random(using: &random) {
      ftruncate(file, off_t(at))
    } else {
      var byte: UInt8 = 0
      pread(file, &byte, 1, off_t(at))
      byte ^= 1 << UInt8.random(in: 0..<8, using: &random)
      pwrite(file, &byte, 1, off_t(at))
    }
    counts.withLock { $0.spoilt += 1 }
  }
}

/// What has happened so far.
struct SoakCounts: Sendable {
  var started = 0, ended = 0, endedAgain = 0
  var pictures = 0, failed = 0, cancelled = 0, wrongPictures = 0
  var restarts = 0, disturbances = 0, spoilt = 0
  var codes: [String: Int] = [:]

  var summary: String {
    "\(started) loads begun, \(ended) ended: \(pictures) pictures, \(failed) failed, \(cancelled) cancelled; "
      + "\(restarts) restarts, \(disturbances) disturbances, \(spoilt) entries spoilt"
  }
}

/// Sees that a task is said to have ended once.
private final class SoakEnds: ImagePipelineDelegate {
  private let counts: Lock<SoakCounts>
  private let ended = Lock<Set<ObjectIdentifier>>([])
  private let kept = Lock<[ImageTask]>([])

  init(_ counts: Lock<SoakCounts>) { self.counts = counts }

  func imagePipeline(_ pipeline: ImagePipeline, task: ImageTask, didReceive event: ImageTask.Event) {
    guard case .finished = event else { return }
    // Kept, so that no other task gets its place in memory.
    kept.withLock { $0.append(task) }
    if !ended.withLock({ $0.insert(ObjectIdentifier(task)).inserted }) {
      counts.withLock { $0.endedAgain += 1 }
    }
  }
}

/// One load, with what is done to it.
private struct SoakLoad: Sendable {
  let request: ImageRequest
  let color: UInt8?
  let cancelsAfter: Int?
  let changesPriority: Bool

  init(_ random: inout SoakRandom, _ server: MisbehavingServer) {
    let number = Int(random.next() % 200)
    let side = [nil, 8.0, 24, 48].randomElement(using: &random) ?? nil
    request = ImageRequest(
      url: server.url(number), targetSize: side.map { TargetSize(width: $0, height: $0) },
      priority: ImageRequest.Priority.allCases.randomElement(using: &random) ?? .normal,
      cachePolicy: Int.random(in: 0..<8, using: &random) == 0
        ? ImageRequest.CachePolicy.allCases.randomElement(using: &random) ?? .default : .default)
    color = MisbehavingServer.color(number)
    cancelsAfter = Int.random(in: 0..<3, using: &random) == 0 ? Int.random(in: 0...30, using: &random) : nil
    changesPriority = Int.random(in: 0..<8, using: &random) == 0
  }

  func run(on pipeline: ImagePipeline, _ counts: Lock<SoakCounts>) async {
    let task = pipeline.task(for: request)
    if changesPriority { task.priority = .veryHigh }
    if let cancelsAfter {
      if cancelsAfter > 0 { try? await Task.sleep(for: .milliseconds(cancelsAfter)) }
      task.cancel()
    }
    do throws(ImagePipeline.Error) {
      let image = try await task.response.image
      let isRight = image[image.width / 2, image.height / 2].red == color
      counts.withLock { counts in
        counts.ended += 1
        counts.pictures += 1
        if !isRight { counts.wrongPictures += 1 }
      }
    } catch {
      counts.withLock { counts in
        counts.ended += 1
        if error.isCancelled {
          counts.cancelled += 1
        } else {
          counts.failed += 1
          counts.codes[error.code, default: 0] += 1
        }
      }
    }
  }
}

extension ImagePipeline {
  /// What it holds, for when something does not end.
  fileprivate var soakState: String {
    #if DEBUG
      core.withLock { core in
        var lines: [String] = []
        lines.append(
          "suspended \(core.isSuspended), downloads \(core.downloadCounts), storing \(core.storesUnderWay)")
        for load in core.prints {
          let phase = load.original.map { "\($0.phase)" } ?? "no original"
          lines.append("print \(load.key.print.text) \(load.key.policy): \(load.tasks.count) tasks, \(phase)")
        }
        for load in core.originals {
          lines.append(
            "original \(load.key.address) \(load.key.policy): \(load.phase), \(load.waiters.count) waiters")
          lines.append(
            "  slot \(load.slot != nil), download \(load.download != nil), item \(load.item != nil)")
          lines.append("  revalidating \(load.isRevalidating)")
        }
        return lines.joined(separator: "\n")
      }
    #else
      "only a debug build shows what it holds"
    #endif
  }
}
