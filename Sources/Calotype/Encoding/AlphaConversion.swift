/// Rows between premultiplied and straight alpha, exactly: each component is rounded to the nearest, halves
/// up.
enum AlphaConversion {
  /// For each alpha, 255 / alpha in units of 2⁻²³, rounded up, so that halves are rounded up as well. A
  /// colour is never over its alpha, so its product stays in 32 bits.
  private static let reciprocals: [UInt32] = (0...255).map { (alpha: UInt32) -> UInt32 in
    let one: UInt32 = 255 << 23
    return alpha == 0 ? 0 : (one + alpha - 1) / alpha
  }

  /// Makes a premultiplied row straight. Clear pixels come out as clear black.
  static func unpremultiply(
    _ source: UnsafePointer<UInt32>, into target: UnsafeMutablePointer<UInt32>, count: Int
  ) {
    reciprocals.withUnsafeBufferPointer { table in
      guard let table = table.baseAddress else { return }
      var at = 0
      while at < count {
        let pixel = UInt32(littleEndian: source[at])
        let alpha = pixel &>> 24
        if alpha == 255 || alpha == 0 {
          target[at] = alpha == 0 ? 0 : source[at]
        } else {
          let factor = table[Int(alpha)]
          // The least of the two keeps a pixel valid that was not: a colour over its alpha is full.
          let red = min(pixel & 0xFF, alpha) &* factor &+ 0x40_0000
          let green = min((pixel &>> 8) & 0xFF, alpha) &* factor &+ 0x40_0000
          let blue = min((pixel &>> 16) & 0xFF, alpha) &* factor &+ 0x40_0000
          target[at] =
            ((red &>> 23) | ((green &>> 23) &<< 8) | ((blue &>> 23) &<< 16) | (alpha &<< 24)).littleEndian
        }
        at &+= 1
      }
    }
  }

  /// Puts a premultiplied row on an opaque colour, given as bytes red, green, blue from the lowest.
  static func flatten(
    _ source: UnsafePointer<UInt32>, onto background: UInt32, into target: UnsafeMutablePointer<UInt32>,
    count: Int
  ) {
    let evenBackground = background & 0x00FF_00FF
    let oddBackground = (background &>> 8) & 0x0000_00FF
    var at = 0
    while at < count {
      let pixel = UInt32(littleEndian: source[at])
      let clear = 255 &- (pixel &>> 24)
      if clear == 0 {
        target[at] = source[at]
      } else {
        // Two components at once: x / 255, rounded, is (x + 128 + ((x + 128) >> 8)) >> 8.
        let even = evenBackground &* clear &+ 0x0080_0080
        let odd = oddBackground &* clear &+ 0x80
        let evenShare = ((even &+ ((even &>> 8) & 0x00FF_00FF)) &>> 8) & 0x00FF_00FF
        let oddShare = ((odd &+ (odd &>> 8)) &>> 8) & 0xFF
        let flat = (pixel & 0x00FF_FFFF) &+ (evenShare | (oddShare &<< 8))
        target[at] = (flat | 0xFF00_0000).littleEndian
      }
      at &+= 1
    }
  }
}
