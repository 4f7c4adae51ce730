import CJPEGDecode

/// JPEG through libjpeg-turbo, reduced while it is decoded where the target is small.
enum JPEGCodec: ImageCodec {
  /// How many decoded pixels go into one of the print at least. The reduction inside of the decoder is free
  /// but a box filter; what it leaves is for the resampler.
  static let minimumReductionLeft = 2.0
  /// Real pictures have about ten; each costs a pass over all coefficients.
  static let maximumScanCount = 100

  static func inspect(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo {
    guard let header = JPEGHeader(view) else { throw .truncated(.jpeg) }
    return header.info
  }

  static func ownHeader(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo? {
    guard let header = JPEGHeader(view) else { throw .truncated(.jpeg) }
    return ImageInfo(
      format: .jpeg, storedSize: header.size, orientation: header.orientation,
      bitsPerChannel: header.bitsPerChannel)
  }

  static func decode(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer {
    guard let header = JPEGHeader(job.view) else { throw .truncated(.jpeg) }
    let info = ImageInfo(format: .jpeg, storedSize: header.size, orientation: header.orientation)
    let plan = try job.plan(for: info)
    try job.checkCancellation()

    let reader = try JPEGReader(job.view)
    // What libjpeg read counts, should the two ever differ.
    guard reader.size == header.size else { throw .corrupt(.jpeg, reason: "it has two frame headers") }
    let eighths = scale(for: plan)
    let decodedSize = try reader.start(eighths: eighths)
    while try !reader.consume() { try job.checkCancellation() }

    let factor = Double(eighths) / 8
    let sink = try RowSink(
      plan: plan, format: .jpeg, size: decodedSize, scale: (factor, factor), hasAlpha: false)
    let conversion = header.withProfile { profile in
      job.colors.conversion(
        for: profile, source: header.colorSource(isInverted: reader.isInverted, profile: profile))
    }
    if conversion == nil || reader.isCMYK { sink.rowsStayAsTheyAre() }
    while let next = sink.nextRows() {
      try job.checkCancellation()
      let count = try reader.readRows(next.memory, stride: sink.stride, count: next.count)
      if reader.isCMYK {
        for row in 0..<count {
          convertCMYK(
            next.memory + row * sink.stride, count: decodedSize.width, isInverted: reader.isInverted,
            conversion)
        }
      }
      sink.commit(count)
    }
    let bitmap = try sink.finish(reader.isCMYK ? nil : conversion, cancellation: job.cancellation)
    return job.container(bitmap, info: info, deep: sink.deepBitmap)
  }

  /// The smallest scale, in eighths, that leaves enough pixels for the resampler. Only those for which the
  /// codec has vector code: the ones between cost more than they save.
  static func scale(for plan: DecodePlan) -> Int {
    for eighths in [1, 2, 4] where plan.reduction * Double(eighths) / 8 >= minimumReductionLeft {
      return eighths
    }
    return 8
  }

  static func convertCMYK(
    _ row: UnsafeMutableRawPointer, count: Int, isInverted: Bool, _ conversion: ColorConversion?
  ) {
    let bytes = row.assumingMemoryBound(to: UInt8.self)
    if let conversion {
      conversion.convert(row, count: count)
      for pixel in 0..<count { bytes[pixel * 4 + 3] = 255 }
      return
    }
    let flip: UInt8 = isInverted ? 0 : 255
    for pixel in 0..<count {
      let light = UInt32(bytes[pixel * 4 + 3] ^ flip)
      for channel in 0..<3 {
        let product = UInt32(bytes[pixel * 4 + channel] ^ flip) * light + 128
        bytes[pixel * 4 + channel] = UInt8(truncatingIfNeeded: (product + product >> 8) >> 8)
      }
      bytes[pixel * 4 + 3] = 255
    }
  }
}

/// One JPEG being read. The bytes must outlive it.
final class JPEGReader {
  private let reader: OpaquePointer
  private let header: calotype_jpeg_header

  init(_ view: ByteView) throws(ImageDecodingError) {
    guard let base = view.bytes.baseAddress,
      let reader = calotype_jpeg_create(base.assumingMemoryBound(to: UInt8.self), view.count)
    else { throw .outOfMemory(PixelSize(width: 0, height: 0)) }
    var header = calotype_jpeg_header()
    let status = calotype_jpeg_read_header(reader, &header)
    self.reader = reader
    self.header = header
    try check(status)
  }

  deinit { calotype_jpeg_destroy(reader) }

  var size: PixelSize { PixelSize(width: Int(header.width), height: Int(header.height)) }
  var isCMYK: Bool { header.components == 4 }
  var isInverted: Bool { header.has_adobe_marker }

  /// Starts the decode at a part of the stored size.
  ///
  /// - Returns: The size of the rows that will come.
  func start(eighths: Int) throws(ImageDecodingError) -> PixelSize {
    var width: UInt32 = 0, height: UInt32 = 0
    try check(calotype_jpeg_start(reader, UInt32(eighths), true, &width, &height))
    return PixelSize(width: Int(width), height: Int(height))
  }

  /// Reads on in a file of several scans by one row of blocks.
  ///
  /// - Returns: Whether the rows can be had.
  func consume() throws(ImageDecodingError) -> Bool {
    var done = false
    try check(calotype_jpeg_consume(reader, Int32(JPEGCodec.maximumScanCount), &done))
    return done
  }

  /// Reads up to `count` rows.
  func readRows(
    _ memory: UnsafeMutableRawPointer, stride: Int, count: Int
  ) throws(ImageDecodingError) -> Int {
    var read: UInt32 = 0
    let rows = memory.assumingMemoryBound(to: UInt8.self)
    try check(calotype_jpeg_read_rows(reader, rows, stride, UInt32(count), &read))
    guard read > 0 else { throw .truncated(.jpeg) }
    return Int(read)
  }

  private func check(_ status: calotype_jpeg_status) throws(ImageDecodingError) {
    switch status {
    case CALOTYPE_JPEG_OK: return
    case CALOTYPE_JPEG_TRUNCATED: throw .truncated(.jpeg)
    case CALOTYPE_JPEG_UNSUPPORTED: throw .unsupported(format: "JPEG", reason: message)
    case CALOTYPE_JPEG_NO_MEMORY: throw .outOfMemory(size)
    default: throw .corrupt(.jpeg, reason: message)
    }
  }

  private var message: String { String(cString: calotype_jpeg_message(reader)) }
}
