/// A linear change of straight colours, `red' = r·red + g·green + b·blue + constant` and so on, that leaves
/// alpha as it is. On premultiplied pixels the constant is multiplied by alpha, so nothing has to be divided.
struct ColorMatrix {
  /// What one of red, of green, of blue and of alpha gives to each component; the last's alpha is 1.
  var red: SIMD4<Float>, green: SIMD4<Float>, blue: SIMD4<Float>, alpha: SIMD4<Float>

  /// Every component times a factor, plus a constant.
  static func scale(_ factor: Float, adding constant: Float = 0) -> ColorMatrix {
    ColorMatrix(
      red: SIMD4(factor, 0, 0, 0), green: SIMD4(0, factor, 0, 0), blue: SIMD4(0, 0, factor, 0),
      alpha: SIMD4(constant, constant, constant, 1))
  }

  /// Changes a row.
  func run(
    _ source: UnsafePointer<UInt32>, _ target: UnsafeMutablePointer<UInt32>, count: Int, isOpaque: Bool
  ) {
    let opaque = PixelLanes.opaqueMask(isOpaque)
    var at = 0
    while at &+ 4 <= count {
      let block = PixelLanes.bytes(
        apply(source[at]), apply(source[at &+ 1]), apply(source[at &+ 2]), apply(source[at &+ 3]),
        opaque: opaque)
      UnsafeMutableRawPointer(target + at).storeBytes(of: block, as: SIMD4<UInt32>.self)
      at &+= 4
    }
    while at < count {
      let pixel = apply(source[at])
      target[at] = PixelLanes.bytes(pixel, pixel, pixel, pixel, opaque: opaque).x
      at &+= 1
    }
  }

  @inline(__always)
  private func apply(_ pixel: UInt32) -> SIMD4<Int32> {
    let from = PixelLanes.floats(pixel)
    return PixelLanes.rounded(red * from.x + green * from.y + blue * from.z + alpha * from.w)
  }

  /// The work of a processor that changes colours by this matrix.
  func rowWork(for size: PixelSize, isOpaque: Bool) -> RowWork {
    RowWork(size: size, isOpaque: isOpaque) { source, target, _ in
      run(source, target, count: size.width, isOpaque: isOpaque)
    }
  }
}
