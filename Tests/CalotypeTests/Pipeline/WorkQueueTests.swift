import Dispatch
import Synchronization
import Testing

@testable import Calotype

@Suite struct WorkQueueTests {
  /// A queue one wide whose only thread is held until `order` is asked for, so that order can be seen.
  private final class HeldQueue: Sendable {
    let queue = WorkQueue(label: "test", width: 1)
    private let gate = Gate()
    private let names = Lock<[String]>([])

    init() { queue.submit(priority: .veryHigh) { [gate] in gate.wait() } }

    func add(_ name: String, _ priority: ImageRequest.Priority) -> WorkQueue.Item {
      queue.submit(priority: priority) { [self] in names.withLock { $0.append(name) } }
    }

    func order() async -> [String] {
      await withUnsafeContinuation { continuation in
        queue.submit(priority: .veryLow) { continuation.resume() }
        gate.open()
      }
      return names.withLock { $0 }
    }
  }

  @Test func theMostUrgentFirstThenInOrderOfArrival() async {
    let held = HeldQueue()
    _ = held.add("a", .low)
    _ = held.add("b", .normal)
    _ = held.add("c", .normal)
    _ = held.add("d", .high)
    #expect(await held.order() == ["d", "b", "c", "a"])
  }

  @Test func aCancelledItemIsGoneAtOnceWithWhatItHeld() async {
    final class Token: Sendable {}
    let held = HeldQueue()
    weak var token: Token?
    let item: WorkQueue.Item = {
      let strong = Token()
      token = strong
      return held.queue.submit(priority: .normal) { _ = strong }
    }()
    let kept = held.add("kept", .normal)
    // Whether the holding item has been taken by its thread yet is left to the scheduler.
    let before = held.queue.waitingCount
    #expect(held.queue.cancel(item))
    #expect(token == nil)
    #expect(held.queue.waitingCount <= before - 1)
    #expect(!held.queue.cancel(item))
    #expect(await held.order() == ["kept"])
    #expect(!held.queue.cancel(kept))
  }

  @Test func prioritiesChangeWhileWaiting() async {
    let held = HeldQueue()
    let first = held.add("a", .low)
    _ = held.add("b", .normal)
    let last = held.add("c", .normal)
    held.queue.setPriority(.high, of: first)
    held.queue.setPriority(.low, of: last)
    #expect(await held.order() == ["a", "b", "c"])
  }

  @Test func prefetchesLeaveAThreadFree() async {
    let queue = WorkQueue(label: "test", width: 2)
    let gate = Gate()
    let (begun, teller) = AsyncStream.makeStream(of: Int.self)
    var numbers = begun.makeAsyncIterator()
    let prefetches = (0..<5).map { number in
      queue.submit(priority: .veryLow) {
        teller.yield(number)
        gate.wait()
      }
    }
    #expect(await numbers.next() == 0)
    // Both the new and what was only prefetched until now go ahead, although a prefetch holds its thread.
    queue.submit(priority: .normal) { teller.yield(10) }
    #expect(await numbers.next() == 10)
    queue.setPriority(.low, of: prefetches[3])
    #expect(await numbers.next() == 3)
    gate.open()
    for number in [1, 2, 4] {
      let next = await numbers.next()
      #expect(next == number)
    }
  }

  @Test func noMoreThanItsWidthRunsAtOnce() async {
    let queue = WorkQueue(label: "test", width: 3)
    let load = Load()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<200 {
        group.addTask {
          await withUnsafeContinuation { continuation in
            queue.submit(priority: .normal) {
              load.enter()
              load.leave()
              continuation.resume()
            }
          }
        }
      }
    }
    #expect((1...3).contains(load.mostAtOnce))
    #expect(queue.waitingCount == 0)
  }
}

private final class Load: Sendable {
  private let running = Atomic<Int>(0)
  private let most = Atomic<Int>(0)

  func enter() { most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed) }
  func leave() { running.subtract(1, ordering: .relaxed) }
  var mostAtOnce: Int { most.load(ordering: .relaxed) }
}
