import Foundation

/// Does things later, on one thread of its own that is there while there is something to wait for.
///
/// On Linux, Dispatch's timers want descriptors: where a program has none left they never fire, or end the
/// process, and whoever waits for a try again or a batch waits for ever. These need none.
package final class Timers: Sendable {
  private struct State {
    /// By time; equals in the order in which they came.
    var waiting: [(time: UInt64, action: @Sendable () -> Void)] = []
    var hasThread = false
    /// Whether the first has changed since the thread looked.
    var hasChanged = false
  }

  /// The program's.
  package static let shared = Timers()

  private let state = Condition(State())
  /// How long the thread stays with nothing to wait for.
  private static let patience: UInt64 = 5_000_000_000

  /// Calls a closure after some seconds, on the timers' thread: it has to be brief.
  package func after(_ seconds: Double, _ action: @escaping @Sendable () -> Void) {
    let length = seconds.isNaN ? 0 : UInt64(min(max(seconds, 0), 1e8) * 1e9)
    let time = monotonicNanoseconds() &+ length
    let startsThread = state.withLock { state -> Bool in
      let place = state.waiting.lastIndex { $0.time <= time }.map { $0 + 1 } ?? 0
      state.waiting.insert((time, action), at: place)
      if place == 0 { state.hasChanged = true }
      defer { state.hasThread = true }
      return !state.hasThread
    }
    if startsThread {
      let thread = Thread { [self] in run() }
      thread.name = "calotype.timers"
      thread.stackSize = 1 << 19
      thread.start()
    } else {
      state.signal()
    }
  }

  /// Waits without holding a thread.
  ///
  /// - Returns: Whether the wait went to its end, rather than that the Swift task was cancelled.
  package func sleep(_ seconds: Double) async -> Bool {
    let sleeper = Sleeper()
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        sleeper.begin(continuation)
        after(seconds) { sleeper.wake(true) }
      }
    } onCancel: {
      sleeper.wake(false)
    }
  }

  private func run() {
    while true {
      let next = state.withLock { state -> UInt64? in
        state.hasChanged = false
        return state.waiting.first?.time
      }
      let now = monotonicNanoseconds()
      let length = next.map { $0 > now ? $0 - now : 0 } ?? Self.patience
      // `nil` where the thread is to end.
      let due: [@Sendable () -> Void]? = state.wait(upToNanoseconds: length) { state, timedOut in
        let now = monotonicNanoseconds()
        let count = state.waiting.prefix { $0.time <= now }.count
        if count > 0 {
          defer { state.waiting.removeFirst(count) }
          return .done(state.waiting.prefix(count).map(\.action))
        }
        if timedOut, state.waiting.isEmpty {
          state.hasThread = false
          return .done(nil)
        }
        return timedOut || state.hasChanged ? .done([]) : .wait
      }
      guard let due else { return }
      for action in due { action() }
    }
  }
}

/// Who waits in ``Timers/sleep(_:)``; woken once.
private final class Sleeper: Sendable {
  private enum State { case new, asleep(UnsafeContinuation<Bool, Never>), woken(Bool) }
  private let state = Lock(State.new)

  func begin(_ continuation: UnsafeContinuation<Bool, Never>) {
    let result = state.withLock { state -> Bool? in
      if case .woken(let result) = state { return result }
      state = .asleep(continuation)
      return nil
    }
    if let result { continuation.resume(returning: result) }
  }

  func wake(_ result: Bool) {
    let continuation = state.withLock { state -> UnsafeContinuation<Bool, Never>? in
      switch state {
      case .woken: return nil
      case .new:
        state = .woken(result)
        return nil
      case .asleep(let continuation):
        state = .woken(result)
        return continuation
      }
    }
    continuation?.resume(returning: result)
  }
}
