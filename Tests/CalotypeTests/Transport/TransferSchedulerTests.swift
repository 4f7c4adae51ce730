import Testing

@testable import Calotype

@Suite struct TransferSchedulerTests {
  typealias Scheduler = TransferScheduler<Int>

  private func scheduler(_ change: (inout Scheduler.Limits) -> Void = { _ in }) -> Scheduler {
    var limits = Scheduler.Limits()
    change(&limits)
    return Scheduler(limits: limits)
  }

  /// Starts and ends one after the other until nothing starts.
  private func drain(_ scheduler: inout Scheduler, now: UInt64 = 0) -> [Int] {
    var order: [Int] = []
    while let (ticket, slot) = scheduler.next(now: now) {
      order.append(ticket)
      scheduler.finish(slot)
    }
    return order
  }

  /// What could not begin waits again, with the age and the priority that it had.
  @Test func whatIsPutBackKeepsItsAge() throws {
    var scheduler = scheduler { $0.maximumPerHost = 1 }
    for ticket in 0..<4 { _ = scheduler.enqueue(ticket, host: "h", priority: .normal, now: 0) }
    let next = scheduler.next(now: 0)
    let first = try #require(next)
    scheduler.putBack(first.slot, first.ticket)
    #expect(scheduler.runningCount == 0 && scheduler.pendingCount == 4)
    // Of no effect on one that waits.
    scheduler.putBack(first.slot, first.ticket)
    #expect(scheduler.pendingCount == 4)
    #expect(drain(&scheduler) == [0, 1, 2, 3])
    #expect(scheduler.isEmpty)
  }

  @Test func runsNoMoreThanAllowedOverallAndForAHost() {
    var scheduler = scheduler {
      $0.maximumConcurrent = 5
      $0.maximumPerHost = 2
    }
    for ticket in 0..<12 { _ = scheduler.enqueue(ticket, host: "h\(ticket % 4)", priority: .normal, now: 0) }
    var running: [(ticket: Int, slot: Scheduler.Slot)] = []
    while let next = scheduler.next(now: 0) { running.append(next) }
    #expect(running.map(\.ticket) == [0, 1, 2, 3, 4])
    #expect(scheduler.runningCount == 5)
    #expect(scheduler.pendingCount == 7)
    // Host 0 has two running; the place of host 1's goes to host 1.
    scheduler.finish(running[1].slot)
    #expect(scheduler.next(now: 0)?.ticket == 5)
    #expect(scheduler.next(now: 0) == nil)
  }

  @Test func aSlowHostHoldsOnlyItsOwnPlaces() {
    var scheduler = scheduler {
      $0.maximumConcurrent = 16
      $0.maximumPerHost = 6
    }
    for ticket in 0..<100 { _ = scheduler.enqueue(ticket, host: "slow", priority: .normal, now: 0) }
    for ticket in 100..<200 { _ = scheduler.enqueue(ticket, host: "fast", priority: .normal, now: 0) }
    var slow = 0
    var fast: [Int] = []
    while let (ticket, slot) = scheduler.next(now: 0) {
      if ticket < 100 {
        slow += 1
      } else {
        fast.append(ticket)
        scheduler.finish(slot)
      }
    }
    #expect(slow == 6)
    #expect(fast == Array(100..<200))
  }

  @Test func theMostUrgentGoFirstAndEqualsByAge() {
    for order in TransferOrder.allCases {
      var scheduler = scheduler { $0.order = order }
      let priorities: [ImageRequest.Priority] = [.low, .veryHigh, .normal, .veryLow, .high]
      for ticket in 0..<10 {
        _ = scheduler.enqueue(ticket, host: "h\(ticket % 3)", priority: priorities[ticket % 5], now: 0)
      }
      let pairs = [[1, 6], [4, 9], [2, 7], [0, 5], [3, 8]]
      let expected = pairs.flatMap { order == .oldestFirst ? $0 : $0.reversed() }
      #expect(drain(&scheduler) == expected)
      #expect(scheduler.isEmpty)
    }
  }

  @Test func aChangedPriorityCounts() {
    var scheduler = scheduler { $0.maximumConcurrent = 1 }
    let slots = (0..<5).map { scheduler.enqueue($0, host: "h", priority: .normal, now: 0) }
    scheduler.setPriority(slots[3], to: .high)
    scheduler.setPriority(slots[0], to: .low)
    scheduler.setPriority(slots[4], to: .high)
    scheduler.setPriority(slots[4], to: .veryLow)
    #expect(drain(&scheduler) == [3, 1, 2, 0, 4])
  }

