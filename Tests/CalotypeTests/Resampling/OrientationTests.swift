import Testing

@testable import Calotype

@Suite struct OrientationTests {
  /// Each case is the stored 3×2 picture whose upright form is `abc / def`, as CIPA DC-008 draws them.
  @Test(arguments: [
    (ImageOrientation.up, ["abc", "def"]),
    (.upMirrored, ["cba", "fed"]),
    (.down, ["fed", "cba"]),
    (.downMirrored, ["def", "abc"]),
    (.leftMirrored, ["ad", "be", "cf"]),
    (.right, ["cf", "be", "ad"]),
    (.rightMirrored, ["fc", "eb", "da"]),
    (.left, ["da", "eb", "fc"]),
  ])
  func isUpright(orientation: ImageOrientation, stored: [String]) throws {
    #expect(try picture(stored).oriented(orientation) == picture(["abc", "def"]))
  }

  /// A picture larger than a tile, turned four times a quarter, is itself.
  @Test func fourQuarterTurnsChangeNothing() throws {
    let size = PixelSize(width: 131, height: 70)
    let original = try Bitmap(size: size, isOpaque: false) { bytes in
      for at in bytes.indices { bytes[at] = UInt8(truncatingIfNeeded: at &* 2_654_435_761 >> 7) }
    }
    let once = try original.oriented(.right)
    #expect(once.size == size.transposed)
    #expect(once[69, 0] == original[0, 0])
    #expect(once[0, 130] == original[130, 69])
    var turned = once
    for _ in 0..<3 { turned = try turned.oriented(.right) }
    #expect(turned == original)
    #expect(try once.oriented(.left) == original)
  }

  private func picture(_ rows: [String]) throws -> Bitmap {
    let letters = rows.flatMap { Array($0.utf8) }
    return try Bitmap(size: PixelSize(width: rows[0].count, height: rows.count), isOpaque: true) { bytes in
      for (index, letter) in letters.enumerated() {
        bytes.storeBytes(of: UInt32(letter) | 0xFF00_0000, toByteOffset: index * 4, as: UInt32.self)
      }
    }
  }
}
