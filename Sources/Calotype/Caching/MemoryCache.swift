#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Keeps finished pictures in memory, up to a number of bytes. Safe from any thread; a hit takes well under
/// a microsecond and lets other threads hit at the same time.
public final class MemoryCache: ImageCaching {
  /// A cache's limits.
  public struct Configuration: Hashable, Sendable {
    /// The most bytes that all pictures together may take. By default 15 % of the memory that this process
    /// may use (in a container its limit counts), at most 512 MB.
    public var costLimit: Int
    /// The most pictures; by default any number.
    public var countLimit: Int
    /// Seconds after which a stored picture has ended; reading it does not renew it. `nil`, the default, for
    /// never.
    public var timeToLive: Double?
    /// The largest share of ``costLimit`` that one picture may take, from 0 to 1; a larger picture is not
    /// kept, since everything else would have to go for it. By default 0.25.
    public var largestEntryShare: Double

    /// Creates limits.
    public init(
      costLimit: Int = MemoryCache.defaultCostLimit, countLimit: Int = .max, timeToLive: Double? = nil,
      largestEntryShare: Double = 0.25
    ) {
      self.costLimit = costLimit
      self.countLimit = countLimit
      self.timeToLive = timeToLive
      self.largestEntryShare = largestEntryShare
    }

    var largestEntry: Int {
      let share = largestEntryShare.isNaN ? 0 : min(1, max(0, largestEntryShare))
      return share == 1 ? costLimit : Int(Double(costLimit) * share)
    }
  }

  /// What a cache has done since it was made, and what it holds.
  public struct Statistics: Hashable, Sendable {
    /// Look-ups that found a picture.
    public var hits: Int
    /// Look-ups that found none.
    public var misses: Int
    /// Pictures that had to go to make room.
    public var evictions: Int
    /// Bytes that all pictures take now.
    public var cost: Int
    /// Pictures held now.
    public var count: Int

    /// Hits out of all look-ups, from 0 to 1; 0 before the first.
    public var hitRatio: Double { hits + misses == 0 ? 0 : Double(hits) / Double(hits + misses) }
  }

  /// 15 % of the memory that this process may use, at most 512 MB (512 × 2²⁰ bytes).
  public static var defaultCostLimit: Int { min(SystemMemory.limit / 100 * 15, 512 << 20) }

  private let cache: CostCache<ImageCacheKey, ImageContainer>

  /// Creates an empty cache.
  public convenience init(configuration: Configuration = Configuration()) {
    self.init(configuration: configuration, clock: { Double(monotonicNanoseconds()) * 1e-9 })
  }

  /// Creates an empty cache with a clock of the caller's; the clock must not go back.
  init(configuration: Configuration, clock: @escaping @Sendable () -> Double) {
    cache = CostCache(
      costLimit: configuration.costLimit, countLimit: configuration.countLimit,
      largestEntry: configuration.largestEntry, timeToLive: configuration.timeToLive, clock: clock)
  }

  /// The picture for a key, or `nil`.
  public func image(for key: ImageCacheKey) -> ImageContainer? { cache.value(for: key) }

  /// Keeps a picture, in place of any that the key had, and lets others go where there is no room. Previews
  /// and pictures over the largest share are not kept; what the key had before goes all the same.
  public func store(_ image: ImageContainer, for key: ImageCacheKey) {
    if image.isPreview { return }
    cache.store(image, for: key, cost: image.cost)
  }

  /// Drops a key's picture.
  public func remove(_ key: ImageCacheKey) { cache.remove(key) }

  /// Drops every picture.
  public func removeAll() { cache.removeAll() }

  /// Lets pictures go until the rest takes at most `cost` bytes.
  public func trim(toCost cost: Int) { cache.trim(toCost: cost) }

  /// Lets pictures go until at most `count` are left.
  public func trim(toCount count: Int) { cache.trim(toCount: count) }

  /// Changes the limits, and lets go what is over them. A new time to live holds for what is stored from
  /// now on.
  public func setConfiguration(_ configuration: Configuration) {
    cache.setLimits(
      cost: configuration.costLimit, count: configuration.countLimit,
      largestEntry: configuration.largestEntry, timeToLive: configuration.timeToLive)
  }

  /// What the cache has done and holds.
  public var statistics: Statistics {
    let counts = cache.counts
    return Statistics(
      hits: counts.hits, misses: counts.misses, evictions: counts.evictions, cost: counts.cost,
      count: counts.count)
  }
}
