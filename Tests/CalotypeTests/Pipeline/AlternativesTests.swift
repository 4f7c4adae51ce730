import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct AlternativesTests {
  private func request(_ path: String, _ alternatives: [String], fallback: Bitmap? = nil) -> ImageRequest {
    var request = ImageRequest(url: url(path))
    request.alternatives = alternatives.map { url($0) }
    request.fallback = fallback
    return request
  }

  /// What is told for a PNG by its first bytes.
  private static let picture = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13])

  private let answers: @Sendable (HTTPRequest) -> StubTransport.Answer = { request in
    switch request.url.path {
    case "/missing": .respond(status: 404, body: Data())
    case "/empty": .respond(body: Data())
    case "/down": .fail(.connectionFailed)
    default: .respond(body: AlternativesTests.picture)
    }
  }

  @Test func theyAreTriedInOrder() async throws {
    let fixture = PipelineFixture(disk: true, answers)
    let wanted = request("/missing", ["/empty", "/down", "/there", "/more"])
    let response = try await fixture.pipeline.task(for: wanted).response
    #expect(response.image[0, 0].red == 0x89)
    #expect(response.alternativeURL == url("/there"))
    #expect(fixture.transport.paths == ["/missing", "/empty", "/down", "/there"])
    // It is kept under its own name: the first is asked again, and what is there is not.
    #expect(fixture.pipeline.cachedImage(for: wanted) == nil)
    #expect(try await fixture.pipeline.task(for: wanted).response.source == .memory)
    #expect(try await fixture.pipeline.data(for: wanted).data == Self.picture)
    let own = try await fixture.pipeline.task(for: request("/first", ["/there"])).response
    #expect(own.alternativeURL == nil)
    await fixture.pipeline.flush()
  }

  @Test func theyMayReachNoMoreThanTheRequestItself() async throws {
    let fixture = PipelineFixture(answers)
    var wanted = ImageRequest(url: url("/missing"), addressPolicy: .untrusted)
    wanted.alternatives = [url("/there"), URL(fileURLWithPath: "/etc/hostname")]
    wanted.lowDataURL = url("/small")
    _ = try await fixture.pipeline.task(for: wanted).response
    fixture.pipeline.sparesData = true
    _ = try await fixture.pipeline.task(for: wanted).response
    #expect(fixture.transport.paths == ["/missing", "/there", "/small"])
    #expect(fixture.transport.requests.allSatisfy { $0.addressPolicy == .untrusted })
    var local = ImageRequest(url: url("/missing"), addressPolicy: .untrusted)
    local.alternatives = [URL(fileURLWithPath: "/etc/hostname")]
    let task = fixture.pipeline.task(for: local)
    let error = await #expect(throws: ImagePipeline.Error.self) { try await task.response }
    #expect(error?.alternatives.map(\.code) == ["address_refused"])
  }

  @Test func theErrorTellsOfAll() async throws {
    let fixture = PipelineFixture(answers)
    let task = fixture.pipeline.task(for: request("/missing", ["/empty", "/down"]))
    let error = await #expect(throws: ImagePipeline.Error.self) { try await task.response }
    #expect(error?.code == "http_404")
    #expect(error?.alternatives.map(\.code) == ["empty", "connection_failed"])
    #expect(error?.message.contains("http://pictures.test/down") == true)
    await #expect(throws: ImagePipeline.Error.self) {
      try await fixture.pipeline.data(for: request("/missing", ["/down"]))
    }
  }

  @Test func whatNoOtherAddressCanMendEndsIt() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let task = fixture.pipeline.task(for: request("/a", ["/b"]))
    await fixture.transport.waitForRequests(1)
    task.cancel()
    #expect(task.result?.errorCode == "cancelled")
    await fixture.pipeline.flush()
    #expect(fixture.transport.paths == ["/a"])
    var broken = ImageRequest(
      url: url("/c"),
      processors: [
        TestProcessor(identifier: "broken") { _, _ in
          throw BitmapError.invalidSize(.init(width: 0, height: 0))
        }
      ])
    broken.alternatives = [url("/d")]
    let second = fixture.pipeline.task(for: broken)
    await fixture.transport.waitForRequests(2)
    fixture.transport.release()
    #expect(await second.outcome.errorCode == "processing_failed")
    #expect(fixture.transport.paths == ["/a", "/c"])
  }

  @Test func cancelledOnAnAlternativeItEndsThere() async throws {
    let fixture = PipelineFixture { $0.url.path == "/missing" ? .respond(status: 404, body: Data()) : .hold }
    let task = fixture.pipeline.task(for: request("/missing", ["/b"], fallback: try picture()))
    await fixture.transport.waitForRequests(2)
    task.cancel()
    await fixture.transport.waitForCancellations(1)
    #expect(task.result?.errorCode == "cancelled")
    await fixture.pipeline.flush()
  }

  private func picture() throws -> Bitmap {
    try bitmap(width: 1, height: 1) { _, _ in .init(red: 77, green: 0, blue: 0) }
  }

  @Test func theFallbackIsShownAndNeverStored() async throws {
    let fixture = PipelineFixture(disk: true, answers)
    let wanted = request("/missing", ["/down"], fallback: try picture())
    for _ in 0..<2 {
      let response = try await fixture.pipeline.task(for: wanted).response
      #expect(response.source == .fallback)
      #expect(response.image[0, 0].red == 77)
      #expect(response.failure?.alternatives.count == 1)
    }
    await fixture.pipeline.flush()
    #expect(fixture.memory.count == 0)
    #expect(fixture.disk.keys.isEmpty)
    #expect(fixture.transport.requests.count == 4)
  }

  @Test @MainActor func aRowWithAFallbackIsTriedAgain() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let (updates, teller) = AsyncStream.makeStream(of: RowPicture.self)
    var updated = updates.makeAsyncIterator()
    let loader = RowLoader<Int>(pipeline: fixture.pipeline) { _, picture in teller.yield(picture) }
    let wanted = request("/a", [], fallback: try picture())
    loader.bind(0, to: wanted)
    for (count, red) in [(1, UInt8(77)), (2, 5)] {
      await fixture.transport.waitForRequests(count)
      fixture.transport.release(
        with: count == 1 ? .respond(status: 500, body: Data()) : .respond(body: Data([5])))
      #expect(await updated.next()?.bitmap?[0, 0].red == red)
      loader.bind(0, to: wanted)
    }
    #expect(fixture.transport.requests.count == 2)
  }

  @Test func whileTheNetworkIsSparedTheSmallerAddressIsAsked() async throws {
    let fixture = PipelineFixture(disk: true, answers)
    var wanted = ImageRequest(url: url("/large"))
    wanted.lowDataURL = url("/small")
    fixture.pipeline.sparesData = true
    #expect(try await fixture.pipeline.task(for: wanted).response.alternativeURL == url("/small"))
    #expect(fixture.transport.paths == ["/small"])
    fixture.pipeline.sparesData = false
    #expect(try await fixture.pipeline.task(for: wanted).response.alternativeURL == nil)
    await fixture.pipeline.flush()
    fixture.memory.removeAll()
    // What is on disk costs nothing.
    fixture.pipeline.sparesData = true
    let stored = try await fixture.pipeline.task(for: wanted).response
    #expect(stored.alternativeURL == nil && stored.source == .disk)
    #expect(fixture.transport.paths == ["/small", "/large"])
  }

  @Test func manyWhoShareALoadEachGoTheirOwnWay() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let plain = fixture.pipeline.task(for: url("/a"))
    let others = [request("/a", ["/b"]), request("/a", ["/c", "/b"])].map { fixture.pipeline.task(for: $0) }
    await fixture.transport.waitForRequests(1)
    fixture.transport.release(with: .respond(status: 500, body: Data()))
    await fixture.transport.waitForRequests(3)
    #expect(Set(fixture.transport.paths) == ["/a", "/b", "/c"])
    fixture.transport.release("/c", with: .respond(status: 500, body: Data()))
    fixture.transport.release("/b", with: .respond(body: Data([4])))
    #expect(await plain.outcome.errorCode == "http_500")
    for task in others { #expect(await task.outcome.errorCode == nil) }
    await fixture.pipeline.flush()
  }

  @Test func aCancelIsOneWhicheverAddressIsTried() async throws {
    let fixture = PipelineFixture { request in
      request.url.path == "/missing" ? .respond(status: 404, body: Data()) : .hold
    }
    let wanted = request("/missing", ["/slow"], fallback: try picture())
    let bytes = Task { try await fixture.pipeline.data(for: wanted) }
    await fixture.transport.waitForRequests(2)
    bytes.cancel()
    let error = await #expect(throws: ImagePipeline.Error.self) { try await bytes.value }
    #expect(error?.isCancelled == true)
    await fixture.pipeline.flush()
  }
}
