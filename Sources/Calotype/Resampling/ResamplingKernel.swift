/// The inner loops of a resize, and the memory that they work in.
///
/// Pixels are taken two at a time: `[r₀ r₁ g₀ g₁ b₀ b₁ a₀ a₁]` in 16 bits each, so that a step of the
/// filter is a multiplication of neighbours with their weights and a sum of each two (`pmaddwd` on x86-64),
/// which the compiler makes of the lines written here. Between the two passes values keep 6 bits of fraction:
/// Lanczos overshoots by less than half, so they stay within 16 bits.
final class ResamplingKernel {
  /// The source row that ``filterColumns(_:row:fractionBits:)`` takes, two pixels an element.
  let sourcePairs: UnsafeMutablePointer<SIMD8<Int16>>
  /// Rows of the output's width, two rows an element: the even row in the lower half of each word.
  private let ring: UnsafeMutablePointer<SIMD4<Int32>>
  private let ringPairCount: Int
  private let width: Int
  /// From a row of the ring to the next: a little over the width, since rows that lie a power of two apart
  /// share their places in the processor's cache.
  private let stride: Int

  private static let keptBits: Int32 = 6

  init(columns: ResamplingWeights, rows: ResamplingWeights, outputSize: PixelSize, isUsed: Bool) {
    width = outputSize.width
    stride = (outputSize.width + 3) / 4 * 4 + 4
    ringPairCount = Self.ringPairCount(for: rows)
    // Output pixels at the end read pairs of weight 0 beyond the source.
    let pairs = isUsed ? columns.needed.upperBound / 2 + columns.pairCount + 1 : 0
    sourcePairs = .allocate(capacity: pairs)
    sourcePairs.initialize(repeating: SIMD8(repeating: 0), count: pairs)
    let ringCount = isUsed ? ringPairCount * stride : 0
    ring = .allocate(capacity: ringCount)
    ring.initialize(repeating: SIMD4(repeating: 0), count: ringCount)
  }

  deinit {
    sourcePairs.deallocate()
    ring.deallocate()
  }

  /// Takes the columns that count of a row of pixels.
  func load(_ pixels: UnsafeRawPointer, columns: Range<Int>) {
    let target = sourcePairs
    var pair = columns.lowerBound / 2
    let end = columns.upperBound / 2
    while pair < end {
      target[pair] = PixelLanes.pair(pixels.loadUnaligned(fromByteOffset: pair &* 8, as: UInt64.self))
      pair &+= 1
    }
    if columns.upperBound % 2 == 1 {
      target[pair] = PixelLanes.pair(
        UInt64(pixels.loadUnaligned(fromByteOffset: pair &* 8, as: UInt32.self)))
    }
  }

  /// Brings the source row to the output's width.
  ///
  /// - Parameter fractionBits: How many bits of the row's values are fraction.
  func filterColumns(_ columns: ResamplingWeights, row: Int, fractionBits: Int32) {
    let output = ring + (row / 2 % ringPairCount) * stride
    let shift = SIMD4<Int32>(repeating: 14 &+ fractionBits &- Self.keptBits)
    let half = SIMD4<Int32>(repeating: 1 &<< (shift.x &- 1))
    let isOdd = row % 2 == 1
    let lowerHalf = SIMD4<Int32>(repeating: 0xFFFF)
    let upperShift = SIMD4<Int32>(repeating: 16)
    let pairCount = columns.pairCount
    columns.firstPairs.withUnsafeBufferPointer { firstPairs in
      columns.words.withUnsafeBufferPointer { words in
        guard let firstPairs = firstPairs.baseAddress, var word = words.baseAddress else { return }
        var x = 0
        while x < width {
          let pair = sourcePairs + Int(firstPairs[x])
          var sum = half
          var at = 0
          while at &+ 1 < pairCount {
            sum &+= PixelLanes.product(pair[at], Self.weights(word[at]))
            sum &+= PixelLanes.product(pair[at &+ 1], Self.weights(word[at &+ 1]))
            at &+= 2
          }
          if at < pairCount { sum &+= PixelLanes.product(pair[at], Self.weights(word[at])) }
          let value = sum &>> shift
          output[x] =
            isOdd ? (output[x] & lowerHalf) | (value &<< upperShift) : value & lowerHalf
          word += pairCount
          x &+= 1
        }
      }
    }
  }

  /// Makes one output row of the rows in the ring.
  func filterRows(
    _ rows: ResamplingWeights, outputRow: Int, isOpaque: Bool, into pixels: UnsafeMutableRawPointer
  ) {
    let pairCount = rows.pairCount
    let firstSlot = Int(rows.firstPairs[outputRow]) % ringPairCount
    let untilEnd = min(pairCount, ringPairCount - firstSlot)
    let half = SIMD4<Int32>(repeating: 1 &<< (13 &+ Self.keptBits))
    let shift = SIMD4<Int32>(repeating: 14 &+ Self.keptBits)
    let ring = UnsafeRawPointer(self.ring).assumingMemoryBound(to: SIMD8<Int16>.self)
    let width = self.width
    let stride = self.stride
    let opaque = PixelLanes.opaqueMask(isOpaque)
    rows.words.withUnsafeBufferPointer { words in
      guard let words = words.baseAddress.map({ $0 + outputRow &* pairCount }) else { return }
      var x = 0
      while x &+ 4 <= width {
        var a = half, b = half, c = half, d = half
        var pair = ring + (firstSlot &* stride &+ x)
        var at = 0
        while at < pairCount {
          if at == untilEnd { pair = ring + x }
          let weights = Self.weights(words[at])
          a &+= PixelLanes.product(pair[0], weights)
          b &+= PixelLanes.product(pair[1], weights)
          c &+= PixelLanes.product(pair[2], weights)
          d &+= PixelLanes.product(pair[3], weights)
          pair += stride
          at &+= 1
        }
        let block = PixelLanes.bytes(
          a &>> shift, b &>> shift, c &>> shift, d &>> shift, opaque: opaque)
        pixels.storeBytes(of: block, toByteOffset: x &* 4, as: SIMD4<UInt32>.self)
        x &+= 4
      }
      while x < width {
        var sum = half
        var pair = ring + (firstSlot &* stride &+ x)
        var at = 0
        while at < pairCount {
          if at == untilEnd { pair = ring + x }
          sum &+= PixelLanes.product(pair.pointee, Self.weights(words[at]))
          pair += stride
          at &+= 1
        }
        sum = sum &>> shift
        let bytes = PixelLanes.bytes(sum, sum, sum, sum, opaque: opaque)
        pixels.storeBytes(of: bytes.x, toByteOffset: x &* 4, as: UInt32.self)
        x &+= 1
      }
    }
  }

  @inline(__always)
  private static func weights(_ word: Int32) -> SIMD8<Int16> {
    unsafeBitCast(SIMD4<Int32>(repeating: word), to: SIMD8<Int16>.self)
  }

  /// How many pairs of rows wait at once at most: from the first that an output row needs to the last that
  /// came before it could be finished.
  private static func ringPairCount(for rows: ResamplingWeights) -> Int {
    var latest = 0
    var most = 1
    for (first, last) in zip(rows.firstPairs, rows.lastPixels) {
      latest = max(latest, Int(last) / 2)
      most = max(most, latest - Int(first) + 1, rows.pairCount)
    }
    return most
  }
}
