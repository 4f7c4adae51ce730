import Foundation
import Testing

@testable import Calotype

/// P8: files that promise far more than they weigh.
@Suite struct BombTests {
  private func isLimit(_ error: any Error) -> Bool {
    (error as? ImageDecodingError)?.code == "too_many_pixels"
  }

  @Test func aSmallFileOf900Megapixels() throws {
    let bomb = Bombs.png(width: 30_000, height: 30_000, bitDepth: 1)
    #expect(bomb.count < 1_000_000)
    for target in [nil, TargetSize(width: 48, height: 48)] {
      #expect(throws: ImageDecodingError.self) { try DecodingFixtures.decode(bomb, target: target) }
    }
    #expect {
      try ImageDecoder().inspect(bomb)
    } throws: {
      isLimit($0)
    }
    // What it promises can still be told by one who asks for it.
    let info = try ImageDecoder().inspect(bomb, limits: ImageDecodingLimits(maximumPixelCount: .max))
    #expect(info.storedSize == PixelSize(width: 30_000, height: 30_000))
  }

  /// The same kind of file inside of the limit is a picture, and only its print is ever in memory.
  @Test func aSmallFileInsideOfTheLimit() throws {
    let file = Bombs.png(width: 20_000, height: 400, bitDepth: 1)
    #expect(file.count < 10_000)
    let bitmap = try DecodingFixtures.decode(file, target: TargetSize(width: 50, height: 50)).bitmap
    #expect(bitmap.size == PixelSize(width: 50, height: 1))
    #expect(bitmap[25, 0] == Bitmap.Pixel(red: 0, green: 0, blue: 0))
  }

  @Test(arguments: ["png", "gif", "webp", "bmp", "jpg"])
  func headersThatPromiseTheMost(kind: String) throws {
    let bytes: [UInt8]
    switch kind {
    case "png": bytes = Array(Bombs.png(width: 0x7FFF_FFFF, height: 0x7FFF_FFFF, bitDepth: 8, rows: 1))
    case "gif":
      bytes =
        Array("GIF89a".utf8) + [0xFF, 0xFF, 0xFF, 0xFF, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]
        + [0x2C, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 2, 2, 0x4C, 0x01, 0, 0x3B]
    case "webp":
      bytes =
        Array("RIFF".utf8) + [30, 0, 0, 0] + Array("WEBPVP8X".utf8)
        + [10, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] + Array("VP8 ".utf8) + [0, 0, 0, 0]
    case "bmp":
      bytes =
        Array("BM".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0]
        + [0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 1, 0, 32, 0] + [UInt8](repeating: 0, count: 24)
    default:
      bytes =
        [0xFF, 0xD8, 0xFF, 0xC2, 0, 17, 8, 0xFF, 0xDC, 0xFF, 0xDC, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]
        + [0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]
    }
    for target in [nil, TargetSize(width: 1, height: 1)] {
      #expect {
        try DecodingFixtures.decode(Data(bytes), target: target)
      } throws: {
        isLimit($0)
      }
    }
  }

  /// A JPEG of 97 megapixels whose scan is missing ends at once, before its coefficients take memory.
  @Test func aLargeHeaderWithoutAPicture() {
    let bytes: [UInt8] =
      [0xFF, 0xD8, 0xFF, 0xC0, 0, 11, 8, 0x27, 0x10, 0x26, 0, 1, 1, 0x11, 0]
      + [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]
    #expect(throws: ImageDecodingError.self) { try DecodingFixtures.decode(Data(bytes)) }
  }

  /// Only the frame that is decoded is in memory, however many there are.
  @Test func aGIFOfTenThousandFrames() throws {
    let still = try DecodingFixtures.data("still.gif")
    let start = try #require(ByteView.firstFrame(of: still))
    let head = still.prefix(start), frame = still[start..<still.count - 1]
    var file = Data(head)
    for _ in 0..<10_000 { file.append(frame) }
    file.append(0x3B)
    let container = try DecodingFixtures.decode(file, target: DecodingFixtures.half)
    #expect(container.frameCount == 10_000)
    #expect(container.bitmap.size == DecodingFixtures.halfSize)
  }

  /// Texts and profiles that would unpack to far more than they weigh are passed over.
  @Test func chunksThatUnpackToTooMuch() throws {
    let picture = try DecodingFixtures.data("rgb.png")
    let zeros = Bombs.zlib(zeroCount: 64 << 20)
    for (kind, body) in [
      ("zTXt", Array("a\0\0".utf8) + zeros), ("iTXt", Array("a\0\u{1}\0\0\0".utf8) + zeros),
      ("iCCP", Array("a\0\0".utf8) + zeros),
    ] {
      let file = picture.prefix(33) + Bombs.chunk(kind, body) + picture.dropFirst(33)
      let start = ContinuousClock.now
      let bitmap = try DecodingFixtures.decode(file).bitmap
      #expect(bitmap == (try DecodingFixtures.decode("rgb.png").bitmap))
      #expect(ContinuousClock.now - start < .seconds(5), "\(kind) was unpacked")
    }
  }

  /// Texts in each form that a PNG has, so many that reading them would cost seconds, are not read.
  @Test func aThousandTexts() throws {
    let picture = try DecodingFixtures.data("rgb.png")
    let zeros = Bombs.zlib(zeroCount: 1 << 20)
    var file = Data(picture.prefix(33))
    for number in 0..<400 {
      file += Bombs.chunk("zTXt", Array("k\(number)\0\0".utf8) + zeros)
      file += Bombs.chunk("tEXt", Array("k\(number)\0".utf8) + [UInt8](repeating: 65, count: 1000))
    }
    file += picture.dropFirst(33)
    var options = ImageDecodingOptions()
    options.limits.maximumSeconds = 5
    #expect(
      try ImageDecoder().decode(file, options: options).bitmap == DecodingFixtures.decode("rgb.png").bitmap)
  }

  /// The limit of time is kept between rows: a limit of none ends every format that is decoded in rows.
  @Test(arguments: ["rgb.png", "progressive.jpg", "still.gif", "alpha32.bmp"])
  func aDecodeEndsAtItsLimitOfTime(name: String) throws {
    let data = try DecodingFixtures.data(name)
    var options = ImageDecodingOptions()
    options.limits.maximumSeconds = 0
    let error = #expect(throws: ImageDecodingError.self) { try ImageDecoder().decode(data, options: options) }
    #expect(error == .timedOut(seconds: 0))
    #expect(error?.code == "decode_timed_out")
    for seconds in [30, .infinity, .nan, 1e300] {
      options.limits.maximumSeconds = seconds
      _ = try ImageDecoder().decode(data, options: options)
    }
  }

  /// A large WebP looks at the time between its pieces, not at its beginning only.
  @Test func aLargeWebPEndsInTheMiddle() throws {
    var random = SplitMix(state: 1)
    let pixels = (0..<1500 * 1500).map { _ in UInt32.random(in: 0...(.max), using: &random) | 0xFF00_0000 }
    let noise = try pixels.withUnsafeBytes { bytes in
      try Bitmap(size: PixelSize(width: 1500, height: 1500), isOpaque: true) { $0.copyMemory(from: bytes) }
    }
    let data = try ImageEncoder().encode(noise, options: .init(format: .webp))
    var options = ImageDecodingOptions()
    options.limits.maximumSeconds = 0.004
    let error = #expect(throws: ImageDecodingError.self) { try ImageDecoder().decode(data, options: options) }
    #expect(error == .timedOut(seconds: 0.004))
  }

  @Test func aProgressiveJPEGWithEndlessScans() throws {
    let picture = try DecodingFixtures.data("progressive.jpg")
    // The last scan again and again: each would cost a pass over every coefficient.
    let last = try #require(picture.lastRange(of: Data([0xFF, 0xDA])))
    let scan = picture[last.lowerBound..<picture.count - 2]
    var file = picture.dropLast(2)
    for _ in 0..<1000 { file += scan }
    file += [0xFF, 0xD9]
    #expect(throws: ImageDecodingError.self) { try DecodingFixtures.decode(Data(file)) }
  }
}

