import Testing

@testable import Calotype

@Suite struct BlurTests {
  @Test(arguments: [("photo", 3), ("photo", 0.7), ("icon", 2.5)])
  func isPillowsGaussianBlur(name: String, radius: Double) throws {
    let result = try ImageProcessors.apply([.blur(radius: radius)], to: ProcessingFixtures.picture(name))
    let file = "\(name).blur-\(canonical(radius))"
    let difference = try ProcessingFixtures.difference(of: result, from: file)
    #expect(difference.mean < 0.6)
    #expect(difference.most <= 4)
  }

  /// K5: nothing at all is changed.
  @Test func radiusZeroLeavesEveryPixelAsItWas() throws {
    let picture = try noise(width: 33, height: 21, isOpaque: false)
    #expect(try ImageProcessors.apply([.blur(radius: 0)], to: picture) == picture)
    #expect(try ImageProcessors.apply([.blur(radius: -0.0)], to: picture) == picture)
  }

  @Test(arguments: [0.001, 0.3, 1, 5, 40, 1e300])
  func oneColourStaysThatColour(radius: Double) throws {
    let pixel = Bitmap.Pixel(red: 201, green: 7, blue: 99, alpha: 203)
    let picture = try bitmap(width: 37, height: 18, isOpaque: false) { _, _ in pixel }
    let result = try ImageProcessors.apply([.blur(radius: radius)], to: picture)
    #expect(allPixels(of: result).filter { $0 != pixel } == [])
  }

  /// The spread of a point is that of a Gaussian, both ways: half of the height at 1.177 deviations.
  @Test func aPointSpreadsAsAGaussian() throws {
    let picture = try bitmap(width: 41, height: 41, isOpaque: false) { x, y in
      (16...24).contains(x) && (16...24).contains(y)
        ? .init(red: 255, green: 255, blue: 255) : .init(red: 0, green: 0, blue: 0, alpha: 0)
    }
    let result = try ImageProcessors.apply([.blur(radius: 4)], to: picture)
    for distance in 1...15 {
      #expect(result[20 + distance, 20].alpha <= result[19 + distance, 20].alpha)
      #expect(abs(Int(result[20 + distance, 20].alpha) - Int(result[20, 20 + distance].alpha)) <= 1)
      #expect(result[20 + distance, 20] == result[20 - distance, 20])
    }
    let sum = allPixels(of: result).reduce(0) { $0 + Int($1.alpha) }
    #expect(abs(sum - 81 * 255) < 81 * 255 / 50)
    #expect(allPixels(of: result).allSatisfy { $0.red <= $0.alpha })
  }

  @Test func opaqueStaysOpaque() throws {
    let result = try ImageProcessors.apply(
      [.blur(radius: 2)], to: noise(width: 30, height: 17, isOpaque: true))
    #expect(result.isOpaque)
    #expect(allPixels(of: result).allSatisfy { $0.alpha == 255 })
  }

  @Test func smallestPictures() throws {
    for (width, height) in [(1, 1), (1, 50), (50, 1), (17, 2)] {
      let picture = try noise(width: width, height: height, isOpaque: true)
      #expect(try ImageProcessors.apply([.blur(radius: 6)], to: picture).size == picture.size)
    }
  }

  @Test(arguments: [-1, Double.nan])
  func aRadiusThatIsNoneIsRefused(radius: Double) throws {
    #expect(throws: ImageProcessingError.self) {
      try ImageProcessors.apply([.blur(radius: radius)], to: noise(width: 3, height: 3, isOpaque: true))
    }
  }

  @Test func sharpeningIsPillowsUnsharpMask() throws {
    let result = try ImageProcessors.apply(
      [.sharpen(amount: 1, radius: 2)], to: ProcessingFixtures.picture("photo"))
    #expect(try ProcessingFixtures.difference(of: result, from: "photo.sharpen").mean < 1)
    #expect(result.isOpaque)
  }

  @Test func sharpeningKeepsTheShape() throws {
    let icon = try ProcessingFixtures.picture("icon")
    let result = try ImageProcessors.apply([.sharpen(amount: 2, radius: 1.5)], to: icon)
    #expect(allPixels(of: result).map(\.alpha) == allPixels(of: icon).map(\.alpha))
    #expect(result != icon)
    #expect(allPixels(of: result).allSatisfy { max($0.red, $0.green, $0.blue) <= $0.alpha })
    #expect(try ImageProcessors.apply([.sharpen(amount: 0)], to: icon) == icon)
  }
}
