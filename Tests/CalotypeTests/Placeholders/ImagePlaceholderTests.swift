import Foundation
import TestSupport
import Testing

@testable import Calotype

/// The hashes were worked out by other programs from the same pictures: thumbhash 0.1.2 and blurhash 1.1.5 for
/// Python, and, for what the former cannot do, the format's description in Python.
@Suite struct ImagePlaceholderTests {
  private func photo() throws -> Bitmap {
    let pixels = try ProcessingFixtures.data("photo.48x32.rgba")
    return try Bitmap(size: PixelSize(width: 48, height: 32), isOpaque: true) { target in
      pixels.withUnsafeBytes { target.copyMemory(from: $0) }
    }
  }

  /// The mean difference a component from a picture that is as blurred as a placeholder.
  private func difference(_ placeholder: Bitmap, from picture: Bitmap) throws -> Double {
    let blurred = try ImageProcessors.Blur(radius: Double(picture.width) / 10).process(
      picture.resampled(to: placeholder.size), cancellation: CancellationFlag())
    return PixelDifference.meanAbsoluteError(blurred, placeholder)
  }

  @Test(arguments: [
    ("photo", "GIoKDYSlqIdPUXd3eEeHh9N/YIkI"), ("icon", "1dmCFQQ2N7u0F2xYBWpfkNYFB2mKdnRpdw=="),
  ])
  func theThumbHashIsThatOfAnotherProgram(name: String, expected: String) throws {
    let picture = name == "photo" ? try photo() : try ProcessingFixtures.picture(name)
    #expect(try ImagePlaceholder.thumbHash(of: picture) == .thumbHash(base64: expected))
  }

  @Test(arguments: [
    (
      "GIoKDYSlqIdPUXd3eEeHh9N/YIkI",
      [(0, 0, [112, 60, 16, 255]), (16, 11, [167, 82, 53, 255]), (31, 22, [159, 102, 69, 255])]
    ),
    (
      "1dmCFQQ2N7u0F2xYBWpfkNYFB2mKdnRpdw==",
      [
        (0, 0, [153, 55, 47, 0]), (16, 11, [180, 47, 28, 255]), (20, 25, [142, 52, 61, 146]),
        (31, 31, [116, 56, 83, 0]),
      ]
    ),
  ])
  func aThumbHashIsDrawnAsByAnotherProgram(hash: String, pixels: [(Int, Int, [Int])]) throws {
    let bitmap = try #require(ImagePlaceholder.thumbHash(base64: hash)).bitmap()
    for (x, y, color) in pixels {
      let pixel = bitmap[x, y]
      // Straight in the other's, premultiplied here.
      let expected = color.prefix(3).map { Double($0) * Double(color[3]) / 255 } + [Double(color[3])]
      for (mine, other) in zip([pixel.red, pixel.green, pixel.blue, pixel.alpha], expected) {
        #expect(abs(Double(mine) - other) <= 2, "at \(x), \(y)")
      }
    }
  }

  @Test(arguments: ["photo", "icon"]) func aThumbHashLooksLikeThePicture(name: String) throws {
    let picture = try ProcessingFixtures.picture(name)
    let small = try ImagePlaceholder.thumbHash(of: picture).bitmap()
    #expect(
      small.size == (name == "photo" ? PixelSize(width: 32, height: 23) : PixelSize(width: 32, height: 32)))
    #expect(small.isOpaque == picture.isOpaque)
    // It is far coarser than the blur that it is held against; a turned or recoloured one is over 40 away.
    #expect(try difference(small, from: picture) < 24)
    if name == "icon" { #expect(small[0, 0].alpha < 60 && small[16, 16].alpha > 180) }
    // A mirrored picture's is mirrored.
    let mirrored = try ImagePlaceholder.thumbHash(of: picture.oriented(.upMirrored)).bitmap()
    #expect(PixelDifference.meanAbsoluteError(try mirrored.oriented(.upMirrored), small) < 4)
  }

  @Test func theBlurHashIsThatOfAnotherProgram() throws {
    let placeholder = try ImagePlaceholder.blurHash(of: photo())
    #expect(placeholder == .blurHash("LRJ$HVNdrrxF}@IW9bIpS~SNX7S2"))
    let bitmap = try placeholder.bitmap(aspectRatio: 32.0 / 24)
    #expect(bitmap.size == PixelSize(width: 32, height: 24))
    let expected: [(Int, Int, [Int])] = [
      (0, 0, [155, 72, 67]), (16, 0, [211, 154, 120]), (31, 0, [205, 134, 98]), (0, 12, [187, 89, 51]),
      (31, 23, [143, 75, 26]),
    ]
    for (x, y, color) in expected {
      let pixel = bitmap[x, y]
      for (mine, other) in zip([pixel.red, pixel.green, pixel.blue], color) {
        #expect(abs(Int(mine) - other) <= 2, "at \(x), \(y)")
      }
    }
  }

