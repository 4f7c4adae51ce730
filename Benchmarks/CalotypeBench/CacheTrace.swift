import Foundation

/// A made-up way of asking for pictures, the same at every run.
struct CacheTrace {
  var name: String
  var numbers: [Int]

  static func all(isQuick: Bool) -> [CacheTrace] {
    let length = isQuick ? 20_000 : 200_000
    let favourites = zipf(skew: 0.9, length: length / 3)
    return [
      CacheTrace(name: "Zipf 0.8", numbers: zipf(skew: 0.8, length: length)),
      CacheTrace(name: "Zipf 1.0", numbers: zipf(skew: 1.0, length: length)),
      CacheTrace(name: "down a list", numbers: Array(0..<10_000)),
      CacheTrace(
        name: "down and up", numbers: (0..<3).flatMap { _ in Array(0..<3000) + (0..<3000).reversed() }),
      CacheTrace(name: "to and fro", numbers: scroll(length) { Int.random(in: -70...86, using: &$0) }),
      CacheTrace(name: "flings", numbers: flings(length)),
      CacheTrace(name: "round and round 1100", numbers: (0..<40).flatMap { _ in 0..<1100 }),
      CacheTrace(
        name: "Zipf, flings, Zipf", numbers: favourites + flings(length / 3).map { $0 + 10_000 } + favourites),
    ]
  }

  private static func zipf(skew: Double, length: Int) -> [Int] {
    var random = SplitMix()
    var sum = 0.0
    let sums = (1...10_000).map { rank in
      sum += 1 / pow(Double(rank), skew)
      return sum
    }
    return (0..<length).map { _ in
      let point = Double.random(in: 0..<sum, using: &random)
      var (low, high) = (0, sums.count - 1)
      while low < high {
        let middle = (low + high) / 2
        if sums[middle] < point { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  private static func flings(_ length: Int) -> [Int] {
    scroll(length) { random in
      Int.random(in: 0..<10, using: &random) < 3
        ? Int.random(in: -200...600, using: &random) : Int.random(in: -20...20, using: &random)
    }
  }

  /// A window of 12 rows that moves over 10,000; what comes into it is asked for. It turns at the ends.
  private static func scroll(_ length: Int, _ step: (inout SplitMix) -> Int) -> [Int] {
    var random = SplitMix()
    var trace: [Int] = []
    var top = 0
    var direction = 1
    while trace.count < length {
      let move = step(&random) * direction
      for _ in 0..<abs(move) {
        let next = top + move.signum()
        guard next >= 0, next <= 10_000 - 12 else {
          direction = -direction
          break
        }
        top = next
        trace.append(move > 0 ? top + 11 : top)
      }
    }
    return trace
  }
}

struct SplitMix: RandomNumberGenerator {
  private var state: UInt64 = 42

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}

/// The peer: exact least-recently-used, of keys only.
struct LeastRecentlyUsed {
  private let capacity: Int
  private var uses: [Int: Int] = [:]
  private var order: [(key: Int, use: Int)] = []
  private var first = 0
  private var now = 0

  init(capacity: Int) { self.capacity = capacity }

  mutating func look(up key: Int) -> Bool {
    now += 1
    let isHit = uses.updateValue(now, forKey: key) != nil
    order.append((key, now))
    while uses.count > capacity {
      let oldest = order[first]
      first += 1
      if uses[oldest.key] == oldest.use { uses[oldest.key] = nil }
    }
    return isHit
  }
}
