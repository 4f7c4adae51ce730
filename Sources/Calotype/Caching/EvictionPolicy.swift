/// What a policy wants to know of an entry's use. Kept by the entries' owner, so that a hit need not touch the
/// policy.
protocol EntryUse {
  /// The owner's count when the entry was hit or stored last.
  func lastUse(_ slot: EvictionPolicy.Slot) -> Int
  /// Hits since this was last set, 3 at most.
  func hits(_ slot: EvictionPolicy.Slot) -> UInt8
  /// Sets the number of hits.
  mutating func setHits(_ hits: UInt8, _ slot: EvictionPolicy.Slot)
}

/// Decides what leaves a cache that is full, in one of two ways that can be changed at any time:
///
/// - by recency: the least recently used, exactly. The entries stand in a heap by the use that the heap knows
///   of; what turns up as the least and was used since goes back to where it belongs.
/// - by frequency: S3-FIFO (Yang and others, 2023). New entries wait in a short queue and go unless they were
///   hit there; the others stand in a long queue that what was hit passes through again. What the short queue
///   let go is remembered for a while and enters the long one when it comes back.
///
/// Recency suits a list that is scrolled to and fro, frequency a few favourites among many; ``PolicyDuel``
/// finds out which it is. The type holds no keys and no values: an entry is a slot number, which its owner
/// keeps. A hit changes nothing here.
struct EvictionPolicy {
  /// Names an entry until it is evicted or removed.
  typealias Slot = Int32

  /// How what has to go is chosen.
  enum Mode: Hashable, Sendable {
    case recency, frequency
  }

  private enum Queue: UInt8 {
    case none, new, proven, ghosts
  }

  private struct Entry {
    var previous: Slot = -1
    var next: Slot = -1
    var heapIndex: Int32 = -1
    var queue = Queue.none
    var cost: Int
    var fingerprint: Int
  }

  /// A doubly linked list through ``entries``; the oldest is `first`.
  private struct List {
    var first: Slot = -1
    var last: Slot = -1
    var count = 0
    var cost = 0
  }

  /// The most that all entries may cost.
  var capacity: Int
  /// The most entries.
  var countLimit: Int
  /// How what has to go is chosen.
  var mode = Mode.recency

  private var entries: [Entry] = []
  private var firstFree: Slot = -1
  private var newEntries = List()
  private var provenEntries = List()
  private var ghostEntries = List()
  private var ghosts: [Int: Slot] = [:]
  private var heap: [(use: Int, slot: Slot)] = []

  /// Creates a policy for a cache that is empty.
  init(capacity: Int, countLimit: Int = .max, mode: Mode = .recency) {
    self.capacity = capacity
    self.countLimit = countLimit
    self.mode = mode
  }

  /// What all entries cost together.
  var cost: Int { newEntries.cost + provenEntries.cost }
  /// The number of entries.
  var count: Int { newEntries.count + provenEntries.count }

  /// Adds an entry after making room for it.
  ///
  /// - Parameters:
  ///   - fingerprint: The key's hash. Two keys with the same one only blur the choice.
  ///   - cost: At most ``capacity``.
  ///   - now: The owner's count.
  ///   - use: What is known of the entries' use.
  ///   - evicted: Told of each entry that has to go.
  /// - Returns: The entry's slot.
  mutating func insert(
    fingerprint: Int, cost: Int, now: Int, use: inout some EntryUse, evicted: (Slot) -> Void
  ) -> Slot {
    var queue = Queue.new
    if let ghost = ghosts[fingerprint] {
      forget(ghost)
      queue = .proven
    }
    while count > 0, self.cost.addingClamped(cost) > capacity || count >= countLimit {
      guard let slot = evict(use: &use) else { break }
      evicted(slot)
    }
    let slot = allocate(Entry(cost: cost, fingerprint: fingerprint))
    append(slot, to: queue)
    push(slot, use: now)
    return slot
  }

  /// Takes out an entry that its owner drops.
  mutating func remove(_ slot: Slot) {
    removeFromHeap(slot)
    unlink(slot)
    release(slot)
  }

  /// Takes out the entry that is worth least and says which it was; `nil` when there are none. The slot's
  /// number may be given to a later entry.
  mutating func evict(use: inout some EntryUse) -> Slot? {
    switch mode {
    case .recency: evictLeastRecent(use)
    case .frequency: evictLeastFrequent(&use)
    }
  }

  /// Forgets everything.
  mutating func removeAll() {
    self = EvictionPolicy(capacity: capacity, countLimit: countLimit, mode: mode)
  }

  // MARK: The two ways

  private mutating func evictLeastRecent(_ use: some EntryUse) -> Slot? {
    while let least = heap.first {
      let actual = use.lastUse(least.slot)
      if actual <= least.use { return letGo(least.slot) }
      heap[0].use = actual
      siftDown(0)
    }
    return nil
  }

