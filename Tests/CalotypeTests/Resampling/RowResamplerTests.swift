import Testing

@testable import Calotype

@Suite struct RowResamplerTests {
  @Test(arguments: ResamplingFilter.allCases)
  func sameSizeIsACopy(filter: ResamplingFilter) throws {
    let picture = try noise(width: 37, height: 23, isOpaque: false)
    let resampler = try RowResampler(
      sourceSize: picture.size, crop: (0, 0, 37, 23), outputSize: picture.size, isOpaque: false,
      filter: filter)
    feed(picture, to: resampler)
    #expect(resampler.finish() == picture)
  }

  @Test(arguments: ResamplingFilter.allCases)
  func aWholeCropAtItsOwnSizeIsACopy(filter: ResamplingFilter) throws {
    let picture = try noise(width: 37, height: 23, isOpaque: false)
    let part = try picture.resampled(
      crop: (5, 3, 20, 11), to: PixelSize(width: 20, height: 11), filter: filter)
    #expect(try part == picture.cropped(x: 5, y: 3, width: 20, height: 11))
  }

  /// One axis copied, the other scaled: a picture whose columns are all alike stays so.
  @Test(arguments: ResamplingFilter.allCases)
  func oneAxisAlone(filter: ResamplingFilter) throws {
    let picture = try bitmap(width: 8, height: 40) { _, y in .init(red: UInt8(y * 6), green: 7, blue: 9) }
    let half = try picture.resampled(to: PixelSize(width: 8, height: 10), filter: filter)
    #expect(half.isOpaque)
    for y in 0..<10 {
      let first = half[0, y]
      #expect((0..<8).allSatisfy { half[$0, y] == first })
      #expect(first.green == 7 && first.blue == 9 && first.alpha == 255)
      if (2..<8).contains(y) { #expect(abs(Int(first.red) - (y * 24 + 9)) <= 1) }
    }
  }

  @Test(arguments: ResamplingFilter.allCases, [1, 2, 5, 29, 64, 100, 333])
  func oneColourStaysThatColour(filter: ResamplingFilter, side: Int) throws {
    let pixel = Bitmap.Pixel(red: 200, green: 3, blue: 117, alpha: 201)
    let picture = try bitmap(width: 100, height: 64, isOpaque: false) { _, _ in pixel }
    let result = try picture.resampled(
      crop: (3.3, 1.7, 90.1, 55.5), to: PixelSize(width: side, height: max(1, side / 3)), filter: filter)
    #expect(allPixels(of: result).filter { $0 != pixel } == [])
  }

  /// Ringing at the edge of a bright shape must not push a colour over its alpha or an alpha over its range.
  @Test(arguments: ResamplingFilter.allCases, [7, 40, 150])
  func premultipliedStaysValid(filter: ResamplingFilter, side: Int) throws {
    let picture = try bitmap(width: 64, height: 64, isOpaque: false) { x, y in
      switch (x / 5 + y / 7) % 3 {
      case 0: .init(red: 0, green: 0, blue: 0, alpha: 0)
      case 1: .init(red: 255, green: 255, blue: 0, alpha: 255)
      default: .init(red: 0, green: 90, blue: 90, alpha: 90)
      }
    }
    let result = try picture.resampled(to: PixelSize(width: side, height: side), filter: filter)
    #expect(!result.isOpaque)
    #expect(allPixels(of: result).allSatisfy { max($0.red, $0.green, $0.blue) <= $0.alpha })
  }

  @Test(arguments: ResamplingFilter.allCases)
  func opaqueStaysOpaque(filter: ResamplingFilter) throws {
    let picture = try noise(width: 61, height: 47, isOpaque: true)
    for side in [1, 13, 60, 111] {
      let result = try picture.resampled(to: PixelSize(width: side, height: side), filter: filter)
      #expect(result.isOpaque)
      #expect(allPixels(of: result).allSatisfy { $0.alpha == 255 })
    }
  }

  /// Colours are weighed by their alpha: what is clear lends no colour to its neighbours.
  @Test func clearPixelsLendNoColour() throws {
    let picture = try bitmap(width: 32, height: 32, isOpaque: false) { x, _ in
      x < 16 ? .init(red: 250, green: 0, blue: 0, alpha: 255) : .init(red: 0, green: 0, blue: 0, alpha: 0)
    }
    let result = try picture.resampled(to: PixelSize(width: 5, height: 5), filter: .area)
    let edge = result[2, 2]
    #expect(abs(Int(edge.alpha) - 128) <= 1)
    #expect(abs(Int(edge.red) - 125) <= 1)
  }

  @Test func areaIsTheMeanOfWhatIsCovered() throws {
    let picture = try bitmap(width: 3, height: 1) { x, _ in .init(red: [0, 90, 240][x], green: 0, blue: 0) }
    let result = try picture.resampled(to: PixelSize(width: 2, height: 1), filter: .area)
    #expect(result[0, 0].red == 30)
    #expect(result[1, 0].red == 190)
  }

  /// Only rows that the filter can see count, and the others may be left out.
  @Test func rowsOutsideOfTheCropAreSkipped() throws {
    let picture = try noise(width: 40, height: 400, isOpaque: false)
    let crop = (x: 4.0, y: 200.0, width: 30.0, height: 20.0)
    let size = PixelSize(width: 15, height: 10)
    let resampler = try RowResampler(
      sourceSize: picture.size, crop: crop, outputSize: size, isOpaque: false)
    #expect(resampler.neededRows.lowerBound >= 193)
    #expect(resampler.neededRows.upperBound <= 227)
    feed(picture, to: resampler)
    #expect(try resampler.finish() == picture.resampled(crop: crop, to: size))
  }

  @Test func rowsThatNeverComeAreClear() throws {
    let white = try bitmap(width: 10, height: 10, isOpaque: false) { _, _ in
      .init(red: 255, green: 255, blue: 255, alpha: 255)
    }
    let resampler = try RowResampler(
      sourceSize: PixelSize(width: 10, height: 20), crop: (0, 0, 10, 20),
      outputSize: PixelSize(width: 5, height: 10), isOpaque: false, filter: .area)
    feed(white, to: resampler)
    let result = resampler.finish()
    #expect(result[0, 0].alpha == 255)
    #expect(result[4, 9] == .init(red: 0, green: 0, blue: 0, alpha: 0))
  }

  @Test func sizesThatAreNoneAreRefused() throws {
    let source = PixelSize(width: 10, height: 10)
    let none = PixelSize(width: 0, height: 5)
    #expect(throws: BitmapError.invalidSize(none)) {
      try RowResampler(sourceSize: source, crop: (0, 0, 10, 10), outputSize: none, isOpaque: true)
    }
    #expect(throws: BitmapError.invalidSize(none)) {
      try RowResampler(sourceSize: none, crop: (0, 0, 10, 10), outputSize: source, isOpaque: true)
    }
    for crop in [(0.0, 0.0, Double.nan, 5.0), (0, 0, 0, 5), (20, 0, 5, 5), (0, .infinity, 5, 5)] {
      #expect(throws: BitmapError.self) {
        try RowResampler(sourceSize: source, crop: crop, outputSize: source, isOpaque: true)
      }
    }
    #expect(throws: BitmapError.self) {
      try bitmap(width: 4, height: 4) { _, _ in .init(red: 0, green: 0, blue: 0) }
        .resampled(to: PixelSize(width: .max, height: 2))
    }
  }

  @Test func aCancelledResizeEnds() throws {
    let cancellation = CancellationFlag()
    cancellation.cancel()
    let picture = try noise(width: 20, height: 20, isOpaque: true)
    #expect(throws: CancellationError.self) {
      try picture.resampled(to: PixelSize(width: 5, height: 5), cancellation: cancellation)
    }
  }

  @Test func croppedIsCutToThePicture() throws {
    let picture = try noise(width: 20, height: 10, isOpaque: true)
    let corner = try picture.cropped(x: 15, y: -3, width: .max, height: 5)
    #expect(corner.size == PixelSize(width: 5, height: 2))
    #expect(corner[0, 0] == picture[15, 0])
    #expect(corner[4, 1] == picture[19, 1])
    #expect(throws: BitmapError.self) { try picture.cropped(x: 20, y: 0, width: 5, height: 5) }
    #expect(throws: BitmapError.self) { try picture.cropped(x: 3, y: 3, width: 0, height: -4) }
  }

  private func feed(_ picture: Bitmap, to resampler: RowResampler) {
    picture.withUnsafeBytes { bytes in
      for y in 0..<picture.height {
        let row = bytes[y * picture.bytesPerRow..<(y + 1) * picture.bytesPerRow]
        resampler.append(row: UnsafeRawBufferPointer(rebasing: row))
      }
    }
  }
}
