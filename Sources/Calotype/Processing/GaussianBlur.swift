/// Three box filters after one another, each with fractional ends: within a few thousandths of a Gaussian
/// (P. Gwosdek and others, "Theoretical Foundations of Gaussian Convolution by Extended Box Filtering", 2011),
/// at a cost that does not grow with its width. The picture goes on beyond its edges as it is at them.
struct GaussianBlur {
  /// Whole pixels to either side of the middle one.
  private let reach: Int
  /// The share of the next pixel that counts.
  private let fraction: Float

  private static let passes = 3
  /// Columns that are filtered together: their floats stay in the processor's second cache.
  private static let stripWidth = 16

  /// - Parameter deviation: The Gaussian's standard deviation in pixels, over 0.
  init(deviation: Double) {
    let variance = deviation * deviation / Double(Self.passes)
    let whole = (((12 * variance + 1).squareRoot() - 1) / 2).rounded(.down)
    let odd = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance)
    reach = Int(whole)
    fraction = Float(odd / (6 * (variance - (whole + 1) * (whole + 1))))
  }

  /// Blurs a picture.
  func apply(to image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
    let storage = try Bitmap.Storage(size: image.size)
    guard let source = image.storage.buffer.baseAddress, let target = storage.buffer.baseAddress else {
      throw BitmapError.outOfMemory(image.size)
    }
    let count = max(image.width, image.height * Self.stripWidth)
    let work = UnsafeMutablePointer<SIMD4<Float>>.allocate(capacity: count * 2 + Self.stripWidth)
    defer { work.deallocate() }
    let opaque = PixelLanes.opaqueMask(image.isOpaque)
    let pixels = target.assumingMemoryBound(to: UInt32.self)
    for y in 0..<image.height {
      if cancellation.isCancelled { throw CancellationError() }
      let from = (source + y * image.bytesPerRow).assumingMemoryBound(to: UInt32.self)
      let to = pixels + y * image.width
      for x in 0..<image.width { work[x] = PixelLanes.floats(from[x]) }
      run(work, work + count, sums: work + 2 * count, length: image.width, lanes: 1)
      store(work + count, to, count: image.width, opaque: opaque)
    }
    var left = 0
    while left < image.width {
      let lanes = min(Self.stripWidth, image.width - left)
      if cancellation.isCancelled { throw CancellationError() }
      for y in 0..<image.height {
        let from = pixels + (y * image.width + left)
        let to = work + y * lanes
        for x in 0..<lanes { to[x] = PixelLanes.floats(from[x]) }
      }
      run(work, work + count, sums: work + 2 * count, length: image.height, lanes: lanes)
      for y in 0..<image.height {
        store(
          work + (count + y * lanes), pixels + (y * image.width + left), count: lanes, opaque: opaque)
      }
      left += lanes
    }
    return Bitmap(storage: storage, size: image.size, isOpaque: image.isOpaque)
  }

  /// Filters lines that lie side by side three times: from `first` to `second`, which have room for all.
  private func run(
    _ first: UnsafeMutablePointer<SIMD4<Float>>, _ second: UnsafeMutablePointer<SIMD4<Float>>,
    sums: UnsafeMutablePointer<SIMD4<Float>>, length: Int, lanes: Int
  ) {
    if lanes == 1 {
      filterLine(first, second, length: length)
      filterLine(second, first, length: length)
      filterLine(first, second, length: length)
    } else {
      filterLines(first, second, sums: sums, length: length, lanes: lanes)
      filterLines(second, first, sums: sums, length: length, lanes: lanes)
      filterLines(first, second, sums: sums, length: length, lanes: lanes)
    }
  }

  private func filterLine(
    _ source: UnsafeMutablePointer<SIMD4<Float>>, _ target: UnsafeMutablePointer<SIMD4<Float>>, length: Int
  ) {
    let share = 1 / (Float(2 * reach + 1) + 2 * fraction)
    let ends = share * fraction
    let last = length - 1
    var sum = SIMD4<Float>(repeating: 0)
    for offset in -reach...reach { sum += source[min(max(offset, 0), last)] }
    var at = 0
    let from = -reach
    while at < length {
      let next = source[min(at &+ reach &+ 1, last)]
      let previous = source[max(at &+ from &- 1, 0)]
      target[at] = sum * share + (next + previous) * ends
      sum += next - source[max(at &+ from, 0)]
      at &+= 1
    }
  }

  private func filterLines(
    _ source: UnsafeMutablePointer<SIMD4<Float>>, _ target: UnsafeMutablePointer<SIMD4<Float>>,
    sums: UnsafeMutablePointer<SIMD4<Float>>, length: Int, lanes: Int
  ) {
    let share = 1 / (Float(2 * reach + 1) + 2 * fraction)
    let ends = share * fraction
    let last = length - 1
    for lane in 0..<lanes {
      var sum = SIMD4<Float>(repeating: 0)
      for offset in -reach...reach { sum += source[min(max(offset, 0), last) * lanes + lane] }
      sums[lane] = sum
    }
    var at = 0
    while at < length {
      let next = source + min(at &+ reach &+ 1, last) &* lanes
      let previous = source + max(at &- reach &- 1, 0) &* lanes
      let leaving = source + max(at &- reach, 0) &* lanes
      let to = target + at &* lanes
      var lane = 0
      while lane < lanes {
        let sum = sums[lane]
        to[lane] = sum * share + (next[lane] + previous[lane]) * ends
        sums[lane] = sum + (next[lane] - leaving[lane])
        lane &+= 1
      }
      at &+= 1
    }
  }

  private func store(
    _ source: UnsafeMutablePointer<SIMD4<Float>>, _ target: UnsafeMutablePointer<UInt32>, count: Int,
    opaque: SIMD8<Int16>
  ) {
    var x = 0
    while x &+ 4 <= count {
      let block = PixelLanes.bytes(
        PixelLanes.rounded(source[x]), PixelLanes.rounded(source[x &+ 1]),
        PixelLanes.rounded(source[x &+ 2]), PixelLanes.rounded(source[x &+ 3]), opaque: opaque)
      UnsafeMutableRawPointer(target + x).storeBytes(of: block, as: SIMD4<UInt32>.self)
      x &+= 4
    }
    while x < count {
      target[x] = PixelLanes.pixel(source[x], opaque: opaque)
      x &+= 1
    }
  }
}
