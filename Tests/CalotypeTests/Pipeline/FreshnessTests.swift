import Foundation
import TestSupport
import Testing

@testable import Calotype

/// HTTP's caching as a user of the pipeline sees it.
@Suite struct FreshnessTests {
  @Test func aStalePictureIsConfirmedEachTime() async throws {
    let fixture = PipelineFixture(disk: true) { request in
      let headers: HTTPHeaders = ["Cache-Control": "max-age=0", "ETag": "\"1\""]
      return request.headers["If-None-Match"] == "\"1\""
        ? .respond(status: 304, headers: headers, body: Data()) : .respond(headers: headers, body: Data([5]))
    }
    var sources: [ImageResponse.Source] = []
    for _ in 0..<3 {
      let response = try await fixture.pipeline.task(for: request("/a")).response
      sources.append(response.source)
      #expect(response.image[0, 0].red == 5)
      await fixture.pipeline.flush()
    }
    #expect(sources == [.network, .revalidated, .revalidated])
    #expect(fixture.transport.requests.count == 3)
    #expect(fixture.pipeline.cachedImage(for: request("/a")) == nil)
  }

  /// The server may have confirmed a stale picture before the thread that delivers it has told of it.
  @Test(arguments: [false, true])
  func whatIsAskedBehindAnAnswerMayBeThereBeforeIt(hasChanged: Bool) async throws {
    let container = ImageContainer(
      bitmap: try Bitmap(size: PixelSize(width: 1, height: 1), isOpaque: true) { _ in })
    let answer = ImageResponse(container: container, source: .disk, isStale: true)
    let task = ImageTask(request: Box(request("/a")), pipeline: nil, startTime: 0)
    let ends = Recorder<Bool>(), events = Recorder<String>()
    task.whenFinished { _ in ends.record(true) }
    task.observe { event in
      switch event {
      case .finished: events.record("finished")
      case .refreshed: events.record("refreshed")
      default: break
      }
    }
    let stream = task.events
    task.follow(with: hasChanged ? ImageResponse(container: container, source: .network) : nil)
    #expect(ends.all.isEmpty)
    #expect(task.finish(.success(answer), isFollowed: true))
    #expect(ends.all == [true])
    #expect(events.all == (hasChanged ? ["finished", "refreshed"] : ["finished"]))
    #expect(await task.outcome.errorCode == nil)
    var count = 0
    for await _ in stream { count += 1 }
    #expect(count == (hasChanged ? 2 : 1))
  }

  @Test func twentyTasksOnOneStaleEntryAskOnce() async throws {
    let fixture = PipelineFixture(disk: true) { _ in .hold }
    let headers: HTTPHeaders = ["Cache-Control": "max-age=0", "ETag": "\"1\""]
    let first = fixture.pipeline.task(for: request("/a"))
    await fixture.transport.waitForRequests(1)
    fixture.transport.release(with: .respond(headers: headers, body: Data([5])))
    #expect(await first.outcome.errorCode == nil)
    await fixture.pipeline.flush()
    let tasks = (0..<20).map { _ in fixture.pipeline.task(for: request("/a")) }
    await fixture.transport.waitForRequests(2)
    fixture.transport.release(with: .respond(status: 304, headers: headers, body: Data()))
    for task in tasks { #expect(try await task.response.source == .revalidated) }
    #expect(fixture.transport.requests.count == 2)
  }

  @Test func immutableAddressesAreNeverAskedAbout() async throws {
    let fixture = PipelineFixture(memory: false, disk: true, configure: { $0.freshness = .immutable }) { _ in
      .respond(headers: ["Cache-Control": "max-age=0"], body: Data([5]))
    }
    for _ in 0..<3 {
      _ = try await fixture.pipeline.image(for: request("/a"))
      await fixture.pipeline.flush()
    }
    #expect(fixture.transport.requests.count == 1)
  }

  @Test func staleWhileRevalidateShowsBoth() async throws {
    let fixture = PipelineFixture(disk: true, configure: { $0.freshness = .staleWhileRevalidate }) { _ in
      .hold
    }
    let headers: HTTPHeaders = ["Cache-Control": "max-age=0", "ETag": "\"1\""]
    let first = fixture.pipeline.task(for: request("/a"))
    await fixture.transport.waitForRequests(1)
    fixture.transport.release(with: .respond(headers: headers, body: Data([1])))
    #expect(await first.outcome.errorCode == nil)
    await fixture.pipeline.flush()
    #expect(fixture.pipeline.cachedImage(for: request("/a"))?.bitmap[0, 0].red == 1)
    // Twenty rows show it at once; one request is made behind them.
    let tasks = (0..<20).map { _ in fixture.pipeline.task(for: request("/a")) }
    let streams = tasks.map(\.events)
    for task in tasks {
      let response = try await task.response
      #expect(response.isStale)
      #expect(response.source == .disk)
      #expect(response.image[0, 0].red == 1)
    }
    await fixture.transport.waitForRequests(2)
    fixture.transport.release(with: .respond(headers: ["Cache-Control": "max-age=60"], body: Data([2])))
    for stream in streams {
      var refreshed: ImageResponse?
      for await case .refreshed(let response) in stream { refreshed = response }
      #expect(refreshed?.image[0, 0].red == 2)
    }
    await fixture.pipeline.flush()
    #expect(fixture.transport.requests.count == 2)
    #expect(fixture.pipeline.cachedImage(for: request("/a"))?.bitmap[0, 0].red == 2)
    #expect(
      try await fixture.pipeline.task(for: request("/a", policy: .onlyIfCached)).response.image[0, 0].red == 2
    )
  }

