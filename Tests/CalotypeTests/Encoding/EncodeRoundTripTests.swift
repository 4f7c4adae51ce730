import Foundation
import Testing

@testable import Calotype

/// What is written is what is read again.
@Suite struct EncodeRoundTripTests {
  private func again(_ bitmap: Bitmap, _ options: ImageEncodingOptions) throws -> Bitmap {
    let container = try ImageDecoder().decode(ImageEncoder().encode(bitmap, options: options))
    #expect(container.format == options.format)
    return container.bitmap
  }

  private func difference(_ left: Bitmap, _ right: Bitmap) -> Double {
    ProcessingFixtures.difference(
      left.withUnsafeBytes { Data($0) }, right.withUnsafeBytes { Data($0) }
    ).mean
  }

  @Test(arguments: [true, false], ImageEncodingOptions.Effort.allCases)
  func losslessKeepsEveryPixel(isOpaque: Bool, effort: ImageEncodingOptions.Effort) throws {
    let picture = try noise(width: 37, height: 29, isOpaque: isOpaque)
    for format in [ImageFormat.png, .webp, .avif] {
      let result = try again(picture, .init(format: format, isLossless: true, effort: effort))
      #expect(result == picture, "\(format)")
      #expect(result.isOpaque == isOpaque, "\(format)")
    }
  }

  @Test(arguments: [ImageFormat.jpeg, .webp, .avif], ImageEncodingOptions.Chroma.allCases)
  func lossyKeepsThePicture(format: ImageFormat, chroma: ImageEncodingOptions.Chroma) throws {
    let photo = try ProcessingFixtures.picture("photo")
    for isProgressive in [false, true] {
      let result = try again(
        photo, .init(format: format, quality: 95, isProgressive: isProgressive, chroma: chroma))
      #expect(result.isOpaque)
      #expect(difference(result, photo) < 4)
    }
  }

  @Test(arguments: [ImageFormat.webp, .avif])
  func lossyKeepsTheShape(format: ImageFormat) throws {
    let icon = try ProcessingFixtures.picture("icon")
    let result = try again(icon, .init(format: format, quality: 90))
    #expect(!result.isOpaque)
    #expect(difference(result, icon) < 3)
    #expect(allPixels(of: result).map(\.alpha) == allPixels(of: icon).map(\.alpha))
  }

  @Test func jpegPutsWhatIsClearOnWhite() throws {
    let icon = try ProcessingFixtures.picture("icon")
    let result = try again(icon, .init(format: .jpeg, quality: 95))
    #expect(result.isOpaque)
    #expect(difference(result, try ImageProcessors.apply([.background(.white)], to: icon)) < 4)
  }

  /// P6: an opaque photo stays opaque, and is stored as what keeps photos small.
  @Test func anOpaquePhotoResizedAndStoredStaysOpaque() throws {
    let small = try ProcessingFixtures.picture("photo").resampled(to: PixelSize(width: 60, height: 40))
    for options in [ImageEncodingOptions.automatic(for: small), .storedPrint(of: small)] {
      #expect([.jpeg, .webp].contains(options.format))
      #expect(try again(small, options).isOpaque)
    }
    let icon = try ProcessingFixtures.picture("icon")
    for options in [ImageEncodingOptions.automatic(for: icon), .storedPrint(of: icon)] {
      #expect([.png, .webp].contains(options.format))
      #expect(try !again(icon, options).isOpaque)
    }
  }

  /// P1: a turned picture, processed and written anew, is upright without its tag.
  @Test(arguments: 1...8, ImageEncoder.formats)
  func everyOrientationIsUprightAfterAProcessorAndAReencode(orientation: Int, format: ImageFormat) throws {
    let decoded = try DecodingFixtures.decode("orientation-\(orientation).png").bitmap
    let upright = try DecodingFixtures.decode("orientation-1.png").bitmap
    let processors: [any ImageProcessing] = [.resize(width: 24, height: 16), .brightness(0.9)]
    let result = try again(
      ImageProcessors.apply(processors, to: decoded), .init(format: format, quality: 95, chroma: .full))
    let expected = try ImageProcessors.apply(processors, to: upright)
    #expect(result.size == expected.size)
    #expect(difference(result, expected) < 2)
  }
}
