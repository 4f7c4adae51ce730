import Foundation
import TestSupport
import Testing

@testable import Calotype

/// Pictures of more than 8 bits and of more colours than sRGB has.
@Suite struct DeepBitmapTests {
  private func decode(_ data: Data, target: TargetSize? = nil) throws -> ImageContainer {
    try ImageDecoder().decode(data, options: .init(targetSize: target, isDeep: true))
  }

  /// The largest difference of a channel.
  private func difference(_ left: DeepBitmap, _ right: (_ x: Int, _ y: Int) -> SIMD4<Double>) -> Double {
    var most = 0.0
    for y in 0..<left.height {
      for x in 0..<left.width {
        let apart = SIMD4<Double>(left[x, y]) - right(x, y)
        most = max(most, abs(apart.x), abs(apart.y), abs(apart.z), abs(apart.w))
      }
    }
    return most
  }

  private func made(
    width: Int = 64, height: Int = 16, space: DeepBitmap.ColorSpace = .sRGB, isOpaque: Bool = true
  ) throws -> DeepBitmap {
    try DeepBitmap(
      size: PixelSize(width: width, height: height), isOpaque: isOpaque, colorSpace: space
    ) { pixels in
      for at in 0..<width * height {
        let alpha = isOpaque ? 65_535 : 65_535 - at * 7
        // Steps that are far finer than an 8-bit value.
        for (channel, value) in [20_000 + at, 50_000 - at * 3, at * 11].enumerated() {
          pixels[at * 4 + channel] = UInt16(value * alpha / 65_535)
        }
        pixels[at * 4 + 3] = UInt16(alpha)
      }
    }
  }

  /// Another program wrote these: each 16-bit value is the 8-bit one times 257 plus 100.
  @Test func allBitsOfAPNG() throws {
    let container = try decode(try DecodingFixtures.data("rgb16.png"))
    let deep = try #require(container.deepBitmap)
    #expect(deep.colorSpace == .sRGB && deep.isOpaque && deep.size == DecodingFixtures.size)
    var isFine = false
    for y in 0..<deep.height {
      for x in 0..<deep.width {
        let pixel = deep[x, y]
        for channel in 0..<3 {
          let low = (Int(pixel[channel]) - 100) % 257
          #expect(low == 0 || pixel[channel] == 65_535)
          if pixel[channel] % 257 != 0 { isFine = true }
        }
        #expect(pixel.w == 65_535)
      }
    }
    #expect(isFine)
    // The 8-bit picture beside it is the one that is there otherwise.
    let plain = try DecodingFixtures.decode("rgb16.png")
    #expect(plain.deepBitmap == nil)
    #expect(PixelDifference.meanAbsoluteError(container.bitmap, plain.bitmap) < 0.01)
  }

  @Test func picturesThatHoldNoMoreHaveNone() throws {
    for name in ["rgb.png", "rgba.png", "baseline.jpg", "lossy.webp", "photo.avif", "srgb-profile.png"] {
      #expect(try decode(try DecodingFixtures.data(name)).deepBitmap == nil, "\(name)")
    }
  }

  /// Colours outside of sRGB stay apart that in sRGB would be the same.
  @Test func aWideGamutIsKept() throws {
    for name in ["p3.jpg", "p3.png", "p3.webp", "p3.avif", "p3-nclx.avif", "p3-alpha.png"] {
      let container = try decode(try DecodingFixtures.data(name))
      let deep = try #require(container.deepBitmap, "\(name)")
      #expect(deep.colorSpace == .displayP3)
      #expect(deep.isOpaque == container.bitmap.isOpaque)
      // Brought to sRGB by hand it is the 8-bit picture.
      let error = difference(deep) { x, y in
        let pixel = container.bitmap[x, y]
        let alpha = Double(pixel.alpha) / 255
        guard alpha > 0.2 else { return SIMD4<Double>(deep[x, y]) }
        let srgb = [pixel.red, pixel.green, pixel.blue].map { Double($0) / 255 / alpha }
        let wide = Self.displayP3(srgb)
        let expected = SIMD4(wide[0], wide[1], wide[2], 1) * alpha * 65_535
        // Where sRGB has cut a colour off, it tells nothing.
        return zip(srgb, 0..<3).contains { $0.0 > 0.98 || $0.0 < 0.03 } ? SIMD4<Double>(deep[x, y]) : expected
      }
      #expect(error < 1400, "\(name): \(error)")
    }
  }

