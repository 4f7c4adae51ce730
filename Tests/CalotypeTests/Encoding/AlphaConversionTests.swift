import Testing

@testable import Calotype

@Suite struct AlphaConversionTests {
  /// Every alpha with every colour that it allows, against the formula in exact numbers.
  @Test func straightIsTheNearestForEveryColourAndAlpha() {
    var wrong: [String] = []
    for alpha in UInt32(0)...255 {
      let source = (0...alpha).map { $0 | (alpha - $0) << 8 | ($0 / 2) << 16 | alpha << 24 }
      var result = [UInt32](repeating: 1, count: source.count)
      AlphaConversion.unpremultiply(source, into: &result, count: source.count)
      for (from, to) in zip(source, result) {
        let colours: [UInt32] = [from & 0xFF, (from >> 8) & 0xFF, (from >> 16) & 0xFF]
        let expected = colours.map { alpha == 0 ? 0 : (2 * 255 * $0 + alpha) / (2 * alpha) }
        if [to & 0xFF, (to >> 8) & 0xFF, (to >> 16) & 0xFF] != expected || to >> 24 != alpha {
          wrong.append("\(from) → \(to)")
        }
      }
    }
    #expect(wrong == [])
  }

  /// Straight and back is the same, so that storing a print and reading it changes nothing.
  @Test func straightAndPremultipliedAgainIsTheSame() {
    var wrong = 0
    for alpha in UInt32(1)...255 {
      let source = (0...alpha).map { $0 | $0 << 8 | $0 << 16 | alpha << 24 }
      var straight = source
      AlphaConversion.unpremultiply(source, into: &straight, count: source.count)
      for (from, to) in zip(source, straight) where ((to & 0xFF) * alpha * 2 + 255) / 510 != from & 0xFF {
        wrong += 1
      }
    }
    #expect(wrong == 0)
  }

  @Test func anInvalidPixelStaysInRange() {
    let source: [UInt32] = [0x10FF_FFFF, 0x00AB_CDEF]
    var result: [UInt32] = [0, 1]
    AlphaConversion.unpremultiply(source, into: &result, count: 2)
    #expect(result == [0x10FF_FFFF, 0])
  }

  @Test func flattenedIsTheNearestForEveryAlpha() {
    var wrong = 0
    let background: [UInt32] = [250, 3, 128]
    for alpha in UInt32(0)...255 {
      let source = (0...alpha).map { $0 | (alpha - $0) << 8 | ($0 / 3) << 16 | alpha << 24 }
      var result = source
      AlphaConversion.flatten(
        source, onto: background[0] | background[1] << 8 | background[2] << 16, into: &result,
        count: source.count)
      for (from, to) in zip(source, result) {
        for component in 0..<3 {
          let shift = UInt32(component * 8)
          let expected = ((from >> shift) & 0xFF) + (background[component] * (255 - alpha) * 2 + 255) / 510
          if (to >> shift) & 0xFF != expected || to >> 24 != 255 { wrong += 1 }
        }
      }
    }
    #expect(wrong == 0)
  }
}
