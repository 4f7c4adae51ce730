import Foundation
import Testing

@testable import Calotype

/// Cut, changed and dishonest files give a picture or a typed error: no crash, no half picture.
@Suite struct HostileBytesTests {
  /// One of each kind.
  static let samples = [
    "baseline.jpg", "progressive.jpg", "cmyk-profile.jpg", "orientation-6.jpg", "palette-alpha.png",
    "gray1.png",
    "interlaced-alpha.png", "animated.png", "still.gif", "interlaced.gif", "lossy.webp", "alpha.webp",
    "lossless.webp", "animated.webp", "photo-alpha.avif", "animated.avif", "one-bit.bmp", "palette8.bmp",
    "png.ico", "bitmap.ico",
  ]

  /// The size of a WebP stands in several places. What libwebp does not write must not be shown: it would be
  /// whatever the memory held before, such as another picture.
  @Test(arguments: [(400, 400), (8, 8), (16, 17)])
  func aSizeBehindThePictureIsNotBelieved(width: Int, height: Int) throws {
    func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
      Array(name.utf8) + (0..<4).map { UInt8(truncatingIfNeeded: body.count >> ($0 * 8)) } + body
    }
    func file(_ chunks: [UInt8]) -> Data {
      Data(chunk("RIFF", Array("WEBP".utf8) + chunks))
    }
    let whole = try ImageEncoder().encode(
      bitmap(width: 16, height: 16) { _, _ in .init(red: 9, green: 99, blue: 199) },
      options: .init(format: .webp))
    let picture = Array(whole[12...])
    let extended = chunk(
      "VP8X",
      [0x10, 0, 0, 0, UInt8((width - 1) & 0xFF), UInt8((width - 1) >> 8), 0, UInt8((height - 1) & 0xFF)]
        + [UInt8((height - 1) >> 8), 0])
    let behind = try DecodingFixtures.decode(file(picture + extended)).bitmap
    #expect(behind.size == PixelSize(width: 16, height: 16))
    #expect(try ImageDecoder().inspect(file(picture + extended)).storedSize == behind.size)
    for target in [nil, TargetSize(width: 4, height: 4)] {
      #expect(throws: ImageDecodingError.self) {
        try ImageDecoder().decode(file(extended + picture), targetSize: target)
      }
    }
  }

  @Test(arguments: samples)
  func cutShort(name: String) throws {
    let whole = try DecodingFixtures.data(name)
    let expected = try DecodingFixtures.decode(whole).bitmap
    for length in lengths(whole.count) {
      do {
        let bitmap = try DecodingFixtures.decode(Data(whole.prefix(length))).bitmap
        // The end of a file may hold nothing of the picture: then all of it must be there.
        #expect(bitmap == expected, "\(name) cut to \(length) of \(whole.count) bytes")
      } catch let error as ImageDecodingError {
        let isExpected: Bool =
          switch error {
          case .empty, .unrecognized, .truncated: true
          // Too short to be told apart, or a header that is cut in the middle of its promise.
          case .unsupported, .corrupt: length < 200 || name.hasSuffix("avif")
          default: false
          }
        #expect(isExpected, "\(name) cut to \(length) of \(whole.count) bytes: \(error)")
      }
      _ = try? ImageDecoder().inspect(Data(whole.prefix(length)))
    }
  }

  /// Nothing of a picture is lost unnoticed where a good part of the file is gone.
  @Test(arguments: samples, [1, 10, 50, 90])
  func cutToAPercentage(name: String, percentage: Int) throws {
    let whole = try DecodingFixtures.data(name)
    let cut = Data(whole.prefix(whole.count * percentage / 100))
    #expect(throws: ImageDecodingError.self) { try DecodingFixtures.decode(cut) }
  }

  @Test(arguments: samples)
  func oneByteChanged(name: String) throws {
    let whole = try DecodingFixtures.data(name)
    var random = SeededGenerator(seed: UInt64(whole.count))
    // A limit keeps a changed size from taking the test's time; it is not what is tried here.
    let limits = ImageDecodingLimits(maximumPixelCount: 1 << 20)
    for position in lengths(whole.count) {
      var changed = whole
      changed[position] ^= UInt8.random(in: 1...255, using: &random)
      attempt(changed, limits)
    }
  }

  @Test(arguments: samples)
  func manyBytesChanged(name: String) throws {
    let whole = try DecodingFixtures.data(name)
    var random = SeededGenerator(seed: 7)
    let limits = ImageDecodingLimits(maximumPixelCount: 1 << 20)
    for _ in 0..<(Self.isExhaustive ? 300 : 30) {
      var changed = whole
      for _ in 0..<Int.random(in: 2...12, using: &random) {
        changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      attempt(changed, limits)
    }
  }

  @Test func noiseAfterEverySignature() {
    var random = SeededGenerator(seed: 11)
    let starts: [[UInt8]] = [
      [0xFF, 0xD8, 0xFF], [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10], Array("GIF89a".utf8),
      Array("RIFF\u{40}\0\0\0WEBPVP8 ".utf8), [0, 0, 0, 32] + Array("ftypavif".utf8), Array("BM".utf8),
      [0, 0, 1, 0, 1, 0],
    ]
    for start in starts {
      for length in stride(from: 0, to: 400, by: 7) {
        let noise = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
        #expect(throws: ImageDecodingError.self) { try DecodingFixtures.decode(Data(start + noise)) }
      }
    }
  }

  private func attempt(_ data: Data, _ limits: ImageDecodingLimits) {
    for target in [nil, DecodingFixtures.half] {
      do {
        let bitmap = try DecodingFixtures.decode(data, target: target, limits: limits).bitmap
        #expect(bitmap.width > 0 && bitmap.height > 0)
        #expect(bitmap.isPremultiplied)
      } catch {
        #expect(error is ImageDecodingError)
      }
    }
    _ = try? ImageDecoder().inspect(data)
  }

  /// Whether `CALOTYPE_TEST_EVERYTHING` asks for every length and every byte, which takes minutes.
  private static let isExhaustive = ProcessInfo.processInfo.environment["CALOTYPE_TEST_EVERYTHING"] != nil

  /// Positions all over a file, more of them at its ends, where the headers and trailers are.
  private func lengths(_ count: Int) -> [Int] {
    if Self.isExhaustive || count <= 120 { return Array(0..<count) }
    return Array(0..<60) + stride(from: 60, to: count - 30, by: max(1, count / 60))
      + Array(count - 30..<count)
  }
}

extension Bitmap {
  /// Whether no colour is over its alpha, and every alpha of an opaque bitmap is 255.
  var isPremultiplied: Bool {
    withUnsafeBytes { bytes in
      for at in stride(from: 0, to: bytes.count, by: 4) {
        let alpha = bytes[at + 3]
        if bytes[at] > alpha || bytes[at + 1] > alpha || bytes[at + 2] > alpha { return false }
        if isOpaque && alpha != 255 { return false }
      }
      return true
    }
  }
}