extension ByteView {
  /// Where the first image descriptor of a GIF is, after its palette and extensions.
  fileprivate static func firstFrame(of data: Data) -> Int? {
    let flags = Int(data[10])
    var at = 13 + (flags & 0x80 != 0 ? 3 << ((flags & 7) + 1) : 0)
    while at < data.count, data[at] == 0x21 {
      at += 2
      while data[at] != 0 { at += Int(data[at]) + 1 }
      at += 1
    }
    return at < data.count && data[at] == 0x2C ? at : nil
  }
}

/// Makes files that unpack to far more than they weigh, without packing that much.
enum Bombs {
  static func png(width: Int, height: Int, bitDepth: UInt8, rows: Int? = nil) -> Data {
    let stride = (width * Int(bitDepth) + 7) / 8 + 1
    let header = big(width) + big(height) + [bitDepth, 0, 0, 0, 0]
    let zeros = rows == nil ? stride * height : 100
    return Data([0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10]) + chunk("IHDR", header)
      + chunk("IDAT", zlib(zeroCount: zeros))
      + chunk("IEND", [])
  }

  static func chunk(_ kind: String, _ body: [UInt8]) -> Data {
    let content = Array(kind.utf8) + body
    return Data(big(body.count) + content + big(Int(crc(content))))
  }

  /// A zlib stream (RFC 1950) of zeros: one literal, then "258 bytes from 1 back" as often as it takes.
  static func zlib(zeroCount: Int) -> [UInt8] {
    var bits = BitWriter(bytes: [0x78, 0x9C])
    bits.write([1, 1, 0])  // The last block, with the fixed codes.
    var left = zeroCount
    func literal() { bits.write([0, 0, 1, 1, 0, 0, 0, 0]) }
    if left > 0 {
      literal()
      left -= 1
    }
    while left >= 258 {
      bits.write([1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0])
      left -= 258
    }
    for _ in 0..<left { literal() }
    bits.write([0, 0, 0, 0, 0, 0, 0])
    bits.flush()
    // Adler-32 of zeros: 1, and its sum once a byte.
    return bits.bytes + big((zeroCount % 65_521) << 16 | 1)
  }

  private struct BitWriter {
    var bytes: [UInt8]
    var current: UInt8 = 0
    var count: UInt8 = 0

    mutating func write(_ bits: [UInt8]) {
      for bit in bits {
        current |= bit << count
        count += 1
        if count == 8 { flush() }
      }
    }

    mutating func flush() {
      if count > 0 { bytes.append(current) }
      current = 0
      count = 0
    }
  }

  private static func big(_ value: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - $0 * 8)) }
  }

  private static let crcTable: [UInt32] = (0..<256).map { start in
    (0..<8).reduce(UInt32(start)) { value, _ in value & 1 != 0 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
  }

  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(UInt32.max) { crcTable[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ ($0 >> 8) }
  }
}
