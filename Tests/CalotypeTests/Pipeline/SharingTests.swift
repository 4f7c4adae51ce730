import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct SharingTests {
  @Test func aThousandTasksForOneAddressMakeOneRequestAndOneDecode() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let tasks = (0..<1000).map { _ in fixture.pipeline.task(for: request("/a")) }
    await fixture.transport.waitForRequests(1)
    fixture.transport.release(with: .respond(body: Data([7])))
    for task in tasks { #expect(try await task.response.image[0, 0].red == 7) }
    #expect(fixture.transport.requests.count == 1)
    #expect(fixture.decoder.decodeCount == 1)
  }

  @Test func printsOfOneAddressShareItsDownload() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let sizes = [16.0, 32, 48].map { ImageRequest(url: url("/a"), targetSize: .init(width: $0, height: $0)) }
    let tasks = sizes.map { fixture.pipeline.task(for: $0) }
    await fixture.transport.waitForRequests(1)
    fixture.transport.release(with: .respond(body: Data([1])))
    for task in tasks { #expect(await task.outcome.errorCode == nil) }
    #expect(fixture.transport.requests.count == 1)
    #expect(fixture.decoder.decodeCount == 3)
    #expect(fixture.memory.count == 3)
  }

  @Test func whoeverComesWhileAPrintIsMadeDoesNotDownloadAgain() async throws {
    let entered = AsyncStream.makeStream(of: Void.self)
    let gate = Gate()
    let decoder = StubDecoder { _ in
      entered.continuation.yield()
      gate.wait()
    }
    let fixture = PipelineFixture(decoder: decoder) { _ in .respond(body: Data([1])) }
    let first = fixture.pipeline.task(for: request("/a"))
    for await _ in entered.stream { break }
    let second = fixture.pipeline.task(
      for: ImageRequest(url: url("/a"), targetSize: .init(width: 9, height: 9)))
    let bytes = try await fixture.pipeline.data(for: request("/a")).data
    gate.open()
    #expect(await first.outcome.errorCode == nil)
    #expect(await second.outcome.errorCode == nil)
    #expect(bytes == Data([1]))
    #expect(fixture.transport.requests.count == 1)
  }

  @Test func sourcesAreToldApart() async throws {
    let fixture = PipelineFixture(disk: true) { _ in .respond(body: Data([3])) }
    #expect(try await fixture.pipeline.task(for: request("/a")).response.source == .network)
    #expect(try await fixture.pipeline.task(for: request("/a")).response.source == .memory)
    await fixture.pipeline.flush()
    fixture.memory.removeAll()
    #expect(try await fixture.pipeline.task(for: request("/a")).response.source == .disk)
    #expect(fixture.transport.requests.count == 1)
    #expect(fixture.pipeline.cachedImage(for: request("/a"))?.bitmap[0, 0].red == 3)
  }

  @Test func aFailedAddressIsAskedAgain() async throws {
    let fixture = PipelineFixture(disk: true) { _ in .hold }
    let first = fixture.pipeline.task(for: request("/a"))
    await fixture.transport.waitForRequests(1)
    fixture.transport.release(with: .respond(status: 500, body: Data([1])))
    #expect(await first.outcome.errorCode == "http_500")
    let second = fixture.pipeline.task(for: request("/a"))
    await fixture.transport.waitForRequests(2)
    fixture.transport.release(with: .respond(body: Data([1])))
    #expect(await second.outcome.errorCode == nil)
  }

  @Test(arguments: [200, 204])
  func aResponseWithoutBytesIsAnErrorAndStoresNothing(status: Int) async {
    let fixture = PipelineFixture(disk: true) { _ in .respond(status: status, body: Data()) }
    #expect(await fixture.pipeline.task(for: request("/a")).outcome.errorCode == "empty")
    await fixture.pipeline.flush()
    #expect(fixture.memory.count == 0)
    #expect(fixture.disk.keys.isEmpty)
  }

  @Test func aNotFoundWithAPictureIsAnErrorAndStoresNothing() async {
    let fixture = PipelineFixture(disk: true) { _ in .respond(status: 404, body: Data([1])) }
    #expect(await fixture.pipeline.task(for: request("/a")).outcome.errorCode == "http_404")
    await fixture.pipeline.flush()
    #expect(fixture.disk.keys.isEmpty)
  }

  @Test func anImpossibleSizeIsAnErrorAndAsksNobody() async {
    let fixture = PipelineFixture { _ in .respond(body: Data([1])) }
    for side in [0, -1, Double.nan, .infinity] {
      let task = fixture.pipeline.task(
        for: ImageRequest(url: url("/a"), targetSize: .init(width: side, height: 1)))
      #expect(await task.outcome.errorCode == "invalid_size")
    }
    #expect(fixture.transport.requests.isEmpty)
  }

  @Test func policies() async throws {
    let fixture = PipelineFixture(disk: true) { _ in .respond(body: Data([3])) }
    let pipeline = fixture.pipeline
    #expect(await pipeline.task(for: request("/a", policy: .onlyIfCached)).outcome.errorCode == "not_cached")
    #expect(fixture.transport.requests.isEmpty)
    #expect(try await pipeline.task(for: request("/a", policy: .noStore)).response.source == .network)
    await pipeline.flush()
    #expect(fixture.memory.count == 0)
    #expect(fixture.disk.keys.isEmpty)
    #expect(try await pipeline.task(for: request("/a")).response.source == .network)
    #expect(try await pipeline.task(for: request("/a", policy: .onlyIfCached)).response.source == .memory)
    #expect(try await pipeline.task(for: request("/a", policy: .reload)).response.source == .network)
    #expect(fixture.transport.requests.count == 3)
  }

  @Test func whatIsStoredWhereCanBeChosen() async throws {
    let fixture = PipelineFixture(disk: true) { _ in .respond(body: Data([3])) }
    let choices: [(String, ImageRequest.StorageOptions)] = [("/m", .memory), ("/d", .disk), ("/n", [])]
    for (path, storage) in choices {
      _ = try await fixture.pipeline.image(for: ImageRequest(url: url(path), storage: storage))
    }
    await fixture.pipeline.flush()
    #expect(fixture.memory.count == 1)
    #expect(fixture.pipeline.cachedImage(for: request("/m")) != nil)
    #expect(fixture.disk.keys == ["http://pictures.test/d"])
  }

  @Test func headersAreSentAndKeepTheirEntriesApart() async throws {
    let fixture = PipelineFixture(disk: true) {
      .respond(headers: ["Vary": "Accept-Language"], body: Data($0.headers["Accept-Language"]!.utf8))
    }
    let german = ImageRequest(url: url("/a"), headers: ["Accept-Language": "de"])
    let english = ImageRequest(url: url("/a"), headers: ["Accept-Language": "en"])
    async let first = fixture.pipeline.image(for: german)
    async let second = fixture.pipeline.image(for: english)
    #expect(try await first[0, 0].red == UInt8(ascii: "d"))
    #expect(try await second[0, 0].red == UInt8(ascii: "e"))
    #expect(fixture.transport.requests.count == 2)
  }

  /// Who joins just before the bytes come, and looks just after, must not be given them twice.
  @Test func aPrintThatJoinsWhileTheBytesComeIsMadeOnce() async throws {
    let gate = Gate()
    let decoder = StubDecoder { _ in gate.wait() }
    let fixture = PipelineFixture(decoder: decoder, configure: { $0.decodingWidth = 4 }) { _ in .hold }
    let pipeline = fixture.pipeline
    let first = pipeline.task(for: request("/a"))
    await fixture.transport.waitForRequests(1)
    let small = Box(ImageRequest(url: url("/a"), targetSize: TargetSize(width: 9, height: 9)))
    let second = ImageTask(request: small, pipeline: pipeline, startTime: 0)
    let load = PrintLoad(small, freshness: .http, priority: .normal)
    let joining = pipeline.core.withLock { core in
      load.tasks.append(second)
      second.load = load
      core.add(load)
      return pipeline.join(load, small, in: &core)
    }
    fixture.transport.release(with: .respond(body: Data([1])))
    try await waitUntil("both decodes") { decoder.decodeCount == 2 }
    pipeline.proceed(joining, waiter: load, isOnWorkThread: false)
    // Behind whatever that has put among the work.
    await withCheckedContinuation { continuation in
      pipeline.workQueue.submit(priority: .veryLow) { continuation.resume() }
    }
    gate.open()
    for task in [first, second] { #expect(try await task.response.image[0, 0].red == 1) }
    await pipeline.flush()
    #expect(decoder.decodeCount == 2)
  }

  /// A pipeline's own limits hold for its processors too.
  @Test func aPipelinesLimitsHoldForWhatProcessorsMake() async throws {
    let fixture = PipelineFixture(configure: { $0.limits.maximumPixelCount = 10_000 }) { _ in
      .respond(body: Data([1]))
    }
    func outcome(_ side: Int) async -> String? {
      let resize = ImageProcessors.Resize(
        TargetSize(width: Double(side), height: Double(side), mode: .exact, allowsUpscaling: true))
      return await fixture.pipeline.task(for: ImageRequest(url: url("/a"), processors: [resize])).outcome
        .errorCode
    }
    #expect(await outcome(100) == nil)
    #expect(await outcome(101) == "processing_failed")
  }
}
