import CWebP
import Foundation

/// WebP through libwebp, lossy and lossless.
enum WebPEncoder {
  static func encode(
    _ bitmap: Bitmap, options: ImageEncodingOptions, cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> Data {
    try check(bitmap.size)
    var config = try configuration(options)
    var picture = try picture(of: bitmap, usesARGB: config.lossless != 0, cancellation)
    defer { WebPPictureFree(&picture) }

    var output = WebPMemoryWriter()
    WebPMemoryWriterInit(&output)
    defer { WebPMemoryWriterClear(&output) }
    let encoded = withUnsafeMutablePointer(to: &output) { output in
      picture.writer = WebPMemoryWrite
      picture.custom_ptr = UnsafeMutableRawPointer(output)
      picture.user_data = Unmanaged.passUnretained(cancellation).toOpaque()
      picture.progress_hook = { _, picture in
        guard let flag = picture?.pointee.user_data else { return 1 }
        return Unmanaged<CancellationFlag>.fromOpaque(flag).takeUnretainedValue().isCancelled ? 0 : 1
      }
      return WebPEncode(&config, &picture)
    }
    guard encoded != 0, let bytes = output.mem else {
      if picture.error_code == VP8_ENC_ERROR_USER_ABORT { throw .cancelled }
      throw .failed(.webp, reason: reason(picture.error_code))
    }
    let data = Data(bytes: bytes, count: output.size)
    return try options.profile.map { profile throws(ImageEncodingError) in try add(profile, to: data) }
      ?? data
  }

  /// The file with a chunk for the profile.
  private static func add(_ profile: Data, to file: Data) throws(ImageEncodingError) -> Data {
    let result = file.withUnsafeBytes { bytes -> Data? in
      var source = WebPData(bytes: bytes.bindMemory(to: UInt8.self).baseAddress, size: bytes.count)
      guard let mux = WebPMuxCreate(&source, 0) else { return nil }
      defer { WebPMuxDelete(mux) }
      return profile.withUnsafeBytes { bytes -> Data? in
        var chunk = WebPData(bytes: bytes.bindMemory(to: UInt8.self).baseAddress, size: bytes.count)
        guard WebPMuxSetChunk(mux, "ICCP", &chunk, 0) == WEBP_MUX_OK else { return nil }
        var output = WebPData()
        defer { WebPDataClear(&output) }
        guard WebPMuxAssemble(mux, &output) == WEBP_MUX_OK, let start = output.bytes else { return nil }
        return Data(bytes: start, count: output.size)
      }
    }
    guard let result else { throw .failed(.webp, reason: "the profile could not be added") }
    return result
  }

  static func check(_ size: PixelSize) throws(ImageEncodingError) {
    guard size.width <= Int(WEBP_MAX_DIMENSION), size.height <= Int(WEBP_MAX_DIMENSION) else {
      throw .failed(
        .webp,
        reason: "\(size) is over its \(WEBP_MAX_DIMENSION) pixels a side; write png or make it smaller")
    }
  }

  /// The picture as libwebp takes it; to be freed by the caller.
  static func picture(
    of bitmap: Bitmap, usesARGB: Bool, _ cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> WebPPicture {
    var picture = WebPPicture()
    guard WebPPictureInit(&picture) != 0 else { throw .failed(.webp, reason: "the library does not fit") }
    picture.width = Int32(bitmap.width)
    picture.height = Int32(bitmap.height)
    picture.use_argb = usesARGB ? 1 : 0
    do throws(ImageEncodingError) {
      let imported = try RowPreparation.withStraightPixels(of: bitmap, cancellation: cancellation) {
        (pixels, bytesPerRow) throws(ImageEncodingError) in
        bitmap.isOpaque
          ? WebPPictureImportRGBX(&picture, pixels, Int32(bytesPerRow))
          : WebPPictureImportRGBA(&picture, pixels, Int32(bytesPerRow))
      }
      guard imported != 0 else { throw .failed(.webp, reason: "out of memory") }
    } catch {
      WebPPictureFree(&picture)
      throw error
    }
    return picture
  }

  static func configuration(_ options: ImageEncodingOptions) throws(ImageEncodingError) -> WebPConfig {
    var config = WebPConfig()
    guard WebPConfigInit(&config) != 0 else { throw .failed(.webp, reason: "the library does not fit") }
    if options.isLossless {
      let level: Int32 =
        switch options.effort {
        case .fast: 1
        case .balanced: 6
        case .small: 9
        }
      _ = WebPConfigLosslessPreset(&config, level)
    } else {
      config.quality = Float(options.clampedQuality)
      config.method =
        switch options.effort {
        case .fast: 1
        case .balanced: 4
        case .small: 6
        }
      // Alpha is kept whole: soft edges show its loss first, and it costs few bytes.
      config.alpha_quality = 100
    }
    return config
  }

  private static func reason(_ code: WebPEncodingError) -> String {
    switch code {
    case VP8_ENC_ERROR_OUT_OF_MEMORY, VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY: "out of memory"
    case VP8_ENC_ERROR_BAD_DIMENSION: "the size is more than the format can hold"
    case VP8_ENC_ERROR_PARTITION0_OVERFLOW, VP8_ENC_ERROR_PARTITION_OVERFLOW:
      "the picture is too large for the format; write png or a lower quality"
    default: "the codec's error \(code.rawValue)"
    }
  }
}
