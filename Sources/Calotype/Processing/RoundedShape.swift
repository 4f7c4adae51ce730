/// A line along the edge of a shape, on the inside.
public struct ImageBorder: Hashable, Sendable {
  /// The line's width in pixels.
  public var width: Double
  /// The line's colour.
  public var color: ColorValue

  /// Creates a border.
  public init(width: Double, color: ColorValue) {
    self.width = width
    self.color = color
  }

  /// For example `border:2,#ffffff`.
  var identifier: String { "border:\(canonical(width)),\(color)" }

  /// The width as far as it can matter.
  var drawnWidth: Float { Float(min(width, 1e6)) }

  func check(_ processor: String) throws {
    guard width.isFinite, width >= 0 else {
      throw ImageProcessingError.invalidParameter(
        processor: processor, reason: "a border's width must be a number of at least 0")
    }
  }
}

/// A rectangle with rounded corners that fills a picture: clears what is outside, smoothly along the edge,
/// and draws a border along the inside.
///
/// How much of a pixel is covered is told by its middle's distance from the edge, which is within a
/// hundredth of the true area for radii of more than a few pixels.
struct RoundedShape {
  let size: PixelSize
  let topLeft: Float, topRight: Float, bottomRight: Float, bottomLeft: Float
  /// 0 without a border.
  let borderWidth: Float
  /// Premultiplied, 0 to 255.
  let borderColor: SIMD4<Float>

  /// Runs along a row.
  func run(_ source: UnsafePointer<UInt32>, _ target: UnsafeMutablePointer<UInt32>, _ row: Int) {
    let width = size.width
    if UnsafePointer(target) != source { target.update(from: source, count: width) }
    let middle = Float(row) + 0.5
    let left = corner(at: middle, upper: topLeft, lower: bottomLeft)
    let right = corner(at: middle, upper: topRight, lower: bottomRight)
    let nearest = min(middle, Float(size.height) - middle)
    if borderWidth > 0 {
      // How far from either side something is to be drawn.
      let isInBorder = nearest < borderWidth + 1
      let leftEnd = isInBorder ? width / 2 : min(width / 2, Int(max(left.radius, borderWidth)) + 2)
      let rightEnd =
        isInBorder ? width - width / 2 : min(width - width / 2, Int(max(right.radius, borderWidth)) + 2)
      for x in 0..<leftEnd { shade(target + x, inside(Float(x) + 0.5, left, nearest)) }
      for x in 0..<rightEnd { shade(target + (width - 1 - x), inside(Float(x) + 0.5, right, nearest)) }
    } else {
      clip(target, step: 1, left)
      clip(target + (width - 1), step: -1, right)
    }
  }

  /// The corner that a row passes through: its radius, 0 for none, and the row's distance from its centre.
  private func corner(at middle: Float, upper: Float, lower: Float) -> (radius: Float, distance: Float) {
    if middle < upper { return (upper, upper - middle) }
    let fromBottom = Float(size.height) - middle
    return fromBottom < lower ? (lower, lower - fromBottom) : (0, 0)
  }

  /// Clears the outside of one corner in a row, from the side inwards.
  private func clip(
    _ pixels: UnsafeMutablePointer<UInt32>, step: Int, _ corner: (radius: Float, distance: Float)
  ) {
    let (radius, distance) = corner
    guard radius > 0 else { return }
    let outer = (radius + 0.5) * (radius + 0.5)
    let inner = radius > 0.5 ? (radius - 0.5) * (radius - 0.5) : 0
    var pixel = pixels
    var x: Float = 0.5
    while x < radius {
      let fromCenter = radius - x
      let square = fromCenter * fromCenter + distance * distance
      if square <= inner { return }
      pixel.pointee =
        square >= outer ? 0 : Self.scaled(pixel.pointee, by: radius + 0.5 - square.squareRoot())
      pixel += step
      x += 1
    }
  }

  /// How far inside of the shape a pixel's middle is, in a row.
  ///
  /// - Parameters:
  ///   - x: From the side that the corner is at.
  ///   - nearest: The row's distance from the top or the bottom.
  private func inside(_ x: Float, _ corner: (radius: Float, distance: Float), _ nearest: Float) -> Float {
    if x < corner.radius {
      let fromCenter = corner.radius - x
      return corner.radius - (fromCenter * fromCenter + corner.distance * corner.distance).squareRoot()
    }
    return min(x, nearest)
  }

  /// Draws the border over a pixel and cuts it to the shape.
  private func shade(_ pixel: UnsafeMutablePointer<UInt32>, _ inside: Float) {
    if inside >= borderWidth + 0.5 { return }
    if inside <= -0.5 {
      pixel.pointee = 0
      return
    }
    let shape = min(inside + 0.5, 1)
    let within = max(0, inside - borderWidth + 0.5)
    let line = shape - within
    let picture = PixelLanes.floats(pixel.pointee)
    let value = picture * (within + line * (1 - borderColor.w / 255)) + borderColor * line
    pixel.pointee = PixelLanes.pixel(value, opaque: PixelLanes.opaqueMask(false))
  }

  /// A pixel times a share of 0 to 1.
  private static func scaled(_ pixel: UInt32, by share: Float) -> UInt32 {
    let factor = UInt32(max(0, min(1, share)) * 256)
    let even = ((pixel & 0x00FF_00FF) &* factor &+ 0x0080_0080) &>> 8
    let odd = ((pixel &>> 8) & 0x00FF_00FF) &* factor &+ 0x0080_0080
    return (even & 0x00FF_00FF) | (odd & 0xFF00_FF00)
  }
}
