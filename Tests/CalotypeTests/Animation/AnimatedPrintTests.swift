import Foundation
import TestSupport
import Testing

@testable import Calotype

/// Animations through the pipeline and its caches.
@Suite struct AnimatedPrintTests {
  private func animatedGIF(frames: Int = 7) -> [UInt8] {
    var gif = MadeGIF(width: 64, height: 48, loops: 0)
    for frame in 0..<frames { gif.add(color: UInt8(frame % 4), delay: 5) }
    return Array(gif.file)
  }

  private func frameCount(_ animation: ImageAnimation) async throws -> Int {
    let source = ImageFrameSource(animation)
    var count = 0
    while count == 0 || count < animation.frameCount {
      let frame = try #require(try await source.nextFrame())
      #expect(frame.index == count)
      count += 1
    }
    return count
  }

  /// P6: after a restart it still has all its frames, whatever the disk cache is to keep.
  @Test(arguments: ImagePipeline.Configuration.DiskStoragePolicy.allCases)
  func anAnimationSurvivesTheDiskCache(policy: ImagePipeline.Configuration.DiskStoragePolicy) async throws {
    let body = animatedGIF()
    let fixture = try HTTPFixture { _ in
      .ok(body, type: "image/gif", headers: [("Cache-Control", "max-age=600")])
    }
    let request = ImageRequest(
      url: fixture.url("/a.gif"), targetSize: TargetSize(width: 16, height: 16), processors: [.circle])
    for round in 0..<3 {
      let pipeline = fixture.pipeline { $0.diskStorage = policy }
      let response = try await pipeline.task(for: request).response
      #expect(response.source == (round == 0 ? .network : .disk))
      #expect(response.image.size == PixelSize(width: 12, height: 12))
      let animation = try #require(response.container.animation)
      #expect(try await frameCount(animation) == 7)
      let source = ImageFrameSource(animation)
      let frame = try #require(try await source.nextFrame())
      #expect(frame.bitmap == response.image)
      await pipeline.flush()
      fixture.cache().flush()
    }
    #expect(fixture.server.requests.count == 1)
  }

  @Test func aStillRequestGetsTheFirstFrameAlone() async throws {
    let body = animatedGIF()
    let fixture = try HTTPFixture { _ in
      .ok(body, type: "image/gif", headers: [("Cache-Control", "max-age=600")])
    }
    let pipeline = fixture.pipeline(memory: true) { $0.diskStorage = .all }
    let target = TargetSize(width: 16, height: 16)
    let still = ImageRequest(url: fixture.url("/a.gif"), targetSize: target, isStill: true)
    let moving = ImageRequest(url: fixture.url("/a.gif"), targetSize: target)
    let stillResponse = try await pipeline.task(for: still).response
    #expect(stillResponse.container.animation == nil)
    #expect(stillResponse.container.frameCount == 7)
    #expect(try await pipeline.task(for: moving).response.container.animation != nil)
    // From memory each is what it was.
    #expect(pipeline.cachedImage(for: still)?.animation == nil)
    #expect(pipeline.cachedImage(for: moving)?.animation?.frameCount == 7)
    await pipeline.flush()
    fixture.cache().flush()
    // And after a restart, where the still one is a stored print.
    let second = fixture.pipeline { $0.diskStorage = .all }
    #expect(try await second.task(for: still).response.container.animation == nil)
    #expect(try await second.task(for: moving).response.container.animation?.frameCount == 7)
    #expect(fixture.server.requests.count == 1)
  }

  /// A stored print is one frame: where another run has kept one under the same key, it is not taken for the whole.
  @Test func aStoredFrameIsNotTakenForTheAnimation() async throws {
    let body = animatedGIF()
    let fixture = try HTTPFixture { _ in
      .ok(body, type: "image/gif", headers: [("Cache-Control", "max-age=600")])
    }
    let request = ImageRequest(url: fixture.url("/a.gif"), targetSize: TargetSize(width: 4, height: 4))
    let size = PixelSize(width: 4, height: 3)
    let now = Date().timeIntervalSince1970
    let metadata = DataCacheMetadata(
      kind: .rawPrint, url: request.url.absoluteString, headers: ["Cache-Control": "max-age=600"],
      requestTime: now, responseTime: now,
      print: .init(
        size: size, isOpaque: true, format: .gif, originalSize: PixelSize(width: 64, height: 48),
        frameCount: 7))
    let cache = fixture.cache()
    cache.store(
      DataCacheEntry(metadata: metadata, body: Data(repeating: 255, count: 48)), for: request.cacheKey.text)
    cache.flush()
    let response = try await fixture.pipeline().task(for: request).response
    #expect(response.source == .network)
    #expect(response.container.animation?.frameCount == 7)
  }

  /// A smaller print that is made of a larger one plays as well, at its own size.
  @Test func aPrintMadeOfALargerOneIsAnimatedToo() async throws {
    let body = animatedGIF()
    let fixture = try HTTPFixture { _ in
      .ok(body, type: "image/gif", headers: [("Cache-Control", "max-age=600")])
    }
    let pipeline = fixture.pipeline(memory: true)
    func request(_ side: Double, isStill: Bool = false) -> ImageRequest {
      ImageRequest(
        url: fixture.url("/a.gif"), targetSize: TargetSize(width: side, height: side), isStill: isStill)
    }
    _ = try await pipeline.task(for: request(40, isStill: true)).response
    for side in [16.0, 8] {
      let container = try await pipeline.task(for: request(side)).response.container
      #expect(container.frameCount == 7)
      let animation = try #require(container.animation)
      let frame = try #require(try await ImageFrameSource(animation).nextFrame())
      #expect(frame.bitmap.size == PixelSize(width: Int(side), height: Int(side * 3 / 4)))
    }
    #expect(try await pipeline.task(for: request(4, isStill: true)).response.container.animation == nil)
    #expect(fixture.server.requests.count == 1)
  }

  /// What a cache counts has the file in it, since the file stays in memory.
  @Test func theCostHasTheFileInIt() throws {
    let data = Data(animatedGIF())
    let request = ImageRequest(url: url("/a.gif"))
    let container = try ImageDecoder().decode(
      data, for: request, limits: .init(), cancellation: CancellationFlag())
    #expect(container.cost == 64 * 48 * 4 + data.count)
  }

  @Test func aDecodeOperationTellsOfTheAnimation() throws {
    let operation = DecodeOperation(data: Data(animatedGIF()), request: ImageRequest(url: url("/a.gif")))
    operation.start()
    #expect(try operation.result?.get().animation?.frameCount == 7)
  }
}
