/// The vector steps of a resize.
///
/// Each is written as the compiler understands best. An optimised build makes one or a few machine
/// instructions of it; a debug build would call the standard library for every component, a thousand times
/// slower, so there the same result is worked out component by component.
enum PixelLanes {
  /// Neighbours times their weights, each two added up: `pmaddwd` on x86-64.
  ///
  /// - Parameters:
  ///   - pair: Two pixels as `[r₀ r₁ g₀ g₁ b₀ b₁ a₀ a₁]`.
  ///   - weights: The two weights, four times.
  @inline(__always)
  static func product(_ pair: SIMD8<Int16>, _ weights: SIMD8<Int16>) -> SIMD4<Int32> {
    #if DEBUG
      let words = unsafeBitCast(pair, to: Words.self)
      let factors = unsafeBitCast(weights, to: Words.self)
      return unsafeBitCast(
        (
          product(words.0, factors.0), product(words.1, factors.0), product(words.2, factors.0),
          product(words.3, factors.0)
        ), to: SIMD4<Int32>.self)
    #else
      let products = SIMD8<Int32>(truncatingIfNeeded: pair) &* SIMD8<Int32>(truncatingIfNeeded: weights)
      return products.evenHalf &+ products.oddHalf
    #endif
  }

  /// Two pixels' eight bytes as a pair.
  @inline(__always)
  static func pair(_ bytes: UInt64) -> SIMD8<Int16> {
    #if DEBUG
      let first = spread(bytes & 0xFFFF_FFFF)
      let second = spread(bytes &>> 32)
      let even = (spreadWords(first & 0xFFFF_FFFF), spreadWords(first &>> 32))
      let odd = (spreadWords(second & 0xFFFF_FFFF), spreadWords(second &>> 32))
      return unsafeBitCast((even.0 | (odd.0 &<< 16), even.1 | (odd.1 &<< 16)), to: SIMD8<Int16>.self)
    #else
      let both = unsafeBitCast(bytes, to: SIMD8<UInt8>.self)
      var mixed = SIMD8<UInt8>()
      mixed.evenHalf = both.lowHalf
      mixed.oddHalf = both.highHalf
      return SIMD8<Int16>(truncatingIfNeeded: mixed)
    #endif
  }

  /// Two pixels' eight bytes as numbers of 16 bits.
  @inline(__always)
  static func widened(_ bytes: UInt64) -> SIMD8<UInt16> {
    #if DEBUG
      return unsafeBitCast((spread(bytes & 0xFFFF_FFFF), spread(bytes &>> 32)), to: SIMD8<UInt16>.self)
    #else
      return SIMD8<UInt16>(truncatingIfNeeded: unsafeBitCast(bytes, to: SIMD8<UInt8>.self))
    #endif
  }

  /// A pixel's four bytes as numbers.
  @inline(__always)
  static func floats(_ pixel: UInt32) -> SIMD4<Float> {
    #if DEBUG
      return unsafeBitCast(
        (
          Float(pixel & 0xFF), Float((pixel &>> 8) & 0xFF), Float((pixel &>> 16) & 0xFF), Float(pixel &>> 24)
        ), to: SIMD4<Float>.self)
    #else
      return SIMD4<Float>(unsafeBitCast(pixel, to: SIMD4<UInt8>.self))
    #endif
  }

  /// A pixel's components rounded to the nearest, each at most 32,767 away from zero.
  ///
  /// - Parameter pixel: Components of less than 4 million.
  @inline(__always)
  static func rounded(_ pixel: SIMD4<Float>) -> SIMD4<Int32> {
    // Adding 1.5 × 2²³ leaves the rounded number in the float's lowest bits.
    let moved = pixel + 12_582_912
    #if DEBUG
      let words = unsafeBitCast(moved, to: Words.self)
      func limit(_ word: Int32) -> Int32 { max(-32_767, min(32_767, word &- 0x4B40_0000)) }
      return unsafeBitCast(
        (limit(words.0), limit(words.1), limit(words.2), limit(words.3)), to: SIMD4<Int32>.self)
    #else
      let sign = SIMD4<Int32>(repeating: 31)
      var value = unsafeBitCast(moved, to: SIMD4<Int32>.self) &- 0x4B40_0000
      let over = 32_767 &- value
      value = value &+ (over & (over &>> sign))
      let under = value &+ 32_767
      return value &- (under & (under &>> sign))
    #endif
  }

