import Foundation
import TestSupport
import Testing

@testable import Calotype

/// Previews that sandboxed workers make are those that this process would make.
@Suite(.enabled(if: IsolationFixture.isSandboxOn, "the sandbox is off in builds with a sanitizer"))
struct IsolatedPreviewTests {
  private static let targets = [nil, TargetSize(width: 60, height: 60)]

  /// What comes of each piece of a file.
  private static func previews(_ file: [UInt8], _ maker: any PreviewMaking) -> [[Bitmap]?] {
    stride(from: 0, to: file.count, by: 701).map { start in
      maker.append(Data(file[start..<min(start + 701, file.count)]), targets: targets)?.map(\.bitmap)
    }
  }

  private static func makerHere() -> any PreviewMaking {
    ImageDecoder().makePreviewMaker(.init(), CancellationFlag())
  }

  private static func makerThere(_ workers: DecodingWorkers) -> any PreviewMaking {
    IsolatedImageDecoder(.required, workers: workers).makePreviewMaker(.init(), CancellationFlag())
  }

  @Test func everyPreviewIsTheSame() async throws {
    let files = [
      try ProgressivePictures.jpeg(), ProgressivePictures.turned(try ProgressivePictures.jpeg(), 6),
      Array(try DecodingFixtures.data("interlaced-alpha.png")),
      Array(try DecodingFixtures.data("progressive.jpg")),
    ]
    let workers = IsolationFixture.workers()
    for file in files {
      let here = Self.previews(file, Self.makerHere())
      let there = await onThread { Self.previews(file, Self.makerThere(workers)) }
      #expect(here == there)
      #expect(here.contains { $0 != nil })
    }
  }

  /// Whichever worker has the next piece: one that has not had those before catches up.
  @Test func anotherWorkerGoesOn() async throws {
    let file = try ProgressivePictures.jpeg()
    let workers = IsolationFixture.workers { $0.picturesPerWorker = 1 }
    let here = Self.previews(file, Self.makerHere())
    let there = await onThread { Self.previews(file, Self.makerThere(workers)) }
    // One that catches up shows again what the one before it has shown.
    let last = here.compactMap { $0 }.last
    #expect(there.last == last && last != nil)
  }

  @Test(arguments: ["baseline.jpg", "rgb.png", "lossy.webp"])
  func picturesThatComeInOneGoHaveNone(name: String) async throws {
    let file = Array(try DecodingFixtures.data(name))
    let isHopeless = await onThread {
      let maker = Self.makerThere(IsolationFixture.workers())
      _ = Self.previews(file, maker)
      return maker.isHopeless
    }
    #expect(isHopeless)
  }

  /// A worker that dies over a preview costs the previews, and nothing else.
  @Test func aDeathCostsThePreviews() async throws {
    let workers = IsolationFixture.fakeWorkers()
    // What the worker takes for an order that it does not know, and leaves.
    let file = [0xFF, 0xD8] + [UInt8](repeating: 0x41, count: 2000)
    let isHopeless = await onThread {
      let maker = Self.makerThere(workers)
      return Self.previews(file, maker).allSatisfy { $0 == nil } && maker.isHopeless
    }
    #expect(isHopeless)
    let decoder = IsolatedImageDecoder(.required, workers: workers)
    #expect(await onThread { decoder.result("red").value != nil })
  }

  /// Without a worker, and where that is allowed, they are made here.
  @Test func whenAvailableFallsBack() async throws {
    let file = try ProgressivePictures.jpeg()
    let workers = IsolationFixture.workers { $0.program = .path("/nonexistent/calotype-decoder") }
    let there = await onThread {
      Self.previews(
        file,
        IsolatedImageDecoder(.whenAvailable, workers: workers).makePreviewMaker(.init(), CancellationFlag()))
    }
    #expect(there == Self.previews(file, Self.makerHere()))
    let required = await onThread { Self.previews(file, Self.makerThere(workers)) }
    #expect(required.allSatisfy { $0 == nil })
  }

  /// Over the limits there is none, and the worker lives.
  @Test func limitsHold() async throws {
    let file = try ProgressivePictures.jpeg()
    let workers = IsolationFixture.workers()
    let decoder = IsolatedImageDecoder(.required, workers: workers)
    let tooLarge = TargetSize(width: 4000, height: 4000, allowsUpscaling: true)
    for (limits, target) in [
      (ImageDecodingLimits(maximumPixelCount: 1000), nil), (.init(maximumPixelCount: 1 << 20), tooLarge),
    ] {
      let made = await onThread {
        let maker = decoder.makePreviewMaker(limits, CancellationFlag())
        return maker.append(Data(file), targets: [target])?.count
      }
      #expect(made == nil)
      #expect(await onThread { decoder.result(Data(file)).value != nil })
    }
  }

  /// A download that stalls is shown where decoding is isolated too.
  @Test func aStalledDownloadIsShown() async throws {
    let file = try ProgressivePictures.jpeg()
    let end = ProgressivePictures.scanEnds(file)[1]
    let gate = TestSupport.Gate()
    let fixture = try HTTPFixture { _ in
      Script([
        .head(200, [("Content-Length", "\(file.count)"), ("Content-Type", "image/jpeg")]),
        .body(Array(file[..<end])), .wait(gate), .body(Array(file[end...])),
      ])
    }
    let pipeline = fixture.pipeline {
      $0.isolation = .required
      $0.decodingWorkers = IsolationFixture.workers()
    }
    let target = TargetSize(width: 200, height: 200)
    let task = pipeline.task(for: ImageRequest(url: fixture.url("/a.jpg"), targetSize: target))
    var previews: [ImageResponse] = []
    for await event in task.events {
      guard case .preview(let response) = event else { continue }
      previews.append(response)
      gate.open()
    }
    #expect(previews.first?.container.isPreview == true)
    #expect(previews.first?.image.size == PixelSize(width: 200, height: 150))
    #expect(previews.first?.container.originalSize == PixelSize(width: 400, height: 300))
    #expect(try await task.response.image == (try DecodingFixtures.decode(Data(file), target: target).bitmap))
  }
}
