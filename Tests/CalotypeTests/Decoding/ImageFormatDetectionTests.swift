import Foundation
import Testing

@testable import Calotype

@Suite struct ImageFormatDetectionTests {
  @Test(arguments: DecodingFixtures.names())
  func fixturesAreToldByTheirBytes(name: String) throws {
    let formats: [String: ImageFormat] = [
      "jpg": .jpeg, "png": .png, "gif": .gif, "webp": .webp, "avif": .avif, "bmp": .bmp, "ico": .ico,
    ]
    let kind = String(try #require(name.split(separator: ".").last))
    let data = try DecodingFixtures.data(name)
    #expect(ImageFormat.detect(data) == formats[kind])
    #expect(ImageFormat.detect(data.prefix(64)) == formats[kind])
  }

  /// What is no picture that can be decoded is named in the error.
  @Test(arguments: [
    ("", ImageDecodingError.empty),
    ("<!DOCTYPE html><html></html>", .unrecognized(looksLike: "HTML")),
    ("\u{FEFF}  \n<html lang=en>", .unrecognized(looksLike: "HTML")),
    ("<?xml version=\"1.0\"?><rss/>", .unrecognized(looksLike: "XML")),
    ("{\"error\": 404}", .unrecognized(looksLike: "JSON")),
    ("Not found", .unrecognized(looksLike: "text")),
    ("PK\u{3}\u{4}abcdef", .unrecognized(looksLike: "a ZIP archive")),
    (
      "<svg xmlns='http://www.w3.org/2000/svg'/>",
      .unsupported(format: "SVG", reason: "it holds drawings, not pixels")
    ),
    (
      "<?xml version='1.0'?>\n<!-- x -->\n<svg/>",
      .unsupported(format: "SVG", reason: "it holds drawings, not pixels")
    ),
    ("%PDF-1.7\n", .unsupported(format: "PDF", reason: "it holds drawings, not pixels")),
    ("\0\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}", .unrecognized(looksLike: "data")),
  ])
  func othersAreNamed(text: String, error: ImageDecodingError) {
    let data = Data(text.utf8)
    #expect(throws: error) { try DecodingFixtures.decode(data) }
    #expect(throws: error) { try ImageDecoder().inspect(data) }
  }

  @Test func traitFormatsAreNamedWhereTheyAreNotBuiltIn() {
    let heif = Data([0, 0, 0, 24]) + Data("ftypheic".utf8) + Data([0, 0, 0, 0]) + Data("mif1heic".utf8)
    #expect(ImageFormat.detect(heif) == .heif)
    #expect(ImageFormat.detect(Data([0xFF, 0x0A, 0, 0])) == .jxl)
    #expect(ImageFormat.detect(Data([0x49, 0x49, 0x2A, 0])) == .tiff)
    #if !HEIF
      #expect(
        throws: ImageDecodingError.unsupported(
          format: "HEIF", reason: "Calotype was built without its HEIF trait")
      ) { try DecodingFixtures.decode(heif) }
    #endif
  }

  @Test func aPrefixOfADataWithAnOffsetIsRead() throws {
    // A slice of Data keeps its old indices.
    let data = try Data([1, 2, 3]) + DecodingFixtures.data("rgb.png")
    #expect(ImageFormat.detect(data.dropFirst(3)) == .png)
    #expect(try DecodingFixtures.decode(data.dropFirst(3)).bitmap.size == DecodingFixtures.size)
  }
}