  @Test func staleWhileRevalidateStandsWhenTheServerIsGone() async throws {
    let fixture = PipelineFixture(disk: true, configure: { $0.freshness = .staleWhileRevalidate }) {
      request in
      .hold
    }
    let first = fixture.pipeline.task(for: request("/a"))
    await fixture.transport.waitForRequests(1)
    fixture.transport.release(with: .respond(headers: ["Cache-Control": "max-age=0"], body: Data([1])))
    #expect(await first.outcome.errorCode == nil)
    await fixture.pipeline.flush()
    let task = fixture.pipeline.task(for: request("/a"))
    let events = task.events
    #expect(try await task.response.isStale)
    await fixture.transport.waitForRequests(2)
    fixture.transport.release(with: .fail(.connectionFailed))
    var count = 0
    for await _ in events { count += 1 }
    #expect(count == 1)
    await fixture.pipeline.flush()
  }

  @Test func aNotFoundIsRememberedAsLongAsItSays() async throws {
    let fixture = PipelineFixture(disk: true) { request in
      .respond(
        status: request.url.path == "/gone" ? 404 : 500, headers: ["Cache-Control": "max-age=60"],
        body: Data([1]))
    }
    for path in ["/gone", "/gone", "/broken"] {
      let code = await fixture.pipeline.task(for: request(path)).outcome.errorCode
      #expect(code == (path == "/gone" ? "http_404" : "http_500"))
      await fixture.pipeline.flush()
    }
    #expect(fixture.transport.paths == ["/gone", "/broken"])
  }

  @Test func aStoredPrintIsConfirmedWithItsOriginal() async throws {
    let decoder = StubDecoder()
    let fixture = PipelineFixture(
      decoder: decoder, memory: false, disk: true,
      configure: {
        $0.diskStorage = .all
        $0.unspecifiedLifetime = 0
      }
    ) { request in
      request.headers["If-None-Match"] == "\"1\""
        ? .respond(status: 304, headers: ["ETag": "\"1\""], body: Data())
        : .respond(headers: ["ETag": "\"1\""], body: Data([5]))
    }
    let request = ImageRequest(url: url("/a"), targetSize: .init(width: 9, height: 9))
    for source in [ImageResponse.Source.network, .revalidated, .revalidated] {
      let response = try await fixture.pipeline.task(for: request).response
      #expect(response.source == source)
      #expect(response.image[0, 0].red == 5)
      await fixture.pipeline.flush()
    }
    #expect(decoder.decodeCount == 1)
  }

  @Test func failuresThatMayPassAreTriedAgain() async throws {
    let answers = Lock([
      StubTransport.Answer.fail(.connectionLost), .respond(status: 503, body: Data()),
      .respond(body: Data([1])),
    ])
    let fixture = PipelineFixture(
      disk: true, configure: { $0.retry = RetryPolicy(maximumTries: 3, baseDelay: 0.001) }
    ) { _ in answers.withLock { $0.removeFirst() } }
    let response = try await fixture.pipeline.task(for: request("/a")).response
    #expect(response.metrics.tries == 3)
    #expect(fixture.transport.requests.count == 3)
  }

  @Test func aDeadHostIsNotHammered() async throws {
    let fixture = PipelineFixture(configure: { $0.retry = RetryPolicy(maximumTries: 3, baseDelay: 0.0001) }) {
      _ in
      .fail(.connectionFailed)
    }
    for index in 0..<100 {
      #expect(await fixture.pipeline.task(for: request("/\(index)")).outcome.errorCode == "connection_failed")
    }
    // A first try each, and a budget of ten more, but for what time gives back.
    #expect(fixture.transport.requests.count < 100 + 20)
  }

  @Test func cancelledWhileWaitingToTryAgain() async throws {
    let fixture = PipelineFixture(configure: {
      $0.retry = RetryPolicy(maximumTries: 3, baseDelay: 3600, maximumDelay: 7200)
    }) {
      _ in .fail(.connectionLost)
    }
    let task = fixture.pipeline.task(for: request("/a"))
    await fixture.transport.waitForRequests(1)
    task.cancel()
    #expect(task.result?.errorCode == "cancelled")
    await fixture.pipeline.flush()
  }
}
