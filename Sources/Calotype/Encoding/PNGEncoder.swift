import CPNGEncode
import Foundation

/// PNG through libpng: RGB where the picture is opaque, else RGBA with straight alpha.
enum PNGEncoder {
  /// - Parameter hasAlpha: Whether it is written with an alpha; where the picture is not opaque it must be.
  static func encode(
    _ bitmap: Bitmap, hasAlpha: Bool? = nil, options: ImageEncodingOptions, cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> Data {
    let hasAlpha = hasAlpha ?? !bitmap.isOpaque
    guard let writer = calotype_png_writer_create() else { throw .failed(.png, reason: "out of memory") }
    defer { calotype_png_writer_destroy(writer) }
    func failure() -> ImageEncodingError {
      .failed(.png, reason: String(cString: calotype_png_writer_message(writer)))
    }
    let (level, filters) = settings(options.effort)
    let isStarted = options.withProfile { profile, count in
      calotype_png_writer_start(
        writer, UInt32(clamping: bitmap.width), UInt32(clamping: bitmap.height), hasAlpha, level,
        filters, profile, count)
    }
    guard isStarted else { throw failure() }

    try RowPreparation.forEachRow(
      of: bitmap, as: bitmap.isOpaque ? .asStored : .straight, cancellation: cancellation
    ) { (row) throws(ImageEncodingError) in
      guard calotype_png_writer_write(writer, row) else { throw failure() }
    }
    var bytes: UnsafePointer<UInt8>?
    var count = 0
    guard calotype_png_writer_finish(writer, &bytes, &count), let bytes else { throw failure() }
    return Data(bytes: bytes, count: count)
  }

  /// zlib's level and libpng's filters.
  static func settings(_ effort: ImageEncodingOptions.Effort) -> (level: Int32, filters: Int32) {
    // One fixed filter finds nearly all that the search over five does at a fifth of its time.
    switch effort {
    case .fast: (1, 0x10)
    case .balanced: (6, 0xF8)
    case .small: (9, 0xF8)
    }
  }
}