  private mutating func evictLeastFrequent(_ use: inout some EntryUse) -> Slot? {
    while count > 0 {
      let isNewTurn = newEntries.count > 0 && (provenEntries.count == 0 || newEntries.cost >= capacity / 10)
      let slot = isNewTurn ? newEntries.first : provenEntries.first
      let hits = use.hits(slot)
      if hits == 0 { return letGo(slot) }
      unlink(slot)
      append(slot, to: .proven)
      use.setHits(isNewTurn ? 0 : hits - 1, slot)
    }
    return nil
  }

  /// Takes an entry out, and remembers it where it was new.
  private mutating func letGo(_ slot: Slot) -> Slot {
    let entry = entries[Int(slot)]
    remove(slot)
    guard entry.queue == .new else { return slot }
    if let known = ghosts[entry.fingerprint] { forget(known) }
    let ghost = allocate(Entry(cost: entry.cost, fingerprint: entry.fingerprint))
    append(ghost, to: .ghosts)
    ghosts[entry.fingerprint] = ghost
    while ghostEntries.count > 0, ghostEntries.cost > capacity || ghostEntries.count > max(16, countLimit) {
      forget(ghostEntries.first)
    }
    return slot
  }

  private mutating func forget(_ ghost: Slot) {
    ghosts[entries[Int(ghost)].fingerprint] = nil
    unlink(ghost)
    release(ghost)
  }

  // MARK: Slots and lists

  private mutating func allocate(_ entry: Entry) -> Slot {
    if firstFree >= 0 {
      let slot = firstFree
      firstFree = entries[Int(slot)].next
      entries[Int(slot)] = entry
      return slot
    }
    entries.append(entry)
    return Slot(entries.count - 1)
  }

  private mutating func release(_ slot: Slot) {
    entries[Int(slot)].queue = .none
    entries[Int(slot)].next = firstFree
    firstFree = slot
  }

  private mutating func append(_ slot: Slot, to queue: Queue) {
    entries[Int(slot)].queue = queue
    withList(queue) { list, entries in
      entries[Int(slot)].previous = list.last
      entries[Int(slot)].next = -1
      if list.last >= 0 { entries[Int(list.last)].next = slot } else { list.first = slot }
      list.last = slot
      list.count += 1
      list.cost += entries[Int(slot)].cost
    }
  }

  private mutating func unlink(_ slot: Slot) {
    withList(entries[Int(slot)].queue) { list, entries in
      let entry = entries[Int(slot)]
      if entry.previous >= 0 {
        entries[Int(entry.previous)].next = entry.next
      } else {
        list.first = entry.next
      }
      if entry.next >= 0 {
        entries[Int(entry.next)].previous = entry.previous
      } else {
        list.last = entry.previous
      }
      list.count -= 1
      list.cost -= entry.cost
    }
  }

  private mutating func withList(_ queue: Queue, _ body: (inout List, inout [Entry]) -> Void) {
    switch queue {
    case .none: break
    case .new: body(&newEntries, &entries)
    case .proven: body(&provenEntries, &entries)
    case .ghosts: body(&ghostEntries, &entries)
    }
  }

  // MARK: The heap

  private mutating func push(_ slot: Slot, use: Int) {
    heap.append((use, slot))
    entries[Int(slot)].heapIndex = Int32(heap.count - 1)
    siftUp(heap.count - 1)
  }

  private mutating func removeFromHeap(_ slot: Slot) {
    let index = Int(entries[Int(slot)].heapIndex)
    let last = heap.removeLast()
    guard index < heap.count else { return }
    heap[index] = last
    entries[Int(last.slot)].heapIndex = Int32(index)
    siftDown(index)
    siftUp(Int(entries[Int(last.slot)].heapIndex))
  }

  private mutating func siftUp(_ start: Int) {
    var index = start
    let item = heap[index]
    while index > 0 {
      let parent = (index - 1) / 2
      guard item.use < heap[parent].use else { break }
      place(heap[parent], at: index)
      index = parent
    }
    place(item, at: index)
  }

  private mutating func siftDown(_ start: Int) {
    var index = start
    let item = heap[index]
    while true {
      var child = index * 2 + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1].use < heap[child].use { child += 1 }
      guard heap[child].use < item.use else { break }
      place(heap[child], at: index)
      index = child
    }
    place(item, at: index)
  }

  private mutating func place(_ item: (use: Int, slot: Slot), at index: Int) {
    heap[index] = item
    entries[Int(item.slot)].heapIndex = Int32(index)
  }
}

extension Int {
  func multipliedClamped(by other: Int) -> Int {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max : product
  }

  func addingClamped(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
