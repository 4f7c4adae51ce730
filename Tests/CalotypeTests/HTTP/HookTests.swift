import Foundation
import TestSupport
import Testing

@testable import Calotype

/// What a pipeline's delegate sees and changes, and what a task's metrics tell.
@Suite struct HookTests {
  private final class Delegate: ImagePipelineDelegate {
    let answer: @Sendable (HTTPRequest, HTTPResponseHead) -> HTTPRequest?
    let events = Lock<[String]>([])

    init(answer: @escaping @Sendable (HTTPRequest, HTTPResponseHead) -> HTTPRequest? = { _, _ in nil }) {
      self.answer = answer
    }

    func imagePipeline(
      _ pipeline: ImagePipeline, willSend request: HTTPRequest, for imageRequest: ImageRequest
    ) async throws -> HTTPRequest {
      var request = request
      request.headers["X-Signed"] = "yes"
      return request
    }

    func imagePipeline(
      _ pipeline: ImagePipeline, request: HTTPRequest, for imageRequest: ImageRequest,
      didReceiveChallenge head: HTTPResponseHead
    ) async -> HTTPRequest? {
      events.withLock { $0.append("challenge") }
      return answer(request, head)
    }

    func imagePipeline(_ pipeline: ImagePipeline, task: ImageTask, didReceive event: ImageTask.Event) {
      if case .finished = event { events.withLock { $0.append("finished") } }
    }

    func imagePipeline(
      _ pipeline: ImagePipeline, for imageRequest: ImageRequest,
      didReceive event: ImagePipeline.DownloadEvent
    ) {
      let name =
        switch event {
        case .sent: "sent"
        case .ended(let head, _): "ended \(head?.status ?? 0)"
        case .willTryAgain: "again"
        case .stored: "stored"
        }
      events.withLock { $0.append(name) }
    }
  }

