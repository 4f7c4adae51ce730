/// Resizes a picture while its rows arrive, so that the whole of it is never in memory.
///
/// A separable filter on premultiplied pixels: each row is brought to the output's width as it comes, and
/// each output row is finished as soon as the last of its source rows is there. Memory is the output and as
/// many rows of its width as the filter is high.
///
/// Not for use from two threads at once.
final class RowResampler {
  /// The rows of the source that count. Those before it need not be decoded, only counted through
  /// ``skipRows(_:)``; after it the decode may end.
  let neededRows: Range<Int>
  /// The next row that ``append(row:)`` takes.
  private(set) var nextRow = 0

  private let sourceSize: PixelSize
  private let outputSize: PixelSize
  private let isOpaque: Bool
  private let storage: Bitmap.Storage
  private let columns: ResamplingWeights
  private let rows: ResamplingWeights
  private let ringRowCount: Int
  /// One source row, as floats, then the ring of rows of the output's width.
  private let work: UnsafeMutablePointer<SIMD4<Float>>
  private let ring: UnsafeMutablePointer<SIMD4<Float>>
  private var nextOutputRow = 0

  /// Prepares a resize.
  ///
  /// - Parameters:
  ///   - sourceSize: The size of the rows that will come, and their number.
  ///   - crop: The part of the source that is shown, in its pixels; fractions are meant. It is cut to
  ///     the source.
  ///   - outputSize: The size of the result.
  ///   - isOpaque: Whether every source pixel is opaque; then so is every pixel of the result.
  ///   - filter: The filter.
  init(
    sourceSize: PixelSize, crop: (x: Double, y: Double, width: Double, height: Double),
    outputSize: PixelSize, isOpaque: Bool, filter: ResamplingFilter = .lanczos3
  ) throws(BitmapError) {
    guard sourceSize.width > 0, sourceSize.height > 0 else { throw .invalidSize(sourceSize) }
    guard let horizontal = Self.clip(crop.x, crop.width, to: sourceSize.width),
      let vertical = Self.clip(crop.y, crop.height, to: sourceSize.height)
    else { throw .invalidSize(PixelSize(width: 0, height: 0)) }
    self.sourceSize = sourceSize
    self.outputSize = outputSize
    self.isOpaque = isOpaque
    storage = try Bitmap.Storage(size: outputSize)
    columns = ResamplingWeights(
      sourceCount: sourceSize.width, origin: horizontal.origin, length: horizontal.length,
      outputCount: outputSize.width, filter: filter)
    rows = ResamplingWeights(
      sourceCount: sourceSize.height, origin: vertical.origin, length: vertical.length,
      outputCount: outputSize.height, filter: filter)
    neededRows = rows.needed
    ringRowCount = Self.ringRowCount(for: rows)
    let isCopy = columns.isCopy && rows.isCopy
    let floatCount = isCopy ? 1 : sourceSize.width + ringRowCount * outputSize.width
    work = UnsafeMutablePointer<SIMD4<Float>>.allocate(capacity: floatCount)
    ring = work + (isCopy ? 0 : sourceSize.width)
  }

  deinit { work.deallocate() }

  /// Takes the next row, top first: at least `sourceSize.width` premultiplied RGBA8 pixels.
  ///
  /// A row that does not count costs nothing.
  func append(row: UnsafeRawBufferPointer) {
    let index = nextRow
    nextRow += 1
    guard neededRows.contains(index), let pixels = row.baseAddress else { return }
    precondition(row.count >= sourceSize.width * 4, "a row of \(row.count) bytes is too short")
    if columns.isCopy && rows.isCopy {
      let rowBytes = outputSize.width * 4
      (storage.buffer.baseAddress! + (index - neededRows.lowerBound) * rowBytes)
        .copyMemory(from: pixels + columns.needed.lowerBound * 4, byteCount: rowBytes)
      nextOutputRow = index - neededRows.lowerBound + 1
      return
    }
    convert(pixels)
    filterColumns(into: ring + (index % ringRowCount) * outputSize.width)
    while nextOutputRow < outputSize.height, lastRow(of: nextOutputRow) <= index {
      filterRows(outputRow: nextOutputRow)
      nextOutputRow += 1
    }
  }

  /// Counts rows as passed that were not decoded since they do not count.
  func skipRows(_ count: Int) { nextRow += count }

  /// The finished picture. Rows that never came are clear, or black in an opaque picture.
  func finish() -> Bitmap {
    if nextRow < neededRows.upperBound {
      let clear = UnsafeMutableRawBufferPointer.allocate(byteCount: sourceSize.width * 4, alignment: 16)
      defer { clear.deallocate() }
      clear.initializeMemory(as: UInt8.self, repeating: 0)
      if isOpaque { for pixel in 0..<sourceSize.width { clear[pixel * 4 + 3] = 255 } }
      while nextRow < neededRows.upperBound { append(row: UnsafeRawBufferPointer(clear)) }
    }
    return Bitmap(storage: storage, size: outputSize, isOpaque: isOpaque)
  }

  private func lastRow(of outputRow: Int) -> Int { Int(rows.starts[outputRow]) + rows.tapCount - 1 }

