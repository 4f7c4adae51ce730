/// Windows bitmaps: 1 to 32 bits a pixel, palettes, bit fields; not the run-length kinds, which hardly occur.
enum BMPCodec: ImageCodec {
  static func inspect(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo {
    try BMPHeader(view, at: 14, format: .bmp).info
  }

  static func ownHeader(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo? { try inspect(view) }

  static func decode(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer {
    let header = try BMPHeader(job.view, at: 14, format: .bmp)
    let plan = try job.plan(for: header.info)
    guard let offset = job.view.uint32(at: 10, littleEndian: true) else { throw .truncated(.bmp) }
    let sink = try RowSink(plan: plan, format: .bmp, size: header.size, hasAlpha: header.hasAlpha)
    let reader = try BMPReader(job.view, header, pixelsAt: offset)
    while let next = sink.nextRows() {
      try job.checkCancellation()
      for offset in 0..<next.count {
        reader.readRow(sink.rowCount + offset, into: next.memory + offset * sink.stride)
      }
      sink.commit(next.count)
    }
    return job.container(try sink.finish(cancellation: job.cancellation), info: header.info)
  }
}

/// The second header of a Windows bitmap, also found in icons.
struct BMPHeader {
  let format: ImageFormat
  let size: PixelSize
  let bitCount: Int
  let isTopDown: Bool
  /// Where the palette starts, its entries' size and their number.
  let paletteOffset: Int, paletteEntryByteCount: Int, paletteCount: Int
  /// Where the header, its bit fields and its palette end.
  let end: Int
  /// Red, green, blue and alpha in a pixel of 16 or 32 bits; 0 for none.
  let masks: [UInt32]

  /// - Parameter isIcon: Whether the height counts the mask of an icon too, so is twice the picture's.
  init(_ view: ByteView, at start: Int, format: ImageFormat, isIcon: Bool = false) throws(ImageDecodingError)
  {
    self.format = format
    guard let headerSize = view.uint32(at: start, littleEndian: true) else { throw .truncated(format) }
    let isCore = headerSize == 12
    guard isCore || (headerSize >= 40 && headerSize <= 124) else {
      throw .unsupported(format: format.displayName, reason: "its header has \(headerSize) bytes")
    }
    func number(_ offset: Int) -> Int? { view.uint32(at: start + offset, littleEndian: true) }
    let width = isCore ? view.uint16(at: start + 4, littleEndian: true) : number(4)
    let height = isCore ? view.uint16(at: start + 6, littleEndian: true) : number(8)
    guard let width, let height,
      let bits = view.uint16(at: start + (isCore ? 10 : 14), littleEndian: true),
      let compression = isCore ? 0 : number(16), let used = isCore ? 0 : number(32)
    else { throw .truncated(format) }
    let signedHeight = isCore ? height : Int(Int32(truncatingIfNeeded: height))
    let signedWidth = isCore ? width : Int(Int32(truncatingIfNeeded: width))
    size = PixelSize(width: signedWidth, height: abs(signedHeight) / (isIcon ? 2 : 1))
    guard size.width > 0, size.height > 0 else { throw .corrupt(format, reason: "its size is \(size)") }
    isTopDown = signedHeight < 0
    guard [1, 2, 4, 8, 16, 24, 32].contains(bits) else {
      throw .corrupt(format, reason: "it has \(bits) bits a pixel")
    }
    guard compression == 0 || ((compression == 3 || compression == 6) && bits >= 16) else {
      throw .unsupported(format: format.displayName, reason: "it is compressed in way \(compression)")
    }
    bitCount = bits
    // Bit fields follow the oldest header and are a part of the newer ones.
    let fieldsAfter = !isCore && headerSize == 40 && compression != 0 ? (compression == 6 ? 16 : 12) : 0
    if compression != 0, bits != 24 {
      let hasAlphaField = compression == 6 || headerSize >= 56
      guard let red = number(40), let green = number(44), let blue = number(48) else {
        throw .truncated(format)
      }
      masks = [red, green, blue, hasAlphaField ? number(52) ?? 0 : 0].map { UInt32(truncatingIfNeeded: $0) }
    } else if bits == 16 {
      masks = [0x7C00, 0x03E0, 0x001F, 0]
    } else {
      masks = [0x00FF_0000, 0x0000_FF00, 0x0000_00FF, isIcon && bits == 32 ? 0xFF00_0000 : 0]
    }
    paletteOffset = start + headerSize + fieldsAfter
    paletteEntryByteCount = isCore ? 3 : 4
    paletteCount = bits > 8 ? 0 : (used == 0 ? 1 << bits : min(used, 1 << bits))
    end = paletteOffset + paletteCount * paletteEntryByteCount
  }

  var hasAlpha: Bool { bitCount > 8 && bitCount != 24 && masks[3] != 0 }

  /// Bytes from one row to the next: rows fill whole groups of four.
  var stride: Int { (size.width * bitCount + 31) / 32 * 4 }

  var info: ImageInfo {
    ImageInfo(format: format, storedSize: size, hasAlpha: hasAlpha, bitsPerChannel: bitCount == 16 ? 5 : 8)
  }
}

/// Reads the rows of a Windows bitmap, which lie there as they are.
struct BMPReader {
  private let header: BMPHeader
  private let pixels: ByteView
  private let palette: [UInt32]
  private let fields: [BitField]

  init(_ view: ByteView, _ header: BMPHeader, pixelsAt offset: Int) throws(ImageDecodingError) {
    self.header = header
    let (byteCount, overflow) = header.stride.multipliedReportingOverflow(by: header.size.height)
    // The last row need not be filled up to four bytes.
    let needed = byteCount - header.stride + (header.size.width * header.bitCount + 7) / 8
    guard !overflow, let pixels = view.slice(at: offset, count: needed) else {
      throw .truncated(header.format)
    }
    self.pixels = pixels
    var palette = [UInt32](repeating: UInt32(littleEndian: 0xFF00_0000), count: 256)
    for index in 0..<header.paletteCount {
      let at = header.paletteOffset + index * header.paletteEntryByteCount
      guard let blue = view[at], let green = view[at + 1], let red = view[at + 2] else {
        throw .truncated(header.format)
      }
      palette[index] = UInt32(
        littleEndian: 0xFF00_0000 | UInt32(blue) << 16 | UInt32(green) << 8 | UInt32(red))
    }
    self.palette = palette
    fields = header.masks.map(BitField.init)
  }

  /// Writes a row, counted from the top, as RGBA.
  func readRow(_ row: Int, into memory: UnsafeMutableRawPointer) {
    let stored = header.isTopDown ? row : header.size.height - 1 - row
    let start = stored * header.stride
    let target = memory.assumingMemoryBound(to: UInt32.self)
    let bytes = pixels.bytes
    switch header.bitCount {
    case 1, 2, 4, 8:
      let bits = header.bitCount
      let mask = UInt8(truncatingIfNeeded: (1 << bits) - 1)
      for x in 0..<header.size.width {
        let position = x * bits
        let index = bytes[start + position >> 3] >> UInt8(8 - bits - position & 7) & mask
        target[x] = palette[Int(index)]
      }
    case 24:
      for x in 0..<header.size.width {
        let at = start + x * 3
        target[x] = UInt32(
          littleEndian: 0xFF00_0000 | UInt32(bytes[at]) << 16 | UInt32(bytes[at + 1]) << 8
            | UInt32(bytes[at + 2]))
      }
    default:
      let byteCount = header.bitCount / 8
      for x in 0..<header.size.width {
        let at = start + x * byteCount
        var value = UInt32(bytes[at]) | UInt32(bytes[at + 1]) << 8
        if byteCount == 4 { value |= UInt32(bytes[at + 2]) << 16 | UInt32(bytes[at + 3]) << 24 }
        let alpha = header.hasAlpha ? fields[3].read(value) : 255
        target[x] = UInt32(
          littleEndian: alpha << 24 | fields[2].read(value) << 16 | fields[1].read(value) << 8
            | fields[0].read(value))
      }
    }
  }

  /// Some bits of a pixel, brought to 8.
  private struct BitField {
    let mask: UInt32, shift: UInt32, most: UInt32

    init(_ mask: UInt32) {
      self.mask = mask
      shift = mask == 0 ? 0 : UInt32(mask.trailingZeroBitCount)
      most = mask == 0 ? 1 : mask >> UInt32(mask.trailingZeroBitCount)
    }

    func read(_ value: UInt32) -> UInt32 {
      let field = (value & mask) >> shift
      if most == 255 { return field }
      return UInt32((UInt64(field) * 255 + UInt64(most) / 2) / UInt64(most) & 0xFF)
    }
  }
}
