import Foundation

/// Runs work that takes the processor or the disk, but never waits for the network, on a bounded number of
/// threads, the most urgent first and in order of arrival among equals.
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
  }

  private let state = Condition(State())
  private let width: Int
  private let label: String
  /// Seconds that a thread waits for work before it ends.
  private let patience: Int

  /// Creates a queue that runs up to `width` items at once.
  init(label: String, width: Int, patience: Int = 10) {
    self.width = max(1, width)
    self.label = label
    self.patience = patience
  }

  /// The number of items that wait for a thread.
  var waitingCount: Int { state.withLock { $0.waiting } }

  /// Puts work in the queue.
  @discardableResult
  func submit(priority: ImageRequest.Priority, _ work: @escaping @Sendable () -> Void) -> Item {
    let item = Item(priority: priority, work: work)
    enum Next { case wake, start, none }
    let next = state.withLock { state -> Next in
      state.lanes[lane(of: priority)].append(item)
      state.waiting += 1
      if state.idle >= state.waiting { return .wake }
      guard state.threads < width else { return .none }
      state.threads += 1
      return .start
    }
    switch next {
    case .wake: state.signal()
    case .start: startThread()
    case .none: break
    }
    return item
  }

  /// Takes an item out of the queue. Returns whether it was still waiting; otherwise it runs or has run.
  @discardableResult
  func cancel(_ item: Item) -> Bool {
    let (waited, work) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
      guard item.isWaiting else { return (false, nil) }
      item.isWaiting = false
      state.lanes[lane(of: item.priority)].remove(item)
      state.waiting -= 1
      defer { item.work = nil }
      return (true, item.work)
    }
    // The closure's captures go here, outside of the lock.
    _ = work
    return waited
  }

  /// Moves a waiting item among those of another priority.
  func setPriority(_ priority: ImageRequest.Priority, of item: Item) {
    state.withLock { state in
      guard item.isWaiting, item.priority != priority else { return }
      state.lanes[lane(of: item.priority)].remove(item)
      item.priority = priority
      state.lanes[lane(of: priority)].append(item)
    }
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
    while let work = next() { work() }
  }

  /// The next piece of work, waited for; `nil` when there was none for long enough for the thread to end.
  private func next() -> (@Sendable () -> Void)? {
    state.wait(upTo: patience) { state, timedOut in
      for index in state.lanes.indices {
        guard let item = state.lanes[index].first else { continue }
        state.lanes[index].remove(item)
        item.isWaiting = false
        state.waiting -= 1
        defer { item.work = nil }
        return .done(item.work)
      }
      guard timedOut else { return .wait }
      state.threads -= 1
      return .done(nil)
    } whileWaiting: { state, isWaiting in
      state.idle += isWaiting ? 1 : -1
    }
  }
}
