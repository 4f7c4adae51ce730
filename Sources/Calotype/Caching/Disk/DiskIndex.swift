import Dispatch
import Foundation

/// The index of a cache's entries, kept in batches on a queue of its own. Nothing that reads entries waits
/// for it.
final class DiskIndex: Sendable {
  private struct Pending {
    var changes = IndexChanges()
    /// When a batch is due, on the clock of `DispatchTime`, in nanoseconds.
    var due: UInt64?
    var latest: Int64 = 0
    /// Batches that have failed one after the other.
    var failures = 0
  }

  private let pending = Lock(Pending())
  private let queue: DispatchQueue
  private let worker: IndexWorker
  private let clock: @Sendable () -> Double
  private let onDiskFull: @Sendable (_ reason: String) -> Void
  /// Bytes stored that make a batch due at once.
  private let urgentBytes: Int

  private static let storeDelay: UInt64 = 200_000_000
  private static let useDelay: UInt64 = 2_000_000_000
  private static let urgentCount = 1000
  /// What cannot be written is kept up to this many entries; the claim's note remembers the rest.
  private static let keptAfterFailure = 20_000

  /// - Parameter onDiskFull: Told where what was stored had to be taken back, since the index had no room for it.
  init(
    folders: FolderHolder, configuration: DiskCache.Configuration, clock: @escaping @Sendable () -> Double,
    onDiskFull: @escaping @Sendable (_ reason: String) -> Void
  ) {
    self.onDiskFull = onDiskFull
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
      for _ in 0..<3 { if runBatch() { break } }
      worker.rest()
    }
  }

  /// Runs a closure with the worker, after everything noted so far.
  func perform<Result>(_ body: (IndexWorker) -> Result) -> Result {
    queue.sync {
      _ = runBatch()
      worker.catchUp()
      return body(worker)
    }
  }

  /// Forgets what was noted, and runs a closure with the worker.
  func discardingChanges<Result>(_ body: (IndexWorker) -> Result) -> Result {
    queue.sync {
      let changes = pending.withLock { $0.changes.take() }
      defer { IndexChanges.settle(changes) }
      return body(worker)
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
    let delay = pending.withLock { pending in
      // A disk that cannot be written is asked again, but more and more rarely.
      Self.schedule(&pending, after: 1_000_000_000 << UInt64(min(pending.failures, 6)))
    }
    if let delay { start(after: delay) }
  }

  /// Writes what has been noted; `false` where that failed and is to be tried again.
  private func runBatch() -> Bool {
    var changes = pending.withLock { $0.changes.take() }
    while true {
      let outcome = worker.write(changes) { name in pending.withLock { $0.changes.willStore(name) } }
      switch outcome {
      case .written:
        IndexChanges.settle(changes)
        pending.withLock { $0.failures = 0 }
        return true
      case .failed where worker.isForWantOfRoom(outcome):
        let dropped = IndexChanges.removeNewest(from: &changes)
        if !dropped.isEmpty {
          worker.giveUp(dropped.keys)
          // What the index knew under these names has gone with them.
          for name in dropped.keys { changes[name] = .removed }
          IndexChanges.settle(dropped)
          onDiskFull(systemMessage(ENOSPC))
          continue
        }
      case .busy, .failed: break
      }
      return pending.withLock { pending in
        if case .failed = outcome { pending.failures += 1 }
        guard pending.changes.count + changes.count < Self.keptAfterFailure else { return true }
        pending.changes.restore(changes)
        // What was read lately can wait for what is stored next.
        return !changes.values.contains { if case .used = $0 { false } else { true } }
      }
    }
  }

  static func microseconds(_ seconds: Double) -> Int64 { Int64(max(-9e12, min(9e12, seconds)) * 1e6) }
}