  @Test func whatIsRemovedDoesNotStart() {
    var scheduler = scheduler()
    let slots = (0..<6).map { scheduler.enqueue($0, host: "h", priority: .normal, now: 0) }
    #expect(scheduler.remove(slots[0]) == 0)
    #expect(scheduler.remove(slots[3]) == 3)
    #expect(scheduler.remove(slots[3]) == nil)
    #expect(drain(&scheduler) == [1, 2, 4, 5])
    #expect(scheduler.remove(slots[5]) == nil)
  }

  @Test func anOldSlotIsHarmless() {
    var scheduler = scheduler { $0.maximumConcurrent = 1 }
    let old = scheduler.enqueue(1, host: "h", priority: .normal, now: 0)
    #expect(scheduler.remove(old) == 1)
    let new = scheduler.enqueue(2, host: "h", priority: .normal, now: 0)
    scheduler.setPriority(old, to: .high)
    scheduler.finish(old)
    #expect(scheduler.remove(old) == nil)
    #expect(scheduler.next(now: 0)?.slot == new)
    scheduler.finish(old)
    #expect(scheduler.runningCount == 1)
    scheduler.finish(new)
    scheduler.finish(new)
    #expect(scheduler.isEmpty)
  }

  @Test func whileSuspendedNothingStarts() {
    var scheduler = scheduler()
    for (ticket, priority) in [(1, ImageRequest.Priority.low), (2, .normal)] {
      _ = scheduler.enqueue(ticket, host: "h", priority: priority, now: 0)
    }
    scheduler.isSuspended = true
    #expect(scheduler.next(now: 0) == nil)
    _ = scheduler.enqueue(3, host: "h", priority: .high, now: 0)
    scheduler.isSuspended = false
    #expect(drain(&scheduler) == [3, 2, 1])
  }

  @Test func startsOfAHostKeepTheirDistance() {
    var scheduler = scheduler { $0.minimumStartInterval = 100 }
    for ticket in 0..<3 { _ = scheduler.enqueue(ticket, host: "a", priority: .normal, now: 0) }
    _ = scheduler.enqueue(10, host: "b", priority: .low, now: 0)
    #expect(drain(&scheduler, now: 1000) == [0, 10])
    #expect(scheduler.nextStartTime == 1100)
    #expect(drain(&scheduler, now: 1099) == [])
    #expect(drain(&scheduler, now: 1100) == [1])
    #expect(drain(&scheduler, now: 5000) == [2])
    #expect(scheduler.nextStartTime == nil)
    #expect(scheduler.isEmpty)
  }

  @Test func nobodyWaitsForEver() {
    for order in TransferOrder.allCases {
      var scheduler = scheduler {
        $0.maximumConcurrent = 1
        $0.agingInterval = 1000
        $0.order = order
      }
      _ = scheduler.enqueue(-1, host: "h", priority: .veryLow, now: 0)
      var startOfTheOldest: Int?
      for turn in 0..<200 {
        let now = UInt64(turn) * 100
        _ = scheduler.enqueue(turn, host: "h", priority: .veryHigh, now: now)
        guard let (ticket, slot) = scheduler.next(now: now) else { break }
        if ticket == -1 { startOfTheOldest = turn }
        scheduler.finish(slot)
      }
      // It is old enough at turn 10, and then the next start in eight is its.
      #expect(startOfTheOldest.map { (10...18).contains($0) } == true)
    }
  }

  @Test func prefetchesTakeNoPlaceFromWhatIsVisible() {
    var scheduler = scheduler {
      $0.maximumConcurrent = 3
      $0.maximumPerHost = 2
    }
    for ticket in 0..<4 { _ = scheduler.enqueue(ticket, host: "h", priority: .veryLow, now: 0) }
    var slots: [Int: Scheduler.Slot] = [:]
    while let (ticket, slot) = scheduler.next(now: 0) { slots[ticket] = slot }
    #expect(slots.keys.sorted() == [0, 1])
    // The host's places are all taken, by prefetches.
    for ticket in 10..<13 { _ = scheduler.enqueue(ticket, host: "h", priority: .low, now: 0) }
    while let (ticket, slot) = scheduler.next(now: 0) { slots[ticket] = slot }
    #expect(slots.keys.sorted() == [0, 1, 10, 11])
    // One that is shown now counts as what it is, so the third has to wait for another place.
    scheduler.setPriority(slots[0]!, to: .normal)
    scheduler.finish(slots[10]!)
    #expect(scheduler.next(now: 0) == nil)
    scheduler.setPriority(slots[0]!, to: .veryLow)
    #expect(scheduler.next(now: 0)?.ticket == 12)
    // And prefetches wait until they are within the limits with all that runs.
    scheduler.finish(slots[11]!)
    #expect(scheduler.next(now: 0) == nil)
  }

