import Foundation
import Testing

@testable import Calotype

@Suite struct DecodeInfoTests {
  private func inspect(_ name: String) throws -> ImageInfo {
    try ImageDecoder().inspect(try DecodingFixtures.data(name))
  }

  @Test(arguments: [
    ("gray1.png", 1, false), ("gray16.png", 16, false), ("palette4.png", 4, false), ("rgba16.png", 16, true),
    ("rgb-key.png", 8, true), ("palette-alpha.png", 8, true), ("baseline.jpg", 8, false),
    ("still.gif", 8, false), ("clear.gif", 8, true), ("alpha.webp", 8, true), ("lossy.webp", 8, false),
    ("alpha-lossless.webp", 8, true), ("photo-alpha.avif", 8, true), ("photo.avif", 8, false),
  ])
  func depthAndAlpha(name: String, bits: Int, hasAlpha: Bool) throws {
    let info = try inspect(name)
    #expect(info.bitsPerChannel == bits)
    #expect(info.hasAlpha == hasAlpha)
    #expect(info.storedSize == DecodingFixtures.size)
    #expect(info.frameCount == 1)
    #expect(info.loopCount == 1)
  }

  /// The loop block of a GIF counts repeats, those of the others plays.
  @Test(arguments: [
    ("animated.gif", 4, 5), ("animated.webp", 3, 2), ("animated.png", 3, 3), ("animated.avif", 3, 0),
  ])
  func animations(name: String, frames: Int, loops: Int) throws {
    let info = try inspect(name)
    #expect(info.frameCount == frames)
    #expect(info.loopCount == loops)
    #expect(try DecodingFixtures.decode(name).frameCount == frames)
  }

  @Test(arguments: ["p3.png", "p3.jpg", "p3.webp", "p3.avif"])
  func profilesAreNamed(name: String) throws {
    #expect(try inspect(name).profile == "Test Display P3")
  }

  @Test func noProfileHasNoName() throws {
    #expect(try inspect("rgb.png").profile == nil)
    #expect(try inspect("baseline.jpg").profile == nil)
  }

  @Test func theHeadOfALargeFileIsEnough() throws {
    #expect(
      try ImageDecoder().inspect(DecodingFixtures.data("baseline.jpg").prefix(700)).storedSize
        == DecodingFixtures.size)
    #expect(
      try ImageDecoder().inspect(DecodingFixtures.data("rgb.png").prefix(60)).storedSize
        == DecodingFixtures.size)
    #expect(
      try ImageDecoder().inspect(DecodingFixtures.data("lossy.webp").prefix(60)).storedSize
        == DecodingFixtures.size)
  }
}
