/// Windows icons and cursors: of the pictures inside the smallest that reaches the target, else the largest.
enum ICOCodec: ImageCodec {
  private struct Entry {
    var size: PixelSize
    var bitCount: Int
    var picture: ByteView
  }

  static func inspect(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo {
    let entry = try entry(view, target: nil)
    var info = ImageInfo(format: .ico, storedSize: entry.size, hasAlpha: true)
    if FileSignature(entry.picture).format == .png {
      info.storedSize = try PNGCodec.inspect(entry.picture).storedSize
    }
    return info
  }

  static func decode(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer {
    let largest = try entry(job.view, target: nil)
    let entry = try entry(job.view, target: job.options.targetSize)
    let inner = DecodeJob(
      view: entry.picture, options: job.options, cancellation: job.cancellation, colors: job.colors)
    var container: ImageContainer
    if FileSignature(entry.picture).format == .png {
      do { container = try PNGCodec.decode(inner) } catch {
        // The file is an icon, whatever is inside.
        switch error {
        case .truncated: throw .truncated(.ico)
        case .corrupt(_, let reason): throw .corrupt(.ico, reason: reason)
        default: throw error
        }
      }
    } else {
      container = try decodeBitmap(inner)
    }
    container.format = .ico
    container.originalSize = largest.size
    container.frameCount = 1
    return container
  }

  private static func entry(_ view: ByteView, target: TargetSize?) throws(ImageDecodingError) -> Entry {
    guard let count = view.uint16(at: 4, littleEndian: true) else { throw .truncated(.ico) }
    let wanted = target?.pixelSize
    var best: Entry?
    for index in 0..<count {
      let at = 6 + index * 16
      guard let width = view[at], let height = view[at + 1],
        let bits = view.uint16(at: at + 6, littleEndian: true),
        let length = view.uint32(at: at + 8, littleEndian: true),
        let offset = view.uint32(at: at + 12, littleEndian: true),
        let picture = view.slice(at: offset, count: length)
      else { throw .truncated(.ico) }
      // 0 stands for 256.
      let size = PixelSize(width: width == 0 ? 256 : Int(width), height: height == 0 ? 256 : Int(height))
      let entry = Entry(size: size, bitCount: bits, picture: picture)
      guard let current = best else {
        best = entry
        continue
      }
      if isBetter(entry, than: current, for: wanted) { best = entry }
    }
    guard let best else { throw .corrupt(.ico, reason: "there is no picture in it") }
    return best
  }

  private static func isBetter(_ entry: Entry, than other: Entry, for wanted: PixelSize?) -> Bool {
    if entry.size == other.size { return entry.bitCount > other.bitCount }
    guard let wanted else { return entry.size.pixelCount > other.size.pixelCount }
    func reaches(_ size: PixelSize) -> Bool { size.width >= wanted.width && size.height >= wanted.height }
    switch (reaches(entry.size), reaches(other.size)) {
    case (true, true): return entry.size.pixelCount < other.size.pixelCount
    case (true, false): return true
    case (false, true): return false
    case (false, false): return entry.size.pixelCount > other.size.pixelCount
    }
  }

  /// A bitmap without its first header, followed by a mask of one bit a pixel: 1 is clear.
  private static func decodeBitmap(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer {
    let header = try BMPHeader(job.view, at: 0, format: .ico, isIcon: true)
    let plan = try job.plan(for: header.info)
    let reader = try BMPReader(job.view, header, pixelsAt: header.end)
    let maskStride = (header.size.width + 31) / 32 * 4
    let maskOffset = header.end + header.stride * header.size.height
    let mask = job.view.slice(at: maskOffset, count: maskStride * header.size.height)
    if mask == nil, header.bitCount < 32 { throw .truncated(.ico) }
    let sink = try RowSink(plan: plan, format: .ico, size: header.size, hasAlpha: true)
    // An alpha that is 0 everywhere was never filled in: then the mask tells.
    var usesMask = header.bitCount < 32
    if !usesMask { usesMask = try !hasAnyAlpha(reader, header, job) }
    while let next = sink.nextRows() {
      try job.checkCancellation()
      for offset in 0..<next.count {
        let row = sink.rowCount + offset
        let memory = next.memory + offset * sink.stride
        reader.readRow(row, into: memory)
        guard usesMask else { continue }
        let maskRow = (header.isTopDown ? row : header.size.height - 1 - row) * maskStride
        apply(mask, at: maskRow, to: memory.assumingMemoryBound(to: UInt32.self), count: header.size.width)
      }
      sink.commit(next.count)
    }
    return job.container(try sink.finish(cancellation: job.cancellation), info: header.info)
  }

  private static func hasAnyAlpha(
    _ reader: BMPReader, _ header: BMPHeader, _ job: DecodeJob
  ) throws(ImageDecodingError) -> Bool {
    var line = [UInt32](repeating: 0, count: header.size.width)
    for row in 0..<header.size.height {
      try job.checkCancellation()
      line.withUnsafeMutableBytes { if let base = $0.baseAddress { reader.readRow(row, into: base) } }
      if line.contains(where: { UInt32(littleEndian: $0) >> 24 != 0 }) { return true }
    }
    return false
  }

  private static func apply(
    _ mask: ByteView?, at start: Int, to pixels: UnsafeMutablePointer<UInt32>, count: Int
  ) {
    for x in 0..<count {
      let isClear = (mask?[start + x >> 3] ?? 0) >> UInt8(7 - x & 7) & 1 != 0
      pixels[x] = isClear ? 0 : pixels[x] | UInt32(littleEndian: 0xFF00_0000)
    }
  }
}
