import Testing

@testable import Calotype

@Suite struct GeometryProcessorTests {
  /// A picture whose pixels tell where they were.
  private func numbered(_ width: Int, _ height: Int) throws -> Bitmap {
    try bitmap(width: width, height: height) { x, y in .init(red: UInt8(x), green: UInt8(y), blue: 0) }
  }

  private func place(_ pixel: Bitmap.Pixel) -> [Int] { [Int(pixel.red), Int(pixel.green)] }

  @Test func cropTakesThePartAsItIs() throws {
    let result = try ImageProcessors.apply([.crop(x: 3, y: 2, width: 4, height: 100)], to: numbered(10, 8))
    #expect(result.size == PixelSize(width: 4, height: 6))
    #expect(place(result[0, 0]) == [3, 2])
    #expect(place(result[3, 5]) == [6, 7])
  }

  @Test func aPartOutsideIsAnErrorThatNamesIt() throws {
    let error = #expect(throws: ImageProcessingError.self) {
      try ImageProcessors.apply([.crop(x: 10, y: 0, width: 4, height: 4)], to: numbered(10, 8))
    }
    #expect(error?.processor == "crop(10,0,4,4)")
  }

  @Test func flipAndRotate() throws {
    let picture = try numbered(3, 2)
    #expect(place(try ImageProcessors.apply([.flip(.horizontal)], to: picture)[0, 0]) == [2, 0])
    #expect(place(try ImageProcessors.apply([.flip(.vertical)], to: picture)[0, 0]) == [0, 1])
    let quarter = try ImageProcessors.apply([.rotate(quarters: 1)], to: picture)
    #expect(quarter.size == PixelSize(width: 2, height: 3))
    // Clockwise: the left column becomes the top row, from its lower end.
    #expect(place(quarter[0, 0]) == [0, 1])
    #expect(place(quarter[1, 0]) == [0, 0])
    #expect(try ImageProcessors.apply([.rotate(quarters: -3)], to: picture) == quarter)
    #expect(try ImageProcessors.apply([.rotate(quarters: 4)], to: picture) == picture)
    #expect(try ImageProcessors.apply([.rotate(quarters: 2), .rotate(quarters: 2)], to: picture) == picture)
  }

  /// The caller's limits count, also within a composition, be they narrower or wider than the usual ones.
  @Test func nothingIsMadeLargerThanTheCallersLimits() throws {
    let resize = ImageProcessors.Resize(TargetSize(width: 200, height: 100, allowsUpscaling: true))
    let picture = try numbered(100, 50)
    for processor in [resize, ImageProcessors.Composition([resize])] as [any ImageProcessing] {
      let error = #expect(throws: ImageProcessingError.self) {
        try ImageProcessors.apply([processor], to: picture, limits: .init(maximumPixelCount: 19_999))
      }
      #expect("\(String(describing: error))".contains("limit of 19999 pixels"))
      let made = try ImageProcessors.apply([processor], to: picture, limits: .init(maximumPixelCount: 20_000))
      #expect(made.size == PixelSize(width: 200, height: 100))
    }
    let most = ImageDecodingLimits().maximumPixelCount
    let wide = ImageProcessors.Resize(
      TargetSize(width: Double(most + 1), height: 1, mode: .exact, allowsUpscaling: true))
    #expect(throws: ImageProcessingError.self) { try wide.process(picture, cancellation: CancellationFlag()) }
    let cancelled = CancellationFlag()
    cancelled.cancel()
    #expect(throws: CancellationError.self) {
      try wide.process(picture, limits: .init(maximumPixelCount: .max), cancellation: cancelled)
    }
  }

  @Test func resizeModes() throws {
    let picture = try numbered(100, 50)
    func size(_ mode: TargetSize.Mode) throws -> PixelSize {
      try ImageProcessors.apply([.resize(width: 20, height: 20, mode: mode)], to: picture).size
    }
    #expect(try size(.fit) == PixelSize(width: 20, height: 10))
    #expect(try size(.fill) == PixelSize(width: 20, height: 20))
    #expect(try size(.exact) == PixelSize(width: 20, height: 20))
    #expect(try ImageProcessors.apply([.resize(width: 300, height: 300)], to: picture) == picture)
    #expect(throws: ImageProcessingError.self) {
      try ImageProcessors.apply([.resize(width: 0, height: 20)], to: picture)
    }
    #expect(throws: ImageProcessingError.self, "more pixels than may be") {
      try ImageProcessors.apply(
        [.resize(width: 65_535, height: 65_535, mode: .exact, allowsUpscaling: true)], to: picture)
    }
  }

  @Test(arguments: [
    (ImageProcessors.Resize.Anchor.center, 50), (.left, 25), (.right, 75), (.top, 50), (.topLeft, 25),
    (.bottomRight, 75),
  ])
  func anchors(anchor: ImageProcessors.Resize.Anchor, middle: Int) throws {
    let result = try ImageProcessors.apply(
      [.resize(width: 10, height: 10, mode: .fill, anchor: anchor, filter: .area)], to: numbered(100, 50))
    let mean = (Int(result[4, 5].red) + Int(result[5, 5].red)) / 2
    #expect(abs(mean - middle) <= 1)
  }

  /// A plain picture with a colourful square near one end.
  @Test(arguments: [(10, 0), (130, 0), (0, 10), (0, 130)])
  func attentionFindsWhereThereIsSomethingToSee(x: Int, y: Int) throws {
    let isWide = y == 0
    let picture = try bitmap(width: isWide ? 180 : 60, height: isWide ? 60 : 180) { column, row in
      (x..<x + 40).contains(column) && (y..<y + 40).contains(row) && (column / 5 + row / 5) % 2 == 0
        ? .init(red: 250, green: 40, blue: 10) : .init(red: 90, green: 90, blue: 90)
    }
    let result = try ImageProcessors.apply(
      [.resize(width: 60, height: 60, mode: .fill, anchor: .attention)], to: picture)
    let coloured = allPixels(of: result).count { $0.red > 200 && $0.green < 80 }
    #expect(coloured >= 700)
  }

  @Test func anOverlayIsDrawnWhereItIsAskedFor() throws {
    let badge = try bitmap(width: 4, height: 3, isOpaque: false) { x, _ in
      x == 0 ? .init(red: 0, green: 0, blue: 0, alpha: 0) : .init(red: 0, green: 0, blue: 200, alpha: 200)
    }
    let picture = try bitmap(width: 20, height: 10) { _, _ in .init(red: 255, green: 255, blue: 255) }
    let result = try ImageProcessors.apply([.overlay(badge, margin: 2)], to: picture)
    #expect(result.isOpaque)
    #expect(result[14, 5] == .init(red: 255, green: 255, blue: 255))
    #expect(result[15, 5] == .init(red: 55, green: 55, blue: 255))
    #expect(result[17, 7] == .init(red: 55, green: 55, blue: 255))
    #expect(result[18, 7] == .init(red: 255, green: 255, blue: 255))
    #expect(result[17, 8] == .init(red: 255, green: 255, blue: 255))
    let outside = try ImageProcessors.apply([.overlay(badge, position: .topLeft, margin: .max)], to: picture)
    #expect(outside == picture)
    let half = try ImageProcessors.apply([.overlay(badge, position: .topLeft, opacity: 0.5)], to: picture)
    #expect(abs(Int(half[1, 0].red) - 155) <= 1)
    let larger = try ImageProcessors.apply([.overlay(picture, position: .center)], to: badge)
    #expect(larger[2, 1] == .init(red: 255, green: 255, blue: 255))
  }
}
