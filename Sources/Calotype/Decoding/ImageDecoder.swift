import Foundation

/// Decodes every format of this package, each told by its bytes.
///
/// A decoder holds nothing but the colour conversions it has made, and may be used from any number of threads
/// at once; keep one rather than making one for each picture.
///
/// Only the frame that is decoded counts against ``ImageDecodingLimits/maximumPixelCount``: the first frame
/// of a long animation is decoded in the memory of one frame.
public struct ImageDecoder: ImageDecoding {
  let colors = ColorConversionCache()

  /// Creates a decoder.
  public init() {}

  /// The formats that this build decodes, for help texts and reports.
  public static let supportedFormats: [ImageFormat] = ImageFormat.allCases.filter { codec(for: $0) != nil }

  /// Reads the header only: cheap however large the picture is.
  ///
  /// - Parameters:
  ///   - data: The original; its start is enough for most formats.
  ///   - limits: What the header may promise.
  public func inspect(
    _ data: Data, limits: ImageDecodingLimits = .init()
  ) throws(ImageDecodingError) -> ImageInfo {
    try withBytes(data) { view throws(ImageDecodingError) in
      let info = try Self.codec(of: view).inspect(view)
      try limits.check(info)
      return info
    }
  }

  /// What the header says, all but the colour profile, for the formats whose header this package reads itself:
  /// each access is checked there, so that it needs no sandbox. `nil` for the formats whose library reads it.
  func readOwnHeader(_ data: Data, limits: ImageDecodingLimits) throws(ImageDecodingError) -> ImageInfo? {
    try withBytes(data) { view throws(ImageDecodingError) in
      guard let info = try Self.codec(of: view).ownHeader(view) else { return nil }
      try limits.check(info)
      return info
    }
  }

  /// Decodes the first, or only, frame: upright, in sRGB, at the size that the options ask for.
  ///
  /// - Parameters:
  ///   - data: The original, whole.
  ///   - options: The size wanted and the limits; by default the picture's own size.
  ///   - cancellation: Looked at between rows and scans.
  /// - Throws: ``ImageDecodingError/empty`` and ``ImageDecodingError/unrecognized(looksLike:)`` where the bytes
  ///   are no image, ``ImageDecodingError/truncated(_:)`` and ``ImageDecodingError/corrupt(_:reason:)`` where
  ///   pixels are missing: never half a picture.
  public func decode(
    _ data: Data, options: ImageDecodingOptions = .init(), cancellation: CancellationFlag = CancellationFlag()
  ) throws(ImageDecodingError) -> ImageContainer {
    try withBytes(data) { view throws(ImageDecodingError) in
      // A target that is no size is the caller's mistake whatever the bytes are.
      if let target = options.targetSize, target.pixelSize == nil {
        throw .invalidTargetSize(width: target.width, height: target.height)
      }
      let codec = try Self.codec(of: view)
      let colors = options.keepsProfile ? ColorConversionCache(keepsProfiles: true) : colors
      var container = try codec.decode(
        DecodeJob(view: view, options: options, cancellation: cancellation, colors: colors))
      if options.keepsProfile { container.profile = colors.keptProfile }
      return container
    }
  }

  private func withBytes<Value>(
    _ data: Data, _ body: (ByteView) throws(ImageDecodingError) -> Value
  ) throws(ImageDecodingError) -> Value {
    let result: Result<Value, ImageDecodingError> = data.withUnsafeBytes { bytes in
      Result { () throws(ImageDecodingError) in try body(ByteView(bytes)) }
    }
    return try result.get()
  }

  private static func codec(of view: ByteView) throws(ImageDecodingError) -> any ImageCodec.Type {
    guard view.count > 0 else { throw .empty }
    switch FileSignature(view) {
    case .other(let kind): throw .unrecognized(looksLike: kind)
    case .image(let format):
      guard let codec = codec(for: format) else {
        throw .unsupported(format: format.displayName, reason: reasonForNotDecoding(format))
      }
      return codec
    }
  }

  private static func codec(for format: ImageFormat) -> (any ImageCodec.Type)? {
    switch format {
    case .jpeg: return JPEGCodec.self
    case .png: return PNGCodec.self
    case .gif: return GIFCodec.self
    case .webp: return WebPCodec.self
    case .avif: return AVIFCodec.self
    case .bmp: return BMPCodec.self
    case .ico: return ICOCodec.self
    case .heif:
      #if HEIF
        return HEIFCodec.self
      #else
        return nil
      #endif
    case .jxl:
      #if JXL
        return JXLCodec.self
      #else
        return nil
      #endif
    case .tiff:
      #if TIFF
        return TIFFCodec.self
      #else
        return nil
      #endif
    case .svg, .pdf: return nil
    }
  }

  private static func reasonForNotDecoding(_ format: ImageFormat) -> String {
    switch format {
    case .heif, .jxl, .tiff: "Calotype was built without its \(format.rawValue.uppercased()) trait"
    case .svg, .pdf: "it holds drawings, not pixels"
    default: "there is no decoder for it"
    }
  }
}
