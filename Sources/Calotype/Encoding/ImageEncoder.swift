import Foundation

/// Writes PNG, JPEG, WebP and AVIF, each with its own library.
///
/// No metadata is written but a profile that the options name: the pixels are sRGB otherwise, which is what every
/// reader takes a picture without a profile for. A picture that is opaque is written without alpha; one that is not is put on white where the format
/// is JPEG.
public struct ImageEncoder: ImageEncoding {
  /// The formats that can be written.
  public static let formats: [ImageFormat] = [.png, .jpeg, .webp, .avif]

  /// Creates an encoder.
  public init() {}

  /// Encodes a bitmap.
  ///
  /// - Parameters:
  ///   - bitmap: The picture.
  ///   - options: The format and how to write it.
  ///   - cancellation: Looked at between rows; AVIF cannot be ended once its codec runs.
  /// - Throws: ``ImageEncodingError/unsupported(_:)`` for other formats,
  ///   ``ImageEncodingError/failed(_:reason:)`` where the format cannot hold the picture, such as a WebP of
  ///   more than 16,383 pixels a side, ``ImageEncodingError/cancelled``.
  public func encode(
    _ bitmap: Bitmap, options: ImageEncodingOptions, cancellation: CancellationFlag = CancellationFlag()
  ) throws(ImageEncodingError) -> Data {
    if cancellation.isCancelled { throw .cancelled }
    switch options.format {
    case .png: return try PNGEncoder.encode(bitmap, options: options, cancellation: cancellation)
    case .jpeg: return try JPEGEncoder.encode(bitmap, options: options, cancellation: cancellation)
    case .webp: return try WebPEncoder.encode(bitmap, options: options, cancellation: cancellation)
    case .avif: return try AVIFEncoder.encode(bitmap, options: options, cancellation: cancellation)
    case .gif, .bmp, .ico, .heif, .jxl, .tiff, .svg, .pdf: throw .unsupported(options.format)
    }
  }
}
