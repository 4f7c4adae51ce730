/// The weights of one axis: which source pixels make each output pixel, and how much each counts.
///
/// They are whole numbers of sum ``one``, two to a word, for a kernel that takes pixels two at a time.
struct ResamplingWeights {
  /// What the weights of one output pixel sum up to.
  static let one: Int32 = 1 << 14

  /// For each output pixel the first pair of source pixels that counts.
  private(set) var firstPairs: [Int32]
  /// `pairCount` words for each output pixel: the weight of a pair's first pixel in the lower half of the
  /// word, of its second in the upper; zeros where fewer count.
  private(set) var words: [Int32]
  /// Pairs of source pixels for each output pixel.
  let pairCount: Int
  /// For each output pixel the last source pixel that counts.
  private(set) var lastPixels: [Int32]
  /// The source pixels that count at all.
  let needed: Range<Int>
  /// Whether each output pixel is one source pixel, and the next one is its neighbour.
  let isCopy: Bool

  /// Works out an axis's weights.
  ///
  /// - Parameters:
  ///   - sourceCount: Pixels in the source.
  ///   - origin: Where the shown part of the source begins, in source pixels.
  ///   - length: How much of the source is shown, in source pixels, over 0.
  ///   - outputCount: Pixels in the output, at least 1.
  ///   - filter: The filter.
  ///   - lastShare: How much of a pixel the source's last one is, where it was made of fewer than the others.
  init(
    sourceCount: Int, origin: Double, length: Double, outputCount: Int, filter: ResamplingFilter,
    lastShare: Float = 1
  ) {
    let kernel = Kernel(
      sourceCount: sourceCount, origin: origin, scale: length / Double(outputCount), filter: filter,
      lastShare: lastShare)
    let widest = kernel.maximumTapCount / 2 + 1
    var firstPairs = [Int32](repeating: 0, count: outputCount)
    var lastPixels = firstPairs
    var words = [Int32](repeating: 0, count: outputCount * widest)
    var lower = sourceCount
    var upper = 0
    var isCopy = true
    withUnsafeTemporaryAllocation(of: Float.self, capacity: kernel.maximumTapCount) { taps in
      firstPairs.withUnsafeMutableBufferPointer { firstPairs in
        lastPixels.withUnsafeMutableBufferPointer { lastPixels in
          words.withUnsafeMutableBufferPointer { words in
            var output = 0
            while output < outputCount {
              let (first, count) = kernel.fill(taps, output: output)
              firstPairs[output] = Int32(first / 2)
              lastPixels[output] = Int32(first + count - 1)
              lower = min(lower, first)
              upper = max(upper, first + count)
              isCopy = isCopy && count == 1 && first == lower + output
              Self.pack(
                taps, count: count, isFirstOdd: first % 2 == 1,
                into: UnsafeMutableBufferPointer(rebasing: words[(output * widest)...]))
              output += 1
            }
          }
        }
      }
    }
    self.firstPairs = firstPairs
    self.words = words
    self.lastPixels = lastPixels
    pairCount = widest
    needed = lower..<upper
    self.isCopy = isCopy
  }

  /// Makes whole numbers of weights. Each is the step of the rounded running sum: so their sum is exact, and
  /// no error adds up.
  private static func pack(
    _ taps: UnsafeMutableBufferPointer<Float>, count: Int, isFirstOdd: Bool,
    into words: UnsafeMutableBufferPointer<Int32>
  ) {
    var sum: Float = 0
    var rounded: Int32 = 0
    var place = isFirstOdd ? 1 : 0
    var tap = 0
    while tap < count {
      sum += taps[tap]
      // Adding 1.5 × 2²³ leaves the rounded number in the float's lowest bits.
      let bits = (sum * Float(one) + 12_582_912).bitPattern
      let next = tap == count - 1 ? one : Int32(bitPattern: bits &- 0x4B40_0000)
      let weight = UInt32(bitPattern: next &- rounded) & 0xFFFF
      words[place / 2] |= Int32(bitPattern: weight &<< UInt32(place % 2 &* 16))
      rounded = next
      place &+= 1
      tap &+= 1
    }
  }
}