  @Test func theAverageColorCountsWhatIsSeen() throws {
    let half = try bitmap(width: 2, height: 1) { x, _ in
      x == 0 ? .init(red: 200, green: 100, blue: 0) : .init(red: 0, green: 0, blue: 0, alpha: 0)
    }
    let color = ImagePlaceholder.averageColor(of: half)
    #expect(color.withAlpha(1) == ColorValue(200, 100, 0))
    #expect(abs(color.alpha - 0.5) < 0.003)
    let drawn = try ImagePlaceholder.color(color).bitmap()
    #expect(drawn.size == PixelSize(width: 1, height: 1))
    #expect(abs(Int(drawn[0, 0].red) - 100) <= 1)
  }

  @Test(arguments: [
    ImagePlaceholder.thumbHash(Data()), .thumbHash(Data([1, 2, 3, 4])), .thumbHash(Data([0, 0, 0x80, 1, 2])),
    .thumbHash(Data([255, 255, 255, 255, 255, 255, 255])), .blurHash(""), .blurHash("LEHV6nWB2y"),
    .blurHash("L\"HV6nWB2yk8pyo0adR*.7kCMdnj"), .blurHash(String(repeating: "~", count: 5000)),
    .blurHash("00~~~~"), .blurHash("}" + String(repeating: "0", count: 23)),
    .blurHash("~" + String(repeating: "0", count: 43)),
  ])
  func whatIsNoHashIsAnError(placeholder: ImagePlaceholder) {
    #expect(throws: ImagePlaceholderError.self) { try placeholder.bitmap() }
  }

  @Test func anyBytesAreDrawnOrRefused() {
    var random = SplitMix(state: 5)
    for length in 0..<60 {
      for _ in 0..<20 {
        let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
        let bitmap = try? ImagePlaceholder.thumbHash(Data(bytes)).bitmap()
        #expect(bitmap.map { $0.width <= 32 && $0.height <= 32 } ?? true)
      }
    }
  }

  // MARK: First pictures

  @Test func aTasksFirstPreviewIsThePlaceholder() async throws {
    let fixture = PipelineFixture { _ in .hold }
    var request = request("/a")
    request.placeholder = .color(ColorValue(9, 8, 7))
    let task = fixture.pipeline.task(for: request)
    let events = task.events
    await fixture.transport.waitForRequests(1)
    fixture.transport.release(with: .respond(body: Data([5])))
    var seen: [String] = []
    for await event in events {
      switch event {
      case .preview(let response):
        seen.append("\(response.source.rawValue) \(response.image[0, 0].red) \(response.container.isPreview)")
      case .finished(let result): seen.append("\((try? result.get())?.image[0, 0].red ?? 0)")
      case .progress, .refreshed: break
      }
    }
    #expect(seen == ["placeholder 9 true", "5"])
    #expect(fixture.pipeline.cachedImage(for: request)?.bitmap[0, 0].red == 5)
  }

  @Test @MainActor func aRowShowsItAtOnceAndIsAskedForAllTheSame() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let (updates, teller) = AsyncStream.makeStream(of: RowPicture.self)
    var updated = updates.makeAsyncIterator()
    let loader = RowLoader<Int>(pipeline: fixture.pipeline) { _, picture in teller.yield(picture) }
    loader.isSuspended = true
    var request = request("/a")
    request.placeholder = .color(ColorValue(9, 8, 7))
    let first = loader.bind(0, to: request)
    #expect(first.bitmap?[0, 0].red == 9)
    if case .image(let container, let source) = first {
      #expect(container.isPreview && source == .placeholder)
    } else {
      Issue.record("no picture")
    }
    loader.isSuspended = false
    await fixture.transport.waitForRequests(1)
    // The failure is shown although something is shown already: that was not the picture.
    fixture.transport.release(with: .respond(status: 500, body: Data()))
    let failure = await updated.next()
    if case .failed = failure {} else { Issue.record("\(String(describing: failure))") }
    loader.retry(0)
    #expect(loader.picture(of: 0).bitmap?[0, 0].red == 9)
    await fixture.transport.waitForRequests(2)
    fixture.transport.release(with: .respond(body: Data([5])))
    #expect(await updated.next()?.bitmap?[0, 0].red == 5)
  }
}
