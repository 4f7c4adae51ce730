import CJPEGDecode
import Foundation

/// A JPEG of several scans while it comes: libjpeg-turbo's buffered-image mode on a source that waits.
final class JPEGPreviewReader: PreviewReading {
  private let reader: OpaquePointer
  private let limits: ImageDecodingLimits
  private let colors: ColorConversionCache
  /// The bytes up to the first scan, until they are read.
  private var head = Data()
  private var header: calotype_jpeg_header?
  private var info: ImageInfo?
  private var conversion: ColorConversion?
  /// What of the stored size is decoded; set with the first targets.
  private var eighths: Int?
  private var decodedSize = PixelSize(width: 0, height: 0)
  private var shownScans = 0

  init(limits: ImageDecodingLimits, colors: ColorConversionCache) throws(ImageDecodingError) {
    guard let reader = calotype_jpeg_create_push() else {
      throw .outOfMemory(PixelSize(width: 0, height: 0))
    }
    self.reader = reader
    self.limits = limits
    self.colors = colors
  }

  deinit { calotype_jpeg_destroy(reader) }

  func append(
    _ bytes: Data, targets: [TargetSize?], _ cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> [PreviewMaker.Preview]? {
    let isPushed = bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map {
        calotype_jpeg_push(reader, $0.assumingMemoryBound(to: UInt8.self), bytes.count)
      } ?? true
    }
    guard isPushed else { throw .outOfMemory(decodedSize) }
    if header == nil {
      head.append(bytes)
      guard try readHeader() else { return nil }
    }
    guard let info, !targets.isEmpty else { return nil }
    let plans = try plans(for: info, targets)
    if eighths == nil { try start(plans) }
    var progress = calotype_jpeg_progress()
    repeat {
      if cancellation.isCancelled { throw .cancelled }
      try check(calotype_jpeg_push_consume(reader, Int32(JPEGCodec.maximumScanCount), &progress))
    } while !progress.wants_more
    guard progress.complete_scans > shownScans else { return nil }
    var isStarted = false
    try check(calotype_jpeg_push_start_rows(reader, &isStarted))
    guard isStarted else { return nil }
    shownScans = Int(progress.complete_scans)
    let isCoarse = progress.complete_scans <= progress.coarse_scans
    return try readRows(info, plans, isCoarse: isCoarse, cancellation)
  }

  /// Whether the header is there whole.
  private func readHeader() throws(ImageDecodingError) -> Bool {
    var header = calotype_jpeg_header()
    var isDone = false
    try check(calotype_jpeg_push_header(reader, &header, &isDone))
    guard isDone else { return false }
    guard header.has_multiple_scans else {
      throw .unsupported(format: "JPEG", reason: "it comes in one scan")
    }
    let facts = head.withUnsafeBytes { bytes -> (ImageInfo, ColorConversion?)? in
      guard let parsed = JPEGHeader(ByteView(bytes)) else { return nil }
      let conversion = parsed.withProfile { profile in
        colors.conversion(
          for: profile, source: parsed.colorSource(isInverted: header.has_adobe_marker, profile: profile))
      }
      return (
        ImageInfo(format: .jpeg, storedSize: parsed.size, orientation: parsed.orientation), conversion
      )
    }
    guard let facts, facts.0.storedSize == PixelSize(width: Int(header.width), height: Int(header.height))
    else { throw .corrupt(.jpeg, reason: "it has two frame headers") }
    try limits.check(facts.0)
    (info, conversion) = facts
    self.header = header
    head = Data()
    return true
  }

  private func plans(
    for info: ImageInfo, _ targets: [TargetSize?]
  ) throws(ImageDecodingError) -> [DecodePlan] {
    var plans: [DecodePlan] = []
    for target in targets { plans.append(try limits.previewPlan(for: info, target)) }
    return plans
  }

  /// Chooses the size of the decode for those who wait now; who comes later takes what there is.
  private func start(_ plans: [DecodePlan]) throws(ImageDecodingError) {
    let eighths = plans.map(JPEGCodec.scale(for:)).max() ?? 8
    var width: UInt32 = 0, height: UInt32 = 0
    try check(calotype_jpeg_start(reader, UInt32(eighths), true, &width, &height))
    self.eighths = eighths
    decodedSize = PixelSize(width: Int(width), height: Int(height))
  }

  private func readRows(
    _ info: ImageInfo, _ plans: [DecodePlan], isCoarse: Bool, _ cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> [PreviewMaker.Preview] {
    guard let eighths, let header else { return [] }
    let factor = Double(eighths) / 8
    var sinks: [RowSink] = []
    for plan in plans {
      sinks.append(
        try RowSink(plan: plan, format: .jpeg, size: decodedSize, scale: (factor, factor), hasAlpha: false))
    }
    let line = try Canvas(PixelSize(width: decodedSize.width, height: 1))
    let isCMYK = header.components == 4
    for _ in 0..<decodedSize.height {
      if cancellation.isCancelled { throw .cancelled }
      var count: UInt32 = 0
      try check(
        calotype_jpeg_read_rows(
          reader, line.base.assumingMemoryBound(to: UInt8.self), line.stride, 1, &count))
      if isCMYK {
        JPEGCodec.convertCMYK(
          line.base, count: decodedSize.width, isInverted: header.has_adobe_marker, conversion)
      }
      for sink in sinks { sink.append(copying: line.base) }
    }
    var previews: [PreviewMaker.Preview] = []
    for (sink, plan) in zip(sinks, plans) {
      var bitmap = try sink.finish(isCMYK ? nil : conversion, cancellation: cancellation)
      if isCoarse { bitmap = try PreviewBlur.soften(bitmap, block: 8, plan: plan, cancellation) }
      previews.append(.init(bitmap: bitmap, format: .jpeg, originalSize: info.displaySize))
    }
    return previews
  }

  private func check(_ status: calotype_jpeg_status) throws(ImageDecodingError) {
    if status == CALOTYPE_JPEG_OK { return }
    throw .corrupt(.jpeg, reason: String(cString: calotype_jpeg_message(reader)))
  }
}
