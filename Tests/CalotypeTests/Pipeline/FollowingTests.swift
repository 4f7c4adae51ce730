import Foundation
import TestSupport
import Testing

@testable import Calotype

/// What asking the server behind a stale answer brings, and who is told of it.
@Suite struct FollowingTests {
  private static func name(_ event: ImageTask.Event) -> String {
    switch event {
    case .progress: "progress"
    case .preview: "preview"
    case .finished: "finished"
    case .refreshed: "refreshed"
    }
  }

  private func response(_ red: UInt8, isStale: Bool) throws -> ImageResponse {
    let container = try StubDecoder().decode(Data([red]), options: .init(), cancellation: CancellationFlag())
    return ImageResponse(container: container, source: isStale ? .disk : .network, isStale: isStale)
  }

  /// A pipeline with a stale picture on disk, whose red is 1.
  private func fixture(
    decoder: StubDecoder = StubDecoder(), storage: ImageRequest.StorageOptions = .all
  ) async throws -> PipelineFixture {
    let fixture = PipelineFixture(
      decoder: decoder, disk: true,
      configure: {
        $0.freshness = .staleWhileRevalidate
        $0.decodingWidth = 4
      }
    ) { _ in .hold }
    var wanted = request("/a")
    wanted.storage = storage
    let first = fixture.pipeline.task(for: wanted)
    await fixture.transport.waitForRequests(1)
    fixture.transport.release(
      with: .respond(headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""], body: Data([1])))
    _ = try await first.response
    await fixture.pipeline.flush()
    fixture.memory.removeAll()
    return fixture
  }

  @Test func whatFollowsComesBehindTheEndForEveryone() async throws {
    let (answer, refreshed) = (try response(1, isStale: true), try response(2, isStale: false))
    let task = ImageTask(request: Box(request("/a")), pipeline: nil, startTime: 0)
    let events = Recorder<String>()
    task.observe { event in
      // The server answers in the worst moment: while the end is being told.
      if case .finished = event { task.follow(with: refreshed) }
      events.record("1 \(Self.name(event))")
    }
    task.observe { event in events.record("2 \(Self.name(event))") }
    let stream = task.events
    #expect(task.finish(.success(answer), isFollowed: true))
    #expect(events.all == ["1 finished", "2 finished", "1 refreshed", "2 refreshed"])
    var names: [String] = []
    for await event in stream { names.append(Self.name(event)) }
    #expect(names == ["finished", "refreshed"])
  }

  @Test func whoComesLateHearsOfTheEndFirst() async throws {
    let (answer, refreshed) = (try response(1, isStale: true), try response(2, isStale: false))
    let task = ImageTask(request: Box(request("/a")), pipeline: nil, startTime: 0)
    #expect(task.finish(.success(answer), isFollowed: true))
    let events = Recorder<String>()
    let stream = task.events
    task.observe { event in
      if case .finished = event { task.follow(with: refreshed) }
      events.record(Self.name(event))
    }
    #expect(events.all == ["finished", "refreshed"])
    var names: [String] = []
    for await event in stream { names.append(Self.name(event)) }
    #expect(names == ["finished", "refreshed"])
    task.observe { event in events.record("late \(Self.name(event))") }
    #expect(events.all.last == "late finished")
  }

  /// Two prints of one stale original, of which the first holds back the question to the server until it is made,
  /// and the second is still being made when the server has answered.
  private struct TwoPrints {
    let fixture: PipelineFixture
    let tasks: [ImageTask]
    let streams: [AsyncStream<ImageTask.Event>]
    /// Lets the second be made.
    let gate: Gate
  }

  private func twoPrints() async throws -> TwoPrints {
    let fixture = try await fixture()
    let gates = [Gate(), Gate()], begun = Lock<Set<Int>>([])
    var tasks: [ImageTask] = []
    for (index, side) in [20.0, 30].enumerated() {
      let gate = gates[index]
      let processor = TestProcessor(identifier: "held \(index)") { image, _ in
        begun.withLock { _ = $0.insert(index) }
        gate.wait()
        return image
      }
      tasks.append(
        fixture.pipeline.task(
          for: ImageRequest(
            url: url("/a"), targetSize: TargetSize(width: side, height: side), processors: [processor])))
      try await waitUntil("print \(index)") { begun.withLock { $0.contains(index) } }
    }
    let streams = tasks.map(\.events)
    gates[0].open()
    await fixture.transport.waitForRequests(2)
    return TwoPrints(fixture: fixture, tasks: tasks, streams: streams, gate: gates[1])
  }

  /// The names of what a stream tells, but for what may come or not.
  private static func names(_ stream: AsyncStream<ImageTask.Event>) async -> [String] {
    var names: [String] = []
    for await event in stream {
      if case .refreshed(let response) = event { #expect(response.image[0, 0].red == 2) }
      names.append(name(event))
    }
    return names.filter { $0 != "preview" && $0 != "progress" }
  }

  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func aPrintThatIsSlowerThanTheServerIsToldToo(hasChanged: Bool) async throws {
    let prints = try await twoPrints()
    prints.fixture.transport.release(
      with: hasChanged
        ? .respond(headers: ["Cache-Control": "max-age=60"], body: Data([2]))
        : .respond(status: 304, headers: ["ETag": "\"1\""], body: Data()))
    let expected = hasChanged ? ["finished", "refreshed"] : ["finished"]
    // The first has been told of everything; the other goes on only then.
    #expect(await Self.names(prints.streams[0]) == expected)
    prints.gate.open()
    #expect(await Self.names(prints.streams[1]) == expected)
    await prints.fixture.pipeline.flush()
    #expect(prints.fixture.transport.requests.count == 2)
  }

  @Test(.timeLimit(.minutes(1))) func aPrintThatIsSlowerThanTheServersFailureIsLetGo() async throws {
    let prints = try await twoPrints()
    prints.fixture.transport.release(with: .fail(.connectionFailed))
    try await waitUntil("the failure") {
      prints.fixture.pipeline.core.withLock { core in core.originals.allSatisfy { !$0.isRevalidating } }
    }
    prints.gate.open()
    for stream in prints.streams { #expect(await Self.names(stream) == ["finished"]) }
    for task in prints.tasks { #expect(try await task.response.isStale) }
  }

  @Test func whatIsToBeOnDiskAloneIsNotPutIntoMemory() async throws {
    let fixture = try await fixture(storage: .disk)
    var wanted = request("/a")
    wanted.storage = .disk
    let events = fixture.pipeline.task(for: wanted).events
    await fixture.transport.waitForRequests(2)
    fixture.transport.release(with: .respond(headers: ["Cache-Control": "max-age=60"], body: Data([2])))
    var last: ImageTask.Event?
    for await event in events { last = event }
    #expect(last.map(Self.name) == "refreshed")
    await fixture.pipeline.flush()
    #expect(fixture.memory.count == 0)
    #expect(fixture.disk.entry(for: wanted.cacheKey.address)?.body == Data([2]))
  }

  /// In a hotel every address answers with a page to log in; it is not to be kept as the picture.
  @Test(arguments: [false, true], [false, true])
  func onlyAPictureTakesAPicturesPlace(isPicture: Bool, asBytes: Bool) async throws {
    let picture = try ServedPicture.png()
    let other = isPicture ? try ServedPicture.png(red: 3) : Array("<html>Log in</html>".utf8)
    let fixture = try HTTPFixture { request in
      guard request.header("If-None-Match") != nil else {
        return .ok(
          picture, type: "image/png", headers: [("ETag", "\"1\""), ("Cache-Control", "max-age=0")])
      }
      return .ok(other, type: "text/html", headers: [("Cache-Control", "max-age=600")])
    }
    let wanted = fixture.request("/a")
    let first = fixture.pipeline()
    _ = try await first.image(for: wanted)
    await first.flush()
    let second = fixture.pipeline { $0.freshness = .staleWhileRevalidate }
    if asBytes {
      #expect(try await second.data(for: wanted).data == Data(picture))
    } else {
      var count = 0
      for await event in second.task(for: wanted).events {
        count += 1
        if case .refreshed(let response) = event { #expect(response.image[0, 0].red == 3) }
      }
      #expect(count == (isPicture ? 2 : 1))
    }
    try await fixture.server.waitForRequests(2)
    await second.flush()
    #expect(fixture.cache().entry(for: wanted.cacheKey.address)?.body == Data(isPicture ? other : picture))
  }

  @Test func aPrintWithoutItsOriginalIsShownAtOnceToo() async throws {
    let fixture = PipelineFixture(
      memory: false, disk: true,
      configure: {
        $0.freshness = .staleWhileRevalidate
        $0.diskStorage = .prints
      }
    ) { _ in .hold }
    let wanted = ImageRequest(url: url("/a"), targetSize: TargetSize(width: 9, height: 9))
    let first = fixture.pipeline.task(for: wanted)
    await fixture.transport.waitForRequests(1)
    fixture.transport.release(
      with: .respond(headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""], body: Data([1])))
    _ = try await first.response
    await fixture.pipeline.flush()
    #expect(fixture.disk.keys == [wanted.cacheKey.text])
    let answers: [(StubTransport.Answer, [String])] = [
      (.fail(.connectionFailed), ["finished"]), (.respond(body: Data()), ["finished"]),
      (.respond(headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""], body: Data([1])), ["finished"]),
      (.respond(headers: ["Cache-Control": "max-age=60"], body: Data([2])), ["finished", "refreshed"]),
    ]
    for (index, (answer, expected)) in answers.enumerated() {
      let task = fixture.pipeline.task(for: wanted)
      let events = task.events
      let response = try await task.response
      #expect(response.isStale && response.source == .disk && response.image[0, 0].red == 1)
      await fixture.transport.waitForRequests(index + 2)
      fixture.transport.release(with: answer)
      var names: [String] = []
      for await event in events { names.append(Self.name(event)) }
      #expect(names == expected)
      await fixture.pipeline.flush()
    }
    let last = try await fixture.pipeline.task(for: wanted).response
    #expect(!last.isStale && last.image[0, 0].red == 2)
    #expect(fixture.transport.requests.count == answers.count + 1)
  }
}
