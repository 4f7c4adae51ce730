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
}
