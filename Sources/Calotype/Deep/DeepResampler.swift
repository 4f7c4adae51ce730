import Foundation

/// Resizes a picture of 16 bits a channel while its rows arrive: ``RowResampler`` in floating point, for pictures
/// in which a step of an 8-bit value would show. A row is brought to the output's width as it comes; as many of
/// those as the filter is high are in memory.
///
/// Not for use from two threads at once.
final class DeepResampler {
  private let sourceSize: PixelSize
  private let outputSize: PixelSize
  private let columns: [Taps]
  private let rows: [Taps]
  private let storage: Bitmap.Storage
  private let ring: UnsafeMutablePointer<SIMD4<Float>>
  private let ringRowCount: Int
  private var nextRow = 0
  private var nextOutputRow = 0

  /// The source pixels that one output pixel is made of.
  private struct Taps {
    var first: Int
    var weights: [Float]
    var end: Int { first + weights.count }
  }

  init(sourceSize: PixelSize, crop: PixelRectangle, outputSize: PixelSize) throws(BitmapError) {
    self.sourceSize = sourceSize
    self.outputSize = outputSize
    storage = try DeepBitmap.storage(outputSize)
    columns = Self.taps(crop.x, crop.width, sourceSize.width, outputSize.width)
    rows = Self.taps(crop.y, crop.height, sourceSize.height, outputSize.height)
    ringRowCount = rows.map(\.weights.count).max() ?? 1
    ring = .allocate(capacity: ringRowCount * outputSize.width)
    ring.initialize(repeating: .zero, count: ringRowCount * outputSize.width)
  }

  deinit { ring.deallocate() }

  /// Takes the next row, premultiplied.
  func append(_ row: UnsafePointer<SIMD4<UInt16>>) {
    let index = nextRow
    nextRow += 1
    guard nextOutputRow < outputSize.height, index >= rows[nextOutputRow].first else { return }
    let target = ring + index % ringRowCount * outputSize.width
    for x in 0..<outputSize.width {
      let taps = columns[x]
      var sum = SIMD4<Float>.zero
      taps.weights.withUnsafeBufferPointer { weights in
        for tap in 0..<weights.count { sum += SIMD4<Float>(row[taps.first + tap]) * weights[tap] }
      }
      target[x] = sum
    }
    while nextOutputRow < outputSize.height, rows[nextOutputRow].end <= index + 1 { finishRow() }
  }

  /// The pixels, premultiplied, once all rows have come.
  func finish() -> Bitmap.Storage? { nextOutputRow == outputSize.height ? storage : nil }

  private func finishRow() {
    let taps = rows[nextOutputRow]
    guard let base = storage.buffer.baseAddress else { return }
    let target = base.assumingMemoryBound(to: SIMD4<UInt16>.self) + nextOutputRow * outputSize.width
    for x in 0..<outputSize.width {
      var sum = SIMD4<Float>(repeating: 0.5)
      for (offset, weight) in taps.weights.enumerated() {
        sum += ring[(taps.first + offset) % ringRowCount * outputSize.width + x] * weight
      }
      // Lanczos overshoots: a colour never is over its alpha, nor anything outside of its range.
      let alpha = min(max(sum.w, 0), 65_535)
      target[x] = SIMD4<UInt16>(sum.clamped(lowerBound: .zero, upperBound: SIMD4(repeating: alpha)))
    }
    nextOutputRow += 1
  }

  private static func taps(_ origin: Double, _ length: Double, _ count: Int, _ output: Int) -> [Taps] {
    let scale = length / Double(output)
    let filterScale = max(1, scale), support = 3 * filterScale
    return (0..<output).map { index in
      let center = origin + (Double(index) + 0.5) * scale
      // Where each source pixel stands for itself, none is mixed in.
      if scale == 1, center - center.rounded(.down) == 0.5 {
        return Taps(first: min(max(0, Int(center)), count - 1), weights: [1])
      }
      let first = max(0, Int((center - support + 0.5).rounded(.down)))
      let end = min(count, Int((center + support + 0.5).rounded(.down)))
      var weights = (first..<max(first + 1, end)).map { pixel in
        Float(lanczos((Double(pixel) + 0.5 - center) / filterScale))
      }
      let sum = weights.reduce(0, +)
      for tap in weights.indices { weights[tap] /= sum }
      return Taps(first: min(first, count - 1), weights: weights)
    }
  }

  private static func lanczos(_ x: Double) -> Double {
    if x == 0 { return 1 }
    guard abs(x) < 3 else { return 0 }
    let angle = x * Double.pi
    return 3 * sin(angle) * sin(angle / 3) / (angle * angle)
  }
}
