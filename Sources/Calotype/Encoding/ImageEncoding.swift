import Foundation

/// Turns a picture into a file's bytes. ``ImageEncoder`` is the default.
public protocol ImageEncoding: Sendable {
  /// Encodes a bitmap.
  ///
  /// - Parameter cancellation: Looked at between rows.
  func encode(
    _ bitmap: Bitmap, options: ImageEncodingOptions, cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> Data
}

/// How to encode.
public struct ImageEncodingOptions: Hashable, Sendable {
  /// How much of the colour's resolution is kept, for the formats that can keep less of it than of the
  /// brightness.
  public enum Chroma: UInt8, Hashable, Sendable, CaseIterable {
    /// Full from a quality of 90, a quarter below.
    case automatic
    /// Colour at every pixel (4:4:4).
    case full
    /// Colour at every second pixel of a row (4:2:2). WebP has no such form and takes ``quarter``.
    case half
    /// Colour at every second pixel of every second row (4:2:0). Lossy WebP is always so.
    case quarter
  }

  /// What is given for a smaller file.
  public enum Effort: UInt8, Hashable, Sendable, CaseIterable {
    /// Little time: for prints that are soon read again.
    case fast
    /// The codec's own middle.
    case balanced
    /// Much time.
    case small
  }

  /// The format to write: png, jpeg, webp or avif.
  public var format: ImageFormat
  /// 1 (smallest) to 100 (best), for the formats that lose detail; 85 by default. Other values are taken
  /// for the nearest of these.
  public var quality: Int
  /// Whether WebP and AVIF keep every pixel as it is; ``quality`` does not count then. PNG always does, JPEG
  /// never can.
  public var isLossless: Bool
  /// Whether a JPEG is written in scans, each finer than the one before. Other formats have no such form
  /// here.
  public var isProgressive: Bool
  /// How much of the colour's resolution is kept.
  public var chroma: Chroma
  /// What is given for a smaller file.
  public var effort: Effort
  /// The colour profile that the pixels are in, which is written with them; `nil`, the default, for sRGB, which needs
  /// none. See ``ImageDecodingOptions/keepsProfile``. Animations are always sRGB.
  public var profile: Data?

  /// Creates options.
  public init(
    format: ImageFormat, quality: Int = 85, isLossless: Bool = false, isProgressive: Bool = false,
    chroma: Chroma = .automatic, effort: Effort = .balanced
  ) {
    self.format = format
    self.quality = quality
    self.isLossless = isLossless
    self.isProgressive = isProgressive
    self.chroma = chroma
    self.effort = effort
  }

  /// The format that suits a picture: JPEG for an opaque one, WebP for one with transparent parts.
  public static func automatic(for bitmap: Bitmap, quality: Int = 85) -> ImageEncodingOptions {
    ImageEncodingOptions(format: bitmap.isOpaque ? .jpeg : .webp, quality: quality)
  }

  /// How a finished print is kept in a cache: soon written and soon read, without loss that shows.
  public static func storedPrint(of bitmap: Bitmap) -> ImageEncodingOptions {
    bitmap.isOpaque
      ? ImageEncodingOptions(format: .jpeg, quality: 92, chroma: .full, effort: .fast)
      : ImageEncodingOptions(format: .png, effort: .fast)
  }

  /// Calls a closure with the profile's bytes and their number, 0 where there is none.
  func withProfile<Result>(_ body: (UnsafePointer<UInt8>?, UInt32) -> Result) -> Result {
    guard let profile else { return body(nil, 0) }
    return profile.withUnsafeBytes { bytes in
      body(bytes.bindMemory(to: UInt8.self).baseAddress, UInt32(clamping: bytes.count))
    }
  }

  /// ``quality`` within its range.
  var clampedQuality: Int { min(max(quality, 1), 100) }

  /// ``chroma`` with the automatic choice made.
  var resolvedChroma: Chroma {
    chroma == .automatic ? (clampedQuality >= 90 ? .full : .quarter) : chroma
  }
}

/// Why a picture could not be encoded.
public enum ImageEncodingError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
  /// The format cannot be written.
  case unsupported(ImageFormat)
  /// The codec refused the picture; what it said.
  case failed(ImageFormat, reason: String)
  /// The encode was cancelled.
  case cancelled

  /// A sentence for people.
  public var description: String {
    switch self {
    case .unsupported(let format): "\(format.rawValue) cannot be written"
    case .failed(let format, let reason): "the \(format.rawValue) could not be written: \(reason)"
    case .cancelled: "cancelled"
    }
  }
}
