import CJPEGEncode
import Foundation
import Testing

@testable import Calotype

@Suite struct ImageEncoderTests {
  @Test(arguments: [
    (ImageFormat.png, 0, "\u{89}PNG"), (.jpeg, 6, "JFIF"), (.webp, 8, "WEBP"), (.avif, 8, "avif"),
  ])
  func writesTheFormatAskedFor(format: ImageFormat, offset: Int, mark: String) throws {
    let data = try ImageEncoder().encode(
      noise(width: 30, height: 20, isOpaque: false), options: .init(format: format))
    #expect(Array(data[offset..<offset + 4]) == mark.unicodeScalars.map { UInt8($0.value) })
  }

  @Test func formatsThatCannotBeWrittenAreNamed() throws {
    let picture = try noise(width: 3, height: 2, isOpaque: true)
    for format in ImageFormat.allCases where !ImageEncoder.formats.contains(format) {
      #expect(throws: ImageEncodingError.unsupported(format)) {
        try ImageEncoder().encode(picture, options: .init(format: format))
      }
    }
  }

  @Test(arguments: [ImageFormat.webp, .jpeg])
  func aPictureTooLargeForItsFormatIsAnErrorThatSaysSo(format: ImageFormat) throws {
    let wide = try bitmap(width: 70_000, height: 1) { _, _ in .init(red: 1, green: 2, blue: 3) }
    let error = #expect(throws: ImageEncodingError.self) {
      try ImageEncoder().encode(wide, options: .init(format: format))
    }
    #expect(error?.description.contains(format == .webp ? "16383" : "65500") == true)
  }

  @Test(arguments: ImageEncoder.formats)
  func aCancelledEncodeEnds(format: ImageFormat) throws {
    let cancellation = CancellationFlag()
    cancellation.cancel()
    #expect(throws: ImageEncodingError.cancelled) {
      try ImageEncoder().encode(
        noise(width: 3, height: 2, isOpaque: false), options: .init(format: format),
        cancellation: cancellation)
    }
  }

  /// A JPEG that is given up when libjpeg has written much of it: its memory is freed once, which the address
  /// sanitizer sees. One that is finished has all that was written, through several growths.
  @Test(arguments: [64, 1000])
  func aJPEGThatIsGivenUpFreesItsMemoryOnce(rows: Int) throws {
    let picture = try noise(width: 1000, height: 1000, isOpaque: true)
    let writer = try #require(calotype_jpeg_writer_create())
    defer { calotype_jpeg_writer_destroy(writer) }
    try #require(calotype_jpeg_writer_start(writer, 1000, 1000, 92, false, false, 2, 2, nil, 0))
    picture.withUnsafeBytes { bytes in
      for row in 0..<rows {
        let start = bytes.baseAddress?.advanced(by: row * picture.bytesPerRow)
        #expect(calotype_jpeg_writer_write(writer, start?.assumingMemoryBound(to: UInt8.self)))
      }
    }
    guard rows == 1000 else { return }
    var bytes: UnsafePointer<UInt8>?
    var count = 0
    try #require(calotype_jpeg_writer_finish(writer, &bytes, &count))
    let data = try Data(bytes: #require(bytes), count: count)
    #expect(count > 100_000)
    #expect(data.suffix(2) == Data([0xFF, 0xD9]))
    #expect(try ImageDecoder().decode(data).bitmap.size == picture.size)
  }

  @Test(arguments: [ImageFormat.jpeg, .webp, .avif])
  func lessQualityIsFewerBytesAndEveryNumberIsTaken(format: ImageFormat) throws {
    let picture = try noise(width: 64, height: 48, isOpaque: true)
    func size(_ quality: Int) throws -> Int {
      try ImageEncoder().encode(picture, options: .init(format: format, quality: quality, effort: .fast))
        .count
    }
    #expect(try size(10) < size(50))
    #expect(try size(50) < size(95))
    #expect(try size(-1000) == size(1))
    #expect(try size(1000) == size(100))
  }

  @Test(arguments: ImageEncoder.formats)
  func opaqueStaysOpaqueAndClearStaysClear(format: ImageFormat) throws {
    for isOpaque in [true, false] {
      let picture = try ProcessingFixtures.picture(isOpaque ? "photo" : "icon")
      let data = try ImageEncoder().encode(
        picture, options: .init(format: format, quality: 95, chroma: .full))
      let keepsAlpha = !isOpaque && format != .jpeg
      #expect(try ImageDecoder().inspect(data).hasAlpha == keepsAlpha)
      let again = try ImageDecoder().decode(data).bitmap
      #expect(again.isOpaque == !keepsAlpha)
      let expected =
        keepsAlpha || isOpaque
        ? picture : try ImageProcessors.Background(.white).process(picture, cancellation: CancellationFlag())
      #expect(PixelDifference.channelErrors(again, expected).allSatisfy { $0 < 4 }, "\(isOpaque)")
    }
  }

  /// What an original says of itself and of who took it, and where, goes no further.
  @Test(arguments: ImageEncoder.formats)
  func nothingButThePictureIsWritten(format: ImageFormat) throws {
    for name in ["orientation-6.jpg", "p3.jpg", "srgb-profile.png"] {
      let picture = try DecodingFixtures.decode(name).bitmap
      let data = try ImageEncoder().encode(picture, options: .init(format: format))
      for mark in [
        "Exif", "ICC_PROFILE", "iCCP", "ICCP", "EXIF", "XMP", "http://ns.adobe.com", "tEXt", "eXIf",
      ] {
        #expect(data.range(of: Data(mark.utf8)) == nil, "\(name): \(mark)")
      }
      let info = try ImageDecoder().inspect(data)
      #expect(info.profile == nil)
      #expect(info.orientation == .up)
    }
  }

  @Test(arguments: [ImageFormat.png, .webp, .avif])
  func withoutLossEveryPixelStays(format: ImageFormat) throws {
    for name in ["photo", "icon"] {
      let picture = try ProcessingFixtures.picture(name)
      for effort in ImageEncodingOptions.Effort.allCases {
        let options = ImageEncodingOptions(format: format, quality: 1, isLossless: true, effort: effort)
        let again = try ImageDecoder().decode(ImageEncoder().encode(picture, options: options)).bitmap
        #expect(PixelDifference.meanAbsoluteError(again, picture) == 0, "\(name), \(effort)")
      }
    }
  }

  @Test func chromaAndScansAreWrittenAsAskedFor() throws {
    let picture = try ProcessingFixtures.picture("photo")
    func size(_ chroma: ImageEncodingOptions.Chroma, _ isProgressive: Bool) throws -> Int {
      let options = ImageEncodingOptions(format: .jpeg, isProgressive: isProgressive, chroma: chroma)
      let data = try ImageEncoder().encode(picture, options: options)
      // The frame's marker: baseline or progressive (ITU-T T.81, table B.1).
      #expect(data.range(of: Data([0xFF, isProgressive ? 0xC2 : 0xC0, 0, 17, 8])) != nil)
      #expect(PixelDifference.meanAbsoluteError(try ImageDecoder().decode(data).bitmap, picture) < 6)
      return data.count
    }
    for isProgressive in [false, true] {
      #expect(try size(.quarter, isProgressive) < size(.half, isProgressive))
      #expect(try size(.half, isProgressive) < size(.full, isProgressive))
      #expect(try size(.automatic, isProgressive) == size(.quarter, isProgressive))
    }
  }

  /// On request the colours stay as they are, with the profile that says what they are: read again, they are what
  /// they were.
  @Test(arguments: ImageEncoder.formats)
  func aProfileIsKeptOnRequest(format: ImageFormat) throws {
    for name in ["p3.jpg", "p3.png", "p3.webp", "p3.avif"] {
      let original = try DecodingFixtures.data(name)
      let kept = try ImageDecoder().decode(original, options: ImageDecodingOptions(keepsProfile: true))
      let profile = try #require(kept.profile)
      let converted = try ImageDecoder().decode(original)
      #expect(converted.profile == nil)
      #expect(PixelDifference.meanAbsoluteError(kept.bitmap, converted.bitmap) > 2, "\(name) is not sRGB")
      var options = ImageEncodingOptions(format: format, quality: 98, isLossless: true, chroma: .full)
      options.profile = profile
      let data = try ImageEncoder().encode(kept.bitmap, options: options)
      #expect(try ImageDecoder().inspect(data).profile == ImageDecoder().inspect(original).profile)
      #expect(try ImageDecoder().decode(data, options: .init(keepsProfile: true)).profile == profile)
      let again = try ImageDecoder().decode(data).bitmap
      #expect(PixelDifference.channelErrors(again, converted.bitmap).allSatisfy { $0 < 2 }, "\(name)")
    }
    // Grey and CMYK are brought to sRGB all the same.
    for name in ["gray-profile.png", "cmyk-profile.jpg", "baseline.jpg"] {
      let kept = try ImageDecoder().decode(
        DecodingFixtures.data(name), options: ImageDecodingOptions(keepsProfile: true))
      #expect(kept.profile == nil)
      #expect(kept.bitmap == (try DecodingFixtures.decode(name).bitmap))
    }
  }
}
