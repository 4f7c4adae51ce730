import Foundation
import Testing

@testable import Calotype

@Suite struct ShapeTests {
  private let red = Bitmap.Pixel(red: 255, green: 0, blue: 0)

  private func plain(_ width: Int, _ height: Int) throws -> Bitmap {
    try bitmap(width: width, height: height) { _, _ in red }
  }

  /// What is covered beside a shape drawn sixteen times as large by another program.
  @Test func coverageIsThatOfTheShape() throws {
    let processors: [(String, any ImageProcessing)] = [
      ("circle", .circle), ("round", .roundedCorners(topLeft: 12, topRight: 12, bottomLeft: 12)),
    ]
    for (name, processor) in processors {
      let result = try processor.process(plain(48, 48), cancellation: CancellationFlag())
      let mask = Data(allPixels(of: result).map(\.alpha))
      let difference = ProcessingFixtures.difference(mask, try ProcessingFixtures.data("\(name).mask"))
      #expect(difference.mean < 0.5, "\(name)")
      #expect(difference.most <= 16, "\(name)")
    }
  }

  @Test func aCircleIsCutFromTheMiddle() throws {
    let wide = try bitmap(width: 90, height: 30) { x, _ in
      (30..<60).contains(x) ? .init(red: 0, green: 255, blue: 0) : red
    }
    let result = try ImageProcessors.apply([.circle], to: wide)
    #expect(result.size == PixelSize(width: 30, height: 30))
    #expect(!result.isOpaque)
    #expect(result[0, 0].alpha == 0)
    #expect(allPixels(of: result).allSatisfy { $0.red == 0 })
    #expect(result[15, 15] == .init(red: 0, green: 255, blue: 0))
  }

  @Test func cornersAreToldApart() throws {
    let result = try ImageProcessors.apply([.roundedCorners(topLeft: 5, bottomRight: 8)], to: plain(20, 30))
    #expect(result[0, 0].alpha == 0)
    #expect(result[19, 0] == red)
    #expect(result[0, 29] == red)
    #expect(result[19, 29].alpha == 0)
    #expect(result[19, 27].alpha == 0)
    #expect(result[0, 4].alpha > 200)
  }

  @Test func aRadiusIsCutToHalfOfTheShorterSide() throws {
    let result = try ImageProcessors.apply([.roundedCorners(radius: 1e9)], to: plain(40, 20))
    #expect(result == (try ImageProcessors.apply([.roundedCorners(radius: 10)], to: plain(40, 20))))
    #expect(result[0, 0].alpha == 0)
    #expect(result[20, 0] == red)
  }

  @Test func noRadiusChangesNothing() throws {
    let picture = try noise(width: 9, height: 7, isOpaque: true)
    let result = try ImageProcessors.apply([.roundedCorners(radius: 0)], to: picture)
    #expect(result == picture)
    #expect(result.isOpaque)
  }

  @Test func aBorderIsDrawnAlongTheInside() throws {
    let white = Bitmap.Pixel(red: 255, green: 255, blue: 255)
    let framed = try ImageProcessors.apply([.border(width: 2, color: .white)], to: plain(20, 12))
    #expect(framed.isOpaque)
    for y in 0..<12 {
      for x in 0..<20 {
        let isEdge = x < 2 || y < 2 || x >= 18 || y >= 10
        #expect(framed[x, y] == (isEdge ? white : red))
      }
    }
    let ring = try ImageProcessors.apply(
      [.circle(border: ImageBorder(width: 3, color: .white))], to: plain(41, 41))
    #expect(ring[20, 0] == white && ring[20, 2] == white && ring[20, 3] == red)
    #expect(ring[0, 20] == white && ring[40, 20] == white && ring[37, 20] == red)
    #expect(ring[0, 0].alpha == 0)
    #expect(ring[20, 20] == red)
    // No red shines through at the outer edge.
    #expect(allPixels(of: ring).allSatisfy { $0.alpha == 255 || $0.green == $0.red })
  }

  @Test func aHalfClearBorderLetsThePictureThrough() throws {
    let half = ColorValue.white.withAlpha(0.5)
    let result = try ImageProcessors.apply([.border(width: 1, color: half)], to: plain(5, 5))
    #expect(result[0, 2].red == 255)
    #expect(abs(Int(result[0, 2].green) - 128) <= 1)
    #expect(result[0, 2].alpha == 255)
    #expect(result[2, 2] == red)
  }

  @Test(arguments: [(1, 1), (1, 9), (2, 2), (3, 200)])
  func smallAndNarrowPicturesAreTaken(width: Int, height: Int) throws {
    let border = ImageBorder(width: 1e12, color: .black)
    for processor in [ImageProcessors.RoundedCorners(radius: 4), .init(radius: 4, border: border)] {
      let result = try ImageProcessors.apply([processor, .circle(border: border)], to: plain(width, height))
      #expect(result.width == min(width, height))
      #expect(allPixels(of: result).allSatisfy { max($0.red, $0.green, $0.blue) <= $0.alpha })
    }
  }

  @Test(arguments: [-1, Double.nan, .infinity])
  func radiiAndWidthsThatAreNoneAreRefused(value: Double) throws {
    #expect(throws: ImageProcessingError.self) {
      try ImageProcessors.apply([.roundedCorners(radius: value)], to: plain(5, 5))
    }
    #expect(throws: ImageProcessingError.self) {
      try ImageProcessors.apply([.border(width: value, color: .black)], to: plain(5, 5))
    }
  }
}
