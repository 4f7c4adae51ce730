import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct ImagePrefetcherTests {
  private func requests(_ range: Range<Int>, size: Double? = nil) -> [ImageRequest] {
    range.map {
      ImageRequest(url: url("/\($0)"), targetSize: size.map { TargetSize(width: $0, height: $0) })
    }
  }

  /// What happens until there is nothing left to do, from before `body` on.
  private func events(
    of prefetcher: ImagePrefetcher, during body: () async -> Void
  ) async -> (finished: [String: String], idle: ImagePrefetcher.Progress?) {
    let events = prefetcher.events
    await body()
    var finished: [String: String] = [:]
    for await event in events {
      switch event {
      case .finished(let request, let result):
        #expect(finished[request.url.path] == nil, "each ends once")
        switch result {
        case .success(let source): finished[request.url.path] = source.rawValue
        case .failure(let error): finished[request.url.path] = error.code
        }
      case .idle(let progress): return (finished, progress)
      }
    }
    return (finished, nil)
  }

  @Test(arguments: ImagePrefetcher.Destination.allCases)
  func leavesBehindWhatWasAskedFor(destination: ImagePrefetcher.Destination) async throws {
    let picture = try madePNG()
    let fixture = PipelineFixture(disk: true, configure: { $0.diskStorage = .all }) { request in
      request.url.path == "/2" ? .respond(status: 404, body: Data()) : .respond(body: picture)
    }
    let prefetcher = ImagePrefetcher(pipeline: fixture.pipeline, destination: destination)
    let (finished, progress) = await events(of: prefetcher) {
      prefetcher.start(with: requests(0..<3, size: 9))
    }
    #expect(finished == ["/0": "network", "/1": "network", "/2": "http_404"])
    #expect(progress?.loaded == 2)
    #expect(progress?.failed == 1)
    #expect(progress?.fraction == 1)
    await fixture.pipeline.flush()
    let originals = fixture.disk.keys.filter { !$0.contains(" ") }
    #expect(originals == ["http://pictures.test/0", "http://pictures.test/1"])
    #expect(fixture.memory.count == (destination == .memory ? 2 : 0))
    #expect(fixture.decoder.decodeCount == (destination == .original ? 0 : 2))
    #expect(fixture.disk.keys.count == (destination == .original ? 2 : 4))
    // Again there is nothing to download.
    let again = await events(of: prefetcher) { prefetcher.start(with: requests(0..<2, size: 9)) }
    #expect(Set(again.finished.values) == [destination == .memory ? "memory" : "disk"])
    #expect(fixture.transport.requests.count == 3)
  }

  @Test func keepsToItsWidthAndAsksForNothingTwice() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let prefetcher = ImagePrefetcher(pipeline: fixture.pipeline, maximumConcurrentLoads: 3)
    let ended = await events(of: prefetcher) {
      for _ in 0..<2 { prefetcher.start(with: (0..<8).map { url("/\($0)") }) }
      for count in [3, 6, 8] {
        await fixture.transport.waitForRequests(count)
        #expect(fixture.transport.requests.count == count)
        #expect(prefetcher.progress.total == 8)
        fixture.transport.release()
      }
    }
    #expect(ended.idle?.loaded == 8)
    #expect(fixture.transport.requests.allSatisfy { $0.priority == .veryLow })
  }

  @Test("O8: prefetching never delays a visible row") func neverDelaysTheVisible() async throws {
    let fixture = PipelineFixture(configure: {
      $0.maximumConcurrentDownloads = 2
      $0.maximumConcurrentDownloadsPerHost = 2
    }) { _ in .hold }
    let prefetcher = ImagePrefetcher(pipeline: fixture.pipeline, maximumConcurrentLoads: 5)
    prefetcher.start(with: requests(0..<5))
    // All places are taken by prefetches that get no answer.
    await fixture.transport.waitForRequests(2)
    let visible = [request("/a", priority: .low), request("/b")].map { fixture.pipeline.task(for: $0) }
    await fixture.transport.waitForRequests(4)
    #expect(Set(fixture.transport.paths.suffix(2)) == ["/a", "/b"])
    fixture.transport.release("/a")
    fixture.transport.release("/b")
    for task in visible { #expect(await task.outcome.errorCode == nil) }
    #expect(prefetcher.progress.ended == 0)
    #expect(fixture.transport.requests.count == 4)
    prefetcher.stop()
    await fixture.pipeline.flush()
  }

  @Test("O8: 10,000 cached addresses, stopped half-way, each end exactly once")
  func stoppedHalfWay() async throws {
    let picture = ImageContainer(
      bitmap: try bitmap(width: 1, height: 1) { _, _ in .init(red: 1, green: 2, blue: 3) })
    let fixture = PipelineFixture { _ in .respond(body: Data([1])) }
    let all = requests(0..<10_000)
    for request in all { fixture.memory.store(picture, for: request.cacheKey) }
    let prefetcher = ImagePrefetcher(pipeline: fixture.pipeline)
    let ended = await events(of: prefetcher) {
      prefetcher.start(with: all)
      while prefetcher.progress.loaded < 5000, prefetcher.progress.total > 0 { await Task.yield() }
      prefetcher.stop()
    }
    #expect(ended.finished.count == 10_000)
    #expect(Set(ended.finished.values).isSubset(of: ["memory", "cancelled"]))
    #expect(ended.idle?.ended == 10_000)
    #expect(prefetcher.progress == ImagePrefetcher.Progress())
    #expect(fixture.transport.requests.isEmpty)
  }

  @Test func aStoppedPrefetchOfSomethingVisibleGoesOn() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let prefetcher = ImagePrefetcher(pipeline: fixture.pipeline)
    let ended = await events(of: prefetcher) {
      prefetcher.start(with: requests(0..<2))
      await fixture.transport.waitForRequests(2)
      let visible = fixture.pipeline.task(for: request("/1"))
      prefetcher.stop(with: requests(0..<2))
      await fixture.transport.waitForCancellations(1)
      fixture.transport.release("/1")
      #expect(await visible.outcome.errorCode == nil)
    }
    #expect(ended.finished == ["/0": "cancelled", "/1": "cancelled"])
    #expect(fixture.transport.cancelledCount == 1)
    #expect(fixture.transport.requests.count == 2)
  }

  @Test func pausedNothingNewBegins() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let prefetcher = ImagePrefetcher(pipeline: fixture.pipeline, maximumConcurrentLoads: 1)
    let ended = await events(of: prefetcher) {
      prefetcher.start(with: requests(0..<3))
      await fixture.transport.waitForRequests(1)
      prefetcher.isPaused = true
      fixture.transport.release()
      while prefetcher.progress.loaded < 1 { await Task.yield() }
      await fixture.pipeline.flush()
      #expect(fixture.transport.requests.count == 1)
      prefetcher.stop(with: requests(1..<2))
      prefetcher.isPaused = false
      await fixture.transport.waitForRequests(2)
      fixture.transport.release()
    }
    #expect(ended.finished == ["/0": "network", "/1": "cancelled", "/2": "network"])
    #expect(fixture.transport.paths == ["/0", "/2"])
  }

  @Test func aMemoryWarningCancelsWhatHasNotBegun() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let prefetcher = ImagePrefetcher(pipeline: fixture.pipeline, maximumConcurrentLoads: 1)
    let ended = await events(of: prefetcher) {
      prefetcher.start(with: requests(0..<4))
      await fixture.transport.waitForRequests(1)
      fixture.pipeline.handleMemoryWarning()
      fixture.transport.release()
    }
    #expect(ended.idle?.loaded == 1)
    #expect(ended.idle?.stopped == 3)
    #expect(fixture.transport.paths == ["/0"])
  }

  @Test func goneItStopsEverything() async throws {
    let fixture = PipelineFixture { _ in .hold }
    var prefetcher: ImagePrefetcher? = ImagePrefetcher(pipeline: fixture.pipeline)
    let events = try #require(prefetcher?.events)
    prefetcher?.start(with: requests(0..<5))
    await fixture.transport.waitForRequests(2)
    prefetcher = nil
    await fixture.transport.waitForCancellations(2)
    for await event in events { if case .idle = event { Issue.record("nobody is there to tell") } }
    await fixture.pipeline.flush()
    #expect(fixture.transport.requests.count == 2)
  }

  @Test("O7: scrolling over thousands of cached rows decodes those that stay") @MainActor
  func scrollingDecodesWhatStays() async throws {
    let gate = Gate()
    let fixture = PipelineFixture(decoder: StubDecoder { _ in gate.wait() }, memory: false, disk: true) { _ in
      .respond(status: 500, body: Data())
    }
    let rows = 5000, visible = 20
    for row in 0..<rows { fixture.disk.store(Data([UInt8(row % 250)]), for: url("/\(row)")) }
    let (updates, teller) = AsyncStream.makeStream(of: Int.self)
    let loader = RowLoader<Int>(pipeline: fixture.pipeline) { row, _ in teller.yield(row) }
    // Twenty cells, each used again for another row as it leaves the window.
    for row in 0..<rows {
      loader.bind(row % visible, to: ImageRequest(url: url("/\(row)")))
      if row % 500 == 0 { await Task.yield() }
    }
    gate.open()
    var shown = Set<Int>()
    for await cell in updates {
      shown.insert(cell)
      if shown.count == visible { break }
    }
    #expect(fixture.decoder.decodeCount <= visible + fixture.pipeline.configuration.decodingWidth)
    #expect(loader.picture(of: 7).bitmap?[0, 0].red == UInt8((rows - visible + 7) % 250))
    #expect(fixture.transport.requests.isEmpty)
  }
}

/// A PNG of one pixel.
private func madePNG() throws -> Data {
  let bitmap = try bitmap(width: 1, height: 1) { _, _ in .init(red: 200, green: 0, blue: 0) }
  return try ImageEncoder().encode(bitmap, options: ImageEncodingOptions(format: .png))
}
