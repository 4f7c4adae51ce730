import Foundation
import Testing

@testable import Calotype

/// P3 and P4: target sizes larger than the picture, and those that are no sizes.
@Suite struct DecodeTargetTests {
  static let names = [
    "rgb.png", "interlaced.png", "baseline.jpg", "progressive.jpg", "still.gif", "lossy.webp", "photo.avif",
    "rgb24.bmp",
  ]

  @Test(arguments: names)
  func smallPicturesStaySmall(name: String) throws {
    let target = TargetSize(width: 100, height: 100)
    #expect(try DecodingFixtures.decode(name, target: target).bitmap.size == DecodingFixtures.size)
    let upscaled = TargetSize(width: 96, height: 96, allowsUpscaling: true)
    #expect(
      try DecodingFixtures.decode(name, target: upscaled).bitmap.size == PixelSize(width: 96, height: 64))
  }

  @Test(arguments: [0, -1, Double.nan, .infinity, -.infinity])
  func sidesThatAreNone(side: Double) throws {
    for target in [TargetSize(width: side, height: 10), TargetSize(width: 10, height: side)] {
      #expect {
        try DecodingFixtures.decode("rgb.png", target: target)
      } throws: { error in
        (error as? ImageDecodingError)?.code == "invalid_size"
      }
    }
  }

  @Test func aMillionStaysInsideOfTheLimits() throws {
    let million = TargetSize(width: 1_000_000, height: 1_000_000)
    #expect(try DecodingFixtures.decode("rgb.png", target: million).bitmap.size == DecodingFixtures.size)
    var upscaled = million
    upscaled.allowsUpscaling = true
    #expect {
      try DecodingFixtures.decode("rgb.png", target: upscaled)
    } throws: { error in
      (error as? ImageDecodingError)?.code == "too_many_pixels"
    }
  }

  @Test(arguments: names)
  func atLeastOnePixel(name: String) throws {
    for mode in TargetSize.Mode.allCases {
      let size = try DecodingFixtures.decode(name, target: TargetSize(width: 0.1, height: 0.1, mode: mode))
        .bitmap.size
      #expect(size == PixelSize(width: 1, height: 1))
    }
  }

  @Test(arguments: names)
  func modes(name: String) throws {
    let fill = TargetSize(width: 20, height: 20, mode: .fill)
    #expect(try DecodingFixtures.decode(name, target: fill).bitmap.size == PixelSize(width: 20, height: 20))
    let exact = TargetSize(width: 7, height: 30, mode: .exact)
    #expect(try DecodingFixtures.decode(name, target: exact).bitmap.size == PixelSize(width: 7, height: 30))
  }
}
