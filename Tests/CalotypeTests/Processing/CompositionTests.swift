import Testing

@testable import Calotype

@Suite struct CompositionTests {
  private static let all: [any ImageProcessing] = [
    .circle, .roundedCorners(radius: 7), .border(width: 2, color: .white), .grey,
    .tint(ColorValue(9, 90, 200, alpha: 100)), .adjust(brightness: 1.2, contrast: 1.1), .blur(radius: 2),
    .sharpen(), .background(ColorValue(1, 2, 3)), .flip(.vertical), .rotate(quarters: 1),
    .crop(x: 1, y: 2, width: 12, height: 15), .resize(width: 9, height: 9, mode: .fill),
    .custom(identifier: "as it is") { image, _ in image },
  ]

  /// Every two processors in a chain give what they give one after the other, and neither changes the
  /// picture that was given.
  @Test func aChainIsItsProcessorsOneAfterTheOther() throws {
    for isOpaque in [true, false] {
      let picture = try noise(width: 31, height: 27, isOpaque: isOpaque)
      let copy = try noise(width: 31, height: 27, isOpaque: isOpaque)
      for first in Self.all {
        for second in Self.all {
          let flag = CancellationFlag()
          let middle = try first.process(picture, cancellation: flag)
          let expected = try second.process(middle, cancellation: flag)
          let result = try ImageProcessors.apply([first, second], to: picture)
          #expect(result == expected, "\(first.identifier) then \(second.identifier)")
          #expect(result.isOpaque == expected.isOpaque)
          #expect(!result.isOpaque || allPixels(of: result).allSatisfy { $0.alpha == 255 })
        }
      }
      #expect(picture == copy)
    }
  }

  /// A closure may keep the picture it was given: nothing may be written into it afterwards.
  @Test func aPictureThatSomebodyElseHoldsIsNotChanged() throws {
    final class Keeper: @unchecked Sendable { var kept: Bitmap? }
    let keeper = Keeper()
    let keep = ImageProcessors.Custom(identifier: "keep") { image, _ in
      keeper.kept = image
      return image
    }
    let picture = try noise(width: 20, height: 20, isOpaque: true)
    _ = try ImageProcessors.apply([.grey, keep, .tint(.white), .circle], to: picture)
    #expect(try keeper.kept == ImageProcessors.apply([.grey], to: picture))
  }

  @Test func longChainsKeepTheirOrder() throws {
    let picture = try noise(width: 50, height: 30, isOpaque: true)
    let composition = ImageProcessors.Composition([
      .resize(width: 24, height: 24, mode: .fill), .grey, .tint(ColorValue(255, 0, 0, alpha: 128)), .circle,
      .background(.white), .roundedCorners(radius: 3),
    ])
    let result = try composition.process(picture, cancellation: CancellationFlag())
    var expected = picture
    for processor in composition.processors {
      expected = try processor.process(expected, cancellation: CancellationFlag())
    }
    #expect(result == expected)
    #expect(
      composition.identifier
        == "resize(24x24,fill,anchor:center)|grey|tint(#ff000080)|circle|background(#ffffff)|round(3)")
    #expect(try ImageProcessors.apply([], to: picture) == picture)
  }

  @Test func cancelledProcessorsEnd() throws {
    let picture = try noise(width: 30, height: 30, isOpaque: true)
    let cancellation = CancellationFlag()
    cancellation.cancel()
    for processor in Self.all where !(processor is ImageProcessors.Custom) {
      #expect(throws: CancellationError.self, "\(processor.identifier)") {
        try ImageProcessors.apply([processor], to: picture, cancellation: cancellation)
      }
    }
  }

  @Test func aProcessorThatFailsIsNamed() throws {
    struct Broken: Error {}
    let error = #expect(throws: ImageProcessingError.self) {
      try ImageProcessors.apply(
        [.grey, .custom(identifier: "broken") { _, _ in throw Broken() }],
        to: noise(width: 3, height: 3, isOpaque: true))
    }
    #expect(error?.processor == "custom(broken)")
  }
}
