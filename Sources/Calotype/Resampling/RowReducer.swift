/// Brings rows of a picture that is much larger than its print to a whole part of their number and width, as
/// the mean of each block of pixels. What is left for the filter is still several times the print's size, so
/// that its result hardly differs, at a fraction of the time.
final class RowReducer {
  private let sourceSize: PixelSize
  private let factorX: Int
  private let factorY: Int
  private let neededColumns: Range<Int>
  /// The sums of the rows of a block so far, four components a pixel. A block has at most 256 pixels, so
  /// they stay within 16 bits.
  private let sums: UnsafeMutablePointer<SIMD4<UInt16>>

  /// How much smaller a picture is made beforehand whose size is `ratio` times its print's: leaves at least
  /// three source pixels for each of the print's.
  static func factor(for ratio: Double) -> Int {
    ratio.isFinite ? min(max(Int(ratio / 3), 1), 16) : 1
  }

  /// - Parameter neededColumns: The columns that count, after the reduction.
  init(sourceSize: PixelSize, factorX: Int, factorY: Int, neededColumns: Range<Int>) {
    self.sourceSize = sourceSize
    self.factorX = factorX
    self.factorY = factorY
    self.neededColumns = neededColumns
    let count = neededColumns.count * factorX + 2
    sums = .allocate(capacity: count)
    sums.initialize(repeating: SIMD4(repeating: 0), count: count)
  }

  deinit { sums.deallocate() }

  /// Takes a row; with the last of a block, the reduced row goes into `pairs`, in the form that
  /// ``ResamplingKernel`` takes, and its number and its values' bits of fraction are returned.
  func append(
    _ pixels: UnsafeRawPointer, row: Int, into pairs: UnsafeMutablePointer<SIMD8<Int16>>
  ) -> (row: Int, fractionBits: Int32)? {
    let firstColumn = neededColumns.lowerBound * factorX
    let columnCount = min(sourceSize.width, neededColumns.upperBound * factorX) - firstColumn
    add(pixels + firstColumn * 4, count: columnCount, isFirst: row % factorY == 0)
    guard row % factorY == factorY - 1 || row == sourceSize.height - 1 else { return nil }
    reduce(columnCount: columnCount, rowCount: row % factorY + 1, into: pairs)
    return (row / factorY, 6)
  }

  /// Adds a row to the sums.
  private func add(_ pixels: UnsafeRawPointer, count: Int, isFirst: Bool) {
    let sums = UnsafeMutableRawPointer(self.sums)
    var x = 0
    if isFirst {
      while x &+ 2 <= count {
        let both = pixels.loadUnaligned(fromByteOffset: x &* 4, as: UInt64.self)
        sums.storeBytes(
          of: PixelLanes.widened(both), toByteOffset: x &* 8, as: SIMD8<UInt16>.self)
        x &+= 2
      }
    } else {
      while x &+ 2 <= count {
        let both = pixels.loadUnaligned(fromByteOffset: x &* 4, as: UInt64.self)
        let sum = sums.loadUnaligned(fromByteOffset: x &* 8, as: SIMD8<UInt16>.self)
        sums.storeBytes(
          of: sum &+ PixelLanes.widened(both), toByteOffset: x &* 8, as: SIMD8<UInt16>.self)
        x &+= 2
      }
    }
    if x < count {
      let last = PixelLanes.widened(UInt64(pixels.loadUnaligned(fromByteOffset: x &* 4, as: UInt32.self)))
        .lowHalf
      self.sums[x] = isFirst ? last : self.sums[x] &+ last
    }
  }

  /// Makes means of the sums.
  private func reduce(columnCount: Int, rowCount: Int, into pairs: UnsafeMutablePointer<SIMD8<Int16>>) {
    let target = UnsafeMutableRawPointer(pairs)
    let words = UnsafeRawPointer(sums).assumingMemoryBound(to: UInt64.self)
    var x = 0
    var column = neededColumns.lowerBound
    while x < columnCount {
      let end = min(x &+ factorX, columnCount)
      // The mean with 6 bits of fraction, as a product with 2²² / pixels.
      let pixelCount = UInt32(rowCount &* (end &- x))
      let factor = ((1 &<< 22) &+ pixelCount / 2) / pixelCount
      // Four components of 16 bits in one word: no sum overflows into its neighbour.
      var word: UInt64 = 0
      while x < end {
        word &+= words[x]
        x &+= 1
      }
      let sum = SIMD4<UInt32>(truncatingIfNeeded: unsafeBitCast(word, to: SIMD4<UInt16>.self))
      let mean = SIMD4<Int16>(truncatingIfNeeded: (sum &* factor &+ 0x8000) &>> 16)
      let half = column % 2
      let pair = target + (column / 2) * 16
      if half == 0 {
        // The pair's other half is cleared, for rows that end with an even column.
        pair.storeBytes(of: SIMD4<Int32>(truncatingIfNeeded: mean) & 0xFFFF, as: SIMD4<Int32>.self)
      } else {
        let first = pair.load(as: SIMD4<Int32>.self) & 0xFFFF
        pair.storeBytes(of: first | (SIMD4<Int32>(truncatingIfNeeded: mean) &<< 16), as: SIMD4<Int32>.self)
      }
      column &+= 1
    }
  }
}
