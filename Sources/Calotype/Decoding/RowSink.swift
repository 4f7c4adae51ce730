#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Takes a picture's rows from a codec and makes the print of them: premultiplied, at its size, upright and
/// in sRGB.
///
/// Where the print keeps every pixel the codec writes straight into it; else a few rows at a time pass
/// through the resampler, and the whole picture is never in memory.
final class RowSink {
  /// Bytes from one row to the next in the memory that ``nextRows()`` gives.
  let stride: Int
  /// How many of the picture's rows have come.
  private(set) var rowCount = 0

  private let size: PixelSize
  private let hasAlpha: Bool
  private let isPremultiplied: Bool
  private let orientation: ImageOrientation
  private let format: ImageFormat
  private let resampler: RowResampler?
  private let storage: Bitmap.Storage?
  private let scratch: UnsafeMutableRawPointer?
  private let scratchRowCount: Int
  private let isDeep: Bool
  /// The print in a wider space, once it is finished, where that was wanted and the picture's own is wider.
  private(set) var deepBitmap: DeepBitmap?
  /// Whether every pixel so far was opaque.
  private var isOpaque = true
  /// Who wants to know of rows of the print that are done, from which one on, and where the print lies.
  private var listener: (arena: PixelArena, offset: Int, nextRow: Int, step: Int)?

  /// - Parameters:
  ///   - size: The size of the rows that come: the stored size, or less where the codec reduces.
  ///   - scale: What the codec has multiplied each side by before rounding it up to whole pixels.
  ///   - hasAlpha: Whether the rows have an alpha; else it must be 255.
  ///   - isPremultiplied: Whether the codec has multiplied the colours by it already.
  init(
    plan: DecodePlan, format: ImageFormat, size: PixelSize, scale: (x: Double, y: Double) = (1, 1),
    hasAlpha: Bool, isPremultiplied: Bool = false
  ) throws(ImageDecodingError) {
    self.size = size
    self.isPremultiplied = isPremultiplied
    self.hasAlpha = hasAlpha
    self.format = format
    orientation = plan.orientation
    isDeep = plan.isDeep
    stride = size.width * 4
    let crop = PixelRectangle(
      x: plan.crop.x * scale.x, y: plan.crop.y * scale.y, width: plan.crop.width * scale.x,
      height: plan.crop.height * scale.y)
    let isWhole =
      crop.x == 0 && crop.y == 0 && crop.width > Double(size.width) - 1
      && crop.height > Double(size.height) - 1
    do {
      if isWhole, size == plan.outputSize {
        storage = try Bitmap.Storage(size: size)
        resampler = nil
        scratch = nil
        scratchRowCount = 0
      } else {
        storage = nil
        resampler = try RowResampler(
          sourceSize: size, crop: (crop.x, crop.y, crop.width, crop.height), outputSize: plan.outputSize,
          isOpaque: !hasAlpha)
        scratchRowCount = min(size.height, 8)
        scratch = malloc(stride * scratchRowCount)
        if scratch == nil { throw BitmapError.outOfMemory(size) }
      }
    } catch {
      throw .outOfMemory(plan.outputSize)
    }
  }

  deinit { free(scratch) }

  /// The rows that count for the print: those outside need only be passed, see ``skipRows(_:)``.
  var neededRows: Range<Int> { resampler?.neededRows ?? 0..<size.height }

  /// Memory for the next rows, at least one: to be filled, then handed over by ``commit(_:)``.
  func nextRows() -> (memory: UnsafeMutableRawPointer, count: Int)? {
    let left = size.height - rowCount
    guard left > 0 else { return nil }
    if let base = storage?.buffer.baseAddress { return (base + rowCount * stride, min(left, 16)) }
    return scratch.map { ($0, min(left, scratchRowCount)) }
  }

  /// The memory of all rows where the codec may write the print itself, before any row has come.
  var wholeMemory: UnsafeMutableRawPointer? { rowCount == 0 ? storage?.buffer.baseAddress : nil }

  /// Says that rows are as they will stay once they are committed: no conversion of colours comes after them. In a
  /// sandboxed worker its parent may then take them while the next are made.
  func rowsStayAsTheyAre() {
    guard let storage, orientation == .up, let arena = PixelArena.current, arena.onRows != nil,
      storage.buffer.count >= 2 * PixelArena.leastPart,
      let offset = arena.offset(of: UnsafeRawBufferPointer(storage.buffer))
    else { return }
    let step = max(1, PixelArena.leastPart / stride)
    listener = (arena, offset, nextRow: step, step)
  }

  private func tellRows() {
    guard let (arena, offset, nextRow, step) = listener, rowCount >= nextRow, rowCount < size.height else {
      return
    }
    listener?.nextRow = rowCount + step
    arena.onRows?(size, offset, rowCount)
  }

  /// Takes over rows that were written to the memory that ``nextRows()`` gave.
  func commit(_ count: Int) {
    if let base = storage?.buffer.baseAddress {
      premultiply(base + rowCount * stride, rows: count)
    } else if let scratch {
      premultiply(scratch, rows: count)
      appendToResampler(scratch, rows: count)
    }
    rowCount += count
    if listener != nil { tellRows() }
  }

  /// Counts rows as passed that do not count for the print.
  func skipRows(_ count: Int) {
    resampler?.skipRows(count)
    rowCount += count
  }

  /// Takes rows that lie in the codec's own memory, which is premultiplied in place.
  func append(_ rows: UnsafeMutableRawPointer, count: Int, stride sourceStride: Int) {
    for row in 0..<count {
      let source = rows + row * sourceStride
      premultiply(source, rows: 1)
      if let base = storage?.buffer.baseAddress {
        (base + rowCount * stride).copyMemory(from: source, byteCount: stride)
      } else {
        appendToResampler(source, rows: 1)
      }
      rowCount += 1
    }
  }

