import Synchronization

/// A flag that long work looks at between its steps, to end early.
///
/// It is set once and never cleared. Looking at it costs one relaxed load, so a decoder may look
/// after every row.
public final class CancellationFlag: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Creates a flag that is not set.
  public init() {}

  /// Whether ``cancel()`` has been called.
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }

  /// Asks the work that looks at this flag to end early. Calling it again changes nothing.
  public func cancel() { flag.store(true, ordering: .relaxed) }
}
