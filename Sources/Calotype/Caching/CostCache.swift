import Synchronization

/// A key that knows a hash whose bits are all as good as random.
protocol CostCacheKey: Equatable, Sendable {
  var cacheHash: Int { get }
}

/// A cache in memory that counts what its values cost. Safe from any thread.
///
/// A hit takes one of several small locks for as long as a look-up in a hash table lasts, and leaves a note of
/// the use on the entry; what is to leave is worked out when something is stored, under a lock that readers
/// never take.
final class CostCache<Key: CostCacheKey, Value: Sendable>: Sendable {
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
    let hash: Int
    let value: Value
    let cost: Int
    let deadline: Double
    let lastUse: Atomic<Int>
    let hits = Atomic<UInt8>(0)
    /// The policy's name for the entry, or -1. Changed under the state's lock only.
    let slot = Atomic<EvictionPolicy.Slot>(-1)

    init(key: Key, hash: Int, value: Value, cost: Int, deadline: Double, lastUse: Int) {
      self.key = key
      self.hash = hash
      self.value = value
      self.cost = cost
      self.deadline = deadline
      self.lastUse = Atomic(lastUse)
    }
  }

  private struct Table {
    var entries = HashedTable<Entry>()
    var hits = 0
    var misses = 0
    /// Hits that the duel has not seen yet.
    var samples: [PolicyDuel.Sample] = []
  }

  private final class Shard: Sendable {
    let table = Lock(Table())
    // Keeps two shards' locks off one cache line, wherever the allocator puts them.
    let padding: (Int, Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0, 0)
  }

  private struct Residents: EntryUse {
    /// By slot.
    var entries: [Entry?] = []

    func lastUse(_ slot: EvictionPolicy.Slot) -> Int {
      entries[Int(slot)]?.lastUse.load(ordering: .relaxed) ?? 0
    }

    func hits(_ slot: EvictionPolicy.Slot) -> UInt8 { entries[Int(slot)]?.hits.load(ordering: .relaxed) ?? 0 }

    func setHits(_ hits: UInt8, _ slot: EvictionPolicy.Slot) {
      entries[Int(slot)]?.hits.store(hits, ordering: .relaxed)
    }
  }

  private struct State {
    var policy: EvictionPolicy
    var duel: PolicyDuel
    var residents = Residents()
    var evictions = 0
    var largestEntry: Int
    var timeToLive: Double?
  }

  private let shards: [Shard]
  private let state: Lock<State>
  private let clock: Clock
  /// Counts uses, so that their order is known. A hit moves it on only now and then, since a count that all
  /// threads write would hold them up: uses less than about 8 apart may count as at once.
  private let time = Atomic<Int>(1)

  private static var sampleLimit: Int { 128 }

  /// - Parameters:
  ///   - costLimit: The most that all values may cost.
  ///   - countLimit: The most values.
  ///   - largestEntry: What costs more is not kept.
  ///   - timeToLive: Seconds after which a value has ended, however often it was read; `nil` for never.
  init(
    costLimit: Int, countLimit: Int, largestEntry: Int, timeToLive: Double?, clock: @escaping Clock
  ) {
    shards = (0..<16).map { _ in Shard() }
    let policy = EvictionPolicy(capacity: max(0, costLimit), countLimit: max(0, countLimit))
    state = Lock(
      State(
        policy: policy, duel: PolicyDuel(capacity: policy.capacity, countLimit: policy.countLimit),
        largestEntry: largestEntry, timeToLive: timeToLive))
    self.clock = clock
  }

  /// The value for a key, or `nil`.
  func value(for key: Key) -> Value? {
    let hash = key.cacheHash
    let isSample = PolicyDuel.takesPart(hash)
    let time = time.load(ordering: .relaxed)
    return shard(hash).table.withLock { table -> Value? in
      guard let entry = table.entries.find(hash, where: { $0.key == key }),
        entry.deadline == .infinity || entry.deadline > clock()
      else {
        table.misses += 1
        return nil
      }
      table.hits += 1
      if table.hits & 7 == 0 { self.time.add(1, ordering: .relaxed) }
      // Written only where they change, so that threads that hit one entry do not fight over its cache line.
      if entry.lastUse.load(ordering: .relaxed) != time { entry.lastUse.store(time, ordering: .relaxed) }
      let hits = entry.hits.load(ordering: .relaxed)
      if hits < 3 { entry.hits.store(hits + 1, ordering: .relaxed) }
      if isSample, table.samples.count < Self.sampleLimit {
        table.samples.append(PolicyDuel.Sample(fingerprint: hash, cost: entry.cost, time: time))
      }
      return entry.value
    }
  }

  /// Keeps a value, in place of any that the key had. What costs more than the largest entry is dropped,
  /// and so is what the key had.
  func store(_ value: Value, for key: Key, cost: Int) {
    let hash = key.cacheHash
    let cost = max(0, cost)
    // Freed after the locks are let go: a value may be large.
    var dropped: [Entry] = []
    defer { withExtendedLifetime(dropped) {} }
    state.withLock { state in
      let now = time.add(1, ordering: .relaxed).newValue
      let deadline = state.timeToLive.map { clock() + $0 } ?? .infinity
      let entry = Entry(key: key, hash: hash, value: value, cost: cost, deadline: deadline, lastUse: now)
      let fits = cost <= min(state.largestEntry, state.policy.capacity) && state.policy.countLimit > 0
      let old = shard(hash).table.withLock { table in
        fits
          ? table.entries.update(entry, hash) { $0.key == key } : table.entries.remove(hash) { $0.key == key }
      }
      if let old {
        // A picture that is replaced was wanted again, as one that is hit.
        entry.hits.store(min(3, old.hits.load(ordering: .relaxed) + 1), ordering: .relaxed)
        discard(old, from: &state)
        dropped.append(old)
      }
      guard fits else { return }
      duel(PolicyDuel.Sample(fingerprint: hash, cost: cost, time: now), &state)
      insert(entry, now: now, into: &state, dropped: &dropped)
    }
  }

  /// Drops a key's value.
  func remove(_ key: Key) {
    let hash = key.cacheHash
    let old = state.withLock { state -> Entry? in
      let old = shard(hash).table.withLock { $0.entries.remove(hash) { $0.key == key } }
      if let old { discard(old, from: &state) }
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// Drops every value.
  func removeAll() {
    var dropped: [HashedTable<Entry>] = []
    state.withLock { state in
      for shard in shards {
        dropped.append(
          shard.table.withLock { table in
            let entries = table.entries
            table.entries = HashedTable()
            return entries
          })
      }
      state.policy.removeAll()
      state.residents = Residents()
    }
    withExtendedLifetime(dropped) {}
  }

  /// Drops the least worthy values until the rest costs at most `cost` and is at most `count` values.
  func trim(toCost cost: Int = .max, toCount count: Int = .max) {
    var dropped: [Entry] = []
    defer { withExtendedLifetime(dropped) {} }
    state.withLock { state in
      while state.policy.count > max(0, count) || state.policy.cost > max(0, cost) {
        guard let slot = state.policy.evict(use: &state.residents) else { break }
        // At once, since the slot may be given out again.
        drop(slot, from: &state, dropped: &dropped)
      }
    }
  }

  /// Changes the limits and drops what is over them.
  func setLimits(cost: Int, count: Int, largestEntry: Int, timeToLive: Double?) {
    state.withLock { state in
      state.policy.capacity = max(0, cost)
      state.policy.countLimit = max(0, count)
      state.policy.mode = .recency
      state.duel = PolicyDuel(capacity: max(0, cost), countLimit: max(0, count))
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

  /// How what has to go is chosen at present.
  var mode: EvictionPolicy.Mode { state.withLock { $0.policy.mode } }

  // MARK: Under the state's lock

  private func insert(_ entry: Entry, now: Int, into state: inout State, dropped: inout [Entry]) {
    var evicted: [EvictionPolicy.Slot] = []
    let slot = state.policy.insert(
      fingerprint: entry.hash, cost: entry.cost, now: now, use: &state.residents
    ) { evicted.append($0) }
    for slot in evicted { drop(slot, from: &state, dropped: &dropped) }
    while state.residents.entries.count <= Int(slot) { state.residents.entries.append(nil) }
    state.residents.entries[Int(slot)] = entry
    entry.slot.store(slot, ordering: .relaxed)
  }

  /// Shows the duel what was looked up since the last store, and does as it says.
  private func duel(_ stored: PolicyDuel.Sample, _ state: inout State) {
    var samples: [PolicyDuel.Sample] = []
    for shard in shards {
      shard.table.withLock { table in
        guard !table.samples.isEmpty else { return }
        samples.append(contentsOf: table.samples)
        table.samples.removeAll(keepingCapacity: true)
      }
    }
    samples.sort { $0.time < $1.time }
    for sample in samples { state.duel.play(sample) }
    if PolicyDuel.takesPart(stored.fingerprint) { state.duel.play(stored) }
    state.policy.mode = state.duel.winner
  }

  /// Takes out of the tables what the policy has evicted.
  private func drop(_ slot: EvictionPolicy.Slot, from state: inout State, dropped: inout [Entry]) {
    guard let entry = state.residents.entries[Int(slot)] else { return }
    state.residents.entries[Int(slot)] = nil
    state.evictions += 1
    _ = shard(entry.hash).table.withLock { $0.entries.remove(entry.hash) { $0 === entry } }
    dropped.append(entry)
  }

  /// Takes out of the policy what has left the tables.
  private func discard(_ entry: Entry, from state: inout State) {
    let slot = entry.slot.exchange(-1, ordering: .relaxed)
    guard slot >= 0 else { return }
    state.policy.remove(slot)
    state.residents.entries[Int(slot)] = nil
  }

  private func shard(_ hash: Int) -> Shard { shards[hash & (shards.count - 1)] }
}