  /// Takes one row from memory that is left as it is.
  func append(copying row: UnsafeRawPointer) {
    if let base = storage?.buffer.baseAddress {
      (base + rowCount * stride).copyMemory(from: row, byteCount: stride)
      premultiply(base + rowCount * stride, rows: 1)
    } else if let scratch, neededRows.contains(rowCount) {
      scratch.copyMemory(from: row, byteCount: stride)
      premultiply(scratch, rows: 1)
      appendToResampler(scratch, rows: 1)
    } else {
      resampler?.skipRows(1)
    }
    rowCount += 1
  }

  /// The print, once all rows have come.
  ///
  /// - Parameter conversion: Brings the picture's colours to sRGB; applied to the print, which is as a rule
  ///   far smaller than the picture.
  func finish(
    _ conversion: ColorConversion? = nil, cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> Bitmap {
    guard rowCount == size.height else { throw .truncated(format) }
    let filled: Bitmap
    if let storage {
      filled = Bitmap(storage: storage, size: size, isOpaque: isOpaque)
    } else if let resampler {
      let resampled = resampler.finish()
      filled = Bitmap(storage: resampled.storage, size: resampled.size, isOpaque: isOpaque)
    } else {
      throw .outOfMemory(size)
    }
    if isDeep, let wide = conversion?.deepConversion {
      do {
        deepBitmap = try DeepBitmap.widened(filled).converted(by: wide, cancellation).oriented(orientation)
      } catch {
        throw (error as? ImageDecodingError) ?? .outOfMemory(filled.size)
      }
    }
    // Nobody else has seen the bitmap yet, so its memory may still be written.
    try conversion?.apply(to: filled, cancellation: cancellation)
    do { return try filled.oriented(orientation) } catch { throw .outOfMemory(filled.size) }
  }

  private func appendToResampler(_ rows: UnsafeMutableRawPointer, rows count: Int) {
    guard let resampler else { return }
    for row in 0..<count {
      resampler.append(row: UnsafeRawBufferPointer(start: rows + row * stride, count: stride))
    }
  }

  private func premultiply(_ rows: UnsafeMutableRawPointer, rows count: Int) {
    guard hasAlpha else { return }
    for row in 0..<count {
      let pixels = (rows + row * stride).assumingMemoryBound(to: UInt32.self)
      let isRowOpaque =
        isPremultiplied
        ? Premultiplication.clamp(pixels, count: size.width)
        : Premultiplication.premultiply(pixels, count: size.width)
      isOpaque = isOpaque && isRowOpaque
    }
  }
}

/// Between colours as they are and colours multiplied by their alpha, 8 bits each, RGBA in memory.
enum Premultiplication {
  /// Multiplies in place.
  ///
  /// - Returns: Whether every pixel is opaque, so that nothing changed.
  static func premultiply(_ pixels: UnsafeMutablePointer<UInt32>, count: Int) -> Bool {
    if isOpaque(pixels, count: count) { return true }
    for index in 0..<count {
      let pixel = UInt32(littleEndian: pixels[index])
      let alpha = pixel >> 24
      // Two channels in one multiplication; x / 255 rounded is (x + 128 + (x + 128 >> 8)) >> 8.
      var redBlue = (pixel & 0x00FF_00FF) &* alpha &+ 0x0080_0080
      redBlue = ((redBlue &+ (redBlue >> 8 & 0x00FF_00FF)) >> 8) & 0x00FF_00FF
      var green = (pixel >> 8 & 0xFF) &* alpha &+ 0x80
      green = (green &+ (green >> 8)) & 0xFF00
      pixels[index] = UInt32(littleEndian: redBlue | green | alpha << 24)
    }
    return false
  }

  /// Brings colours that a file says are premultiplied, but are over their alpha, down to it.
  ///
  /// - Returns: Whether every pixel is opaque, so that nothing changed.
  static func clamp(_ pixels: UnsafeMutablePointer<UInt32>, count: Int) -> Bool {
    if isOpaque(pixels, count: count) { return true }
    for index in 0..<count {
      let pixel = UInt32(littleEndian: pixels[index])
      let alpha = pixel >> 24
      let red = min(pixel & 0xFF, alpha), green = min(pixel >> 8 & 0xFF, alpha)
      let blue = min(pixel >> 16 & 0xFF, alpha)
      pixels[index] = UInt32(littleEndian: alpha << 24 | blue << 16 | green << 8 | red)
    }
    return false
  }

  static func isOpaque(_ pixels: UnsafePointer<UInt32>, count: Int) -> Bool {
    var all: UInt32 = .max
    for index in 0..<count { all &= pixels[index] }
    return UInt32(littleEndian: all) >> 24 == 255
  }

  /// Divides in place: the nearest colours that ``premultiply(_:count:)`` would bring back.
  static func unpremultiply(_ pixels: UnsafeMutablePointer<UInt32>, count: Int) {
    for index in 0..<count {
      let pixel = UInt32(littleEndian: pixels[index])
      let alpha = pixel >> 24
      if alpha == 255 || alpha == 0 { continue }
      func divide(_ shift: UInt32) -> UInt32 {
        min(255, ((pixel >> shift & 0xFF) &* 255 &+ alpha / 2) / alpha) << shift
      }
      pixels[index] = UInt32(littleEndian: divide(0) | divide(8) | divide(16) | alpha << 24)
    }
  }
}
