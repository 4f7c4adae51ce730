import Dispatch

/// The index of a cache's entries, kept in batches on a queue of its own. Nothing that reads entries waits
/// for it.
final class DiskIndex: Sendable {
  private struct Pending {
    var changes = IndexChanges()
    /// When a batch is due, on the clock of `DispatchTime`, in nanoseconds.
    var due: UInt64?
    var latest: Int64 = 0
  }

  private let pending = Lock(Pending())
  private let queue: DispatchQueue
  private let worker: IndexWorker
  private let clock: @Sendable () -> Double
  /// Bytes stored that make a batch due at once.
  private let urgentBytes: Int

  private static let storeDelay: UInt64 = 200_000_000
  private static let useDelay: UInt64 = 2_000_000_000
  private static let urgentCount = 1000
  /// What cannot be written is kept up to this many entries; the claim's note remembers the rest.
  private static let keptAfterFailure = 20_000

  init(folders: FolderHolder, configuration: DiskCache.Configuration, clock: @escaping @Sendable () -> Double)
  {
    queue = DispatchQueue(label: "calotype.disk-cache.index", qos: .utility)
    worker = IndexWorker(folders: folders, configuration: configuration, clock: clock)
    self.clock = clock
    urgentBytes = max(16_384, (configuration.sizeLimit ?? 64 << 20) / 16)
  }

  /// A time for "now" that is later than every one given out before.
  private static func tick(_ pending: inout Pending, _ now: Double) -> Int64 {
    pending.latest = max(pending.latest + 1, microseconds(now))
    return pending.latest
  }

  /// Notes that an entry's file has been published.
  func noteStored(_ row: IndexRow, claim: WriterClaim) {
    var row = row
    let now = clock()
    let delay = pending.withLock { pending -> UInt64? in
      row.used = Self.tick(&pending, now)
      pending.changes.store(row, claim: claim)
      let isUrgent = pending.changes.storedBytes >= urgentBytes || pending.changes.count >= Self.urgentCount
      return Self.schedule(&pending, after: isUrgent ? 0 : Self.storeDelay)
    }
    if let delay { start(after: delay) }
  }

  /// Notes that an entry was read.
  func noteUsed(_ name: EntryName, at now: Double) {
    let delay = pending.withLock { pending -> UInt64? in
      pending.changes.use(name, at: Self.tick(&pending, now))
      return Self.schedule(&pending, after: pending.changes.count >= Self.urgentCount ? 0 : Self.useDelay)
    }
    if let delay { start(after: delay) }
  }

  /// Notes that an entry's file has been deleted.
  func noteRemoved(_ name: EntryName) {
    let delay = pending.withLock { pending -> UInt64? in
      pending.changes.remove(name)
      return Self.schedule(&pending, after: Self.storeDelay)
    }
    if let delay { start(after: delay) }
  }

  /// Waits until everything noted so far is in the index, as far as it can be.
  func flush() {
    queue.sync {
      for _ in 0..<3 where !runBatch() {}
      worker.rest()
    }
  }

  /// Runs a closure with the worker, after everything noted so far.
  func perform<Result>(_ body: (IndexWorker) -> Result) -> Result {
    queue.sync {
      _ = runBatch()
      return body(worker)
    }
  }

  /// Forgets what was noted, and runs a closure with the worker.
  func discardingChanges(_ body: (IndexWorker) -> Void) {
    queue.sync {
      let changes = pending.withLock { $0.changes.take() }
      body(worker)
      IndexChanges.settle(changes)
    }
  }

  /// Writes what is left and closes the database, without waiting for it.
  func close() {
    queue.async { [self] in
      _ = runBatch()
      worker.rest()
      worker.close()
    }
  }

  // MARK: Batches

  /// How long to wait before a batch, or `nil` where one is due that early already.
  private static func schedule(_ pending: inout Pending, after delay: UInt64) -> UInt64? {
    // The clock is only read where no batch is due, or one is wanted at once.
    if pending.due != nil, delay == useDelay { return nil }
    let due = DispatchTime.now().uptimeNanoseconds + delay
    if let earlier = pending.due, earlier <= due { return nil }
    pending.due = due
    return delay
  }

  private func start(after delay: UInt64) {
    // The index outlives its cache until the batch has run.
    let batch: @Sendable () -> Void = { [self] in
      pending.withLock { $0.due = nil }
      if !runBatch() { retryLater() }
      while worker.hasBackgroundWork, pending.withLock({ $0.due == nil }), worker.doBackgroundWork() {}
      if worker.hasBackgroundWork { retryLater() }
    }
    if delay == 0 {
      queue.async(execute: batch)
    } else {
      Timers.shared.after(Double(delay) / 1e9) { [queue] in queue.async(execute: batch) }
    }
  }

  private func retryLater() {
    let delay = pending.withLock { Self.schedule(&$0, after: 1_000_000_000) }
    if let delay { start(after: delay) }
  }

  /// Writes what has been noted; `false` where others held the index for too long.
  private func runBatch() -> Bool {
    let changes = pending.withLock { $0.changes.take() }
    let outcome = worker.write(changes) { name in pending.withLock { $0.changes.willStore(name) } }
    switch outcome {
    case .written:
      IndexChanges.settle(changes)
      return true
    case .busy:
      pending.withLock { $0.changes.restore(changes) }
      return false
    case .failed:
      pending.withLock { pending in
        if pending.changes.count + changes.count < Self.keptAfterFailure { pending.changes.restore(changes) }
      }
      return true
    }
  }

  static func microseconds(_ seconds: Double) -> Int64 { Int64(max(-9e12, min(9e12, seconds)) * 1e6) }
}
