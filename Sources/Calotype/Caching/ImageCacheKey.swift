import CXXHash
import Foundation

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
    let seed = Self.hash(address, seed: Self.seed)
    hash = Int(bitPattern: UInt(truncatingIfNeeded: Self.hash(variant, seed: seed)))
  }

  /// The key of the picture at an address, at its own size: that of a request for the address alone.
  public init(_ url: URL) { self.init(address: ImageRequest.addressKey(for: url, headers: [])) }

  /// The hash of the address alone.
  var addressHash: Int {
    Int(bitPattern: UInt(truncatingIfNeeded: Self.hash(address, seed: Self.seed)))
  }

  /// Another one in each process, so that nobody can send addresses that are known to collide.
  private static let seed = UInt64.random(in: .min ... .max)

  /// Half the time of the standard library's hash for an address, and a key is made for every look-up.
  private static func hash(_ text: String, seed: UInt64) -> UInt64 {
    var text = text
    return text.withUTF8 { XXH3_64bits_withSeed($0.baseAddress, $0.count, seed) }
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

extension ImageCacheKey: CostCacheKey {
  var cacheHash: Int { hash }
}
