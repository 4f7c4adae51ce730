import Foundation
import Synchronization

// Sound as Sendable: what this class adds is one atomic number.
/// An operation that goes on after ``start()`` has returned, until ``finish()`` is called.
///
/// A subclass overrides ``execute()`` to begin its work and calls ``finish()``, from any thread, when the
/// work has ended; and overrides ``didCancel()`` to end the work early. The state machine is here: the
/// operation posts each change once, finishes exactly once, and leaves its place in the queue also where
/// it was cancelled before, at or after its start.
///
/// ```swift
/// final class Countdown: AsynchronousOperation {
///   override func execute() { timer.start { self.finish() } }
///   override func didCancel() { timer.stop(); finish() }
/// }
/// ```
///
/// Foundation on Linux has a fault that concerns whoever makes operations depend on each other: an operation
/// that is cancelled ends before what it depends on, and if it is then let go while the other still runs,
/// the other ends in a crash. Operations of this class and ``DecodeOperation`` are safe from it. Where a
/// `BlockOperation` depends on another operation, cancel only the other, or keep the block operation until
/// the other has ended.
open class AsynchronousOperation: Operation, @unchecked Sendable {
  private enum Phase {
    static let mask: UInt8 = 0x03
    static let pending: UInt8 = 0
    /// `execute()` runs.
    static let starting: UInt8 = 1
    static let executing: UInt8 = 2
    static let finished: UInt8 = 3
  }
  /// `cancel()` has been called.
  private static let cancelled: UInt8 = 0x10
  /// `finish()` was called before the start.
  private static let finishedEarly: UInt8 = 0x20

  private let state = Atomic<UInt8>(0)

  private var phase: UInt8 { state.load(ordering: .acquiring) & Phase.mask }

  /// Creates an operation that waits to be started.
  public override init() { super.init() }

  // MARK: For subclasses

  /// Begins the work, and returns soon: it must not wait for the work's end. Not called where the
  /// operation was cancelled before its start.
  open func execute() { finish() }

  /// Ends the work early. Called once, on the thread that cancels or, where that happens while
  /// ``execute()`` runs, right after it has returned; not called once the operation has finished.
  ///
  /// Where the operation has been started, it is to lead to ``finish()``, now or soon. Where it has not,
  /// there is nothing to finish: the operation ends by itself when its turn comes.
  open func didCancel() { finish() }

  /// Ends the operation: it counts as finished and leaves its place in the queue. Calls after the first
  /// change nothing. An operation that has not been started yet finishes at once when it is.
  public final func finish() {
    var current = state.load(ordering: .acquiring)
    while true {
      switch current & Phase.mask {
      case Phase.finished: return
      case Phase.pending:
        let (done, now) = state.compareExchange(
          expected: current, desired: current | Self.finishedEarly, ordering: .acquiringAndReleasing)
        if done { return }
        current = now
      default:
        let (done, now) = state.compareExchange(
          expected: current, desired: current & ~Phase.mask | Phase.finished, ordering: .acquiringAndReleasing
        )
        if done {
          post("isExecuting")
          post("isFinished")
          return
        }
        current = now
      }
    }
  }

  // MARK: Operation

  /// Whether the operation goes on after ``start()`` has returned: always.
  public final override var isAsynchronous: Bool { true }
  /// Whether the work is under way.
  public final override var isExecuting: Bool { (Phase.starting...Phase.executing).contains(phase) }
  /// Whether the operation has ended, however it did.
  public final override var isFinished: Bool { phase == Phase.finished }
  /// Whether ``cancel()`` has been called before the operation finished.
  public final override var isCancelled: Bool { state.load(ordering: .acquiring) & Self.cancelled != 0 }

  /// Begins the work, or finishes where the operation was cancelled before. Further calls change nothing.
  public final override func start() {
    var current = state.load(ordering: .acquiring)
    while true {
      guard current & Phase.mask == Phase.pending else { return }
      let ends = current & (Self.cancelled | Self.finishedEarly) != 0
      let next = current | (ends ? Phase.finished : Phase.starting)
      let (done, now) = state.compareExchange(
        expected: current, desired: next, ordering: .acquiringAndReleasing)
      if done {
        guard ends else { return run() }
        post("isFinished")
        if next & Self.cancelled != 0 { leaveDependencies() }
        return
      }
      current = now
    }
  }

  private func run() {
    post("isExecuting")
    execute()
    var current = state.load(ordering: .acquiring)
    while current & Phase.mask == Phase.starting {
      let next = current & ~Phase.mask | Phase.executing
      let (done, now) = state.compareExchange(
        expected: current, desired: next, ordering: .acquiringAndReleasing)
      if done {
        if current & Self.cancelled != 0 { didCancel() }
        return
      }
      current = now
    }
  }

  /// Asks the operation to end early: it finishes soon where it runs, and when its turn comes where it
  /// waits. Calls after the first, and after the end, change nothing.
  public final override func cancel() {
    var current = state.load(ordering: .acquiring)
    while true {
      guard current & Phase.mask != Phase.finished, current & Self.cancelled == 0 else { return }
      let (done, now) = state.compareExchange(
        expected: current, desired: current | Self.cancelled, ordering: .acquiringAndReleasing)
      if done { break }
      current = now
    }
    super.cancel()
    if current & Phase.mask != Phase.starting { didCancel() }
  }

  /// Operation queues listen for these posts and for nothing else.
  private func post(_ key: String) {
    willChangeValue(forKey: key)
    didChangeValue(forKey: key)
  }
}