/// A filter laid over an axis.
private struct Kernel {
  let sourceCount: Int
  let origin: Double
  let scale: Double
  let filter: ResamplingFilter
  let filterScale: Double
  let support: Double
  let maximumTapCount: Int
  let lastShare: Float

  init(sourceCount: Int, origin: Double, scale: Double, filter: ResamplingFilter, lastShare: Float) {
    self.lastShare = lastShare
    self.sourceCount = sourceCount
    self.origin = origin
    self.scale = scale
    self.filter = filter
    filterScale = max(scale, 1)
    // The area of an output pixel is `scale` wide, also where the source is enlarged.
    support = filter == .area ? scale / 2 : filter.support * filterScale
    maximumTapCount = min(sourceCount, Int(support * 2) + 2)
  }

  /// Fills in one output pixel's weights, of sum 1 and without zeros at either end.
  func fill(_ taps: UnsafeMutableBufferPointer<Float>, output: Int) -> (first: Int, count: Int) {
    let center = origin + (Double(output) + 0.5) * scale
    let (first, fullCount, wholeSum) =
      filter == .area ? fillArea(taps, center: center) : fillLanczos(taps, center: center)
    var sum = wholeSum
    if lastShare < 1, first + fullCount == sourceCount, fullCount > 1 {
      let whole = taps[fullCount - 1]
      taps[fullCount - 1] = whole * lastShare
      sum -= whole * (1 - lastShare)
    }
    guard fullCount > 0, sum != 0 else {
      taps[0] = 1
      return (min(max(0, Int(center)), sourceCount - 1), 1)
    }
    var count = fullCount
    // A weight that cannot change an 8-bit value is no reason to look at a pixel.
    let negligible = 1e-5 * sum
    while count > 1, abs(taps[count - 1]) < negligible { count -= 1 }
    var skipped = 0
    while count > 1, abs(taps[skipped]) < negligible {
      skipped += 1
      count -= 1
    }
    let factor = 1 / sum
    var tap = 0
    while tap < count {
      taps[tap] = taps[tap &+ skipped] * factor
      tap &+= 1
    }
    return (first + skipped, count)
  }

  private func fillLanczos(
    _ taps: UnsafeMutableBufferPointer<Float>, center: Double
  ) -> (first: Int, count: Int, sum: Float) {
    let first = Int(max(0, center - support + 0.5))
    let end = min(sourceCount, Int(center + support + 0.5))
    let count = min(end - first, taps.count)
    let step = Float(Double(ResamplingFilter.lanczosStepsPerUnit) / filterScale)
    let begin = Float(Double(first) + 0.5 - center) * step
    var sum: Float = 0
    ResamplingFilter.lanczosTable.withUnsafeBufferPointer { table in
      let last = Float(table.count - 2)
      var tap = 0
      while tap < count {
        let position = min(abs(begin + Float(tap) * step), last)
        let index = Int(position)
        let value = table[index] + (table[index &+ 1] - table[index]) * (position - Float(index))
        taps[tap] = value
        sum += value
        tap += 1
      }
    }
    return (first, count, sum)
  }

  private func fillArea(
    _ taps: UnsafeMutableBufferPointer<Float>, center: Double
  ) -> (first: Int, count: Int, sum: Float) {
    let left = max(0, center - support)
    let right = min(Double(sourceCount), center + support)
    let first = min(Int(left), sourceCount - 1)
    let count = max(1, min(min(sourceCount, Int(right.rounded(.up))) - first, taps.count))
    var sum: Float = 0
    var tap = 0
    while tap < count {
      let pixel = Double(first + tap)
      let value = Float(max(0, min(right, pixel + 1) - max(left, pixel)))
      taps[tap] = value
      sum += value
      tap += 1
    }
    return (first, count, sum)
  }
}