  @Test func theUrgentAreNotHeldUpByTheYoung() {
    var scheduler = scheduler { $0.agingInterval = 1000 }
    for ticket in 0..<100 { _ = scheduler.enqueue(ticket, host: "h", priority: .veryLow, now: 0) }
    for ticket in 100..<200 { _ = scheduler.enqueue(ticket, host: "h", priority: .high, now: 0) }
    #expect(drain(&scheduler, now: 999) == Array(100..<200) + Array(0..<100))
  }

  /// The same as the scheduler, by looking at everything each time.
  private struct Model {
    struct Entry {
      var ticket: Int
      var host: String
      var priority: ImageRequest.Priority
      var sequence: Int
    }
    var pending: [Entry] = []
    var running: [Int: Entry] = [:]
    var limits: Scheduler.Limits

    mutating func next() -> Int? {
      // What is only prefetched counts for its own kind alone.
      let all = Array(running.values)
      let counted = [false: all.filter { $0.priority != .veryLow }, true: all]
      let candidates = pending.indices.filter { index in
        let counted = counted[pending[index].priority == .veryLow, default: []]
        return counted.count < limits.maximumConcurrent
          && counted.count { $0.host == pending[index].host } < limits.maximumPerHost
      }
      let best = candidates.min { left, right in
        let (left, right) = (pending[left], pending[right])
        if left.priority != right.priority { return left.priority > right.priority }
        return limits.order == .oldestFirst ? left.sequence < right.sequence : left.sequence > right.sequence
      }
      guard let best else { return nil }
      let entry = pending.remove(at: best)
      running[entry.ticket] = entry
      return entry.ticket
    }
  }

  @Test(arguments: TransferOrder.allCases, 0..<6)
  func agreesWithASimpleModelOnRandomWork(order: TransferOrder, seed: Int) {
    var random = SplitMix(state: UInt64(seed))
    var limits = Scheduler.Limits()
    limits.maximumConcurrent = 7
    limits.maximumPerHost = 3
    limits.order = order
    var scheduler = Scheduler(limits: limits)
    var model = Model(limits: limits)
    var slots: [Int: Scheduler.Slot] = [:]
    for step in 0..<4000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let host = "h\(Int.random(in: 0..<5, using: &random))"
        let priority = ImageRequest.Priority.allCases.randomElement(using: &random)!
        slots[step] = scheduler.enqueue(step, host: host, priority: priority, now: 0)
        model.pending.append(.init(ticket: step, host: host, priority: priority, sequence: step))
      case 4..<7:
        let next = scheduler.next(now: 0)
        #expect(next?.ticket == model.next())
      case 7:
        guard let ticket = model.running.keys.sorted().randomElement(using: &random) else { continue }
        model.running[ticket] = nil
        scheduler.finish(slots[ticket]!)
      case 8:
        guard let index = model.pending.indices.randomElement(using: &random) else { continue }
        let ticket = model.pending.remove(at: index).ticket
        #expect(scheduler.remove(slots[ticket]!) == ticket)
      case 9 where step.isMultiple(of: 3):
        // A row shows what was only prefetched, or is scrolled away from what is still wanted for later.
        guard let ticket = model.running.keys.sorted().randomElement(using: &random) else { continue }
        let priority = ImageRequest.Priority.allCases.randomElement(using: &random)!
        model.running[ticket]?.priority = priority
        scheduler.setPriority(slots[ticket]!, to: priority)
      default:
        guard let index = model.pending.indices.randomElement(using: &random) else { continue }
        let priority = ImageRequest.Priority.allCases.randomElement(using: &random)!
        model.pending[index].priority = priority
        scheduler.setPriority(slots[model.pending[index].ticket]!, to: priority)
      }
      #expect(scheduler.pendingCount == model.pending.count)
      #expect(scheduler.runningCount == model.running.count)
    }
  }
}
