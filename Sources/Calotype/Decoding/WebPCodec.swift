import CWebP

/// WebP through libwebp, reduced by its scaler where the target is small.
enum WebPCodec: ImageCodec {
  static func inspect(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo {
    guard let header = WebPHeader(view) else { throw .truncated(.webp) }
    return header.info
  }

  static func ownHeader(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo? {
    guard var header = WebPHeader(view) else { throw .truncated(.webp) }
    header.profile = nil
    return header.info
  }

  static func decode(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer {
    guard let header = WebPHeader(job.view) else { throw .truncated(.webp) }
    var info = header.info
    info.profile = nil
    let plan = try job.plan(for: info)
    guard header.isComplete else { throw .truncated(.webp) }
    try job.checkCancellation()
    let sink =
      header.isAnimated
      ? try decodeFirstFrame(header, plan, job)
      : try decodeStill(job.view, header, plan, job)
    let conversion = job.colors.conversion(for: header.profile, source: .rgb)
    let bitmap = try sink.finish(conversion, cancellation: job.cancellation)
    return job.container(bitmap, info: info, deep: sink.deepBitmap)
  }

  private static func decodeStill(
    _ frame: ByteView, _ header: WebPHeader, _ plan: DecodePlan, _ job: DecodeJob
  ) throws(ImageDecodingError) -> RowSink {
    // libwebp's scaler mixes the colours of clear pixels into others in lossy files.
    let mayReduce = !header.hasAlpha || header.isLossless
    let size = mayReduce ? reducedSize(for: plan) : header.size
    let scale = (
      Double(size.width) / Double(header.size.width), Double(size.height) / Double(header.size.height)
    )
    // A lossless file's own word on alpha is a hint only.
    let sink = try RowSink(
      plan: plan, format: .webp, size: size, scale: scale, hasAlpha: header.hasAlpha || header.isLossless)
    if let memory = sink.wholeMemory {
      try decode(frame, from: header.size, to: size, into: memory, job)
      sink.commit(size.height)
    } else {
      let canvas = try Canvas(size)
      try decode(frame, from: header.size, to: size, into: canvas.base, job)
      try sink.append(canvas, job)
    }
    return sink
  }

  /// The size that leaves twice the print's pixels for the resampler.
  private static func reducedSize(for plan: DecodePlan) -> PixelSize {
    let factor = JPEGCodec.minimumReductionLeft / plan.reduction
    guard factor < 0.8 else { return plan.storedSize }
    return PixelSize(
      width: Int((Double(plan.storedSize.width) * factor).rounded(.up)),
      height: Int((Double(plan.storedSize.height) * factor).rounded(.up)))
  }

  /// An animation's first frame on its canvas, which is clear where the frame is not: browsers pass over the
  /// background colour too.
  private static func decodeFirstFrame(
    _ header: WebPHeader, _ plan: DecodePlan, _ job: DecodeJob
  ) throws(ImageDecodingError) -> RowSink {
    var data = WebPData(
      bytes: job.view.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), size: job.view.count)
    guard let demuxer = WebPDemux(&data) else {
      throw .corrupt(.webp, reason: "its frames cannot be told apart")
    }
    defer { WebPDemuxDelete(demuxer) }
    var frame = WebPIterator()
    guard WebPDemuxGetFrame(demuxer, 1, &frame) != 0 else {
      throw .corrupt(.webp, reason: "there is no first frame")
    }
    defer { WebPDemuxReleaseIterator(&frame) }
    let size = PixelSize(width: Int(frame.width), height: Int(frame.height))
    let x = Int(frame.x_offset), y = Int(frame.y_offset)
    guard frame.complete != 0, x >= 0, y >= 0, size.width > 0, size.height > 0,
      x + size.width <= header.size.width, y + size.height <= header.size.height
    else { throw .corrupt(.webp, reason: "its first frame does not fit on it") }

    let bytes = ByteView(UnsafeRawBufferPointer(start: frame.fragment.bytes, count: frame.fragment.size))
    let canvas = try Canvas(header.size, isCleared: size != header.size)
    let origin = canvas.base + (y * header.size.width + x) * 4
    try decode(bytes, from: size, to: size, into: origin, stride: canvas.stride, job)
    let sink = try RowSink(plan: plan, format: .webp, size: header.size, hasAlpha: true)
    try sink.append(canvas, job)
    return sink
  }

  private static func decode(
    _ frame: ByteView, from storedSize: PixelSize, to size: PixelSize, into memory: UnsafeMutableRawPointer,
    stride: Int? = nil, _ job: DecodeJob
  ) throws(ImageDecodingError) {
    var config = WebPDecoderConfig()
    guard WebPInitDecoderConfig(&config) != 0 else {
      throw .unsupported(
        format: "WebP", reason: "another version of libwebp is installed than was built with")
    }
    let bytes = frame.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    // Of the memory only what libwebp takes the picture's size for is written.
    try check(WebPGetFeatures(bytes, frame.count, &config.input), storedSize)
    guard Int(config.input.width) == storedSize.width, Int(config.input.height) == storedSize.height else {
      throw .corrupt(.webp, reason: "it is not of the size that its header says")
    }
    if size != storedSize {
      config.options.use_scaling = 1
      config.options.scaled_width = Int32(clamping: size.width)
      config.options.scaled_height = Int32(clamping: size.height)
    }
    let stride = stride ?? size.width * 4
    config.output.colorspace = MODE_RGBA
    config.output.is_external_memory = 1
    config.output.u.RGBA.rgba = memory.assumingMemoryBound(to: UInt8.self)
    config.output.u.RGBA.stride = Int32(clamping: stride)
    config.output.u.RGBA.size = stride * (size.height - 1) + size.width * 4
    // Small pictures are done before anyone could cancel; piecewise decoding has its cost.
    if storedSize.pixelCount <= 1 << 18 {
      try check(WebPDecode(bytes, frame.count, &config), size)
    } else {
      try decodePiecewise(bytes, frame.count, &config, size, job)
    }
  }

  /// Hands libwebp a part of the bytes at a time, since it cannot be stopped while it has any.
  private static func decodePiecewise(
    _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ config: inout WebPDecoderConfig, _ size: PixelSize,
    _ job: DecodeJob
  ) throws(ImageDecodingError) {
    // libwebp keeps a pointer to the configuration while the decoder lives.
    let status = withUnsafeMutablePointer(to: &config) {
      config -> Result<VP8StatusCode, ImageDecodingError> in
      guard let decoder = WebPIDecode(nil, 0, config) else { return .failure(.outOfMemory(size)) }
      defer { WebPIDelete(decoder) }
      let step = min(32 << 10, max(256, count / 128))
      var given = 0
      var status = VP8_STATUS_SUSPENDED
      while given < count, status == VP8_STATUS_SUSPENDED {
        do throws(ImageDecodingError) { try job.checkCancellation() } catch { return .failure(error) }
        given = min(count, given + step)
        status = WebPIUpdate(decoder, bytes, given)
      }
      return .success(status)
    }
    try check(status.get(), size)
  }

  private static func check(_ status: VP8StatusCode, _ size: PixelSize) throws(ImageDecodingError) {
    switch status {
    case VP8_STATUS_OK: return
    case VP8_STATUS_OUT_OF_MEMORY: throw .outOfMemory(size)
    case VP8_STATUS_SUSPENDED, VP8_STATUS_NOT_ENOUGH_DATA: throw .truncated(.webp)
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      throw .unsupported(format: "WebP", reason: "it uses a feature that libwebp does not have")
    default: throw .corrupt(.webp, reason: "its picture data is damaged")
    }
  }
}
