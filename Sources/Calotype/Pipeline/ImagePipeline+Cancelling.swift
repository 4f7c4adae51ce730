import Foundation

extension ImagePipeline {
  /// What is left to do, outside of the lock, once nobody wants a load any more.
  private struct Leftovers {
    var items: [WorkQueue.Item] = []
    var download: OriginalDownload?
    var hook: Task<Void, Never>?
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
        setPriority(load.tasks.map(\.priority).max() ?? load.priority, of: load, in: &core)
        return Leftovers()
      }
      load.hasEnded = true
      core.remove(load)
      load.cancellation?.cancel()
      var leftovers = Leftovers()
      if let item = load.item { leftovers.items.append(item) }
      load.item = nil
      abandon(load, in: &core, &leftovers)
      return leftovers
    }
    guard let leftovers else { return }
    let error = Error(url: task.request.url, stage: .request, cause: .cancelled)
    if task.finish(.failure(error)) {
      currentDelegate?.imagePipeline(self, task: task, didReceive: .finished(.failure(error)))
    }
    clear(leftovers)
  }

  /// Ends a wait for an original's bytes.
  func cancel(_ load: DataLoad) {
    let (completion, leftovers) = core.withLock { core in
      var leftovers = Leftovers()
      guard !load.hasEnded else { return (load.completion, leftovers) }
      load.hasEnded = true
      abandon(load, in: &core, &leftovers)
      defer { load.completion = nil }
      return (load.completion, leftovers)
    }
    completion?(.failure(Error(url: load.request.url, stage: .request, cause: .cancelled)))
    clear(leftovers)
  }

  /// Takes a waiter from its original; where it was the last, the original's work ends too.
  private func abandon(_ waiter: any OriginalWaiter, in core: inout Core, _ leftovers: inout Leftovers) {
    defer {
      if core.isIdle {
        leftovers.idle = core.idleWaiters
        core.idleWaiters = []
      }
    }
    guard let original = waiter.original else { return }
    waiter.original = nil
    original.waiters.removeAll { $0 === waiter }
    guard original.waiters.isEmpty else {
      setPriority(original.waiters.map(\.priority).max() ?? original.priority, of: original, in: &core)
      return
    }
    // What was asked behind an answer goes on for those who have the answer.
    guard !original.isRevalidating else { return }
    core.withdraw(original)
    original.phase = .ended
    core.remove(original)
    if let item = original.item { leftovers.items.append(item) }
    original.item = nil
    leftovers.download = original.download
    original.download = nil
    leftovers.hook = original.hook
    original.hook = nil
    leftovers.admitted = core.admitDownloads(now: monotonicNanoseconds())
  }

  private func clear(_ leftovers: Leftovers) {
    for item in leftovers.items { workQueue.cancel(item) }
    leftovers.hook?.cancel()
    leftovers.download?.cancel()
    start(leftovers.admitted)
    for continuation in leftovers.idle { continuation.resume() }
  }

  // MARK: Priorities

  /// Called when a task's priority was set.
  func priorityChanged(of task: ImageTask) {
    core.withLock { core in
      guard let load = task.load, !load.hasEnded else { return }
      setPriority(load.tasks.map(\.priority).max() ?? load.priority, of: load, in: &core)
    }
  }

  func setPriority(_ priority: ImageRequest.Priority, of load: PrintLoad, in core: inout Core) {
    guard load.priority != priority else { return }
    load.priority = priority
    if let item = load.item { workQueue.setPriority(priority, of: item) }
    if let original = load.original {
      setPriority(original.waiters.map(\.priority).max() ?? priority, of: original, in: &core)
    }
  }

  func setPriority(_ priority: ImageRequest.Priority, of load: OriginalLoad, in core: inout Core) {
    guard load.priority != priority else { return }
    load.priority = priority
    if let item = load.item { workQueue.setPriority(priority, of: item) }
    load.download?.setPriority(priority)
    core.priorityChanged(of: load)
  }
}
