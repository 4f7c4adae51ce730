import Dispatch

extension ImagePipeline {
  /// Gives memory back: empties the memory cache, and cancels prefetches that wait, those in an
  /// ``ImagePrefetcher``'s own queue among them.
  ///
  /// A prefetch is a load that nobody wants sooner than ``ImageRequest/Priority/veryLow``; it waits for as long
  /// as neither its download nor its decode has begun. Its tasks end with ``Error/Cause/cancelled``. What
  /// anyone waits for goes on.
  ///
  /// It is called by itself when the system says that memory is short, unless the configuration says otherwise
  /// (``Configuration/respondsToMemoryPressure``).
  public func handleMemoryWarning() {
    giveMemoryBack()
    DispatchQueue.global(qos: .utility).async { SystemMemory.returnFreedMemory() }
  }

  /// Listens for the system's warnings. Called with every load; registers with the first.
  func watchMemory() {
    guard !watchesMemory.load(ordering: .relaxed), configuration.respondsToMemoryPressure,
      !watchesMemory.exchange(true, ordering: .relaxed)
    else { return }
    let observation = memoryMonitor.observe { [weak self] in self?.giveMemoryBack() }
    memoryObservation.withLock { $0 = observation }
  }

  private func giveMemoryBack() {
    configuration.memoryCache?.removeAll()
    for prefetcher in prefetchers.withLock({ $0 }) { prefetcher.value?.cancelWaiting() }
    let (tasks, loads) = core.withLock { core in (core.waitingPrefetches, core.waitingDataPrefetches) }
    for task in tasks { cancel(task) }
    for load in loads { cancel(load) }
  }
}

extension ImagePipeline.Core {
  /// The tasks of prints that are only prefetched and not begun.
  fileprivate var waitingPrefetches: [ImageTask] {
    prints.filter { load in
      load.priority == .veryLow && load.cancellation == nil && load.original?.isUnderWay != true
    }.flatMap(\.tasks)
  }

  /// The same for originals that are only wanted for their bytes.
  fileprivate var waitingDataPrefetches: [DataLoad] {
    originals.flatMap { original in
      original.isUnderWay
        ? [] : original.waiters.compactMap { $0 as? DataLoad }.filter { $0.priority == .veryLow }
    }
  }
}

extension OriginalLoad {
  /// Whether the network is asked, or what it has answered is looked at.
  fileprivate var isUnderWay: Bool {
    switch phase {
    case .downloading: true
    case .working: tries > 0
    case .pending, .backingOff, .done, .ended: false
    }
  }
}
