/// Porter and Duff's operators on premultiplied pixels.
enum PixelBlending {
  /// A pixel times `share` / 255, rounded.
  @inline(__always)
  static func scaled(_ pixel: UInt32, by share: UInt32) -> UInt32 {
    // Two components at once: x / 255, rounded, is (x + 128 + ((x + 128) >> 8)) >> 8.
    let even = (pixel & 0x00FF_00FF) &* share &+ 0x0080_0080
    let odd = ((pixel &>> 8) & 0x00FF_00FF) &* share &+ 0x0080_0080
    return (((even &+ ((even &>> 8) & 0x00FF_00FF)) &>> 8) & 0x00FF_00FF)
      | ((odd &+ ((odd &>> 8) & 0x00FF_00FF)) & 0xFF00_FF00)
  }

  /// One pixel over another.
  @inline(__always)
  static func over(_ upper: UInt32, _ lower: UInt32) -> UInt32 {
    // No sum overflows: an upper colour is at most its alpha, and the lower's share at most the rest.
    let clear = 255 &- (upper &>> 24)
    if clear == 0 { return upper }
    return upper &+ scaled(lower, by: clear)
  }
}
