import Testing

@testable import Calotype

@Suite struct TargetSizeTests {
  @Test(arguments: [0, -1, Double.nan, .infinity, -.infinity, 1e300])
  func aSideThatIsNoSizeHasNoPixels(side: Double) {
    #expect(TargetSize(width: side, height: 10).pixelSize == nil)
    #expect(TargetSize(width: 10, height: side).pixelSize == nil)
    #expect(TargetSize(width: 10, height: side).resolve(for: PixelSize(width: 5, height: 5)) == nil)
  }

  @Test func aFractionIsAtLeastOnePixel() {
    #expect(TargetSize(width: 0.2, height: 0.6).pixelSize == PixelSize(width: 1, height: 1))
  }

  @Test(arguments: [
    (TargetSize(width: 48, height: 48), PixelSize(width: 128, height: 64), PixelSize(width: 48, height: 24)),
    (
      TargetSize(width: 48, height: 48, mode: .fill), PixelSize(width: 128, height: 64),
      PixelSize(width: 48, height: 48)
    ),
    (
      TargetSize(width: 48, height: 32, mode: .exact), PixelSize(width: 128, height: 64),
      PixelSize(width: 48, height: 32)
    ),
    (TargetSize(width: 100, height: 100), PixelSize(width: 50, height: 40), PixelSize(width: 50, height: 40)),
    (
      TargetSize(width: 100, height: 100, allowsUpscaling: true), PixelSize(width: 50, height: 40),
      PixelSize(width: 100, height: 80)
    ),
    (
      TargetSize(width: 24, height: 24, scale: 2), PixelSize(width: 96, height: 96),
      PixelSize(width: 48, height: 48)
    ),
    (TargetSize(width: 10, height: 10), PixelSize(width: 65_535, height: 1), PixelSize(width: 10, height: 1)),
  ])
  func resolves(target: TargetSize, source: PixelSize, result: PixelSize) {
    #expect(target.resolve(for: source)?.size == result)
  }
}
