import Foundation

/// Keeps originals and finished prints between runs. ``DiskCache`` is the default.
///
/// Calls may wait for the disk: they are made off the main thread, from several threads at once.
/// A cache never fails a load: what cannot be read is a miss, what cannot be stored is left out.
public protocol DataCaching: AnyObject, Sendable {
  /// The whole entry for a key, checked, or `nil`.
  func entry(for key: String) -> DataCacheEntry?
  /// Keeps an entry, in place of any that the key had. Readers see the old entry or the new one, whole.
  func store(_ entry: DataCacheEntry, for key: String)
  /// Replaces an entry's metadata where the key has an entry, and leaves its bytes.
  func updateMetadata(_ metadata: DataCacheMetadata, for key: String)
  /// Drops a key's entry.
  func remove(_ key: String)
  /// Drops everything that is kept for an address, under whatever key. By default, the one whose key is the
  /// address.
  func removeAll(for url: URL)
  /// Drops every entry.
  func removeAll()
}

/// Bytes that a cache keeps, with what is known of them.
public struct DataCacheEntry: Hashable, Sendable {
  /// What is known of the bytes.
  public var metadata: DataCacheMetadata
  /// The original as downloaded, or the finished print.
  public var body: Data

  /// Creates an entry.
  public init(metadata: DataCacheMetadata, body: Data) {
    self.metadata = metadata
    self.body = body
  }
}

/// What is known of a cache entry's bytes.
public struct DataCacheMetadata: Hashable, Sendable {
  /// What the bytes are.
  public enum Kind: UInt8, Hashable, Sendable {
    /// A response's body as downloaded.
    case original = 0
    /// A finished print as an image file.
    case encodedPrint = 1
    /// A finished print's pixels: premultiplied sRGB RGBA8 rows without gaps.
    case rawPrint = 2
    /// The start of a body whose download was broken off.
    case partial = 3
  }

  /// What the bytes are.
  public var kind: Kind
  /// The address that was asked for.
  public var url: String
  /// The response's status code; for a print that of its original.
  public var status: Int
  /// The response's headers; for a print those of its original.
  public var headers: HTTPHeaders
  /// The request headers that the response varies on (RFC 9111, section 4.1).
  public var requestHeaders: HTTPHeaders
  /// When the request was sent, in seconds since 1970.
  public var requestTime: Double
  /// When the response came, in seconds since 1970.
  public var responseTime: Double
  /// When the entry ends whatever its headers say, in seconds since 1970; `nil` for never.
  public var expires: Double?
  /// A print's picture: its size in pixels, whether it is opaque, the original's format, size and frames.
  public var print: PrintDescription?

  /// A finished print's facts.
  public struct PrintDescription: Hashable, Sendable {
    /// The print's size.
    public var size: PixelSize
    /// Whether all of its pixels are opaque.
    public var isOpaque: Bool
    /// The original's format.
    public var format: ImageFormat?
    /// The original's size as shown.
    public var originalSize: PixelSize
    /// The original's frames.
    public var frameCount: Int

    /// Creates a description.
    public init(
      size: PixelSize, isOpaque: Bool, format: ImageFormat?, originalSize: PixelSize, frameCount: Int
    ) {
      self.size = size
      self.isOpaque = isOpaque
      self.format = format
      self.originalSize = originalSize
      self.frameCount = frameCount
    }
  }

  /// Creates metadata.
  public init(
    kind: Kind, url: String, status: Int = 200, headers: HTTPHeaders = [], requestHeaders: HTTPHeaders = [],
    requestTime: Double = 0, responseTime: Double = 0, expires: Double? = nil, print: PrintDescription? = nil
  ) {
    self.kind = kind
    self.url = url
    self.status = status
    self.headers = headers
    self.requestHeaders = requestHeaders
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.expires = expires
    self.print = print
  }
}
