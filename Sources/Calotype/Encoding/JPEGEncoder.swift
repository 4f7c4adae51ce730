import CJPEGEncode
import Foundation

/// JPEG through libjpeg-turbo. A picture that is not opaque is put on white.
enum JPEGEncoder {
  static func encode(
    _ bitmap: Bitmap, options: ImageEncodingOptions, cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> Data {
    guard let writer = calotype_jpeg_writer_create() else { throw .failed(.jpeg, reason: "out of memory") }
    defer { calotype_jpeg_writer_destroy(writer) }
    func failure() -> ImageEncodingError {
      .failed(.jpeg, reason: String(cString: calotype_jpeg_writer_message(writer)))
    }
    let (horizontal, vertical): (Int32, Int32) =
      switch options.resolvedChroma {
      case .full: (1, 1)
      case .half: (2, 1)
      case .quarter, .automatic: (2, 2)
      }
    let isStarted = options.withProfile { profile, count in
      calotype_jpeg_writer_start(
        writer, UInt32(clamping: bitmap.width), UInt32(clamping: bitmap.height),
        Int32(options.clampedQuality), options.isProgressive, options.effort != .fast, horizontal, vertical,
        profile, count)
    }
    guard isStarted else { throw failure() }

    try RowPreparation.forEachRow(
      of: bitmap, as: bitmap.isOpaque ? .asStored : .onWhite, cancellation: cancellation
    ) { (row) throws(ImageEncodingError) in
      guard calotype_jpeg_writer_write(writer, row) else { throw failure() }
    }
    var bytes: UnsafePointer<UInt8>?
    var count = 0
    guard calotype_jpeg_writer_finish(writer, &bytes, &count), let bytes else { throw failure() }
    return Data(bytes: bytes, count: count)
  }
}
