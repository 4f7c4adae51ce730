import Dispatch
import Foundation

extension ImagePipeline {
  /// What is left to do, outside of the lock, once nobody wants a load any more.
  private struct Leftovers {
    var items = ShortList<WorkQueue.Item>()
    var downloads = ShortList<OriginalDownload>()
    var hooks = ShortList<Task<Void, Never>>()
    var admitted: [OriginalLoad] = []
    var idle: [UnsafeContinuation<Void, Never>] = []
  }

  /// Ends one task. The work ends with the last task that wants it.
  func cancel(_ task: ImageTask) {
    let leftovers = core.withLock { core -> Leftovers? in
      guard let load = task.load else { return nil }
      // Its load has ended and is about to tell it: whoever comes first ends the task.
      guard !load.hasEnded, let index = load.tasks.firstIndex(where: { $0 === task }) else {
        return Leftovers()
      }
      load.tasks.remove(at: index)
      task.load = nil
      guard load.tasks.isEmpty else {
        setPriority(.highest(of: load.tasks.lazy.map(\.priority), upTo: load.priority), of: load, in: &core)
        return Leftovers()
      }
      var leftovers = Leftovers()
      end(load, in: &core, &leftovers)
      settle(&leftovers, in: &core)
      return leftovers
    }
    guard let leftovers else { return }
    endAsCancelled(task)
    clear(leftovers)
  }

  /// Ends every task with ``Error/Cause/cancelled``.
  public func cancelAll() {
    // All at once: one after the other, each would let a download begin that is cancelled next.
    let (tasks, leftovers) = core.withLock { core -> ([ImageTask], Leftovers) in
      var leftovers = Leftovers()
      var tasks: [ImageTask] = []
      for load in core.prints {
        for task in load.tasks { task.load = nil }
        tasks += load.tasks
        load.tasks = .init()
        end(load, in: &core, &leftovers)
      }
      settle(&leftovers, in: &core)
      return (tasks, leftovers)
    }
    for task in tasks { endAsCancelled(task) }
    clear(leftovers)
  }

  private func endAsCancelled(_ task: ImageTask) {
    end(task, with: .failure(Error(url: task.request.url, stage: .request, cause: .cancelled)))
  }

  /// Ends a print's load that no task waits for.
  private func end(_ load: PrintLoad, in core: inout Core, _ leftovers: inout Leftovers) {
    load.hasEnded = true
    core.remove(load)
    load.cancellation?.cancel()
    if let item = load.item { leftovers.items.append(item) }
    load.item = nil
    abandon(load, in: &core, &leftovers)
  }

  /// Ends a wait for an original's bytes.
  func cancel(_ load: DataLoad) {
    let (completion, leftovers) = core.withLock { core in
      var leftovers = Leftovers()
      guard !load.hasEnded else { return (load.completion, leftovers) }
      load.hasEnded = true
      abandon(load, in: &core, &leftovers)
      settle(&leftovers, in: &core)
      defer { load.completion = nil }
      return (load.completion, leftovers)
    }
    completion?(.failure(Error(url: load.request.url, stage: .request, cause: .cancelled)))
    clear(leftovers)
  }

  /// Takes a waiter from its original; where it was the last, the original's work ends too.
  private func abandon(_ waiter: any OriginalWaiter, in core: inout Core, _ leftovers: inout Leftovers) {
    guard let original = waiter.original else { return }
    waiter.original = nil
    original.waiters.removeAll { $0 === waiter }
    guard original.waiters.isEmpty else {
      waitersChanged(of: original, in: &core)
      return
    }
    // What was asked behind an answer goes on for those who have the answer.
    guard !original.isRevalidating else { return }
    core.withdraw(original)
    original.phase = .ended
    core.remove(original)
    if let item = original.item { leftovers.items.append(item) }
    original.item = nil
    if let download = original.download { leftovers.downloads.append(download) }
    original.download = nil
    if let hook = original.hook { leftovers.hooks.append(hook) }
    original.hook = nil
  }

  /// Notes what may be done now that loads have ended.
  private func settle(_ leftovers: inout Leftovers, in core: inout Core) {
    leftovers.admitted = core.admitDownloads(now: monotonicNanoseconds())
    guard core.isIdle else { return }
    leftovers.idle = core.idleWaiters
    core.idleWaiters = []
  }

  private func clear(_ leftovers: Leftovers) {
    for item in leftovers.items { workQueue.cancel(item) }
    for hook in leftovers.hooks { hook.cancel() }
    for download in leftovers.downloads { download.cancel() }
    start(leftovers.admitted)
    for continuation in leftovers.idle { continuation.resume() }
  }

  // MARK: Priorities

  /// Called when a task's priority was set.
  func priorityChanged(of task: ImageTask) {
    core.withLock { core in
      guard let load = task.load, !load.hasEnded else { return }
      let highest = ImageRequest.Priority.highest(of: load.tasks.lazy.map(\.priority), upTo: load.priority)
      setPriority(max(task.priority, highest), of: load, in: &core)
    }
  }

  /// - Parameter priority: That of a waiter whose priority has changed.
  private func waitersChanged(
    of original: OriginalLoad, to priority: ImageRequest.Priority = .veryLow, in core: inout Core
  ) {
    let priorities = original.waiters.lazy.map(\.priority)
    setPriority(max(priority, .highest(of: priorities, upTo: original.priority)), of: original, in: &core)
  }

  func setPriority(_ priority: ImageRequest.Priority, of load: PrintLoad, in core: inout Core) {
    guard load.priority != priority else { return }
    load.priority = priority
    if let item = load.item { workQueue.setPriority(priority, of: item) }
    if let original = load.original { waitersChanged(of: original, to: priority, in: &core) }
  }

  func setPriority(_ priority: ImageRequest.Priority, of load: OriginalLoad, in core: inout Core) {
    guard load.priority != priority else { return }
    load.priority = priority
    if let item = load.item { workQueue.setPriority(priority, of: item) }
    if let download = load.download {
      // What runs in a transport of the program's own may wait for a thread that waits for the lock here.
      Self.priorityQueue.async { download.setPriority(priority) }
    }
    core.priorityChanged(of: load)
  }

  /// Where transfers are told of their priorities: one after the other, so that the last word is the last.
  private static let priorityQueue = DispatchQueue(label: "calotype.priority", qos: .userInitiated)
}

extension ImageRequest.Priority {
  /// The highest of some priorities, of which none is above a bound: so the search ends with the first that is not
  /// below it. The bound itself where there are none.
  static func highest(of priorities: some Sequence<Self>, upTo bound: Self) -> Self {
    var highest: Self?
    for priority in priorities {
      guard priority < bound else { return priority }
      highest = max(highest ?? priority, priority)
    }
    return highest ?? bound
  }
}
