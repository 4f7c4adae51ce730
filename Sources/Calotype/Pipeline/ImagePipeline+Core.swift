import Foundation

extension ImagePipeline {
  /// What changes in a pipeline: the loads under way and the downloads that wait. It is kept under one lock
  /// that is never held across work.
  struct Core {
    var prints: [PrintLoad.Key: PrintLoad] = [:]
    var originals: [OriginalLoad.Key: OriginalLoad] = [:]
    var isSuspended = false
    /// Stores that go on after their load was delivered.
    var storesUnderWay = 0
    var idleWaiters: [UnsafeContinuation<Void, Never>] = []
    private var pending: [OriginalLoad] = []
    private var running = 0
    private let maximumRunning: Int

    init(configuration: Configuration) {
      maximumRunning = max(1, configuration.maximumConcurrentDownloads)
    }

    var isIdle: Bool { prints.isEmpty && originals.isEmpty && storesUnderWay == 0 }

    /// Puts an original among the downloads that wait.
    mutating func enqueue(_ load: OriginalLoad) {
      load.phase = .pending
      pending.append(load)
    }

    /// The downloads that may start now, the most urgent first.
    mutating func admitDownloads() -> [OriginalLoad] {
      var admitted: [OriginalLoad] = []
      while !isSuspended, running < maximumRunning,
        let index = pending.indices.max(by: { pending[$0].priority < pending[$1].priority })
      {
        let load = pending.remove(at: index)
        load.phase = .downloading
        running += 1
        admitted.append(load)
      }
      return admitted
    }

    /// Takes an original that is not wanted any more out of the downloads, whether it waits or runs.
    mutating func withdraw(_ load: OriginalLoad) {
      switch load.phase {
      case .pending: pending.removeAll { $0 === load }
      case .downloading: running -= 1
      case .lookingUp, .finished, .ended: break
      }
    }

    /// Frees the place of a download that has ended.
    mutating func downloadEnded(_ load: OriginalLoad) { running -= 1 }

    mutating func priorityChanged(of load: OriginalLoad) {}
  }
}
