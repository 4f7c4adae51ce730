import Testing

@testable import Calotype

@Suite struct ColorProcessorTests {
  private func apply(_ processors: [any ImageProcessing], _ pixel: Bitmap.Pixel) throws -> Bitmap.Pixel {
    // Seven pixels: a block of four and what is left of one.
    let picture = try bitmap(width: 7, height: 1, isOpaque: pixel.alpha == 255) { _, _ in pixel }
    let result = try ImageProcessors.apply(processors, to: picture)
    #expect(Set(allPixels(of: result)).count == 1)
    return result[0, 0]
  }

  @Test func greyIsPillows() throws {
    let result = try ImageProcessors.apply([.grey], to: ProcessingFixtures.picture("photo"))
    #expect(try ProcessingFixtures.difference(of: result, from: "photo.grey").most <= 1)
    #expect(result.isOpaque)
  }

  @Test func brightnessIsPillows() throws {
    let result = try ImageProcessors.apply([.brightness(1.3)], to: ProcessingFixtures.picture("photo"))
    #expect(try ProcessingFixtures.difference(of: result, from: "photo.brightness").most <= 1)
  }

  @Test func contrastSpreadsFromTheMiddleGrey() throws {
    let pixel = Bitmap.Pixel(red: 100, green: 130, blue: 200)
    #expect(try apply([.contrast(3)], pixel) == .init(red: 45, green: 135, blue: 255))
    #expect(try apply([.contrast(1)], pixel) == pixel)
    let grey = try apply([.contrast(0)], pixel)
    #expect((127...128).contains(grey.red) && grey.red == grey.blue && grey.alpha == 255)
  }

  /// A half clear pixel is changed as its opaque twin: straight (200, 96, 0) by 1.25 is (250, 120, 0).
  @Test func alphaDoesNotChangeTheColour() throws {
    let half = Bitmap.Pixel(red: 100, green: 48, blue: 0, alpha: 128)
    #expect(try apply([.brightness(1.25)], half) == .init(red: 125, green: 60, blue: 0, alpha: 128))
    #expect(try apply([.brightness(100)], half) == .init(red: 128, green: 128, blue: 0, alpha: 128))
    #expect(try apply([.contrast(100)], .init(red: 0, green: 0, blue: 0, alpha: 0)).alpha == 0)
  }

  @Test func brightnessBeforeContrastAndEachAlone() throws {
    let pixel = Bitmap.Pixel(red: 80, green: 90, blue: 120)
    let both = try apply([.adjust(brightness: 1.5, contrast: 2)], pixel)
    #expect(try both == apply([.brightness(1.5), .contrast(2)], pixel))
    #expect(try both != apply([.contrast(2), .brightness(1.5)], pixel))
    #expect(try apply([.adjust()], pixel) == pixel)
  }

  @Test func tintKeepsTheShape() throws {
    let half = Bitmap.Pixel(red: 10, green: 20, blue: 30, alpha: 100)
    #expect(try apply([.tint(ColorValue(255, 0, 0))], half) == .init(red: 100, green: 0, blue: 0, alpha: 100))
    #expect(try apply([.tint(.clear)], half) == half)
    let washed = try apply([.tint(ColorValue(0, 0, 255, alpha: 51))], .init(red: 200, green: 100, blue: 0))
    #expect(washed == .init(red: 160, green: 80, blue: 51))
  }

  @Test func aBackgroundFillsWhatIsClear() throws {
    let half = Bitmap.Pixel(red: 100, green: 0, blue: 0, alpha: 128)
    let picture = try bitmap(width: 3, height: 1, isOpaque: false) { _, _ in half }
    let result = try ImageProcessors.apply([.background(.white)], to: picture)
    #expect(result.isOpaque)
    #expect(result[1, 0] == .init(red: 227, green: 127, blue: 127))
    let veiled = try ImageProcessors.apply([.background(ColorValue(0, 0, 0, alpha: 128))], to: picture)
    #expect(!veiled.isOpaque)
    #expect(veiled[0, 0] == .init(red: 100, green: 0, blue: 0, alpha: 192))
    let opaque = try noise(width: 5, height: 5, isOpaque: true)
    #expect(try ImageProcessors.apply([.background(.black)], to: opaque) == opaque)
  }

  @Test(arguments: [-0.5, Double.nan, 1001])
  func factorsOutOfRangeAreRefused(factor: Double) {
    #expect(throws: ImageProcessingError.self) {
      try apply([.brightness(factor)], .init(red: 1, green: 2, blue: 3))
    }
    #expect(throws: ImageProcessingError.self) {
      try apply([.contrast(factor)], .init(red: 1, green: 2, blue: 3))
    }
  }

  @Test func pixelsAreBlendedExactly() {
    var wrong = 0
    for alpha in UInt32(0)...255 {
      for value in stride(from: UInt32(0), through: 255, by: 5) {
        let upper = alpha / 2 | (alpha << 8) | (alpha << 24)
        let lower = value | (255 - value) << 8 | 7 << 16 | 255 << 24
        let result = PixelBlending.over(upper, lower)
        for (shift, own) in [(UInt32(0), alpha / 2), (8, alpha), (16, 0), (24, alpha)] {
          let expected = own + (((lower >> shift) & 0xFF) * (255 - alpha) * 2 + 255) / 510
          if (result >> shift) & 0xFF != expected { wrong += 1 }
        }
      }
    }
    #expect(wrong == 0)
  }
}
