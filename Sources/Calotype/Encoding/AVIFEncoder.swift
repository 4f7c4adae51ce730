import CAVIF
import CLateLibraries
import Foundation

/// AVIF through libavif and libaom, on the caller's thread.
enum AVIFEncoder {
  static func encode(
    _ bitmap: Bitmap, options: ImageEncodingOptions, cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> Data {
    let image = try image(of: bitmap, hasAlpha: !bitmap.isOpaque, options, cancellation)
    defer { avifImageDestroy(image) }
    return try write(image, options, cancellation)
  }

  /// Loads libavif, before anything else here.
  static func load() throws(ImageEncodingError) {
    if let problem = calotype_load_avif() { throw .failed(.avif, reason: String(cString: problem)) }
  }

  /// A still picture's file.
  static func write(
    _ image: UnsafeMutablePointer<avifImage>, _ options: ImageEncodingOptions,
    _ cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> Data {
    guard let encoder = avifEncoderCreate() else { throw .failed(.avif, reason: "out of memory") }
    defer { avifEncoderDestroy(encoder) }
    configure(encoder, options)
    if cancellation.isCancelled { throw .cancelled }
    var output = avifRWData(data: nil, size: 0)
    defer { avifRWDataFree(&output) }
    try check(avifEncoderWrite(encoder, image, &output))
    return output.data.map { Data(bytes: $0, count: output.size) } ?? Data()
  }

  /// The picture as libavif takes it; to be destroyed by the caller.
  static func image(
    of bitmap: Bitmap, hasAlpha: Bool, _ options: ImageEncodingOptions, _ cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> UnsafeMutablePointer<avifImage> {
    try load()
    guard let image = avifImageCreate(UInt32(bitmap.width), UInt32(bitmap.height), 8, layout(options)) else {
      throw .failed(.avif, reason: "out of memory")
    }
    // sRGB by its numbers in ITU-T H.273; without loss the colours are stored as they are.
    image.pointee.colorPrimaries = avifColorPrimaries(1)
    image.pointee.transferCharacteristics = avifTransferCharacteristics(13)
    image.pointee.matrixCoefficients = avifMatrixCoefficients(options.isLossless ? 0 : 6)
    image.pointee.yuvRange = AVIF_RANGE_FULL
    if let profile = options.profile {
      profile.withUnsafeBytes { bytes in
        avifImageSetProfileICC(image, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
      }
    }
    do throws(ImageEncodingError) {
      try RowPreparation.withStraightPixels(of: bitmap, cancellation: cancellation) {
        (pixels, bytesPerRow) throws(ImageEncodingError) in
        var source = avifRGBImage()
        avifRGBImageSetDefaults(&source, image)
        source.format = AVIF_RGB_FORMAT_RGBA
        source.depth = 8
        source.ignoreAlpha = hasAlpha ? 0 : 1
        source.pixels = UnsafeMutablePointer(mutating: pixels)
        source.rowBytes = UInt32(bytesPerRow)
        try check(avifImageRGBToYUV(image, &source))
      }
    } catch {
      avifImageDestroy(image)
      throw error
    }
    return image
  }

  /// How much of the colour's resolution is kept.
  static func layout(_ options: ImageEncodingOptions) -> avifPixelFormat {
    switch options.isLossless ? .full : options.resolvedChroma {
    case .full: AVIF_PIXEL_FORMAT_YUV444
    case .half: AVIF_PIXEL_FORMAT_YUV422
    case .quarter, .automatic: AVIF_PIXEL_FORMAT_YUV420
    }
  }

  static func configure(_ encoder: UnsafeMutablePointer<avifEncoder>, _ options: ImageEncodingOptions) {
    encoder.pointee.maxThreads = 1
    encoder.pointee.speed =
      switch options.effort {
      case .fast: 9
      case .balanced: 6
      case .small: 4
      }
    // libavif's own scale from 1.0 on, where 100 is a quantizer of 0 and 0 one of 63.
    let quantizer = options.isLossless ? 0 : Int32((100 - options.clampedQuality) * 63 + 50) / 100
    encoder.pointee.minQuantizer = quantizer
    encoder.pointee.maxQuantizer = quantizer
    encoder.pointee.minQuantizerAlpha = 0
    encoder.pointee.maxQuantizerAlpha = 0
  }

  static func check(_ result: avifResult) throws(ImageEncodingError) {
    guard result == AVIF_RESULT_OK else {
      throw .failed(.avif, reason: String(cString: avifResultToString(result)))
    }
  }
}
