/// Where in a picture there is something to see: edges and strong colours, on a small copy of it.
struct AttentionMap {
  private let width: Int
  private let height: Int
  /// Sums over everything left of and above a point, one column and one row more than the copy has.
  private var sums: [Double]

  private static let longestSide = 48.0

  init(_ image: Bitmap, cancellation: CancellationFlag) throws {
    let factor = min(1, Self.longestSide / Double(max(image.width, image.height)))
    let size = PixelSize(
      width: max(1, Int(Double(image.width) * factor)), height: max(1, Int(Double(image.height) * factor)))
    let small = try image.resampled(to: size, filter: .area, cancellation: cancellation)
    width = size.width
    height = size.height
    sums = [Double](repeating: 0, count: (width + 1) * (height + 1))
    func brightness(_ x: Int, _ y: Int) -> Double {
      let pixel = small[min(max(x, 0), size.width - 1), min(max(y, 0), size.height - 1)]
      return 0.299 * Double(pixel.red) + 0.587 * Double(pixel.green) + 0.114 * Double(pixel.blue)
    }
    for y in 0..<height {
      var row = 0.0
      for x in 0..<width {
        let pixel = small[x, y]
        let edge =
          abs(brightness(x + 1, y) - brightness(x - 1, y)) + abs(brightness(x, y + 1) - brightness(x, y - 1))
        let strength =
          Double(max(pixel.red, pixel.green, pixel.blue)) - Double(min(pixel.red, pixel.green, pixel.blue))
        row += edge + strength / 4
        sums[(y + 1) * (width + 1) + x + 1] = sums[y * (width + 1) + x + 1] + row
      }
    }
  }

  /// The place of a window that holds the most, as shares of what is left over at its left and above it.
  ///
  /// - Parameters:
  ///   - width: The window's share of the picture's width.
  ///   - height: The window's share of the picture's height.
  func bestShare(width share: Double, height heightShare: Double) -> (x: Double, y: Double) {
    let windowWidth = min(width, max(1, Int((Double(width) * share).rounded())))
    let windowHeight = min(height, max(1, Int((Double(height) * heightShare).rounded())))
    let spareX = width - windowWidth
    let spareY = height - windowHeight
    var best = (value: -1.0, distance: Int.max, x: spareX / 2, y: spareY / 2)
    for y in 0...spareY {
      for x in 0...spareX {
        let value = sum(x, y, windowWidth, windowHeight)
        // Of windows that hold as much the one nearest to the middle.
        let distance = abs(2 * x - spareX) + abs(2 * y - spareY)
        if value > best.value + 1e-6 || (value > best.value - 1e-6 && distance < best.distance) {
          best = (value, distance, x, y)
        }
      }
    }
    return (
      spareX > 0 ? Double(best.x) / Double(spareX) : 0.5, spareY > 0 ? Double(best.y) / Double(spareY) : 0.5
    )
  }

  private func sum(_ x: Int, _ y: Int, _ windowWidth: Int, _ windowHeight: Int) -> Double {
    let stride = width + 1
    let top = y * stride
    let bottom = (y + windowHeight) * stride
    return sums[bottom + x + windowWidth] - sums[bottom + x] - sums[top + x + windowWidth] + sums[top + x]
  }
}
