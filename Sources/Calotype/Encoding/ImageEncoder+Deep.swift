import CAVIF
import CPNGEncode
import Foundation

extension ImageEncoder {
  /// The formats that deep bitmaps can be written in.
  public static let deepFormats: [ImageFormat] = [.png, .avif]

  /// Encodes a deep bitmap with its depth and its colours: PNG of 16 bits with a profile, or AVIF of 10 bits.
  ///
  /// - Throws: ``ImageEncodingError/unsupported(_:)`` for other formats.
  public func encode(
    _ bitmap: DeepBitmap, options: ImageEncodingOptions, cancellation: CancellationFlag = CancellationFlag()
  ) throws(ImageEncodingError) -> Data {
    if cancellation.isCancelled { throw .cancelled }
    switch options.format {
    case .png: return try Self.encodePNG(bitmap, options, cancellation)
    case .avif: return try Self.encodeAVIF(bitmap, options, cancellation)
    default: throw .unsupported(options.format)
    }
  }

  /// Calls a closure with each row, its alpha not multiplied in.
  private static func forEachRow(
    of bitmap: DeepBitmap, _ cancellation: CancellationFlag,
    _ body: (UnsafeMutablePointer<SIMD4<UInt16>>, Int) throws(ImageEncodingError) -> Void
  ) throws(ImageEncodingError) {
    let row = UnsafeMutablePointer<SIMD4<UInt16>>.allocate(capacity: bitmap.width)
    defer { row.deallocate() }
    guard let base = bitmap.storage.buffer.baseAddress else { return }
    for y in 0..<bitmap.height {
      if cancellation.isCancelled { throw .cancelled }
      UnsafeMutableRawPointer(row).copyMemory(
        from: base + y * bitmap.bytesPerRow, byteCount: bitmap.bytesPerRow)
      if !bitmap.isOpaque { DeepPixels.unpremultiply(row, count: bitmap.width) }
      try body(row, y)
    }
  }

  private static func encodePNG(
    _ bitmap: DeepBitmap, _ options: ImageEncodingOptions, _ cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> Data {
    guard let writer = calotype_png_writer_create() else { throw .failed(.png, reason: "out of memory") }
    defer { calotype_png_writer_destroy(writer) }
    func failure() -> ImageEncodingError {
      .failed(.png, reason: String(cString: calotype_png_writer_message(writer)))
    }
    let profile = bitmap.colorSpace == .sRGB ? Data() : DeepColorConversion.profileData(of: .displayP3)
    guard let profile else { throw .failed(.png, reason: "its profile could not be made") }
    let (level, filters) = PNGEncoder.settings(options.effort)
    let isStarted = profile.withUnsafeBytes { bytes in
      calotype_png_writer_start_deep(
        writer, UInt32(clamping: bitmap.width), UInt32(clamping: bitmap.height), !bitmap.isOpaque, level,
        filters, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(bytes.count))
    }
    guard isStarted else { throw failure() }
    try forEachRow(of: bitmap, cancellation) { (row, _) throws(ImageEncodingError) in
      guard calotype_png_writer_write(writer, UnsafeRawPointer(row).assumingMemoryBound(to: UInt8.self))
      else { throw failure() }
    }
    var bytes: UnsafePointer<UInt8>?
    var count = 0
    guard calotype_png_writer_finish(writer, &bytes, &count), let bytes else { throw failure() }
    return Data(bytes: bytes, count: count)
  }

  private static func encodeAVIF(
    _ bitmap: DeepBitmap, _ options: ImageEncodingOptions, _ cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> Data {
    try AVIFEncoder.load()
    let layout = AVIFEncoder.layout(options)
    guard let image = avifImageCreate(UInt32(bitmap.width), UInt32(bitmap.height), 10, layout),
      let pixels = try? Canvas(PixelSize(width: bitmap.width * 2, height: bitmap.height))
    else { throw .failed(.avif, reason: "out of memory") }
    defer { avifImageDestroy(image) }
    // The numbers of ITU-T H.273: BT.709 or Display P3, sRGB's curve.
    image.pointee.colorPrimaries = avifColorPrimaries(bitmap.colorSpace == .sRGB ? 1 : 12)
    image.pointee.transferCharacteristics = avifTransferCharacteristics(13)
    image.pointee.matrixCoefficients = avifMatrixCoefficients(options.isLossless ? 0 : 6)
    image.pointee.yuvRange = AVIF_RANGE_FULL
    try forEachRow(of: bitmap, cancellation) { (row, y) throws(ImageEncodingError) in
      (pixels.base + y * bitmap.bytesPerRow).copyMemory(from: row, byteCount: bitmap.bytesPerRow)
    }
    var source = avifRGBImage()
    avifRGBImageSetDefaults(&source, image)
    source.format = AVIF_RGB_FORMAT_RGBA
    source.depth = 16
    source.ignoreAlpha = bitmap.isOpaque ? 1 : 0
    source.pixels = pixels.base.assumingMemoryBound(to: UInt8.self)
    source.rowBytes = UInt32(bitmap.bytesPerRow)
    try AVIFEncoder.check(avifImageRGBToYUV(image, &source))
    return try AVIFEncoder.write(image, options, cancellation)
  }
}
