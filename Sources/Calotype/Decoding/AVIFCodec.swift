import CAVIF
import CLateLibraries

/// AVIF through libavif, on one thread.
///
/// High dynamic range (PQ, HLG) is shown with sRGB's curve, without tone mapping.
enum AVIFCodec: ImageCodec {
  static func inspect(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo {
    let reader = try AVIFReader(view, maximumPixelCount: .max)
    var info = reader.info
    info.profile = reader.withProfile { $0.flatMap(ColorProfile.description) }
    return info
  }

  static func decode(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer {
    let limit = job.options.limits.maximumPixelCount
    let reader: AVIFReader
    do {
      reader = try AVIFReader(job.view, maximumPixelCount: limit)
    } catch {
      // Over libavif's limit, which says so only as damage: the size tells.
      if let large = try? AVIFReader(job.view, maximumPixelCount: .max) {
        try job.options.limits.check(large.info)
      }
      throw error
    }
    let info = reader.info
    let plan = try job.plan(for: info)
    guard isComplete(job.view) else { throw .truncated(.avif) }
    try job.checkCancellation()
    try reader.decodeFrame()
    try job.checkCancellation()

    if job.options.isDeep, info.bitsPerChannel > 8 { return try decodeDeep(reader, plan, job) }
    let sink = try RowSink(plan: plan, format: .avif, size: info.storedSize, hasAlpha: reader.hasAlpha)
    if let memory = sink.wholeMemory {
      try reader.copyPixels(into: memory, stride: sink.stride)
      sink.commit(info.storedSize.height)
    } else {
      let canvas = try Canvas(info.storedSize)
      try reader.copyPixels(into: canvas.base, stride: canvas.stride)
      try sink.append(canvas, job)
    }
    let bitmap = try sink.finish(reader.conversion(job.colors), cancellation: job.cancellation)
    return job.container(bitmap, info: info, deep: sink.deepBitmap)
  }

  /// Hands on a decoded frame with all of its 10 or 12 bits.
  private static func decodeDeep(
    _ reader: AVIFReader, _ plan: DecodePlan, _ job: DecodeJob
  ) throws(ImageDecodingError) -> ImageContainer {
    let sink = try DeepSink(plan: plan, format: .avif, hasAlpha: reader.hasAlpha)
    // A pixel is twice as long as the canvas's.
    let size = plan.storedSize
    let canvas = try Canvas(PixelSize(width: size.width * 2, height: size.height))
    try reader.copyPixels(into: canvas.base, stride: canvas.stride, depth: 16)
    for row in 0..<size.height {
      if row & 15 == 0 { try job.checkCancellation() }
      sink.append((canvas.base + row * canvas.stride).assumingMemoryBound(to: SIMD4<UInt16>.self))
    }
    let (bitmap, deep) = try sink.finish(reader.conversion(job.colors), cancellation: job.cancellation)
    return job.container(bitmap, info: reader.info, deep: deep)
  }

  /// Whether the boxes of the outermost level (ISO/IEC 14496-12, section 4.2) are all there.
  private static func isComplete(_ view: ByteView) -> Bool {
    var at = 0
    while at < view.count {
      guard let short = view.uint32(at: at) else { return false }
      var size = short
      if short == 0 { return true }
      if short == 1 {
        guard let high = view.uint32(at: at + 8), let low = view.uint32(at: at + 12), high < 1 << 30 else {
          return false
        }
        size = high << 32 | low
      }
      guard size >= 8, size <= view.count - at else { return false }
      at += size
    }
    return true
  }
}

/// One AVIF being read. The bytes must outlive it.
final class AVIFReader {
  private let decoder: UnsafeMutablePointer<avifDecoder>
  private var size = PixelSize(width: 0, height: 0)

  /// Reads the header.
  init(_ view: ByteView, maximumPixelCount: Int) throws(ImageDecodingError) {
    if let problem = calotype_load_avif() {
      throw .unsupported(format: "AVIF", reason: String(cString: problem))
    }
    guard let decoder = avifDecoderCreate() else { throw .outOfMemory(PixelSize(width: 0, height: 0)) }
    self.decoder = decoder
    decoder.pointee.maxThreads = 1
    decoder.pointee.ignoreXMP = AVIF_TRUE
    // The orientation is in the container's own properties; EXIF must not turn the picture again
    // (ISO/IEC 23000-22, section 7.3.4).
    decoder.pointee.ignoreExif = AVIF_TRUE
    decoder.pointee.imageCountLimit = 100_000
    decoder.pointee.imageSizeLimit = UInt32(
      min(max(1, maximumPixelCount), Int(AVIF_DEFAULT_IMAGE_SIZE_LIMIT)))
    // Files that lack a property that pixels do not need are shown by browsers too.
    decoder.pointee.strictFlags = avifStrictFlags(AVIF_STRICT_DISABLED.rawValue)
    let bytes = view.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    try check(avifDecoderSetIOMemory(decoder, bytes, view.count))
    try check(avifDecoderParse(decoder))
    if let image = decoder.pointee.image {
      size = PixelSize(width: Int(image.pointee.width), height: Int(image.pointee.height))
    }
  }

  deinit { avifDecoderDestroy(decoder) }

  var hasAlpha: Bool { decoder.pointee.alphaPresent != AVIF_FALSE }

  var info: ImageInfo {
    let frames = max(1, Int(decoder.pointee.imageCount))
    return ImageInfo(
      format: .avif, storedSize: size, orientation: orientation, frameCount: frames,
      loopCount: frames > 1 ? 0 : 1, hasAlpha: hasAlpha,
      bitsPerChannel: Int(decoder.pointee.image?.pointee.depth ?? 8))
  }

  /// How long each frame is shown, in milliseconds.
  var delays: [UInt32] {
    (0..<UInt32(info.frameCount)).map { index in
      var timing = avifImageTiming()
      guard avifDecoderNthImageTiming(decoder, index, &timing) == AVIF_RESULT_OK, timing.duration.isFinite
      else { return 0 }
      return UInt32(min(max(0, timing.duration * 1000), 4e9).rounded())
    }
  }

  /// Calls a closure with the embedded profile, valid only while it runs.
  func withProfile<Result>(_ body: (ByteView?) -> Result) -> Result {
    withExtendedLifetime(self) {
      guard let icc = decoder.pointee.image?.pointee.icc, icc.size > 0, let bytes = icc.data else {
        return body(nil)
      }
      return body(ByteView(UnsafeRawBufferPointer(start: bytes, count: icc.size)))
    }
  }

  func decodeFrame() throws(ImageDecodingError) { try check(avifDecoderNextImage(decoder)) }

  /// Writes the decoded frame as RGBA of 8 or 16 bits, alpha not premultiplied.
  func copyPixels(
    into memory: UnsafeMutableRawPointer, stride: Int, depth: UInt32 = 8
  ) throws(ImageDecodingError) {
    guard let image = decoder.pointee.image, Int(image.pointee.width) == size.width,
      Int(image.pointee.height) == size.height
    else { throw .corrupt(.avif, reason: "its frame is not of the size that its header says") }
    var pixels = avifRGBImage()
    avifRGBImageSetDefaults(&pixels, image)
    pixels.format = AVIF_RGB_FORMAT_RGBA
    pixels.depth = depth
    pixels.pixels = memory.assumingMemoryBound(to: UInt8.self)
    pixels.rowBytes = UInt32(clamping: stride)
    try check(avifImageYUVToRGB(image, &pixels))
  }

  /// What brings the colours to sRGB: the profile, else the numbers of ITU-T H.273 in the header.
  func conversion(_ colors: ColorConversionCache) -> ColorConversion? {
    guard let image = decoder.pointee.image else { return nil }
    if image.pointee.icc.size > 0 {
      return withProfile { profile in
        let isGray =
          image.pointee.yuvFormat == AVIF_PIXEL_FORMAT_YUV400 && profile?.matches("GRAY", at: 16) == true
        return colors.conversion(for: profile, source: isGray ? .gray : .rgb)
      }
    }
    let primaries = image.pointee.colorPrimaries
    let gamma: Double? =
      switch Int(image.pointee.transferCharacteristics) {
      case 4: 2.2
      case 5: 2.8
      case 8: 1
      default: nil
      }
    // 1 is sRGB's own, 2 is not told.
    if primaries <= 2, gamma == nil { return nil }
    var values = [Float](repeating: 0, count: 8)
    avifColorPrimariesGetValues(primaries, &values)
    return colors.conversion(primariesNumber: Int(primaries), primaries: values, gamma: gamma)
  }

  /// Turned counter-clockwise first, then mirrored (ISO/IEC 23008-12, sections 6.5.10 and 6.5.12).
  private var orientation: ImageOrientation {
    guard let image = decoder.pointee.image?.pointee else { return .up }
    let turns = image.transformFlags & AVIF_TRANSFORM_IROT.rawValue != 0 ? Int(image.irot.angle & 3) : 0
    guard image.transformFlags & AVIF_TRANSFORM_IMIR.rawValue != 0 else {
      return [.up, .left, .down, .right][turns]
    }
    return image.imir.mode == 0
      ? [.downMirrored, .leftMirrored, .upMirrored, .rightMirrored][turns]
      : [.upMirrored, .rightMirrored, .downMirrored, .leftMirrored][turns]
  }

  private func check(_ result: avifResult) throws(ImageDecodingError) {
    switch result {
    case AVIF_RESULT_OK: return
    case AVIF_RESULT_TRUNCATED_DATA, AVIF_RESULT_IO_ERROR, AVIF_RESULT_WAITING_ON_IO: throw .truncated(.avif)
    case AVIF_RESULT_OUT_OF_MEMORY: throw .outOfMemory(size)
    case AVIF_RESULT_NO_CODEC_AVAILABLE, AVIF_RESULT_NOT_IMPLEMENTED, AVIF_RESULT_UNSUPPORTED_DEPTH:
      throw .unsupported(format: "AVIF", reason: String(cString: avifResultToString(result)))
    default: throw .corrupt(.avif, reason: String(cString: avifResultToString(result)))
    }
  }
}
