import Testing

@testable import Calotype

@Suite struct EvictionPolicyTests {
  private func look(_ keys: [Int], in cache: inout TrialCache, cost: Int = 1) -> [Bool] {
    keys.map { cache.look(up: .init(fingerprint: $0, cost: cost, time: 0)) }
  }

  @Test func recencyIsExactlyLRU() {
    var cache = TrialCache(policy: EvictionPolicy(capacity: 50))
    var order: [Int] = []
    var random = Traces.Random()
    for _ in 0..<5000 {
      let key = Int.random(in: 0..<80, using: &random)
      let isKnown = order.contains(key)
      order.removeAll { $0 == key }
      order.append(key)
      if order.count > 50 { order.removeFirst() }
      #expect(look([key], in: &cache) == [isKnown])
    }
  }

  @Test func frequencyKeepsWhatWasHitAgainstAScan() {
    var cache = TrialCache(policy: EvictionPolicy(capacity: 10, mode: .frequency))
    _ = look([1, 2, 3, 1, 2, 3], in: &cache)
    _ = look(Array(100..<200), in: &cache)
    #expect(look([1, 2, 3], in: &cache) == [true, true, true])
  }

  @Test func whatComesBackSoonIsNotNewAgain() {
    var cache = TrialCache(policy: EvictionPolicy(capacity: 10, mode: .frequency))
    _ = look(Array(0..<15), in: &cache)
    // 0 was let go and is remembered; this time it survives as long a scan.
    #expect(look([0], in: &cache) == [false])
    _ = look(Array(100..<108), in: &cache)
    #expect(look([0], in: &cache) == [true])
  }

  @Test(arguments: [EvictionPolicy.Mode.recency, .frequency])
  func costIsWhatCounts(mode: EvictionPolicy.Mode) {
    var cache = TrialCache(policy: EvictionPolicy(capacity: 100, mode: mode))
    var random = Traces.Random()
    for _ in 0..<3000 {
      let key = Int.random(in: 0..<200, using: &random)
      _ = look([key], in: &cache, cost: key % 40)
      #expect(cache.policy.cost <= 100)
    }
    _ = look([1000], in: &cache, cost: 101)
    #expect(look([1000], in: &cache, cost: 101) == [false])
  }

  @Test func theTableFindsWhatIsInItWhateverElseIsTakenOut() {
    final class Number {
      let value: Int
      init(_ value: Int) { self.value = value }
    }
    var table = HashedTable<Number>()
    var reference: Set<Int> = []
    var random = Traces.Random()
    for _ in 0..<20_000 {
      let value = Int.random(in: 0..<500, using: &random)
      // Few hashes, so that most places are contested.
      let hash = (value % 37) << 8
      if Bool.random(using: &random) {
        let old = table.update(Number(value), hash) { $0.value == value }
        #expect((old != nil) == reference.contains(value))
        reference.insert(value)
      } else {
        let old = table.remove(hash) { $0.value == value }
        #expect((old != nil) == (reference.remove(value) != nil))
      }
      #expect(table.count == reference.count)
    }
    for value in 0..<500 {
      #expect((table.find((value % 37) << 8) { $0.value == value } != nil) == reference.contains(value))
    }
  }
}
