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
  /// The format to write: png, jpeg, webp or avif.
  public var format: ImageFormat
  /// 1 (smallest) to 100 (best), for the formats that lose detail; 85 by default.
  public var quality: Int

  /// Creates options.
  public init(format: ImageFormat, quality: Int = 85) {
    self.format = format
    self.quality = quality
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
