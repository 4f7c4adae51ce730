import Foundation
import Testing

@testable import Calotype

/// P1: whichever way a picture is stored, it comes out upright, at every size.
@Suite struct DecodeOrientationTests {
  static let files = ["jpg", "png", "webp", "avif"].flatMap { kind in
    (1...8).map { (file: "orientation-\($0).\(kind)", orientation: UInt8($0)) }
  }

  @Test(arguments: files)
  func fullSize(file: String, orientation: UInt8) throws {
    let container = try DecodingFixtures.decode(file)
    #expect(container.bitmap.size == DecodingFixtures.size)
    #expect(
      PixelDifference.meanAbsoluteError(container.bitmap, try DecodingFixtures.reference("upright")) < 2)
  }

  @Test(arguments: files)
  func thumbnail(file: String, orientation: UInt8) throws {
    let bitmap = try DecodingFixtures.decode(file, target: DecodingFixtures.half).bitmap
    let reference = try DecodingFixtures.reference("upright", size: DecodingFixtures.halfSize)
    #expect(bitmap.size == DecodingFixtures.halfSize)
    #expect(PixelDifference.meanAbsoluteError(bitmap, reference) < 2)
  }

  @Test(arguments: files)
  func targetLargerThanThePicture(file: String, orientation: UInt8) throws {
    let small = try DecodingFixtures.decode(file, target: TargetSize(width: 500, height: 500))
    #expect(small.bitmap == (try DecodingFixtures.decode(file).bitmap))
    let large = try DecodingFixtures.decode(
      file, target: TargetSize(width: 96, height: 96, allowsUpscaling: true))
    #expect(large.bitmap.size == PixelSize(width: 96, height: 64))
    // Brought back down it is the picture again, the right way up.
    let again = try large.bitmap.resampled(to: DecodingFixtures.size)
    #expect(
      PixelDifference.meanAbsoluteError(again, try DecodingFixtures.reference("upright")) < 2.5)
  }

  /// A crop off the middle of a turned picture is cut from the right side of what is stored.
  @Test(arguments: files)
  func filledTarget(file: String, orientation: UInt8) throws {
    let filled = try DecodingFixtures.decode(
      file, target: TargetSize(width: 16, height: 16, mode: .fill)
    ).bitmap
    let upright = try DecodingFixtures.decode(
      "orientation-1.png", target: TargetSize(width: 16, height: 16, mode: .fill)
    ).bitmap
    #expect(filled.size == PixelSize(width: 16, height: 16))
    #expect(PixelDifference.meanAbsoluteError(filled, upright) < 2)
  }

  /// The processor sees the picture upright: what it cuts out is what it would cut out of the upright one.
  @Test(arguments: files)
  func aProcessor(file: String, orientation: UInt8) throws {
    let part = ImageProcessors.Crop(x: 4, y: 2, width: 20, height: 9)
    let processors: [any ImageProcessing] = [part, .flip(.horizontal)]
    let made = try ImageProcessors.apply(processors, to: try DecodingFixtures.decode(file).bitmap)
    let expected = try ImageProcessors.apply(processors, to: try DecodingFixtures.reference("upright"))
    #expect(made.size == PixelSize(width: 20, height: 9))
    #expect(PixelDifference.meanAbsoluteError(made, expected) < 2.5)
  }

  /// Written again it is upright without a word on how to turn it, in every format.
  @Test(arguments: files)
  func aReEncode(file: String, orientation: UInt8) throws {
    let bitmap = try DecodingFixtures.decode(file).bitmap
    for format in ImageEncoder.formats {
      let options = ImageEncodingOptions(format: format, quality: 95, chroma: .full)
      let data = try ImageEncoder().encode(bitmap, options: options)
      let info = try ImageDecoder().inspect(data)
      #expect(info.orientation == .up)
      #expect(info.storedSize == DecodingFixtures.size)
      #expect(info.profile == nil)
      let again = try DecodingFixtures.decode(data).bitmap
      #expect(PixelDifference.meanAbsoluteError(again, try DecodingFixtures.reference("upright")) < 2.5)
    }
  }

  @Test(arguments: files)
  func inspected(file: String, orientation: UInt8) throws {
    let info = try ImageDecoder().inspect(try DecodingFixtures.data(file), limits: .init())
    #expect(info.orientation.rawValue == orientation)
    #expect(info.displaySize == DecodingFixtures.size)
    #expect(info.storedSize == (orientation >= 5 ? DecodingFixtures.size.transposed : DecodingFixtures.size))
  }

  @Test(arguments: ImageOrientation.allCases)
  func aCropIsMappedToWhereItIsStored(orientation: ImageOrientation) throws {
    // A picture of 6×4 as shown; the pixel at 4, 1 is marked, then stored turned by the inverse.
    let shown = PixelSize(width: 6, height: 4)
    let stored = orientation.isTransposed ? shown.transposed : shown
    let part = orientation.storedRectangle(of: .init(x: 4, y: 1, width: 1, height: 1), in: stored)
    let marked = try Bitmap(size: stored, isOpaque: true) { pixels in
      for at in 0..<stored.pixelCount * 4 { pixels[at] = at % 4 == 3 ? 255 : 0 }
      pixels[(Int(part.y) * stored.width + Int(part.x)) * 4] = 255
    }
    #expect(try marked.oriented(orientation)[4, 1].red == 255)
  }
}