  /// Bytes to floats, for the columns that count.
  private func convert(_ pixels: UnsafeRawPointer) {
    let work = self.work
    var x = columns.needed.lowerBound
    let end = columns.needed.upperBound
    while x < end {
      work[x] = SIMD4<Float>(pixels.loadUnaligned(fromByteOffset: x &* 4, as: SIMD4<UInt8>.self))
      x &+= 1
    }
  }

  /// Brings the row in `work` to the output's width.
  private func filterColumns(into output: UnsafeMutablePointer<SIMD4<Float>>) {
    let work = self.work
    let width = outputSize.width
    let tapCount = columns.tapCount
    columns.starts.withUnsafeBufferPointer { starts in
      columns.weights.withUnsafeBufferPointer { weights in
        guard let starts = starts.baseAddress, var weight = weights.baseAddress else { return }
        var x = 0
        while x < width {
          let source = work + Int(starts[x])
          var even = source[0] * weight[0]
          var odd = SIMD4<Float>(repeating: 0)
          var tap = 1
          while tap &+ 1 < tapCount {
            odd += source[tap] * weight[tap]
            even += source[tap &+ 1] * weight[tap &+ 1]
            tap &+= 2
          }
          if tap < tapCount { odd += source[tap] * weight[tap] }
          output[x] = even + odd
          weight += tapCount
          x &+= 1
        }
      }
    }
  }

  /// Makes one output row of the rows in the ring.
  private func filterRows(outputRow: Int) {
    let width = outputSize.width
    let tapCount = rows.tapCount
    let start = Int(rows.starts[outputRow])
    let pixels = storage.buffer.baseAddress! + outputRow * width * 4
    let ring = self.ring
    let opaque: UInt32 = isOpaque ? 0xFF00_0000 : 0
    rows.weights.withUnsafeBufferPointer { weights in
      guard let weights = weights.baseAddress.map({ $0 + outputRow * tapCount }) else { return }
      let firstSlot = start % ringRowCount
      let slotsToEnd = min(tapCount, ringRowCount - firstSlot)
      var x = 0
      while x &+ 4 <= width {
        var a = SIMD4<Float>(repeating: 0), b = a, c = a, d = a
        var source = UnsafePointer(ring + (firstSlot * width + x))
        var tap = 0
        while tap < slotsToEnd {
          let weight = SIMD4<Float>(repeating: weights[tap])
          a += source[0] * weight
          b += source[1] * weight
          c += source[2] * weight
          d += source[3] * weight
          source += width
          tap &+= 1
        }
        source = UnsafePointer(ring + x)
        while tap < tapCount {
          let weight = SIMD4<Float>(repeating: weights[tap])
          a += source[0] * weight
          b += source[1] * weight
          c += source[2] * weight
          d += source[3] * weight
          source += width
          tap &+= 1
        }
        let target = pixels + x &* 4
        target.storeBytes(of: Self.pack(a, opaque), as: UInt32.self)
        target.storeBytes(of: Self.pack(b, opaque), toByteOffset: 4, as: UInt32.self)
        target.storeBytes(of: Self.pack(c, opaque), toByteOffset: 8, as: UInt32.self)
        target.storeBytes(of: Self.pack(d, opaque), toByteOffset: 12, as: UInt32.self)
        x &+= 4
      }
      while x < width {
        var a = SIMD4<Float>(repeating: 0)
        var tap = 0
        while tap < tapCount {
          let slot = tap < slotsToEnd ? firstSlot &+ tap : tap &- slotsToEnd
          a += ring[slot &* width &+ x] * weights[tap]
          tap &+= 1
        }
        pixels.storeBytes(of: Self.pack(a, opaque), toByteOffset: x &* 4, as: UInt32.self)
        x &+= 1
      }
    }
  }

  /// Rounds a pixel to bytes that are valid when premultiplied: no colour over its alpha.
  @inline(__always)
  private static func pack(_ pixel: SIMD4<Float>, _ opaque: UInt32) -> UInt32 {
    let zero = SIMD4<Float>(repeating: 0)
    let most = SIMD4<Float>(repeating: 255)
    var value = pixel.replacing(with: zero, where: pixel .< zero)
    value = value.replacing(with: most, where: value .> most)
    let alpha = opaque == 0 ? SIMD4<Float>(repeating: value.w) : most
    value = value.replacing(with: alpha, where: value .> alpha)
    // Adding 1.5 × 2²³ leaves the rounded number in the float's lowest bits.
    let bits = unsafeBitCast(value + 12_582_912, to: SIMD4<UInt32>.self)
    return unsafeBitCast(SIMD4<UInt8>(truncatingIfNeeded: bits), to: UInt32.self) | opaque
  }

  /// How many rows wait at once at most: from the first that an output row needs to the last that came
  /// before it could be finished.
  private static func ringRowCount(for rows: ResamplingWeights) -> Int {
    var latest = 0
    var most = 1
    for start in rows.starts {
      latest = max(latest, Int(start) + rows.tapCount)
      most = max(most, latest - Int(start))
    }
    return most
  }

  /// The part of an axis that is inside of the source, or `nil` where nothing is.
  private static func clip(_ origin: Double, _ length: Double, to count: Int) -> (
    origin: Double, length: Double
  )? {
    guard origin.isFinite, length.isFinite, length > 0 else { return nil }
    let lower = max(0, origin)
    let upper = min(Double(count), origin + length)
    return upper > lower ? (lower, upper - lower) : nil
  }
}
