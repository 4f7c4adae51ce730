import Synchronization

/// A cache in memory that counts what its values cost. Safe from any thread.
///
/// A hit takes one of several small locks for as long as a dictionary look-up lasts and sets a mark on the
/// entry; what is to leave is worked out when something is stored, under a lock that readers never take.
final class CostCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// Seconds on a clock that never goes back.
  typealias Clock = @Sendable () -> Double

  /// What a cache has done and holds.
  struct Counts: Sendable {
    var hits = 0
    var misses = 0
    var evictions = 0
    var cost = 0
    var count = 0
  }

  private final class Entry: Sendable {
    let key: Key
    let value: Value
    let cost: Int
    let deadline: Double
    let shard: Int
    let mark = Atomic<Bool>(false)

    init(key: Key, value: Value, cost: Int, deadline: Double, shard: Int) {
      self.key = key
      self.value = value
      self.cost = cost
      self.deadline = deadline
      self.shard = shard
    }
  }

  private struct Table {
    var entries: [Key: Entry] = [:]
    var hits = 0
    var misses = 0
  }

  private final class Shard: Sendable {
    let table = Mutex(Table())
    // Keeps two shards' locks off one cache line, wherever the allocator puts them.
    let padding: (Int, Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0, 0)
  }

  private struct State {
    var policy: EvictionPolicy
    /// By slot.
    var residents: [Entry?] = []
    var slots: [ObjectIdentifier: EvictionPolicy.Slot] = [:]
    var evictions = 0
    var largestEntry: Int
    var timeToLive: Double?
  }

  private let shards: [Shard]
  private let state: Mutex<State>
  private let clock: Clock

  /// - Parameters:
  ///   - costLimit: The most that all values may cost.
  ///   - countLimit: The most values.
  ///   - largestEntry: What costs more is not kept.
  ///   - timeToLive: Seconds after which a value has ended, however often it was read; `nil` for never.
  init(
    costLimit: Int, countLimit: Int, largestEntry: Int, timeToLive: Double?, clock: @escaping Clock
  ) {
    shards = (0..<16).map { _ in Shard() }
    state = Mutex(
      State(
        policy: EvictionPolicy(capacity: max(0, costLimit), countLimit: max(0, countLimit)),
        largestEntry: largestEntry, timeToLive: timeToLive))
    self.clock = clock
  }

  /// The value for a key, or `nil`.
  func value(for key: Key) -> Value? {
    let shard = shards[shardIndex(key)]
    let entry = shard.table.withLock { table -> Entry? in
      guard let entry = table.entries[key], entry.deadline == .infinity || entry.deadline > clock() else {
        table.misses += 1
        return nil
      }
      table.hits += 1
      return entry
    }
    guard let entry else { return nil }
    // Written only when it is not set, so that threads that hit one entry do not fight over its cache line.
    if !entry.mark.load(ordering: .relaxed) { entry.mark.store(true, ordering: .relaxed) }
    return entry.value
  }

  /// Keeps a value, in place of any that the key had. What costs more than the largest entry is dropped,
  /// and so is what the key had.
  func store(_ value: Value, for key: Key, cost: Int) {
    let index = shardIndex(key)
    // Freed after the locks are let go: a value may be large.
    var dropped: [Entry] = []
    defer { withExtendedLifetime(dropped) {} }
    state.withLock { state in
      let deadline = state.timeToLive.map { clock() + $0 } ?? .infinity
      let entry = Entry(key: key, value: value, cost: max(0, cost), deadline: deadline, shard: index)
      let fits = entry.cost <= min(state.largestEntry, state.policy.capacity) && state.policy.countLimit > 0
      let old = shards[index].table.withLock { table in
        fits ? table.entries.updateValue(entry, forKey: key) : table.entries.removeValue(forKey: key)
      }
      if let old {
        // A picture that is replaced was wanted again, as one that is hit.
        if old.mark.load(ordering: .relaxed) { entry.mark.store(true, ordering: .relaxed) }
        discard(old, from: &state)
        dropped.append(old)
      }
      guard fits else { return }
      insert(entry, into: &state, dropped: &dropped)
    }
  }

  /// Drops a key's value.
  func remove(_ key: Key) {
    let index = shardIndex(key)
    let old = state.withLock { state -> Entry? in
      let old = shards[index].table.withLock { $0.entries.removeValue(forKey: key) }
      if let old { discard(old, from: &state) }
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// Drops every value.
  func removeAll() {
    var dropped: [[Key: Entry]] = []
    state.withLock { state in
      for shard in shards {
        dropped.append(
          shard.table.withLock { table in
            let entries = table.entries
            table.entries = [:]
            return entries
          })
      }
      state.policy.removeAll()
      state.residents = []
      state.slots = [:]
    }
    withExtendedLifetime(dropped) {}
  }

  /// Drops the least worthy values until the rest costs at most `cost` and is at most `count` values.
  func trim(toCost cost: Int = .max, toCount count: Int = .max) {
    var dropped: [Entry] = []
    defer { withExtendedLifetime(dropped) {} }
    state.withLock { state in
      while state.policy.count > max(0, count) || state.policy.cost > max(0, cost) {
        guard evictOne(from: &state, dropped: &dropped) else { return }
      }
    }
  }

  /// Changes the limits and drops what is over them.
  func setLimits(cost: Int, count: Int, largestEntry: Int, timeToLive: Double?) {
    state.withLock { state in
      state.policy.capacity = max(0, cost)
      state.policy.countLimit = max(0, count)
      state.largestEntry = largestEntry
      state.timeToLive = timeToLive
    }
    trim(toCost: cost, toCount: count)
  }

  /// What the cache has done and holds.
  var counts: Counts {
    var counts = Counts()
    state.withLock { state in
      counts.evictions = state.evictions
      counts.cost = state.policy.cost
      counts.count = state.policy.count
    }
    for shard in shards {
      shard.table.withLock { table in
        counts.hits += table.hits
        counts.misses += table.misses
      }
    }
    return counts
  }

  // MARK: Under the state's lock

  private func insert(_ entry: Entry, into state: inout State, dropped: inout [Entry]) {
    var evicted: [EvictionPolicy.Slot] = []
    // Taken out for the time being: the policy asks for marks while the state is being changed, and a second
    // reference to the array would make it copy itself.
    var residents: [Entry?] = []
    swap(&residents, &state.residents)
    let slot = state.policy.insert(
      fingerprint: entry.key.hashValue, cost: entry.cost,
      takeMark: { Self.takeMark(residents, $0) }, evicted: { evicted.append($0) })
    swap(&residents, &state.residents)
    for slot in evicted { drop(slot, from: &state, dropped: &dropped) }
    while state.residents.count <= Int(slot) { state.residents.append(nil) }
    state.residents[Int(slot)] = entry
    state.slots[ObjectIdentifier(entry)] = slot
  }

  private func evictOne(from state: inout State, dropped: inout [Entry]) -> Bool {
    var residents: [Entry?] = []
    swap(&residents, &state.residents)
    let slot = state.policy.evict(takeMark: { Self.takeMark(residents, $0) })
    swap(&residents, &state.residents)
    guard let slot else { return false }
    drop(slot, from: &state, dropped: &dropped)
    return true
  }

  private static func takeMark(_ residents: [Entry?], _ slot: EvictionPolicy.Slot) -> Bool {
    guard let entry = residents[Int(slot)] else { return false }
    guard entry.mark.load(ordering: .relaxed) else { return false }
    entry.mark.store(false, ordering: .relaxed)
    return true
  }

  /// Takes out of the tables what the policy has evicted.
  private func drop(_ slot: EvictionPolicy.Slot, from state: inout State, dropped: inout [Entry]) {
    guard let entry = state.residents[Int(slot)] else { return }
    state.residents[Int(slot)] = nil
    state.slots[ObjectIdentifier(entry)] = nil
    state.evictions += 1
    shards[entry.shard].table.withLock { table in
      if table.entries[entry.key] === entry { table.entries[entry.key] = nil }
    }
    dropped.append(entry)
  }

  /// Takes out of the policy what has left the tables.
  private func discard(_ entry: Entry, from state: inout State) {
    guard let slot = state.slots.removeValue(forKey: ObjectIdentifier(entry)) else { return }
    state.policy.remove(slot)
    state.residents[Int(slot)] = nil
  }

  private func shardIndex(_ key: Key) -> Int {
    key.hashValue & (shards.count - 1)
  }
}
