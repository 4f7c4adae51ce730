/// Decides what leaves a cache that is full: CAR, "clock with adaptive replacement" (Bansal and Modha, 2004),
/// counted in bytes.
///
/// Entries seen once wait in one ring and entries seen again in another. What was let go is remembered by its
/// fingerprint for a while; when it is asked for again, the ring it came from gets more room. A hit only sets
/// a mark on the entry, so readers change nothing here. Every call takes constant time (amortised).
///
/// The type holds no keys and no values: an entry is a slot number, which its owner keeps.
struct EvictionPolicy {
  /// Names an entry until it is evicted or removed.
  typealias Slot = Int32

  private enum Ring: UInt8 {
    case free, recent, frequent, recentGhost, frequentGhost
  }

  private struct Entry {
    var previous: Slot
    var next: Slot
    var ring: Ring
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

  private var entries: [Entry] = []
  private var firstFree: Slot = -1
  private var recent = List()
  private var frequent = List()
  private var recentGhosts = List()
  private var frequentGhosts = List()
  private var ghosts: [Int: Slot] = [:]
  /// The cost that ``recent`` is meant to have.
  private var recentTarget = 0

  /// Creates a policy for a cache that is empty.
  init(capacity: Int, countLimit: Int = .max) {
    self.capacity = capacity
    self.countLimit = countLimit
  }

  /// What all entries cost together.
  var cost: Int { recent.cost + frequent.cost }
  /// The number of entries.
  var count: Int { recent.count + frequent.count }

  /// Adds an entry after making room for it.
  ///
  /// - Parameters:
  ///   - fingerprint: The key's hash. Two keys with the same one only blur the choice.
  ///   - cost: At most ``capacity``.
  ///   - takeMark: Whether the slot was hit since this was asked last; clears the mark.
  ///   - evicted: Told of each entry that has to go.
  /// - Returns: The entry's slot.
  mutating func insert(
    fingerprint: Int, cost: Int, takeMark: (Slot) -> Bool, evicted: (Slot) -> Void
  ) -> Slot {
    var ring = Ring.recent
    if let ghost = ghosts[fingerprint] {
      let wasRecent = entries[Int(ghost)].ring == .recentGhost
      let step = max(1, entries[Int(ghost)].cost)
      if wasRecent {
        let ratio = max(1, frequentGhosts.cost / max(1, recentGhosts.cost))
        recentTarget = min(capacity, recentTarget.addingClamped(step.multipliedClamped(by: ratio)))
      } else {
        let ratio = max(1, recentGhosts.cost / max(1, frequentGhosts.cost))
        recentTarget = max(0, recentTarget - step.multipliedClamped(by: ratio))
      }
      forget(ghost)
      ring = .frequent
    }
    while count > 0, self.cost + cost > capacity || count >= countLimit {
      guard let slot = evict(takeMark: takeMark) else { break }
      evicted(slot)
    }
    let slot = allocate(Entry(previous: -1, next: -1, ring: ring, cost: cost, fingerprint: fingerprint))
    append(slot, to: ring)
    trimGhosts()
    return slot
  }

  /// Takes out an entry that its owner drops, without remembering it.
  mutating func remove(_ slot: Slot) {
    unlink(slot)
    release(slot)
  }

  /// Takes out the entry that is worth least, remembers its fingerprint, and says which it was; `nil` when
  /// there are none. The slot's number may be given to a later entry.
  mutating func evict(takeMark: (Slot) -> Bool) -> Slot? {
    while count > 0 {
      if recent.count > 0, frequent.count == 0 || recent.cost >= max(1, recentTarget) {
        let slot = recent.first
        unlink(slot)
        if takeMark(slot) {
          append(slot, to: .frequent)
        } else {
          return becomeGhost(slot, .recentGhost)
        }
      } else {
        let slot = frequent.first
        unlink(slot)
        if takeMark(slot) {
          append(slot, to: .frequent)
        } else {
          return becomeGhost(slot, .frequentGhost)
        }
      }
    }
    return nil
  }

  /// Forgets everything.
  mutating func removeAll() {
    self = EvictionPolicy(capacity: capacity, countLimit: countLimit)
  }

  // MARK: Ghosts

  private mutating func becomeGhost(_ slot: Slot, _ ring: Ring) -> Slot {
    let old = entries[Int(slot)]
    // The resident's slot is freed and the ghost has one of its own, so that the owner may reuse the number.
    release(slot)
    if let known = ghosts[old.fingerprint] { forget(known) }
    let ghost = allocate(
      Entry(previous: -1, next: -1, ring: ring, cost: old.cost, fingerprint: old.fingerprint))
    append(ghost, to: ring)
    ghosts[old.fingerprint] = ghost
    return slot
  }

  private mutating func trimGhosts() {
    while recentGhosts.count > 0, recent.cost + recentGhosts.cost > capacity {
      forget(recentGhosts.first)
    }
    while frequentGhosts.count > 0,
      cost + recentGhosts.cost + frequentGhosts.cost > capacity.multipliedClamped(by: 2)
    {
      forget(frequentGhosts.first)
    }
  }

  private mutating func forget(_ ghost: Slot) {
    ghosts[entries[Int(ghost)].fingerprint] = nil
    unlink(ghost)
    release(ghost)
  }

  // MARK: Lists

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
    entries[Int(slot)].ring = .free
    entries[Int(slot)].next = firstFree
    firstFree = slot
  }

  private mutating func append(_ slot: Slot, to ring: Ring) {
    entries[Int(slot)].ring = ring
    withList(ring) { list, entries in
      entries[Int(slot)].previous = list.last
      entries[Int(slot)].next = -1
      if list.last >= 0 { entries[Int(list.last)].next = slot } else { list.first = slot }
      list.last = slot
      list.count += 1
      list.cost += entries[Int(slot)].cost
    }
  }

  private mutating func unlink(_ slot: Slot) {
    withList(entries[Int(slot)].ring) { list, entries in
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

  private mutating func withList(_ ring: Ring, _ body: (inout List, inout [Entry]) -> Void) {
    switch ring {
    case .free: break
    case .recent: body(&recent, &entries)
    case .frequent: body(&frequent, &entries)
    case .recentGhost: body(&recentGhosts, &entries)
    case .frequentGhost: body(&frequentGhosts, &entries)
    }
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
