import Testing

@testable import Calotype

/// The default filter beside Pillow's LANCZOS, on a photo and on an icon with soft edges.
@Suite struct ResamplingQualityTests {
  @Test(arguments: [
    ("photo", 48, 32), ("photo", 100, 67), ("photo", 16, 11), ("icon", 48, 48), ("icon", 20, 20),
    ("icon", 6, 6), ("icon", 90, 90),
  ])
  func isLanczos(name: String, width: Int, height: Int) throws {
    let result = try ProcessingFixtures.picture(name).resampled(to: PixelSize(width: width, height: height))
    let difference = try ProcessingFixtures.difference(of: result, from: "\(name).\(width)x\(height)")
    // Six pixels a side are few to take a mean of.
    #expect(difference.mean < (width == 6 ? 1 : 0.6))
    #expect(difference.most <= 16)
  }

  @Test func aFractionalCropIsThePartThatPillowTakes() throws {
    let result = try ProcessingFixtures.picture("photo")
      .resampled(crop: (20.5, 10.25, 80, 80), to: PixelSize(width: 40, height: 40))
    #expect(try ProcessingFixtures.difference(of: result, from: "photo.cropped").mean < 0.6)
  }

  /// What a large picture is reduced by first must not show: the same picture without that step.
  @Test func aLargePictureIsReducedAsIfInOneStep() throws {
    let large = try bitmap(width: 640, height: 480) { x, y in
      .init(
        red: UInt8((x * 255) / 639), green: UInt8((x / 20 + y / 20) % 2 * 200), blue: UInt8((x * y) % 256))
    }
    let once = try large.resampled(to: PixelSize(width: 64, height: 48))
    // Through a size from which no reduction is made.
    let twice = try large.resampled(to: PixelSize(width: 320, height: 240))
      .resampled(to: PixelSize(width: 64, height: 48))
    let difference = ProcessingFixtures.difference(
      once.withUnsafeBytes { .init($0) }, twice.withUnsafeBytes { .init($0) })
    #expect(difference.mean < 1)
  }
}
