import Testing

@testable import Calotype

@Suite struct TimersTests {
  @Test func theEarliestComesFirstWheneverItWasAsked() async {
    let timers = Timers(), order = Lock<[Int]>([])
    await withCheckedContinuation { continuation in
      timers.after(0.12) {
        order.withLock { $0.append(3) }
        continuation.resume()
      }
      timers.after(0.08) { order.withLock { $0.append(2) } }
      // The thread waits for a later one by now, or is about to.
      timers.after(0.01) { order.withLock { $0.append(1) } }
    }
    #expect(order.withLock { $0 } == [1, 2, 3])
  }

  @Test func equalsComeInTheirOrder() async {
    let timers = Timers(), order = Lock<[Int]>([])
    await withCheckedContinuation { continuation in
      for number in 0..<100 { timers.after(-1) { order.withLock { $0.append(number) } } }
      timers.after(0) { continuation.resume() }
    }
    #expect(order.withLock { $0.filter { $0 < 100 } } == Array(0..<100))
  }

  @Test func aSleepEndsByItselfOrWhenItIsCancelled() async {
    let timers = Timers()
    #expect(await timers.sleep(0.001))
    let task = Task { await timers.sleep(3600) }
    task.cancel()
    #expect(await task.value == false)
  }
}
