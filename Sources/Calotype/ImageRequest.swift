import Foundation

/// Asks for a print: an address, a size, processors.
public struct ImageRequest: Sendable {
  /// Which of the waiting requests goes first.
  public enum Priority: Int8, Hashable, Sendable, Comparable, CaseIterable {
    /// After everything else: prefetching.
    case veryLow = -2
    /// After what is visible.
    case low = -1
    /// The default.
    case normal = 0
    /// Before the ordinary: what a person waits for.
    case high = 1
    /// First of all.
    case veryHigh = 2

    /// Whether the left goes after the right.
    public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
  }

  /// How the caches are used, with the meaning that the Fetch standard gives the names.
  public enum CachePolicy: String, Hashable, Sendable, CaseIterable {
    /// What is stored is used while it is fresh.
    case `default` = "default"
    /// The network is asked, whatever is stored; the answer is stored.
    case reload
    /// The server is asked whether what is stored still holds.
    case noCache = "no-cache"
    /// What is stored is used however old it is; the network only where nothing is.
    case forceCache = "force-cache"
    /// What is stored is used however old it is; the network never.
    case onlyIfCached = "only-if-cached"
    /// The network is asked and nothing is read from the caches or stored.
    case noStore = "no-store"
  }

  /// What of a finished load is stored where.
  public struct StorageOptions: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8
    /// Creates options from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The print in the memory cache.
    public static let memory = StorageOptions(rawValue: 1)
    /// The original in the disk cache, where the pipeline's policy wants it.
    public static let diskOriginal = StorageOptions(rawValue: 2)
    /// The print in the disk cache, where the pipeline's policy wants it.
    public static let diskPrint = StorageOptions(rawValue: 4)
    /// Both on disk.
    public static let disk: StorageOptions = [.diskOriginal, .diskPrint]
    /// Everywhere: the default.
    public static let all: StorageOptions = [.memory, .disk]
  }

  /// The address.
  public let url: URL
  /// The size wanted; `nil` for the picture's own.
  public private(set) var targetSize: TargetSize?
  /// Applied in order to the picture at its target size.
  public let processors: [any ImageProcessing]
  /// Whether only the first frame is wanted of an animation.
  public let isStill: Bool
  /// Whether the picture is also wanted with all of its depth and colours: see ``ImageContainer/deepBitmap``.
  public let isDeep: Bool
  /// Headers to send with the download.
  public let headers: HTTPHeaders
  /// Which of the waiting requests goes first.
  public var priority: Priority
  /// How the caches are used.
  public var cachePolicy: CachePolicy
  /// What of a finished load is stored where.
  public var storage: StorageOptions
  /// What counts as fresh in the caches; `nil` for what the pipeline's configuration says.
  public var freshness: FreshnessPolicy?
  /// Which network addresses the download may reach; `nil` for what the pipeline's configuration says. What a
  /// request may be shown that reaches public addresses only is kept apart in the caches. Of a `file:` address the
  /// system is asked when the request is made, unless this says that it may not be read.
  public private(set) var addressPolicy: AddressPolicy?

  /// The print's name in the caches: the normalised address, the headers, the size and the processors.
  public private(set) var cacheKey: ImageCacheKey

  /// What few requests have: see ImageRequest+Extras.
  var extrasBox: ExtrasBox?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - url: The address.
  ///   - targetSize: The size wanted, or `nil` for the picture's own.
  ///   - processors: Applied in order to the picture at its target size.
  ///   - isStill: Whether only the first frame is wanted of an animation; `false` by default. Such prints are
  ///     cached apart.
  ///   - isDeep: Whether the picture is also wanted with all of its depth and colours; `false` by default. Such
  ///     prints are cached apart, and on disk as their originals only.
  ///   - headers: Headers to send with the download. They are part of the cache's key.
  ///   - priority: Which of the waiting requests goes first.
  ///   - cachePolicy: How the caches are used.
  ///   - storage: What of a finished load is stored where.
  ///   - freshness: What counts as fresh in the caches; `nil` for what the pipeline's configuration says.
  ///   - addressPolicy: Which network addresses the download may reach; `nil` for what the pipeline's
  ///     configuration says.
  public init(
    url: URL, targetSize: TargetSize? = nil, processors: [any ImageProcessing] = [], isStill: Bool = false,
    isDeep: Bool = false, headers: HTTPHeaders = [], priority: Priority = .normal,
    cachePolicy: CachePolicy = .default, storage: StorageOptions = .all, freshness: FreshnessPolicy? = nil,
    addressPolicy: AddressPolicy? = nil
  ) {
    self.url = url
    self.targetSize = targetSize
    self.processors = processors
    self.isStill = isStill
    self.isDeep = isDeep
    self.headers = headers
    self.priority = priority
    self.cachePolicy = cachePolicy
    self.storage = storage
    self.freshness = freshness
    self.addressPolicy = addressPolicy
    cacheKey = ImageCacheKey(
      address: ImageRequest.addressKey(for: url, headers: headers, addressPolicy: addressPolicy),
      variant: ImageRequest.variant(
        targetSize: targetSize, processors: processors, isStill: isStill, isDeep: isDeep))
  }

  /// Creates a request for what the program gives itself.
  init(
    givenAs url: URL, _ source: LocalSource, targetSize: TargetSize?, processors: [any ImageProcessing],
    priority: Priority
  ) {
    self.url = url
    self.targetSize = targetSize
    self.processors = processors
    isStill = false
    isDeep = false
    self.priority = priority
    headers = []
    cachePolicy = .default
    storage = .all
    // A space cannot stand in an address, so no address from a list can be taken for it.
    cacheKey = ImageCacheKey(
      address: url.absoluteString + " {given}",
      variant: ImageRequest.variant(targetSize: targetSize, processors: processors))
    extrasBox = ExtrasBox(Extras(source: source))
  }

  /// The same request at another size.
  package func resized(to targetSize: TargetSize) -> ImageRequest {
    // A copy, so that nothing that a request has can be left behind: among it is what it may reach.
    var copy = self
    copy.targetSize = targetSize
    copy.cacheKey = ImageCacheKey(
      address: cacheKey.address,
      variant: Self.variant(targetSize: targetSize, processors: processors, isStill: isStill, isDeep: isDeep))
    return copy
  }

  /// The same with the pipeline's policy where it has none of its own.
  func withDefault(_ policy: AddressPolicy?) -> ImageRequest {
    guard let policy, addressPolicy == nil else { return self }
    var copy = self
    copy.addressPolicy = policy
    if !policy.cachePartition.isEmpty, extrasBox?.value.source == nil {
      copy.cacheKey = ImageCacheKey(
        address: Self.addressKey(for: url, headers: headers, addressPolicy: policy), variant: cacheKey.variant
      )
    }
    return copy
  }

  /// The same filed apart in the caches by credentials that are not its own.
  ///
  /// - Parameter credentials: What the address's key ends with then; empty where there are none.
  func filed(by credentials: String) -> ImageRequest {
    guard !credentials.isEmpty, !cacheKey.address.hasSuffix(credentials), localSource == nil else {
      return self
    }
    var copy = self
    copy.cacheKey = ImageCacheKey(address: cacheKey.address + credentials, variant: cacheKey.variant)
    return copy
  }
}
