/// Finds out which way of choosing what goes suits what a cache is asked for: a quarter of the keys is played
/// to two small caches without values, one of each way, and the one that hits more often lately wins.
///
/// Recency holds until frequency is clearly better, and again as soon as it is not.
struct PolicyDuel {
  /// One look-up as the duel sees it.
  struct Sample: Sendable {
    var fingerprint: Int
    var cost: Int
    /// The owner's count then, to bring samples into order.
    var time: Int
  }

  /// One key in so many takes part.
  static let share = 4
  /// How much better frequency must be, in hits a look-up, before it is used.
  private static let margin = 0.02
  /// A cache of fewer entries says too little.
  private static let fewestEntries = 16

  private var recency: TrialCache
  private var frequency: TrialCache
  /// Hits by frequency less hits by recency, and look-ups; old ones fade.
  private var lead = 0.0
  private var weight = 0.0

  /// The way to choose now.
  private(set) var winner = EvictionPolicy.Mode.recency

  /// Creates a duel for a cache of a certain size.
  init(capacity: Int, countLimit: Int) {
    let countLimit = countLimit == .max ? .max : max(1, countLimit / Self.share)
    recency = TrialCache(
      policy: EvictionPolicy(capacity: capacity / Self.share, countLimit: countLimit, mode: .recency))
    frequency = TrialCache(
      policy: EvictionPolicy(capacity: capacity / Self.share, countLimit: countLimit, mode: .frequency))
  }

  /// Whether a key takes part.
  static func takesPart(_ fingerprint: Int) -> Bool { (fingerprint &>> 58) & (share - 1) == 0 }

  /// Plays one look-up. Only for keys that take part.
  mutating func play(_ sample: Sample) {
    let isRecencyHit = recency.look(up: sample)
    let isFrequencyHit = frequency.look(up: sample)
    let entries = Double(recency.count)
    // What counts is about the last twice as many look-ups as the cache has entries.
    let fading = 1 - 1 / (2 * entries + 50)
    lead = lead * fading + (isFrequencyHit ? 1 : 0) - (isRecencyHit ? 1 : 0)
    weight = weight * fading + 1
    guard recency.count >= Self.fewestEntries else { return }
    switch winner {
    case .recency: if lead > Self.margin * weight, weight > entries / 2 { winner = .frequency }
    case .frequency: if lead < 0 { winner = .recency }
    }
  }
}

/// A cache of keys only, that says whether it would have hit.
struct TrialCache {
  private struct Use: EntryUse {
    var lastUses: [Int] = []
    var hitCounts: [UInt8] = []

    func lastUse(_ slot: EvictionPolicy.Slot) -> Int { lastUses[Int(slot)] }
    func hits(_ slot: EvictionPolicy.Slot) -> UInt8 { hitCounts[Int(slot)] }
    mutating func setHits(_ hits: UInt8, _ slot: EvictionPolicy.Slot) { hitCounts[Int(slot)] = hits }
  }

  private(set) var policy: EvictionPolicy
  private var slots: [Int: EvictionPolicy.Slot] = [:]
  private var fingerprints: [Int] = []
  private var use = Use()
  private var now = 0

  init(policy: EvictionPolicy) { self.policy = policy }

  /// The number of keys held.
  var count: Int { policy.count }

  /// Whether the cache holds the key; it does afterwards, unless it costs too much.
  mutating func look(up sample: PolicyDuel.Sample) -> Bool {
    now += 1
    if let slot = slots[sample.fingerprint] {
      use.lastUses[Int(slot)] = now
      use.hitCounts[Int(slot)] = min(3, use.hitCounts[Int(slot)] + 1)
      return true
    }
    guard sample.cost <= policy.capacity else { return false }
    let slot = policy.insert(fingerprint: sample.fingerprint, cost: sample.cost, now: now, use: &use) {
      slot in
      slots[fingerprints[Int(slot)]] = nil
    }
    while fingerprints.count <= Int(slot) {
      fingerprints.append(0)
      use.lastUses.append(0)
      use.hitCounts.append(0)
    }
    fingerprints[Int(slot)] = sample.fingerprint
    use.lastUses[Int(slot)] = now
    use.hitCounts[Int(slot)] = 0
    slots[sample.fingerprint] = slot
    return false
  }
}
