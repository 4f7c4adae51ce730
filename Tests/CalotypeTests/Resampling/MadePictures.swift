@testable import Calotype

/// A bitmap of pixels that a closure gives for each place.
func bitmap(
  width: Int, height: Int, isOpaque: Bool = true, _ pixel: (_ x: Int, _ y: Int) -> Bitmap.Pixel
) throws -> Bitmap {
  try Bitmap(size: PixelSize(width: width, height: height), isOpaque: isOpaque) { bytes in
    for y in 0..<height {
      for x in 0..<width {
        let value = pixel(x, y)
        let at = (y * width + x) * 4
        bytes[at] = value.red
        bytes[at + 1] = value.green
        bytes[at + 2] = value.blue
        bytes[at + 3] = value.alpha
      }
    }
  }
}

/// The same noise in every run, premultiplied.
func noise(width: Int, height: Int, isOpaque: Bool) throws -> Bitmap {
  var state: UInt64 = 0x9E37_79B9_7F4A_7C15
  func next(_ most: UInt8) -> UInt8 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return UInt8((state >> 33) % (UInt64(most) + 1))
  }
  return try bitmap(width: width, height: height, isOpaque: isOpaque) { _, _ in
    let alpha = isOpaque ? 255 : next(255)
    return .init(red: next(alpha), green: next(alpha), blue: next(alpha), alpha: alpha)
  }
}

/// Every pixel, row after row.
func allPixels(of bitmap: Bitmap) -> [Bitmap.Pixel] {
  (0..<bitmap.height).flatMap { y in (0..<bitmap.width).map { x in bitmap[x, y] } }
}
