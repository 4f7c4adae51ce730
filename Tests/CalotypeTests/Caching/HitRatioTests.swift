import Foundation
import Testing

@testable import Calotype

/// What the eviction policy is chosen by: hits on traces, beside a cache that lets go of the least recently
/// used.
@Suite struct HitRatioTests {
  /// Hits of the memory cache and of exact LRU on one trace, as shares of all look-ups: the mean of several
  /// runs, since which part of the cache an address falls in differs from process to process.
  private func ratios(_ trace: [Int], capacity: Int) throws -> (ours: Double, lru: Double) {
    let runs = try (0..<5).map { try ratios(trace, capacity: capacity, host: $0) }
    return (runs.map(\.ours).reduce(0, +) / 5, runs[0].lru)
  }

  private func ratios(_ trace: [Int], capacity: Int, host: Int) throws -> (ours: Double, lru: Double) {
    let pixel = ImageContainer(
      bitmap: try Bitmap(size: PixelSize(width: 1, height: 1), isOpaque: true) {
        $0.copyBytes(from: [0, 0, 0, 0])
      })
    let cache = MemoryCache(configuration: .init(costLimit: capacity * pixel.cost, largestEntryShare: 1))
    var lru = TrialCache(policy: EvictionPolicy(capacity: capacity))
    var hits = (ours: 0, lru: 0)
    for number in trace {
      let key = ImageCacheKey(address: "http://host\(host)/\(number)")
      if cache.image(for: key) != nil { hits.ours += 1 } else { cache.store(pixel, for: key) }
      if lru.look(up: .init(fingerprint: number, cost: 1, time: 0)) { hits.lru += 1 }
    }
    #expect(cache.statistics.count <= capacity)
    return (Double(hits.ours) / Double(trace.count), Double(hits.lru) / Double(trace.count))
  }

  @Test(arguments: [(0.8, 100), (0.8, 500), (1.0, 100), (1.0, 500)])
  func aFewFavouritesAmongManyAreKeptBetterThanByLRU(skew: Double, capacity: Int) throws {
    let ratio = try ratios(Traces.zipf(count: 5000, skew: skew, length: 25_000), capacity: capacity)
    #expect(ratio.ours >= ratio.lru + 0.02)
  }

  @Test(arguments: [100, 500])
  func scrollingIsNeverServedWorseThanByLRU(capacity: Int) throws {
    for trace in [Traces.down, Traces.back, Traces.jitter, Traces.fling, Traces.loop] {
      let ratio = try ratios(trace(), capacity: capacity)
      #expect(ratio.ours >= ratio.lru - 0.01)
    }
  }

  @Test func whenTheWayOfAskingChangesSoDoesTheChoice() throws {
    let favourites = Traces.zipf(count: 5000, skew: 0.9, length: 15_000)
    let trace = favourites + Traces.fling().map { $0 + 10_000 } + favourites
    let ratio = try ratios(trace, capacity: 500)
    #expect(ratio.ours >= ratio.lru + 0.02)
  }
}

/// Made-up ways of asking for pictures, the same at every run.
enum Traces {
  struct Random: RandomNumberGenerator {
    var state: UInt64 = 42
    mutating func next() -> UInt64 {
      // SplitMix64
      state &+= 0x9E37_79B9_7F4A_7C15
      var word = state
      word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
      word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
      return word ^ (word >> 31)
    }
  }

  /// The i-th most popular of `count` is asked for in proportion to 1 / i^skew.
  static func zipf(count: Int, skew: Double, length: Int) -> [Int] {
    var random = Random()
    var sums: [Double] = []
    var sum = 0.0
    for rank in 1...count {
      sum += 1 / pow(Double(rank), skew)
      sums.append(sum)
    }
    return (0..<length).map { _ in
      let point = Double.random(in: 0..<sum, using: &random)
      var (low, high) = (0, count - 1)
      while low < high {
        let middle = (low + high) / 2
        if sums[middle] < point { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  /// Once down a long list.
  static func down() -> [Int] { Array(0..<3000) }

  /// Down a list and up again, three times.
  static func back() -> [Int] { (0..<3).flatMap { _ in Array(0..<1500) + (0..<1500).reversed() } }

  /// Round and round a list that is a little longer than a cache of 500.
  static func loop() -> [Int] { (0..<10).flatMap { _ in 0..<550 } }

  /// To and fro a few rows at a time.
  static func jitter() -> [Int] {
    scroll { random in Int.random(in: -70...86, using: &random) }
  }

  /// Hundreds of rows now and then, a few in between.
  static func fling() -> [Int] {
    scroll { random in
      Int.random(in: 0..<10, using: &random) < 3
        ? Int.random(in: -200...600, using: &random) : Int.random(in: -20...20, using: &random)
    }
  }

  /// A window of 12 rows that moves over 10,000; what comes into it is asked for.
  private static func scroll(_ step: (inout Random) -> Int) -> [Int] {
    var random = Random()
    var trace: [Int] = []
    var top = 0
    while trace.count < 12_000 {
      let move = step(&random)
      for _ in 0..<abs(move) {
        let next = top + move.signum()
        guard next >= 0, next <= 10_000 - 12 else { break }
        top = next
        trace.append(move > 0 ? top + 11 : top)
      }
    }
    return trace
  }
}
