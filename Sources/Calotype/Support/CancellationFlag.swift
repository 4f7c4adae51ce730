import CSandbox
import Synchronization

/// A flag that long work looks at between its steps, to end early.
///
/// It is set once and never cleared. Looking at it costs one relaxed load, so a decoder may look
/// after every row.
public final class CancellationFlag: Sendable {
  private let flag = Atomic<Bool>(false)
  // Sound: it is only ever read, in one atomic load.
  private nonisolated(unsafe) let sharedFlag: UnsafeRawPointer?

  /// Creates a flag that is not set.
  public init() { sharedFlag = nil }

  /// Creates a flag that another process can set too, in shared memory that outlives it.
  init(sharedFlag: UnsafeRawPointer?) { self.sharedFlag = sharedFlag }

  /// Whether ``cancel()`` has been called.
  public var isCancelled: Bool {
    if flag.load(ordering: .relaxed) { return true }
    guard let sharedFlag else { return false }
    return calotype_shared_flag_get(sharedFlag) != 0
  }

  /// Asks the work that looks at this flag to end early. Calling it again changes nothing.
  public func cancel() { flag.store(true, ordering: .relaxed) }
}
