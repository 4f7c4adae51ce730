import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct MemoryWarningTests {
  @Test func aWarningEmptiesTheMemoryCache() async throws {
    let fixture = PipelineFixture { _ in .respond(body: Data([1])) }
    _ = await fixture.pipeline.task(for: request("/a")).outcome
    #expect(fixture.memory.count == 1)
    fixture.pipeline.handleMemoryWarning()
    #expect(fixture.memory.count == 0)
  }

  @Test func itCancelsPrefetchesThatWaitAndNothingElse() async throws {
    let fixture = PipelineFixture(configure: { $0.maximumConcurrentDownloads = 2 }) { _ in .hold }
    let running = [
      fixture.pipeline.task(for: request("/visible")),
      fixture.pipeline.task(for: request("/begun", priority: .veryLow)),
    ]
    await fixture.transport.waitForRequests(2)
    let wanted = [
      fixture.pipeline.task(for: request("/waits", priority: .low)),
      fixture.pipeline.task(for: request("/both", priority: .veryLow)),
      fixture.pipeline.task(for: request("/both", priority: .normal)),
    ]
    let prefetches = (0..<3).map { fixture.pipeline.task(for: request("/\($0)", priority: .veryLow)) }
    let bytes = Task { try await fixture.pipeline.data(for: request("/bytes", priority: .veryLow)) }
    while fixture.pipeline.core.withLock({ $0.originals.count }) < 8 { await Task.yield() }

    fixture.pipeline.handleMemoryWarning()
    for task in prefetches { #expect(task.result?.errorCode == "cancelled") }
    await #expect(throws: ImagePipeline.Error.self) { try await bytes.value }
    for task in running + wanted { #expect(task.result == nil) }
    #expect(fixture.transport.cancelledCount == 0)

    fixture.transport.release()
    await fixture.transport.waitForRequests(4)
    fixture.transport.release()
    for task in running + wanted { #expect(await task.outcome.errorCode == nil) }
    #expect(Set(fixture.transport.paths) == ["/visible", "/begun", "/waits", "/both"])
    await fixture.pipeline.flush()
  }

  @Test func itCancelsAPrefetchThatWaitsForAThread() async throws {
    let decoding = Gate()
    let (begun, teller) = AsyncStream.makeStream(of: Void.self)
    let decoder = StubDecoder { _ in
      teller.yield()
      decoding.wait()
    }
    let fixture = PipelineFixture(decoder: decoder, disk: true, configure: { $0.decodingWidth = 1 }) { _ in
      .respond(body: Data([1]))
    }
    let visible = fixture.pipeline.task(for: request("/visible"))
    for await _ in begun { break }
    // It waits for its look in the disk cache.
    let prefetch = fixture.pipeline.task(
      for: ImageRequest(
        url: url("/prefetch"), targetSize: TargetSize(width: 8, height: 8), priority: .veryLow))
    fixture.pipeline.handleMemoryWarning()
    #expect(prefetch.result?.errorCode == "cancelled")
    decoding.open()
    #expect(await visible.outcome.errorCode == nil)
    await fixture.pipeline.flush()
    #expect(decoder.decodeCount == 1)
    #expect(fixture.transport.paths == ["/visible"])
  }

  /// The monitor's word reaches a pipeline that has begun to load, and no other.
  @Test(arguments: [true, false]) func theSystemsWarningReachesThePipeline(responds: Bool) async throws {
    let monitor = MemoryPressureMonitor(interval: 0) { [] }
    let memory = StubMemoryCache()
    var configuration = ImagePipeline.Configuration(
      transport: StubTransport(body: Data([1])), memoryCache: memory, diskCache: nil, decoder: StubDecoder(),
      encoder: StubEncoder())
    configuration.respondsToMemoryPressure = responds
    let pipeline = ImagePipeline(configuration: configuration, memoryMonitor: monitor)
    _ = await pipeline.task(for: request("/a")).outcome
    #expect(memory.count == 1)
    // Told in any order, so the pipeline has been told as well when the second warning comes here.
    let (warnings, teller) = AsyncStream.makeStream(of: Void.self)
    let observation = monitor.observe { teller.yield() }
    var told = warnings.makeAsyncIterator()
    for _ in 0..<2 {
      monitor.warn()
      await told.next()
    }
    #expect(memory.count == (responds ? 0 : 1))
    await monitor.stop()
    withExtendedLifetime((pipeline, observation)) {}
  }

  @Test func thePipelineGoesAlthoughAMonitorKnowsIt() async throws {
    let monitor = MemoryPressureMonitor(interval: 0) { [] }
    weak var gone: ImagePipeline?
    do {
      let configuration = ImagePipeline.Configuration(
        transport: StubTransport(body: Data([1])), memoryCache: nil, diskCache: nil, decoder: StubDecoder(),
        encoder: StubEncoder())
      let pipeline = ImagePipeline(configuration: configuration, memoryMonitor: monitor)
      gone = pipeline
      _ = await pipeline.task(for: request("/a")).outcome
      await pipeline.flush()
    }
    // Its last step may still hold it for a moment.
    for _ in 0..<10_000 where gone != nil { await Task.yield() }
    #expect(gone == nil)
    await monitor.stop()
  }
}
