/// Names one print: an address (with the headers that vary it), a size and processors.
///
/// The hash is worked out once, when the key is made, so that a look-up costs a comparison.
public struct ImageCacheKey: Hashable, Sendable {
  /// The original's key: the normalised address.
  public let address: String
  /// The print's size and processors; empty for a picture at its own size.
  public let variant: String
  @usableFromInline let hash: Int

  /// Creates a key. See ``ImageRequest/cacheKey`` for a request's own.
  public init(address: String, variant: String = "") {
    self.address = address
    self.variant = variant
    var hasher = Hasher()
    hasher.combine(address)
    hasher.combine(variant)
    hash = hasher.finalize()
  }

  /// Whether two keys name the same print.
  public static func == (left: ImageCacheKey, right: ImageCacheKey) -> Bool {
    left.hash == right.hash && left.address == right.address && left.variant == right.variant
  }

  /// Feeds the stored hash.
  public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  /// The key as one text, unlike any other key's: what the disk cache files a print under.
  public var text: String { variant.isEmpty ? address : "\(address) \(variant)" }
}
