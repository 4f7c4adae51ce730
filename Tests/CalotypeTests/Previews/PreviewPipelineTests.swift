import Foundation
import TestSupport
import Testing

@testable import Calotype

/// Previews on their way from a server to who looks at them.
@Suite struct PreviewPipelineTests {
  /// Sends a file up to some places, at each of which it waits for a gate, and then whole.
  private static func halting(_ file: [UInt8], at stops: [(Int, TestSupport.Gate)]) -> Script {
    var steps: [Step] = [
      .head(
        200,
        [
          ("Content-Length", "\(file.count)"), ("Content-Type", "image/jpeg"), ("ETag", "\"1\""),
          ("Cache-Control", "max-age=600"),
        ])
    ]
    var at = 0
    for (stop, gate) in stops {
      steps += [.body(Array(file[at..<stop])), .wait(gate)]
      at = stop
    }
    return Script(steps + [.body(Array(file[at...]))])
  }

  private static func whole(_ file: [UInt8]) -> Script {
    .ok(file, type: "image/jpeg", headers: [("ETag", "\"1\""), ("Cache-Control", "max-age=600")])
  }

  /// P7: it stalls after its second scan, and is cancelled.
  @Test func aStalledDownloadIsShownAndLeavesNothingThatCountsAsWhole() async throws {
    let file = try ProgressivePictures.jpeg()
    let ends = ProgressivePictures.scanEnds(file)
    let never = TestSupport.Gate()
    let fixture = try HTTPFixture { request in
      request.index == 0 ? Self.halting(file, at: [(ends[1], never)]) : Self.whole(file)
    }
    let pipeline = fixture.pipeline(memory: true) { $0.diskStorage = .all }
    let request = ImageRequest(url: fixture.url("/a.jpg"), targetSize: TargetSize(width: 200, height: 200))
    let task = pipeline.task(for: request)
    var previews: [ImageResponse] = []
    for await event in task.events {
      guard case .preview(let response) = event else { continue }
      previews.append(response)
      task.cancel()
    }
    #expect(previews.count == 1)
    #expect(previews.first?.image.size == PixelSize(width: 200, height: 150))
    #expect(previews.first?.container.isPreview == true)
    #expect(previews.first?.container.originalSize == PixelSize(width: 400, height: 300))
    #expect(await task.outcome.errorCode == "cancelled")
    await pipeline.flush()
    #expect(pipeline.cachedImage(for: request) == nil)
    let cache = fixture.cache()
    #expect(cache.entry(for: request.cacheKey.address) == nil)
    #expect(cache.entry(for: request.cacheKey.text) == nil)
    let response = try await pipeline.task(for: request).response
    #expect(!response.container.isPreview)
    #expect(
      response.image
        == (try DecodingFixtures.decode(Data(file), target: TargetSize(width: 200, height: 200)).bitmap))
    never.open()
  }

  /// Who begins to look when all that comes for now is here already is shown it.
  @Test func whoLooksLateIsShownWhatIsThere() async throws {
    let file = try ProgressivePictures.jpeg(width: 96, height: 64)
    let end = ProgressivePictures.scanEnds(file)[3]
    let gate = TestSupport.Gate()
    let fixture = try HTTPFixture { _ in Self.halting(file, at: [(end, gate)]) }
    let task = fixture.pipeline().task(for: fixture.request("/a"))
    for await progress in task.progress where progress.completed == end { break }
    var count = 0
    for await event in task.events {
      guard case .preview = event else { continue }
      count += 1
      gate.open()
    }
    #expect(count >= 1)
    _ = try await task.response
  }

  @Test func aDownloadThatIsGoneOnWithIsShownToo() async throws {
    let file = try ProgressivePictures.jpeg(width: 1600, height: 1200)
    let ends = ProgressivePictures.scanEnds(file)
    try #require(ends[5] > CachedExchange.smallestPartWorthKeeping)
    let never = TestSupport.Gate()
    let fixture = try HTTPFixture { request in
      request.index == 0
        ? .resumable(file, tag: "\"1\"", to: request, sending: ends[5], then: [.close])
        : .resumable(
          file, tag: "\"1\"", to: request, sending: ends[7] - ends[5], then: [.wait(never), .close])
    }
    let first = fixture.pipeline()
    #expect(await first.task(for: fixture.request("/a")).outcome.errorCode == "connection_lost")
    await first.flush()
    try #require(fixture.part("/a") != nil)
    let task = fixture.pipeline { $0.previews = .on }.task(for: fixture.request("/a"))
    var shown: Bitmap?
    for await event in task.events {
      guard case .preview(let response) = event else { continue }
      shown = response.image
      task.cancel()
    }
    #expect(fixture.server.requests[1].header("Range") != nil)
    let whole = try DecodingFixtures.decode(Data(file)).bitmap
    #expect(PixelDifference.meanAbsoluteError(try #require(shown), whole) < 8)
    never.open()
  }

  @Test func previewsAreProcessedAsThePrintIs() async throws {
    let file = try ProgressivePictures.jpeg()
    let gate = TestSupport.Gate()
    let end = ProgressivePictures.scanEnds(file)[3]
    let fixture = try HTTPFixture { _ in Self.halting(file, at: [(end, gate)]) }
    let task = fixture.pipeline().task(
      for: ImageRequest(
        url: fixture.url("/a"), targetSize: TargetSize(width: 200, height: 200, mode: .fill),
        processors: [.circle]))
    var count = 0
    for await event in task.events {
      guard case .preview(let response) = event else { continue }
      count += 1
      #expect(response.image.size == PixelSize(width: 200, height: 200))
      #expect(response.image[0, 0].alpha == 0 && response.image[100, 100].alpha == 255)
      gate.open()
    }
    #expect(count >= 1)
    #expect(try await task.response.container.isPreview == false)
  }

  @Test func noneWhereTheyAreOffOrThePrintIsSmallOrNobodyLooks() async throws {
    let file = try ProgressivePictures.jpeg(width: 96, height: 64)
    let end = ProgressivePictures.scanEnds(file)[2]
    let small = TargetSize(width: 64, height: 64)
    for (policy, own, size, expected) in [
      (PreviewPolicy.off, PreviewPolicy?.none, TargetSize?.none, false), (.on, .off, nil, false),
      (.automatic, nil, small, false), (.automatic, .on, small, true),
      (.off, .atMost(perSecond: 9), nil, true),
      (.atMost(perSecond: 0), nil, nil, false), (.automatic, nil, nil, true),
    ] {
      // Where one is expected the rest waits for it.
      let gate = TestSupport.Gate()
      let fixture = try HTTPFixture { _ in
        expected
          ? Self.halting(file, at: [(end, gate)])
          : [
            .head(200, [("Content-Length", "\(file.count)")]), .body(Array(file[..<end])),
            .pause(milliseconds: 150), .body(Array(file[end...])),
          ]
      }
      var request = ImageRequest(url: fixture.url("/a"), targetSize: size)
      request.previews = own
      let task = fixture.pipeline { $0.previews = policy }.task(for: request)
      var hasPreview = false
      for await event in task.events {
        guard case .preview = event else { continue }
        hasPreview = true
        gate.open()
      }
      #expect(hasPreview == expected, "\(policy) \(String(describing: own))")
      _ = try await task.response
    }
  }

  @Test func notWithoutAListener() async throws {
    let file = try ProgressivePictures.jpeg()
    let processed = Lock(0)
    let counter = TestProcessor(identifier: "count") { image, _ in
      processed.withLock { $0 += 1 }
      return image
    }
    let end = ProgressivePictures.scanEnds(file)[3]
    let fixture = try HTTPFixture { _ in
      [
        .head(200, [("Content-Length", "\(file.count)")]), .body(Array(file[..<end])),
        .pause(milliseconds: 150), .body(Array(file[end...])),
      ]
    }
    let pipeline = fixture.pipeline { $0.previews = .on }
    let task = pipeline.task(for: ImageRequest(url: fixture.url("/a"), processors: [counter]))
    for await _ in task.progress {}
    _ = try await task.response
    #expect(processed.withLock { $0 } == 1)
  }

  /// The wish for one in a thousand seconds is met by one; without a limit there are more.
  @Test func noMoreThanAreWished() async throws {
    let file = try ProgressivePictures.jpeg(width: 96, height: 64)
    let ends = ProgressivePictures.scanEnds(file)
    let fixture = try HTTPFixture { _ in
      var steps: [Step] = [.head(200, [("Content-Length", "\(file.count)")])]
      var at = 0
      for end in ends {
        steps += [.body(Array(file[at..<end])), .pause(milliseconds: 60)]
        at = end
      }
      return Script(steps + [.body(Array(file[at...]))])
    }
    for (policy, expected) in [(PreviewPolicy.atMost(perSecond: 0.001), 1...1), (.on, 2...10)] {
      var request = fixture.request("/a")
      request.previews = policy
      let task = fixture.pipeline { $0.diskCache = nil }.task(for: request)
      var count = 0
      for await event in task.events { if case .preview = event { count += 1 } }
      #expect(expected.contains(count), "\(count) previews for \(policy)")
      #expect(try await task.response.container.isPreview == false)
    }
  }

  /// While a preview is made, the rest comes; what is shown next is the newest, and not what lies between.
  @Test func whatComesMeanwhileIsSkipped() async throws {
    let file = try ProgressivePictures.jpeg()
    let ends = ProgressivePictures.scanEnds(file)
    let sendMore = TestSupport.Gate(), finish = TestSupport.Gate(), hold = Gate()
    let calls = Lock(0)
    let holder = TestProcessor(identifier: "hold") { image, _ in
      let call = calls.withLock { calls -> Int in
        calls += 1
        return calls
      }
      if call == 1 {
        sendMore.open()
        hold.wait()
      }
      return image
    }
    let fixture = try HTTPFixture { _ in
      Self.halting(file, at: [(ends[0], sendMore), (ends[6], finish)])
    }
    var request = ImageRequest(url: fixture.url("/a"), processors: [holder])
    request.previews = .on
    let task = fixture.pipeline().task(for: request)
    var previews = 0
    var isHeld = true
    for await event in task.events {
      switch event {
      case .progress(let progress):
        if isHeld, progress.completed == ends[6] {
          isHeld = false
          hold.open()
        }
      case .preview:
        previews += 1
        if previews == 2 { finish.open() }
      default: break
      }
    }
    #expect(previews == 2)
    // Two previews and the print.
    #expect(calls.withLock { $0 } == 3)
  }

  /// The picture of an error page is not the picture.
  @Test func nothingOfAnErrorPageIsShown() async throws {
    let file = try ProgressivePictures.jpeg()
    let end = ProgressivePictures.scanEnds(file)[3]
    let fixture = try HTTPFixture { _ in
      [
        .head(404, [("Content-Length", "\(file.count)")]), .body(Array(file[..<end])),
        .pause(milliseconds: 150), .body(Array(file[end...])),
      ]
    }
    let task = fixture.pipeline { $0.previews = .on }.task(for: fixture.request("/a"))
    for await event in task.events { if case .preview = event { Issue.record("a preview of a 404") } }
    #expect(await task.outcome.errorCode == "http_404")
  }

  /// Two prints of one address, in two sizes, are shown from one reading.
  @Test func everyPrintOfTheAddressIsShown() async throws {
    let file = try ProgressivePictures.jpeg()
    let gate = TestSupport.Gate()
    let end = ProgressivePictures.scanEnds(file)[3]
    let fixture = try HTTPFixture { _ in Self.halting(file, at: [(end, gate)]) }
    let pipeline = fixture.pipeline { $0.previews = .on }
    let sizes = Lock<Set<Int>>([])
    let tasks = [100.0, 200].map { side in
      pipeline.task(
        for: ImageRequest(url: fixture.url("/a"), targetSize: TargetSize(width: side, height: side)))
    }
    for task in tasks {
      task.observe { event in
        guard case .preview(let response) = event else { return }
        let isComplete = sizes.withLock { sizes -> Bool in
          sizes.insert(response.image.width)
          return sizes.count == 2
        }
        if isComplete { gate.open() }
      }
    }
    for task in tasks { _ = try await task.response }
    #expect(sizes.withLock { $0 } == [100, 200])
    #expect(fixture.server.requests.count == 1)
  }
}
