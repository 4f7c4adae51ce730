import Foundation
import Testing

@testable import Calotype

@Suite struct PreviewMakerTests {
  private func maker(limits: ImageDecodingLimits = .init()) -> PreviewMaker {
    PreviewMaker(limits: limits, colors: ColorConversionCache(), cancellation: CancellationFlag())
  }

  /// Feeds a file in pieces and gives the previews of one target.
  private func previews(
    _ file: [UInt8], target: TargetSize? = nil, maker: PreviewMaker? = nil, piece: () -> Int
  ) -> [Bitmap] {
    let maker = maker ?? self.maker()
    var result: [Bitmap] = []
    var at = 0
    while at < file.count {
      let end = min(file.count, at + max(1, piece()))
      if let made = maker.append(Data(file[at..<end]), targets: [target]) { result += made.map(\.bitmap) }
      at = end
    }
    return result
  }

  @Test func everyScanOfAJPEGIsShownAndBetterThanTheOneBefore() throws {
    let file = try ProgressivePictures.jpeg()
    let whole = try DecodingFixtures.decode(Data(file)).bitmap
    let scans = ProgressivePictures.scanEnds(file).count
    #expect(scans == 10)
    for step in [1, 97] {
      let shown = previews(file) { step }
      #expect(shown.count == scans)
      let errors = shown.map { PixelDifference.meanAbsoluteError($0, whole) }
      #expect(errors.first! > 3 && errors.last! < 1, "\(errors)")
      for (earlier, later) in zip(errors, errors.dropFirst()) {
        #expect(later < earlier + 1, "a scan made it worse: \(errors)")
      }
    }
  }

  /// What is known only as each block's mean is made soft: no edges where blocks meet.
  @Test func theFirstLookIsSoft() throws {
    let file = try ProgressivePictures.jpeg()
    let first = try #require(previews(Array(file[..<ProgressivePictures.scanEnds(file)[0]])) { 500 }.first)
    var atEdges = 0, between = 0
    for y in stride(from: 4, to: first.height, by: 8) {
      for x in 8..<first.width - 8 {
        let step = abs(Int(first[x, y].green) - Int(first[x - 1, y].green))
        if x % 8 == 0 { atEdges += step } else { between += step }
      }
    }
    #expect(Double(atEdges) < 1.5 * Double(between) / 7, "\(atEdges) at edges, \(between) between")
  }

  @Test func previewsAreAtTheTargetSizeUprightAndForEachTarget() throws {
    let plain = try ProgressivePictures.jpeg()
    let file = ProgressivePictures.turned(plain, 6)
    let targets = [nil, TargetSize(width: 60, height: 60), TargetSize(width: 40, height: 40, mode: .fill)]
    let maker = maker()
    var last: [Bitmap] = []
    for start in stride(from: 0, to: file.count, by: 333) {
      let piece = Data(file[start..<min(start + 333, file.count)])
      if let made = maker.append(piece, targets: targets) { last = made.map(\.bitmap) }
    }
    try #require(last.count == 3)
    #expect(last[0].size == PixelSize(width: 300, height: 400))
    #expect(last[1].size == PixelSize(width: 45, height: 60))
    #expect(last[2].size == PixelSize(width: 40, height: 40))
    for (preview, target) in zip(last, targets) {
      let print = try DecodingFixtures.decode(Data(file), target: target).bitmap
      #expect(PixelDifference.meanAbsoluteError(preview, print) < 2)
    }
  }

  @Test func everyPassOfAnInterlacedPNGIsShown() throws {
    for name in ["interlaced.png", "interlaced-alpha.png"] {
      let file = Array(try DecodingFixtures.data(name))
      let whole = try DecodingFixtures.decode(Data(file)).bitmap
      let shown = previews(file) { 1 }
      #expect(shown.count == 7, "\(name): \(shown.count)")
      #expect(shown.last == whole)
      let errors = shown.map { PixelDifference.meanAbsoluteError($0, whole) }
      #expect(errors[0] < 40 && errors[2] < errors[0] && errors[5] < errors[2], "\(errors)")
      let small = previews(file, target: DecodingFixtures.half) { 50 }
      #expect(small.last == (try DecodingFixtures.decode(Data(file), target: DecodingFixtures.half).bitmap))
    }
  }

  @Test(arguments: ["baseline.jpg", "rgb.png", "lossy.webp", "animated.gif", "photo.avif", "rgb24.bmp"])
  func picturesThatComeInOneGoHaveNone(name: String) throws {
    let file = Array(try DecodingFixtures.data(name))
    let maker = maker()
    #expect(previews(file, maker: maker) { 20 }.isEmpty)
    #expect(maker.isHopeless)
  }

  @Test func picturesOverTheLimitHaveNone() throws {
    for file in [try ProgressivePictures.jpeg(), Array(try DecodingFixtures.data("interlaced.png"))] {
      let maker = maker(limits: .init(maximumPixelCount: 1000))
      #expect(previews(file, maker: maker) { 100 }.isEmpty)
      #expect(maker.isHopeless)
    }
    // Nor is memory taken for what a header alone promises.
    var bomb = Array(Bombs.png(width: 30_000, height: 30_000, bitDepth: 1))
    bomb[28] = 1
    #expect(previews(bomb, maker: maker()) { 64 }.isEmpty)
  }

  @Test func damagedFiles() throws {
    var generator = SplitMix(state: 11)
    var files = [try ProgressivePictures.jpeg(width: 64, height: 48)]
    for name in ["progressive.jpg", "interlaced.png", "interlaced-alpha.png"] {
      files.append(Array(try DecodingFixtures.data(name)))
    }
    for file in files {
      for _ in 0..<150 {
        var bytes = file
        for _ in 0..<Int.random(in: 1...5, using: &generator) {
          bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
        }
        let maker = maker(limits: .init(maximumPixelCount: 1 << 20))
        _ = previews(bytes, maker: maker) { Int.random(in: 1...200, using: &generator) }
      }
    }
  }

  /// The head of a response may come alone, before any of the body.
  @Test func whatWasKeptOfABodyIsReadOnce() throws {
    let file = try ProgressivePictures.jpeg()
    let middle = ProgressivePictures.scanEnds(file)[3]
    let session = PreviewSession(beginning: Data(file[..<middle])) { cancellation in
      PreviewMaker(limits: .init(), colors: ColorConversionCache(), cancellation: cancellation)
    }
    let request = HTTPRequest(url: url("/a"))
    let download = OriginalDownload(
      request, of: CachedExchange(request: request, mode: .default, cache: nil), onProgress: { _ in },
      onCompletion: { _ in })
    #expect(session.run(download, [(nil, 0)])?.count == 1)
    Array(file[middle...]).withUnsafeBytes { download.didReceive($0) }
    let last = try #require(session.run(download, [(nil, 0)])?.first?.bitmap)
    let whole = try DecodingFixtures.decode(Data(file)).bitmap
    #expect(PixelDifference.meanAbsoluteError(last, whole) < 1)
  }
}