  /// A pixel's components, rounded, as bytes that are valid when premultiplied.
  ///
  /// - Parameter opaque: 255 for the alpha of an opaque pixel, else zeros.
  @inline(__always)
  static func pixel(_ pixel: SIMD4<Float>, opaque: SIMD8<Int16>) -> UInt32 {
    let whole = rounded(pixel)
    return bytes(whole, whole, whole, whole, opaque: opaque).x
  }

  /// What ``bytes(_:_:_:_:opaque:)`` takes for pictures that are opaque, or are not.
  static func opaqueMask(_ isOpaque: Bool) -> SIMD8<Int16> {
    isOpaque ? SIMD8(0, 0, 0, 255, 0, 0, 0, 255) : SIMD8(repeating: 0)
  }

  /// Four pixels, each component a whole number of 16 bits at most, as bytes that are valid when
  /// premultiplied: within 0...255, no colour over its alpha.
  ///
  /// - Parameter opaque: 255 for the alpha of opaque pixels, else zeros.
  @inline(__always)
  static func bytes(
    _ a: SIMD4<Int32>, _ b: SIMD4<Int32>, _ c: SIMD4<Int32>, _ d: SIMD4<Int32>, opaque: SIMD8<Int16>
  ) -> SIMD4<UInt32> {
    #if DEBUG
      let alpha = unsafeBitCast(opaque, to: Words.self).1 >> 16
      return unsafeBitCast(
        (byte(a, alpha), byte(b, alpha), byte(c, alpha), byte(d, alpha)), to: SIMD4<UInt32>.self)
    #else
      let bytes = SIMD16<UInt8>(
        truncatingIfNeeded: SIMD16<Int16>(
          lowHalf: clamp(SIMD8(lowHalf: a, highHalf: b), opaque: opaque),
          highHalf: clamp(SIMD8(lowHalf: c, highHalf: d), opaque: opaque)))
      return unsafeBitCast(bytes, to: SIMD4<UInt32>.self)
    #endif
  }

  #if DEBUG
    private typealias Words = (Int32, Int32, Int32, Int32)

    private static func product(_ word: Int32, _ factors: Int32) -> Int32 {
      ((word &<< 16) &>> 16) &* ((factors &<< 16) &>> 16) &+ (word &>> 16) &* (factors &>> 16)
    }

    /// Four bytes, each as 16 bits.
    private static func spread(_ bytes: UInt64) -> UInt64 {
      let halves = spreadWords(bytes)
      return (halves | (halves &<< 8)) & 0x00FF_00FF_00FF_00FF
    }

    /// Two halves of 16 bits, each as 32 bits.
    private static func spreadWords(_ halves: UInt64) -> UInt64 {
      (halves | (halves &<< 16)) & 0x0000_FFFF_0000_FFFF
    }

    private static func byte(_ pixel: SIMD4<Int32>, _ opaque: Int32) -> UInt32 {
      let words = unsafeBitCast(pixel, to: Words.self)
      let alpha = max(0, min(255, words.3)) | opaque
      let red = max(0, min(alpha, words.0))
      let green = max(0, min(alpha, words.1))
      let blue = max(0, min(alpha, words.2))
      return UInt32(truncatingIfNeeded: red | (green &<< 8) | (blue &<< 16) | (alpha &<< 24))
    }
  #else
    /// Two pixels within 0...255 and their alpha.
    ///
    /// Comparisons are written as shifts of the sign: the compiler makes `pminsw` and `pmaxsw` of these, but
    /// a call for each of `clamped(lowerBound:upperBound:)` and `replacing(with:where:)`.
    @inline(__always)
    private static func clamp(_ pixels: SIMD8<Int32>, opaque: SIMD8<Int16>) -> SIMD8<Int16> {
      let sign = SIMD8<Int16>(repeating: 15)
      var value = SIMD8<Int16>(truncatingIfNeeded: pixels)
      value &= ~(value &>> sign)
      var over = 255 &- value
      value = (value &+ (over & (over &>> sign))) | opaque
      let alpha = SIMD8<Int16>(lowHalf: SIMD4(repeating: value[3]), highHalf: SIMD4(repeating: value[7]))
      over = alpha &- value
      return value &+ (over & (over &>> sign))
    }
  #endif
}
