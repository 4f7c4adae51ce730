import CGIF

/// GIF's first frame through giflib. The screen is clear where the frame is not: browsers pass over the
/// background colour too.
enum GIFCodec: ImageCodec {
  static func inspect(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo {
    guard let header = GIFHeader(view) else { throw .truncated(.gif) }
    return header.info
  }

  static func ownHeader(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo? { try inspect(view) }

  static func decode(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer {
    guard let header = GIFHeader(job.view) else { throw .truncated(.gif) }
    let info = header.info
    guard header.isComplete || header.frameCount > 0 else { throw .truncated(.gif) }
    guard header.frameCount > 0 else { throw .corrupt(.gif, reason: "there is no frame in it") }
    let plan = try job.plan(for: info)
    guard header.isComplete else { throw .truncated(.gif) }
    try job.checkCancellation()
    let frame = header.firstFrame
    guard frame.size.width > 0, frame.size.height > 0 else {
      throw .corrupt(.gif, reason: "its first frame is \(frame.size)")
    }
    let reader = try GIFReader(job.view)
    let colors = try reader.startFrame(clearIndex: frame.clearIndex, size: frame.size)
    let sink = try RowSink(plan: plan, format: .gif, size: header.size, hasAlpha: header.hasAlphaInFirstFrame)
    if frame.isInterlaced {
      let rows = try reader.readInterlaced(frame.size, job)
      try append(header, colors, to: sink, job) { row in UnsafePointer(rows.base + row * frame.size.width) }
    } else {
      guard let line = IndexPlane(count: frame.size.width) else { throw .outOfMemory(frame.size) }
      try append(header, colors, to: sink, job) { _ throws(ImageDecodingError) in
        try reader.readLine(line.base, count: frame.size.width)
        return UnsafePointer(line.base)
      }
    }
    return job.container(try sink.finish(cancellation: job.cancellation), info: info)
  }

  /// Puts the frame's rows on the screen.
  ///
  /// - Parameter indices: The palette indices of a row of the frame, asked for in their order.
  private static func append(
    _ header: GIFHeader, _ colors: [UInt32], to sink: RowSink, _ job: DecodeJob,
    indices: (_ row: Int) throws(ImageDecodingError) -> UnsafePointer<UInt8>
  ) throws(ImageDecodingError) {
    let frame = header.firstFrame
    let left = min(frame.x, header.size.width)
    let right = min(frame.x + frame.size.width, header.size.width)
    var row = 0
    while let next = sink.nextRows() {
      try job.checkCancellation()
      for offset in 0..<next.count {
        let pixels = (next.memory + offset * sink.stride).assumingMemoryBound(to: UInt32.self)
        let source = row - frame.y
        if source >= 0, source < frame.size.height {
          let line = try indices(source)
          pixels.update(repeating: 0, count: left)
          for x in left..<right { pixels[x] = colors[Int(line[x - left])] }
          (pixels + right).update(repeating: 0, count: header.size.width - right)
        } else {
          pixels.update(repeating: 0, count: header.size.width)
        }
        row += 1
      }
      sink.commit(next.count)
    }
    // Rows below the screen's edge are not shown, but they have to be there.
    for source in max(0, row - frame.y)..<max(0, row - frame.y, frame.size.height) { _ = try indices(source) }
  }
}

/// Palette indices in memory.
final class IndexPlane {
  let base: UnsafeMutablePointer<UInt8>

  init?(count: Int) {
    guard count > 0, let storage = try? Bitmap.Storage(size: PixelSize(width: (count + 3) / 4, height: 1)),
      let base = storage.buffer.baseAddress
    else { return nil }
    self.storage = storage
    self.base = base.assumingMemoryBound(to: UInt8.self)
  }

  private let storage: Bitmap.Storage
}

/// One GIF being read. The bytes must outlive it.
final class GIFReader {
  /// Where giflib has got to; it reads through a function.
  private final class Source {
    let view: ByteView
    var position = 0
    init(_ view: ByteView) { self.view = view }
  }

  private let source: Source
  private let file: UnsafeMutablePointer<GifFileType>

  init(_ view: ByteView) throws(ImageDecodingError) {
    source = Source(view)
    var code: Int32 = 0
    let opened = DGifOpen(
      Unmanaged.passUnretained(source).toOpaque(),
      { file, buffer, count in
        guard let data = file?.pointee.UserData, let buffer, count > 0 else { return 0 }
        let source = Unmanaged<Source>.fromOpaque(data).takeUnretainedValue()
        let available = min(Int(count), source.view.count - source.position)
        guard available > 0, let base = source.view.bytes.baseAddress else { return 0 }
        UnsafeMutableRawPointer(buffer).copyMemory(from: base + source.position, byteCount: available)
        source.position += available
        return Int32(available)
      }, &code)
    guard let opened else { throw Self.error(code) }
    file = opened
  }

  deinit { _ = DGifCloseFile(file, nil) }

  /// Goes to the first frame.
  ///
  /// - Returns: 256 pixels, the frame's palette; indices past its end are clear.
  func startFrame(clearIndex: Int?, size: PixelSize) throws(ImageDecodingError) -> [UInt32] {
    while true {
      var kind = UNDEFINED_RECORD_TYPE
      try check(DGifGetRecordType(file, &kind))
      switch kind {
      case IMAGE_DESC_RECORD_TYPE:
        try check(DGifGetImageDesc(file))
        let image = file.pointee.Image
        guard Int(image.Width) == size.width, Int(image.Height) == size.height else {
          throw .corrupt(.gif, reason: "its first frame cannot be found")
        }
        return try palette(image.ColorMap ?? file.pointee.SColorMap, clearIndex: clearIndex)
      case EXTENSION_RECORD_TYPE:
        var code: Int32 = 0
        var block: UnsafeMutablePointer<GifByteType>?
        try check(DGifGetExtension(file, &code, &block))
        while block != nil { try check(DGifGetExtensionNext(file, &block)) }
      default: throw .truncated(.gif)
      }
    }
  }

  /// One frame's place and colours.
  struct Frame {
    var x: Int, y: Int
    var size: PixelSize
    var isInterlaced: Bool
    /// The palette's index that stands for clear, or `nil`.
    var clearIndex: Int?
    /// 2 clears the frame's place afterwards, 3 restores what was there (GIF 89a, section 23).
    var disposal: Int
    /// 256 pixels.
    var colors: [UInt32]

    /// The rows in the order in which they come (GIF 89a, appendix E).
    var rowOrder: [Int] {
      guard isInterlaced else { return Array(0..<size.height) }
      return [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { first, step in
        Array(stride(from: first, to: size.height, by: step))
      }
    }
  }

  /// Goes to the next frame, whose lines then have to be read or skipped, or to the end.
  func nextFrame() throws(ImageDecodingError) -> Frame? {
    var clearIndex: Int?
    var disposal = 0
    while true {
      var kind = UNDEFINED_RECORD_TYPE
      try check(DGifGetRecordType(file, &kind))
      switch kind {
      case IMAGE_DESC_RECORD_TYPE:
        try check(DGifGetImageDesc(file))
        let image = file.pointee.Image
        return Frame(
          x: Int(image.Left), y: Int(image.Top),
          size: PixelSize(width: Int(image.Width), height: Int(image.Height)),
          isInterlaced: image.Interlace, clearIndex: clearIndex, disposal: disposal,
          colors: try palette(image.ColorMap ?? file.pointee.SColorMap, clearIndex: clearIndex))
      case EXTENSION_RECORD_TYPE:
        var code: Int32 = 0
        var block: UnsafeMutablePointer<GifByteType>?
        try check(DGifGetExtension(file, &code, &block))
        if code == 0xF9, let block, block[0] >= 4 {
          disposal = Int(block[1] >> 2 & 7)
          clearIndex = block[1] & 1 != 0 ? Int(block[4]) : nil
        }
        while block != nil { try check(DGifGetExtensionNext(file, &block)) }
      default: return nil
      }
    }
  }

  /// Passes over a frame without reading its lines.
  func skipFrame() throws(ImageDecodingError) {
    var block: UnsafeMutablePointer<GifByteType>?
    repeat { try check(DGifGetCodeNext(file, &block)) } while block != nil
  }

  func readLine(_ indices: UnsafeMutablePointer<UInt8>, count: Int) throws(ImageDecodingError) {
    try check(DGifGetLine(file, indices, Int32(clamping: count)))
  }

  /// Reads all rows, which come in four passes (GIF 89a, appendix E).
  func readInterlaced(_ size: PixelSize, _ job: DecodeJob) throws(ImageDecodingError) -> IndexPlane {
    guard let plane = IndexPlane(count: size.pixelCount) else { throw .outOfMemory(size) }
    for (first, step) in [(0, 8), (4, 8), (2, 4), (1, 2)] {
      for row in stride(from: first, to: size.height, by: step) {
        try job.checkCancellation()
        try readLine(plane.base + row * size.width, count: size.width)
      }
    }
    return plane
  }

  private func palette(
    _ map: UnsafeMutablePointer<ColorMapObject>?, clearIndex: Int?
  ) throws(ImageDecodingError) -> [UInt32] {
    guard let map = map?.pointee, let entries = map.Colors else {
      throw .corrupt(.gif, reason: "it has no palette")
    }
    var colors = [UInt32](repeating: 0, count: 256)
    // What an opaque frame must not have is a clear pixel.
    if clearIndex == nil { colors = [UInt32](repeating: UInt32(littleEndian: 0xFF00_0000), count: 256) }
    for index in 0..<min(256, Int(map.ColorCount)) where index != clearIndex {
      let entry = entries[index]
      colors[index] = UInt32(
        littleEndian: 0xFF00_0000 | UInt32(entry.Blue) << 16 | UInt32(entry.Green) << 8 | UInt32(entry.Red))
    }
    return colors
  }

  private func check(_ result: Int32) throws(ImageDecodingError) {
    if result == GIF_ERROR { throw Self.error(file.pointee.Error) }
  }

  private static func error(_ code: Int32) -> ImageDecodingError {
    switch code {
    case D_GIF_ERR_READ_FAILED, D_GIF_ERR_EOF_TOO_SOON: return .truncated(.gif)
    case D_GIF_ERR_NOT_ENOUGH_MEM: return .outOfMemory(PixelSize(width: 0, height: 0))
    default:
      return .corrupt(.gif, reason: GifErrorString(code).map { String(cString: $0) } ?? "it cannot be read")
    }
  }
}