  @Test func credentialsAreAskedForOnce() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { request in
      request.header("Authorization") == "Basic right"
        ? .ok(picture, type: "image/png")
        : .status(401, headers: [("WWW-Authenticate", "Basic realm=\"pictures\"")])
    }
    let pipeline = fixture.pipeline()
    let right = Delegate { request, head in
      guard head.headers["WWW-Authenticate"]?.hasPrefix("Basic") == true else { return nil }
      var request = request
      request.headers["Authorization"] = "Basic right"
      return request
    }
    pipeline.delegate = right
    let response = try await pipeline.task(for: fixture.request("/a")).response
    #expect(response.metrics.tries == 2)
    #expect(fixture.server.requests.map { $0.header("X-Signed") } == ["yes", "yes"])
    await pipeline.flush()
    #expect(
      right.events.withLock { $0 }
        == ["sent", "ended 401", "challenge", "sent", "ended 200", "finished", "stored"])

    let wrong = Delegate { request, _ in request }
    pipeline.delegate = wrong
    #expect(await pipeline.task(for: fixture.request("/b")).outcome.errorCode == "http_401")
    #expect(wrong.events.withLock { $0 }.count { $0 == "challenge" } == 1)

    let none = Delegate()
    pipeline.delegate = none
    #expect(await pipeline.task(for: fixture.request("/c")).outcome.errorCode == "http_401")
    await pipeline.flush()
  }

  @Test func metricsTellOfEachStage() async throws {
    let picture = try ServedPicture.noise(side: 100, seed: 1)
    let fixture = try HTTPFixture { _ in .ok(picture, type: "image/png") }
    let pipeline = fixture.pipeline()
    let request = ImageRequest(
      url: fixture.url("/a"), targetSize: .init(width: 50, height: 50), processors: [.circle])
    let metrics = try await pipeline.task(for: request).response.metrics
    #expect(metrics.tries == 1)
    #expect(metrics.originalByteCount == picture.count)
    #expect(metrics.wireByteCount > picture.count)
    #expect(metrics.decodedByteCount == 50 * 50 * 4)
    let stages = metrics.stages.map(\.stage)
    for stage in [ImageTaskMetrics.Stage.queue, .connect, .firstByte, .lastByte, .decode, .process] {
      #expect(stages.contains(stage), "\(stage)")
    }
    for (earlier, later) in zip(metrics.stages, metrics.stages.dropFirst()) {
      #expect(earlier.start <= earlier.end)
      #expect(earlier.start <= later.start)
    }
    #expect(metrics.stages.allSatisfy { $0.start >= 0 && $0.end <= metrics.duration })
    await pipeline.flush()
    let stored = try await pipeline.task(for: request).response.metrics
    #expect(stored.tries == 0 && stored.wireByteCount == 0)
  }

  @Test func startsArePacedForEachHost() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { _ in .ok(picture, type: "image/png") }
    let other = try ScriptedServer { _ in .ok(picture, type: "image/png") }
    let pipeline = fixture.pipeline { $0.maximumDownloadsPerSecondPerHost = 20 }
    let tasks = (0..<5).map { pipeline.task(for: fixture.request("/\($0)")) }
    _ = try await pipeline.task(for: ImageRequest(url: other.url("/a"))).response
    for task in tasks { _ = try await task.response }
    // They start 50 ms apart at the least; the first may have been late on its way, the last not.
    let times = fixture.server.requests.map(\.time)
    #expect(times[4] - times[0] > .milliseconds(120))
  }

  @Test func newestFirstWhereThatIsWanted() async throws {
    let picture = try ServedPicture.png()
    let gate = TestSupport.Gate()
    let fixture = try HTTPFixture { request in
      request.path == "/0"
        ? Script.ok(picture, type: "image/png").after(gate) : .ok(picture, type: "image/png")
    }
    let pipeline = fixture.pipeline {
      $0.maximumConcurrentDownloads = 1
      $0.downloadOrder = .newestFirst
    }
    let first = pipeline.task(for: fixture.request("/0"))
    try await fixture.server.waitForRequests(1)
    // Each looks at the disk first; asked for one by one, they wait in the order that they were asked for.
    var tasks = [first]
    for index in 1...4 {
      tasks.append(pipeline.task(for: fixture.request("/\(index)")))
      try await waitUntil("the place in the queue") {
        pipeline.core.withLock { core in core.originals.count { $0.slot != nil } } == index + 1
      }
    }
    gate.open()
    for task in tasks { _ = try await task.response }
    #expect(fixture.server.requests.map(\.path) == ["/0", "/4", "/3", "/2", "/1"])
  }

  @Test func whatIsStoredIsShownWithItsAgeWhereThereIsNoWayToTheServer() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { _ in
      .ok(picture, type: "image/png", headers: [("Cache-Control", "max-age=10")])
    }
    let small = ImageRequest(url: fixture.url("/print"), targetSize: .init(width: 6, height: 6))
    let first = fixture.pipeline { $0.diskStorage = .prints }
    _ = try await first.task(for: small).response
    await first.flush()
    let second = fixture.pipeline()
    _ = try await second.task(for: fixture.request("/a")).response
    await second.flush()
    try fixture.letTimePass(1000, for: "/a")
    let cache = fixture.cache()
    var metadata = try #require(cache.entry(for: small.cacheKey.text)).metadata
    metadata.requestTime -= 1000
    metadata.responseTime -= 1000
    metadata.headers["Date"] = nil
    cache.updateMetadata(metadata, for: small.cacheKey.text)
    fixture.server.stop()
    for request in [fixture.request("/a"), small] {
      let response = try await fixture.pipeline().task(for: request).response
      #expect(response.isStale)
      #expect(response.source == .disk)
      #expect(try #require(response.age) >= 1000)
    }
    #expect(
      await fixture.pipeline().task(for: fixture.request("/b")).outcome.errorCode == "connection_failed")
  }

  @Test func endsThatComeAtOnceAreToldToo() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let delegate = Delegate()
    fixture.pipeline.delegate = delegate
    let invalid = ImageRequest(url: url("/a"), targetSize: .init(width: 0, height: 1))
    #expect(fixture.pipeline.task(for: invalid).result?.errorCode != nil)
    #expect(delegate.events.withLock { $0 } == ["finished"])
    // Its print comes into memory between the look there and the look at the loads.
    let container = try StubDecoder().decode(Data([1]), options: .init(), cancellation: CancellationFlag())
    let box = Box(ImageRequest(url: url("/b")))
    fixture.memory.store(container, for: box.value.cacheKey)
    let task = ImageTask(request: box, pipeline: fixture.pipeline, startTime: 0)
    fixture.pipeline.attach(task, to: box, seen: -1, readsStored: true)
    #expect(task.result?.errorCode == nil)
    #expect(delegate.events.withLock { $0 } == ["finished", "finished"])
  }
}
