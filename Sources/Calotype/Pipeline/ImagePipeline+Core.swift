import Foundation

extension ImagePipeline {
  /// What changes in a pipeline: the loads under way and the downloads that wait. It is kept under one lock
  /// that is never held across work.
  struct Core {
    private var printTable = HashedTable<PrintLoad>()
    private var originalTable = HashedTable<OriginalLoad>()
    /// Stores that go on after their load was delivered.
    var storesUnderWay = 0
    var idleWaiters: [UnsafeContinuation<Void, Never>] = []
    /// When the downloads are looked at again on their own.
    var wakeTime: UInt64?
    private var downloads: TransferScheduler<OriginalLoad>
    /// What each host that has failed lately is worth in further tries.
    private var retryBudgets: [String: HostRetryBudget] = [:]

    init(configuration: Configuration) {
      var limits = TransferScheduler<OriginalLoad>.Limits()
      limits.maximumConcurrent = max(1, configuration.maximumConcurrentDownloads)
      limits.maximumPerHost = max(1, configuration.maximumConcurrentDownloadsPerHost)
      limits.order = configuration.downloadOrder
      if let rate = configuration.maximumDownloadsPerSecondPerHost, rate > 0 {
        limits.minimumStartInterval = UInt64(min(1e9 / rate, 3.6e12))
      }
      downloads = TransferScheduler(limits: limits)
    }

    var isIdle: Bool { printTable.count == 0 && originalTable.count == 0 && storesUnderWay == 0 }

    // MARK: The loads under way

    /// All prints' loads, in no order.
    var prints: [PrintLoad] { printTable.elements }
    /// All originals' loads, in no order.
    var originals: [OriginalLoad] { originalTable.elements }

    /// A print's load.
    func print(_ key: PrintLoad.Key) -> PrintLoad? {
      printTable.find(key.print.cacheHash) { $0.key == key }
    }

    mutating func add(_ load: PrintLoad) {
      _ = printTable.update(load, load.requestBox.value.cacheKey.cacheHash) { $0 === load }
    }

    mutating func remove(_ load: PrintLoad) {
      _ = printTable.remove(load.requestBox.value.cacheKey.cacheHash) { $0 === load }
    }

    /// An original's load.
    func original(_ key: OriginalLoad.Key, addressHash: Int) -> OriginalLoad? {
      originalTable.find(addressHash) { $0.key == key }
    }

    mutating func add(_ load: OriginalLoad) {
      _ = originalTable.update(load, load.addressHash) { $0 === load }
    }

    mutating func remove(_ load: OriginalLoad) {
      _ = originalTable.remove(load.addressHash) { $0 === load }
    }

    // MARK: Downloads

    var isSuspended: Bool {
      get { downloads.isSuspended }
      set { downloads.isSuspended = newValue }
    }

    /// How many downloads run and how many wait.
    var downloadCounts: (running: Int, waiting: Int) { (downloads.runningCount, downloads.pendingCount) }

    /// Puts an original among the downloads that wait.
    mutating func enqueue(_ load: OriginalLoad, now: UInt64) {
      load.phase = .pending
      load.slot = downloads.enqueue(load, host: load.host, priority: load.priority, now: now)
    }

    /// The downloads that may start now, the most urgent first. They count as running from here on.
    mutating func admitDownloads(now: UInt64) -> [OriginalLoad] {
      var admitted: [OriginalLoad] = []
      while let (load, _) = downloads.next(now: now) {
        load.phase = .downloading
        admitted.append(load)
      }
      return admitted
    }

    /// How many nanoseconds from now a download may start that waits for its host's next turn alone, where
    /// nobody has been told of that yet.
    mutating func takeWaitForNextStart(now: UInt64) -> UInt64? {
      guard let next = downloads.nextStartTime else { return nil }
      if let wakeTime, wakeTime <= next, wakeTime > now { return nil }
      wakeTime = next
      return next > now ? next - now : 0
    }

    /// Takes an original out of the downloads: one that waits is dropped, one that runs frees its place.
    mutating func withdraw(_ load: OriginalLoad) {
      guard let slot = load.slot else { return }
      load.slot = nil
      if downloads.remove(slot) == nil { downloads.finish(slot) }
    }

    /// Whether a host is worth another try; counts it.
    mutating func mayRetry(_ host: String, now: Double) -> Bool {
      // Hosts without a failure have no entry, so the table is as long as the list of ailing hosts.
      if retryBudgets.count >= 1000, retryBudgets[host] == nil { retryBudgets.removeAll() }
      return retryBudgets[host, default: HostRetryBudget(now: now)].takeRetry(now: now)
    }

    /// Notes that a host answered well.
    mutating func recordSuccess(_ host: @autoclosure () -> String, now: Double) {
      guard !retryBudgets.isEmpty else { return }
      retryBudgets[host()]?.recordSuccess(now: now)
    }

    /// Moves a waiting download to where its new priority belongs.
    mutating func priorityChanged(of load: OriginalLoad) {
      if let slot = load.slot { downloads.setPriority(slot, to: load.priority) }
    }
  }
}
