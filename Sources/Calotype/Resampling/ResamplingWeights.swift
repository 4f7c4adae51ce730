/// The weights of one axis: which source pixels make each output pixel, and how much each counts.
struct ResamplingWeights {
  /// For each output pixel the first source pixel that counts; `start + tapCount` stays inside of the source.
  private(set) var starts: [Int32]
  /// `tapCount` weights for each output pixel, of sum 1; zeros where fewer count.
  private(set) var weights: [Float]
  /// Source pixels for each output pixel.
  let tapCount: Int
  /// The source pixels that count at all.
  let needed: Range<Int>

  /// Works out an axis's weights.
  ///
  /// - Parameters:
  ///   - sourceCount: Pixels in the source.
  ///   - origin: Where the shown part of the source begins, in source pixels.
  ///   - length: How much of the source is shown, in source pixels, over 0.
  ///   - outputCount: Pixels in the output, at least 1.
  ///   - filter: The filter.
  init(sourceCount: Int, origin: Double, length: Double, outputCount: Int, filter: ResamplingFilter) {
    let scale = length / Double(outputCount)
    let filterScale = max(scale, 1)
    // The area of an output pixel is `scale` wide, also where the source is enlarged.
    let support = filter == .area ? scale / 2 : filter.support * filterScale
    let widest = min(sourceCount, Int(support * 2) + 2)

    var starts = [Int32](repeating: 0, count: outputCount)
    var counts = [Int32](repeating: 0, count: outputCount)
    var raw = [Float](repeating: 0, count: outputCount * widest)
    var tapCount = 1
    raw.withUnsafeMutableBufferPointer { raw in
      var output = 0
      while output < outputCount {
        let center = origin + (Double(output) + 0.5) * scale
        let taps = UnsafeMutableBufferPointer(rebasing: raw[output * widest..<(output + 1) * widest])
        let (first, count) = Self.fill(
          taps, center: center, support: support, filterScale: filterScale, sourceCount: sourceCount,
          filter: filter)
        starts[output] = Int32(first)
        counts[output] = Int32(count)
        tapCount = max(tapCount, count)
        output += 1
      }
    }

    var packed = [Float](repeating: 0, count: outputCount * tapCount)
    var lower = sourceCount
    var upper = 0
    for output in 0..<outputCount {
      let first = Int(starts[output])
      let count = Int(counts[output])
      // Taps of weight 0 go to the left where the source ends on the right.
      let moved = max(0, first + tapCount - sourceCount)
      starts[output] = Int32(first - moved)
      // Their pixels are read too: even nothing times what was never written may be no number.
      lower = min(lower, first - moved)
      upper = max(upper, first - moved + tapCount)
      for tap in 0..<count { packed[output * tapCount + moved + tap] = raw[output * widest + tap] }
    }
    self.starts = starts
    self.weights = packed
    self.tapCount = tapCount
    needed = lower..<upper
  }

  /// Whether each output pixel is one source pixel.
  var isCopy: Bool { tapCount == 1 && starts.count == needed.count }

  /// Fills in one output pixel's weights, of sum 1 and without zeros at either end.
  private static func fill(
    _ taps: UnsafeMutableBufferPointer<Float>, center: Double, support: Double, filterScale: Double,
    sourceCount: Int, filter: ResamplingFilter
  ) -> (first: Int, count: Int) {
    var first: Int
    var count: Int
    var sum: Float = 0
    switch filter {
    case .lanczos3:
      first = max(0, Int((center - support + 0.5).rounded(.down)))
      count = min(min(sourceCount, Int((center + support + 0.5).rounded(.down))) - first, taps.count)
      let step = Float(Double(ResamplingFilter.lanczosStepsPerUnit) / filterScale)
      let begin = Float((Double(first) + 0.5 - center)) * step
      ResamplingFilter.lanczosTable.withUnsafeBufferPointer { table in
        var tap = 0
        while tap < count {
          let position = min(abs(begin + Float(tap) * step), Float(table.count - 2))
          let index = Int(position)
          let part = position - Float(index)
          let value = table[index] + (table[index + 1] - table[index]) * part
          taps[tap] = value
          sum += value
          tap += 1
        }
      }
    case .area:
      let left = max(0, center - support)
      let right = min(Double(sourceCount), center + support)
      first = min(Int(left), sourceCount - 1)
      count = max(1, min(min(sourceCount, Int(right.rounded(.up))) - first, taps.count))
      for tap in 0..<count {
        let pixel = Double(first + tap)
        let value = Float(max(0, min(right, pixel + 1) - max(left, pixel)))
        taps[tap] = value
        sum += value
      }
    }
    guard count > 0, sum != 0 else {
      taps[0] = 1
      return (min(max(0, Int(center)), sourceCount - 1), 1)
    }
    for tap in 0..<count { taps[tap] /= sum }
    // A weight that cannot change an 8-bit value is no reason to look at a pixel.
    let negligible: Float = 1e-6
    var skipped = 0
    while count > 1, abs(taps[count - 1]) < negligible { count -= 1 }
    while count > 1, abs(taps[skipped]) < negligible {
      skipped += 1
      count -= 1
    }
    if skipped > 0 { for tap in 0..<count { taps[tap] = taps[tap + skipped] } }
    first += skipped
    return (first, count)
  }
}