  /// IEC 61966-2-1 and the primaries of DCI-P3 with a white of D65.
  private static func displayP3(_ srgb: [Double]) -> [Double] {
    let linear = srgb.map { $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) }
    let matrix = [[0.8225, 0.1774, 0], [0.0332, 0.9669, 0], [0.0171, 0.0724, 0.9108]]
    return matrix.map { row in
      let sum = zip(row, linear).reduce(0) { $0 + $1.0 * $1.1 }
      return sum <= 0.0031308 ? sum * 12.92 : 1.055 * pow(sum, 1 / 2.4) - 0.055
    }
  }

  @Test(arguments: [DeepBitmap.ColorSpace.sRGB, .displayP3], [true, false])
  func whatIsWrittenIsReadAgain(space: DeepBitmap.ColorSpace, isOpaque: Bool) throws {
    let bitmap = try made(space: space, isOpaque: isOpaque)
    let png = try ImageEncoder().encode(bitmap, options: .init(format: .png))
    let info = try ImageDecoder().inspect(png)
    #expect(info.bitsPerChannel == 16 && info.hasAlpha == !isOpaque)
    let fromPNG = try #require(try decode(png).deepBitmap)
    #expect(fromPNG.colorSpace == space && fromPNG.isOpaque == isOpaque)
    #expect(difference(fromPNG) { SIMD4<Double>(bitmap[$0, $1]) } <= (space == .sRGB ? 1 : 8))

    let avif = try ImageEncoder().encode(
      bitmap, options: .init(format: .avif, isLossless: true, effort: .fast))
    #expect(try ImageDecoder().inspect(avif).bitsPerChannel == 10)
    let fromAVIF = try #require(try decode(avif).deepBitmap)
    #expect(fromAVIF.colorSpace == space && fromAVIF.isOpaque == isOpaque)
    // A step of 10 bits is 64.
    #expect(difference(fromAVIF) { SIMD4<Double>(bitmap[$0, $1]) } <= 70)
    #expect(throws: ImageEncodingError.unsupported(.jpeg)) {
      try ImageEncoder().encode(bitmap, options: .init(format: .jpeg))
    }
  }

  /// A soft slope, of which 8 bits would have few steps, is as soft when it is resized.
  @Test func resizingKeepsTheDepth() throws {
    let slope = try DeepBitmap(
      size: PixelSize(width: 600, height: 40), isOpaque: true, colorSpace: .sRGB
    ) { pixels in
      for at in 0..<600 * 40 {
        for channel in 0..<3 { pixels[at * 4 + channel] = UInt16(30_000 + (at % 600) * 2) }
        pixels[at * 4 + 3] = 65_535
      }
    }
    let png = try ImageEncoder().encode(slope, options: .init(format: .png))
    let small = try #require(try decode(png, target: TargetSize(width: 200, height: 200)).deepBitmap)
    #expect(small.size == PixelSize(width: 200, height: 13))
    #expect(Set((0..<200).map { small[$0, 5].x }).count > 190)
    for x in 2..<198 { #expect(abs(Double(small[x, 5].x) - (30_000 + (Double(x) + 0.5) * 6 - 1)) < 1.5) }
    let filled = try decode(png, target: TargetSize(width: 20, height: 20, mode: .fill))
    #expect(filled.deepBitmap?.size == PixelSize(width: 20, height: 20))
    #expect(filled.bitmap.size == PixelSize(width: 20, height: 20))
  }

  @Test func deepPicturesAreUpright() throws {
    let bitmap = try made(width: 6, height: 4)
    for orientation in ImageOrientation.allCases {
      let deep = try bitmap.oriented(orientation)
      let shallow = try bitmap.reduced().oriented(orientation)
      #expect(try deep.reduced() == shallow)
    }
  }

  /// P1 and P6 for them: the key is another, and after a restart it is made of the original again.
  @Test func deepPrintsAreCachedApart() async throws {
    let body = Array(try DecodingFixtures.data("rgb16.png"))
    let fixture = try HTTPFixture { _ in
      .ok(body, type: "image/png", headers: [("Cache-Control", "max-age=600")])
    }
    let target = TargetSize(width: 12, height: 12)
    let deep = ImageRequest(url: fixture.url("/a"), targetSize: target, isDeep: true)
    let plain = ImageRequest(url: fixture.url("/a"), targetSize: target)
    var requestCount = 0
    for round in 0..<2 {
      let pipeline = fixture.pipeline(memory: true) { $0.diskStorage = .prints }
      #expect(try await pipeline.task(for: plain).response.container.deepBitmap == nil)
      let response = try await pipeline.task(for: deep).response
      #expect(response.container.deepBitmap?.size == PixelSize(width: 12, height: 8))
      #expect(pipeline.cachedImage(for: deep)?.deepBitmap != nil)
      #expect(response.container.cost == 12 * 8 * 12)
      await pipeline.flush()
      fixture.cache().flush()
      if round == 0 { requestCount = fixture.server.requests.count }
    }
    #expect(fixture.server.requests.count == requestCount)
  }
}
