import Foundation
import Testing

@testable import Calotype

/// Every kind of pixel that the formats can hold comes out as another program or the formula says.
@Suite struct PixelTruthTests {
  /// File name, reference name, and whether the format loses detail.
  static let pictures: [(file: String, reference: String)] = [
    ("gray1.png", "gray1"), ("gray2.png", "gray2"), ("gray4.png", "gray4"), ("gray8.png", "gray8"),
    ("gray16.png", "gray16"), ("gray-alpha.png", "gray-alpha"), ("rgb.png", "rgb"), ("rgba.png", "rgba"),
    ("rgb16.png", "rgb16"), ("rgba16.png", "rgba16"), ("palette.png", "palette"),
    ("palette-alpha.png", "palette-alpha"), ("palette4.png", "palette4"), ("rgb-key.png", "rgb-key"),
    ("interlaced.png", "interlaced"), ("interlaced-alpha.png", "interlaced-alpha"),
    ("animated.png", "animated"), ("p3.png", "p3"), ("p3-alpha.png", "p3-alpha"),
    ("gray-profile.png", "gray-profile"), ("srgb-profile.png", "srgb-profile"),
    ("baseline.jpg", "baseline"), ("progressive.jpg", "progressive"), ("subsampled.jpg", "subsampled"),
    ("gray.jpg", "gray"), ("cmyk-adobe.jpg", "cmyk-adobe"), ("cmyk-plain.jpg", "cmyk-plain"),
    ("ycck.jpg", "ycck"), ("cmyk-profile.jpg", "cmyk-profile"), ("p3.jpg", "p3"),
    ("still.gif", "still"), ("clear.gif", "clear"), ("interlaced.gif", "interlaced-gif"),
    ("animated.gif", "animated-gif"), ("lossy.webp", "lossy"), ("lossless.webp", "lossless"),
    ("alpha.webp", "alpha"), ("alpha-lossless.webp", "alpha-lossless"), ("animated.webp", "animated-webp"),
    ("p3.webp", "p3"), ("photo.avif", "photo"), ("photo420.avif", "photo420"),
    ("photo-alpha.avif", "photo-alpha"), ("animated.avif", "animated-avif"), ("p3.avif", "p3"),
    ("p3-nclx.avif", "p3"), ("rgb24.bmp", "rgb24"), ("palette8.bmp", "palette8"),
    ("one-bit.bmp", "one-bit"), ("alpha32.bmp", "alpha32"),
  ]

  @Test(arguments: pictures)
  func atFullSize(file: String, reference: String) throws {
    let container = try DecodingFixtures.decode(file)
    #expect(container.bitmap.size == DecodingFixtures.size)
    let expected = try DecodingFixtures.reference(reference)
    #expect(PixelDifference.meanDeltaE(container.bitmap, expected) < 1.5)
    #expect(PixelDifference.channelErrors(container.bitmap, expected).allSatisfy { $0 < 2 })
    if [".png", ".gif", ".bmp"].contains(where: file.hasSuffix) && !file.hasPrefix("p3") {
      // Lossless: what is not exact is a mistake, but for one step of rounding.
      #expect(PixelDifference.meanAbsoluteError(container.bitmap, expected) < 0.35)
    }
  }

  @Test(arguments: pictures)
  func throughAResize(file: String, reference: String) throws {
    let container = try DecodingFixtures.decode(file, target: DecodingFixtures.half)
    #expect(container.bitmap.size == DecodingFixtures.halfSize)
    #expect(container.originalSize == DecodingFixtures.size)
    let expected = try DecodingFixtures.reference(reference, size: DecodingFixtures.halfSize)
    #expect(PixelDifference.meanDeltaE(container.bitmap, expected) < 2)
    #expect(PixelDifference.channelErrors(container.bitmap, expected).allSatisfy { $0 < 2 })
    #expect(PixelDifference.meanAbsoluteError(container.bitmap, expected) < 1.5)
  }

  @Test(arguments: pictures)
  func opacityIsKnown(file: String, reference: String) throws {
    let isClearSomewhere = try DecodingFixtures.data("\(reference).rgba").enumerated()
      .contains { $0.offset % 4 == 3 && $0.element < 255 }
    for target in [nil, DecodingFixtures.half] {
      #expect(try DecodingFixtures.decode(file, target: target).bitmap.isOpaque == !isClearSomewhere)
    }
  }

  @Test(arguments: ["png.ico", "bitmap.ico"])
  func iconsHoldSeveralSizes(file: String) throws {
    let size = PixelSize(width: 32, height: 32)
    let whole = try DecodingFixtures.decode(file)
    #expect(whole.format == .ico)
    #expect(whole.bitmap.size == size)
    let expected = try DecodingFixtures.reference("icon", size: size)
    #expect(PixelDifference.meanAbsoluteError(whole.bitmap, expected) < 0.5)
    // The 16-pixel picture inside, rather than the larger one made smaller.
    let small = try DecodingFixtures.decode(file, target: TargetSize(width: 16, height: 16))
    #expect(small.bitmap.size == PixelSize(width: 16, height: 16))
    #expect(small.originalSize == size)
  }

  @Test func aWideProfileIsReallyConverted() throws {
    // The same stored numbers with and without the profile: were it passed over, they would come out equal.
    let wide = try DecodingFixtures.decode("p3.png").bitmap
    let narrow = try DecodingFixtures.decode("rgb.png").bitmap
    #expect(PixelDifference.meanDeltaE(wide, narrow) > 3)
  }
}
