import Testing

@testable import Calotype

@Suite struct MemoryCacheTests {
  /// A picture of `side * side * 4` bytes.
  func picture(_ side: Int = 10, isPreview: Bool = false) throws -> ImageContainer {
    let bitmap = try Bitmap(size: PixelSize(width: side, height: side), isOpaque: true) { pixels in
      pixels.initializeMemory(as: UInt8.self, repeating: 0)
    }
    return ImageContainer(bitmap: bitmap, isPreview: isPreview)
  }

  func key(_ number: Int) -> ImageCacheKey { ImageCacheKey(address: "http://a/\(number)", variant: "48x48") }

  func cache(
    cost: Int = 4000, count: Int = .max, timeToLive: Double? = nil, share: Double = 1,
    clock: ManualClock? = nil
  ) -> MemoryCache {
    let configuration = MemoryCache.Configuration(
      costLimit: cost, countLimit: count, timeToLive: timeToLive, largestEntryShare: share)
    guard let clock else { return MemoryCache(configuration: configuration) }
    return MemoryCache(configuration: configuration) { clock.now }
  }

  @Test func keepsByAddressAndVariant() throws {
    let cache = cache()
    let image = try picture()
    cache.store(image, for: key(1))
    #expect(cache.image(for: key(1))?.bitmap == image.bitmap)
    #expect(cache.image(for: ImageCacheKey(address: "http://a/1")) == nil)
    cache.remove(key(1))
    #expect(cache.image(for: key(1)) == nil)
    #expect(cache.statistics == .init(hits: 1, misses: 2, evictions: 0, cost: 0, count: 0))
  }

  @Test func costStaysUnderItsLimit() throws {
    let cache = cache()
    for number in 0..<100 {
      cache.store(try picture(), for: key(number))
      #expect(cache.statistics.cost <= 4000)
    }
    #expect(cache.statistics.count == 10)
    #expect(cache.statistics.evictions == 90)
    #expect(cache.image(for: key(99)) != nil)
  }

  @Test func countStaysUnderItsLimit() throws {
    let cache = cache(count: 3)
    for number in 0..<10 { cache.store(try picture(), for: key(number)) }
    #expect(cache.statistics.count == 3)
    #expect(cache.statistics.cost == 1200)
  }

  @Test func replacingCountsTheNewCostOnly() throws {
    let cache = cache()
    cache.store(try picture(10), for: key(1))
    cache.store(try picture(20), for: key(1))
    #expect(cache.statistics.cost == 1600)
    #expect(cache.statistics.count == 1)
    #expect(cache.image(for: key(1))?.bitmap.width == 20)
  }

  @Test func aPictureOverTheLargestShareIsNotKeptAndEvictsNothing() throws {
    let cache = cache(share: 0.25)
    cache.store(try picture(10), for: key(1))
    cache.store(try picture(16), for: key(2))
    #expect(cache.image(for: key(2)) == nil)
    #expect(cache.image(for: key(1)) != nil)
    // What the key had is no longer what it stands for.
    cache.store(try picture(16), for: key(1))
    #expect(cache.image(for: key(1)) == nil)
    #expect(cache.statistics.cost == 0)
  }

  @Test func previewsAreNotKept() throws {
    let cache = cache()
    cache.store(try picture(isPreview: true), for: key(1))
    #expect(cache.image(for: key(1)) == nil)
  }

  /// K12
  @Test func readingDoesNotRenew() throws {
    let clock = ManualClock()
    let cache = cache(timeToLive: 5, clock: clock)
    cache.store(try picture(), for: key(1))
    for second in 0..<8 {
      #expect((cache.image(for: key(1)) != nil) == (second < 5), "after \(second) s")
      clock.advance(by: 1)
    }
  }

  @Test func trimsToCostAndCount() throws {
    let cache = cache()
    for number in 0..<10 { cache.store(try picture(), for: key(number)) }
    cache.trim(toCost: 2500)
    #expect(cache.statistics.cost == 2400)
    cache.trim(toCount: 2)
    #expect(cache.statistics.count == 2)
    cache.removeAll()
    #expect(cache.statistics.cost == 0)
    #expect(cache.image(for: key(9)) == nil)
  }

  @Test func manyThreadsLeaveItInOrder() async throws {
    let cache = cache(cost: 40_000)
    let image = try picture()
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          var random = UInt64(worker + 1)
          for _ in 0..<3000 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let key = self.key(Int(random >> 33) % 300)
            switch (random >> 20) % 16 {
            case 0: cache.remove(key)
            case 1: cache.trim(toCost: 30_000)
            default: if cache.image(for: key) == nil { cache.store(image, for: key) }
            }
          }
        }
      }
    }
    let statistics = cache.statistics
    #expect(statistics.cost <= 40_000)
    #expect(statistics.cost == statistics.count * 400)
    let found = (0..<300).count { cache.image(for: key($0)) != nil }
    #expect(found == statistics.count)
  }
}
