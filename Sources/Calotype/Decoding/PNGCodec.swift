import CPNGDecode

/// PNG through libpng, and the default picture of an animated one.
///
/// `gAMA` and `cHRM` are not honoured: most files that have them without a profile are sRGB, and most other
/// programs that make thumbnails pass over them too.
enum PNGCodec: ImageCodec {
  /// The most that an embedded profile may unpack to; the largest in use take 2 MB.
  static let maximumProfileByteCount = 4 << 20

  static func inspect(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo {
    guard let header = PNGHeader(view) else { throw .truncated(.png) }
    var info = header.info
    if header.hasProfile, let reader = try? PNGReader(view, header: header) {
      info.profile = reader.withProfile { $0.flatMap(ColorProfile.description) }
    }
    return info
  }

  static func ownHeader(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo? {
    guard let header = PNGHeader(view) else { throw .truncated(.png) }
    return header.info
  }

  static func decode(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer {
    guard let header = PNGHeader(job.view) else { throw .truncated(.png) }
    let info = header.info
    let plan = try job.plan(for: info)
    guard header.isComplete else { throw .truncated(.png) }
    try job.checkCancellation()

    let isDeep = job.options.isDeep && header.bitDepth == 16
    let reader = try PNGReader(job.view, header: header, isDeep: isDeep)
    if isDeep { return try decodeDeep(reader, header, plan, job) }
    let sink = try RowSink(plan: plan, format: .png, size: header.size, hasAlpha: header.hasAlpha)
    if reader.passCount > 1 {
      try decodeInterlaced(reader, header.size, into: sink, job)
    } else {
      if !header.hasProfile { sink.rowsStayAsTheyAre() }
      while let next = sink.nextRows() {
        try job.checkCancellation()
        try reader.readRows(next.memory, stride: sink.stride, count: next.count)
        sink.commit(next.count)
      }
    }
    let conversion = header.hasProfile ? conversion(reader, header, job.colors) : nil
    let bitmap = try sink.finish(conversion, cancellation: job.cancellation)
    return job.container(bitmap, info: info, deep: sink.deepBitmap)
  }

  /// Decodes with all 16 bits.
  private static func decodeDeep(
    _ reader: PNGReader, _ header: PNGHeader, _ plan: DecodePlan, _ job: DecodeJob
  ) throws(ImageDecodingError) -> ImageContainer {
    let sink = try DeepSink(plan: plan, format: .png, hasAlpha: header.hasAlpha)
    // A pixel is twice as long as the canvas's.
    let isWhole = reader.passCount > 1
    let buffer = try Canvas(
      PixelSize(width: header.size.width * 2, height: isWhole ? header.size.height : 1))
    for pass in 0..<reader.passCount {
      for row in 0..<header.size.height {
        if row & 15 == 0 { try job.checkCancellation() }
        let memory = buffer.base + (isWhole ? row * buffer.stride : 0)
        try reader.readRows(memory, stride: buffer.stride, count: 1)
        if pass == reader.passCount - 1 { sink.append(memory.assumingMemoryBound(to: SIMD4<UInt16>.self)) }
      }
    }
    let conversion = header.hasProfile ? conversion(reader, header, job.colors) : nil
    let (bitmap, deep) = try sink.finish(conversion, cancellation: job.cancellation)
    return job.container(bitmap, info: header.info, deep: deep)
  }

  /// Each pass adds pixels all over the picture, so all of it has to be there until the last.
  private static func decodeInterlaced(
    _ reader: PNGReader, _ size: PixelSize, into sink: RowSink, _ job: DecodeJob
  ) throws(ImageDecodingError) {
    guard let canvas = try? Bitmap.Storage(size: size), let base = canvas.buffer.baseAddress else {
      throw .outOfMemory(size)
    }
    let stride = size.width * 4
    for _ in 0..<reader.passCount {
      for row in 0..<size.height {
        if row & 15 == 0 { try job.checkCancellation() }
        try reader.readRows(base + row * stride, stride: stride, count: 1)
      }
    }
    for row in 0..<size.height {
      if row & 15 == 0 { try job.checkCancellation() }
      sink.append(base + row * stride, count: 1, stride: stride)
    }
  }

  static func conversion(_ reader: PNGReader, _ header: PNGHeader, _ colors: ColorConversionCache)
    -> ColorConversion?
  {
    reader.withProfile { profile in
      let isGray = header.colorType & 2 == 0 && profile?.matches("GRAY", at: 16) == true
      return colors.conversion(for: profile, source: isGray ? .gray : .rgb)
    }
  }
}

/// One PNG being read, as rows of 8-bit or 16-bit RGBA. The bytes must outlive it.
final class PNGReader {
  /// 1, or 7 in an interlaced file; each pass reads every row.
  let passCount: Int
  private let reader: OpaquePointer
  private let size: PixelSize

  init(_ view: ByteView, header: PNGHeader, isDeep: Bool = false) throws(ImageDecodingError) {
    guard let base = view.bytes.baseAddress,
      let reader = calotype_png_create(
        base.assumingMemoryBound(to: UInt8.self), view.count, PNGCodec.maximumProfileByteCount)
    else { throw .outOfMemory(header.size) }
    var passes: Int32 = 1
    let status =
      isDeep ? calotype_png_start_deep(reader, &passes) : calotype_png_start(reader, &passes)
    self.reader = reader
    size = header.size
    passCount = Int(passes)
    try check(status)
  }

  deinit { calotype_png_destroy(reader) }

  /// Calls a closure with the embedded profile, valid only while it runs.
  func withProfile<Result>(_ body: (ByteView?) -> Result) -> Result {
    withExtendedLifetime(self) {
      var count = 0
      guard let bytes = calotype_png_profile(reader, &count) else { return body(nil) }
      return body(ByteView(UnsafeRawBufferPointer(start: bytes, count: count)))
    }
  }

  func readRows(
    _ memory: UnsafeMutableRawPointer, stride: Int, count: Int
  ) throws(ImageDecodingError) {
    try check(
      calotype_png_read_rows(reader, memory.assumingMemoryBound(to: UInt8.self), stride, UInt32(count)))
  }

  private func check(_ status: calotype_png_status) throws(ImageDecodingError) {
    switch status {
    case CALOTYPE_PNG_OK: return
    case CALOTYPE_PNG_TRUNCATED: throw .truncated(.png)
    case CALOTYPE_PNG_NO_MEMORY: throw .outOfMemory(size)
    default: throw .corrupt(.png, reason: String(cString: calotype_png_message(reader)))
    }
  }
}
