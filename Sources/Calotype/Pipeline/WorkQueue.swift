import Foundation

/// Runs work that takes the processor or the disk, but never waits for the network, on a bounded number of
/// threads, the most urgent first and in order of arrival among equals. Prefetches
/// (``ImageRequest/Priority/veryLow``) leave one thread to everything else.
///
/// An `OperationQueue` does the same at 3 to 5 µs an operation and keeps cancelled operations until a
/// thread is free for them. Here an item costs well under 1 µs, and one that is cancelled is gone at once.
/// The threads are the queue's own: those of Dispatch are shared by the whole program, and a program that
/// blocks them would hold every picture back. They start when there is work and end when there has been none
/// for a while.
final class WorkQueue: Sendable {
  /// A piece of work that waits or runs.
  // Sound as Sendable: everything that changes is touched only under the queue's lock.
  final class Item: @unchecked Sendable {
    fileprivate var work: (@Sendable () -> Void)?
    fileprivate var priority: ImageRequest.Priority
    fileprivate unowned(unsafe) var previous: Item?
    fileprivate var next: Item?
    fileprivate var isWaiting = true

    fileprivate init(priority: ImageRequest.Priority, work: @escaping @Sendable () -> Void) {
      self.priority = priority
      self.work = work
    }
  }

  /// A doubly linked list, so that an item in the middle leaves at no cost.
  private struct Lane {
    var first: Item?
    unowned(unsafe) var last: Item?

    mutating func append(_ item: Item) {
      item.previous = last
      if let last { last.next = item } else { first = item }
      last = item
    }

    mutating func remove(_ item: Item) {
      let next = item.next
      if let previous = item.previous { previous.next = next } else { first = next }
      if let next { next.previous = item.previous } else { last = item.previous }
      item.previous = nil
      item.next = nil
    }
  }

  private struct State {
    var lanes = [Lane](repeating: Lane(), count: ImageRequest.Priority.allCases.count)
    var threads = 0
    var idle = 0
    var waiting = 0
    /// Prefetches that wait, and that run.
    var prefetchesWaiting = 0
    var prefetchesRunning = 0
  }

  /// What is to be done about the threads once something waits.
  private enum Next { case wake, start, none }

  private let state = Condition(State())
  private let width: Int
  /// The most prefetches that run at once.
  private let prefetchWidth: Int
  private let label: String
  /// Seconds that a thread waits for work before it ends.
  private let patience: Int

  /// Creates a queue that runs up to `width` items at once.
  init(label: String, width: Int, patience: Int = 10) {
    self.width = max(1, width)
    prefetchWidth = max(1, width - 1)
    self.label = label
    self.patience = patience
  }

  /// The number of items that wait for a thread.
  var waitingCount: Int { state.withLock { $0.waiting } }

  /// Puts work in the queue.
  @discardableResult
  func submit(priority: ImageRequest.Priority, _ work: @escaping @Sendable () -> Void) -> Item {
    let item = Item(priority: priority, work: work)
    let next = state.withLock { state in
      add(item, to: &state)
      return nextThread(&state)
    }
    take(next)
    return item
  }

  private func add(_ item: Item, to state: inout State) {
    state.lanes[lane(of: item.priority)].append(item)
    state.waiting += 1
    if item.priority == .veryLow { state.prefetchesWaiting += 1 }
  }

  private func remove(_ item: Item, from state: inout State) {
    state.lanes[lane(of: item.priority)].remove(item)
    state.waiting -= 1
    if item.priority == .veryLow { state.prefetchesWaiting -= 1 }
  }

  /// Sees to it that there is a thread for each item that may run.
  private func nextThread(_ state: inout State) -> Next {
    let held = state.prefetchesWaiting - max(0, prefetchWidth - state.prefetchesRunning)
    let runnable = state.waiting - max(0, held)
    if runnable == 0 { return .none }
    if state.idle >= runnable { return .wake }
    guard state.threads < width else { return .none }
    state.threads += 1
    return .start
  }

  private func take(_ next: Next) {
    switch next {
    case .wake: state.signal()
    case .start: startThread()
    case .none: break
    }
  }

  /// Takes an item out of the queue. Returns whether it was still waiting; otherwise it runs or has run.
  @discardableResult
  func cancel(_ item: Item) -> Bool {
    let (waited, work) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
      guard item.isWaiting else { return (false, nil) }
      item.isWaiting = false
      remove(item, from: &state)
      defer { item.work = nil }
      return (true, item.work)
    }
    // The closure's captures go here, outside of the lock.
    _ = work
    return waited
  }

  /// Moves a waiting item among those of another priority.
  func setPriority(_ priority: ImageRequest.Priority, of item: Item) {
    let next = state.withLock { state -> Next in
      guard item.isWaiting, item.priority != priority else { return .none }
      remove(item, from: &state)
      item.priority = priority
      add(item, to: &state)
      // A prefetch that was held back may have become what a thread is kept free for.
      return nextThread(&state)
    }
    take(next)
  }

  private func lane(of priority: ImageRequest.Priority) -> Int { Int(2 - priority.rawValue) }

  private func startThread() {
    let thread = Thread { [self] in work() }
    thread.name = label
    // Decoders keep their rows on the heap; what they have on the stack is small.
    thread.stackSize = 1 << 20
    thread.start()
  }

  /// What a thread does.
  private func work() {
    var isPrefetch = false
    while let item = next(after: isPrefetch) {
      isPrefetch = item.isPrefetch
      item.work()
    }
  }

  /// The next piece of work, waited for; `nil` when there was none for long enough for the thread to end.
  ///
  /// - Parameter hasPrefetched: Whether the thread's last work was a prefetch.
  private func next(after hasPrefetched: Bool) -> (work: @Sendable () -> Void, isPrefetch: Bool)? {
    var hasPrefetched = hasPrefetched
    return state.wait(upTo: patience) { state, timedOut in
      if hasPrefetched { state.prefetchesRunning -= 1 }
      hasPrefetched = false
      for index in state.lanes.indices {
        guard let item = state.lanes[index].first else { continue }
        let isPrefetch = item.priority == .veryLow
        if isPrefetch {
          guard state.prefetchesRunning < prefetchWidth else { continue }
          state.prefetchesRunning += 1
        }
        remove(item, from: &state)
        item.isWaiting = false
        defer { item.work = nil }
        return .done(item.work.map { ($0, isPrefetch) })
      }
      guard timedOut else { return .wait }
      state.threads -= 1
      return .done(nil)
    } whileWaiting: { state, isWaiting in
      state.idle += isWaiting ? 1 : -1
    }
  }
}
