import Foundation
import TestSupport
import Testing

@testable import Calotype

/// Sharing and cancelling where what is stored is stale, so that each load asks the server whether it holds.
@Suite struct StaleOperationTests {
  /// Serves pictures that are stale at once, and confirms them when the gate is open.
  private func fixture(_ gate: TestSupport.Gate? = nil) throws -> HTTPFixture {
    let picture = try ServedPicture.png()
    return try HTTPFixture { request in
      guard request.header("If-None-Match") != nil else {
        return .ok(
          picture, type: "image/png", headers: [("ETag", "\"1\""), ("Cache-Control", "max-age=0")])
      }
      let script = Script.status(304, headers: [("ETag", "\"1\"")])
      return gate.map { script.after($0) } ?? script
    }
  }

  private func store(_ fixture: HTTPFixture, _ paths: [String] = ["/a"]) async throws {
    let pipeline = fixture.pipeline()
    for path in paths { _ = try await pipeline.image(for: fixture.request(path)) }
    await pipeline.flush()
  }

  @Test func oneOfThreeGivesUpAndThenAll() async throws {
    let gate = TestSupport.Gate()
    let fixture = try fixture(gate)
    try await store(fixture)
    let pipeline = fixture.pipeline()
    let tasks = (0..<3).map { _ in pipeline.task(for: fixture.request("/a")) }
    try await fixture.server.waitForRequests(2)
    tasks[0].cancel()
    gate.open()
    #expect(await tasks[0].outcome.errorCode == "cancelled")
    for task in tasks.dropFirst() { #expect(try await task.response.source == .revalidated) }
    #expect(fixture.server.requests.count == 2)
  }

  @Test func theConnectionClosesWithTheLast() async throws {
    let fixture = try fixture(TestSupport.Gate())
    try await store(fixture)
    let pipeline = fixture.pipeline()
    let tasks = (0..<3).map { _ in pipeline.task(for: fixture.request("/a")) }
    let asked = try await fixture.server.waitForRequests(2)
    for task in tasks { task.cancel() }
    for task in tasks { #expect(task.result?.errorCode == "cancelled") }
    try await fixture.server.waitForClose(connection: asked[1].connection)
    await pipeline.flush()
  }

  @Test func cancelledAndFetchedAgainAndAgain() async throws {
    let fixture = try fixture()
    try await store(fixture)
    let pipeline = fixture.pipeline()
    for index in 0..<200 {
      let first = pipeline.task(for: fixture.request("/a"))
      if index % 4 > 0 { try await Task.sleep(for: .microseconds(index * 25)) }
      first.cancel()
      // Started again in the same turn.
      let second = pipeline.task(for: fixture.request("/a"))
      #expect(try await second.response.source == .revalidated)
    }
    await pipeline.flush()
  }

  @Test func everyLoadEndsOnce() async throws {
    let fixture = try fixture()
    let paths = (0..<20).map { "/\($0)" }
    try await store(fixture, paths)
    let ends = EndCounter()
    let pipeline = fixture.pipeline()
    pipeline.delegate = ends
    var generator = SplitMix(state: 1)
    var tasks: [ImageTask] = []
    for _ in 0..<2000 {
      let task = pipeline.task(for: fixture.request(paths.randomElement(using: &generator)!))
      tasks.append(task)
      if Int.random(in: 0..<3, using: &generator) == 0 {
        tasks.randomElement(using: &generator)!.cancel()
      }
    }
    for task in tasks {
      let code = await task.outcome.errorCode
      #expect(code == nil || code == "cancelled")
    }
    await pipeline.flush()
    #expect(ends.counts.count == tasks.count)
    #expect(ends.counts.values.allSatisfy { $0 == 1 })
  }

  @Test func cancelledWhileTheHookRuns() async throws {
    let fixture = try fixture()
    try await store(fixture, ["/slow", "/other"])
    let hook = SlowHook()
    let pipeline = fixture.pipeline { $0.maximumConcurrentDownloads = 1 }
    pipeline.delegate = hook
    let slow = pipeline.task(for: fixture.request("/slow"))
    await hook.started.wait()
    slow.cancel()
    #expect(slow.result?.errorCode == "cancelled")
    // Its place is free, and it was never sent.
    #expect(try await pipeline.task(for: fixture.request("/other")).response.source == .revalidated)
    #expect(fixture.server.requests("/slow").count == 1)
    await pipeline.flush()
  }

  private final class EndCounter: ImagePipelineDelegate {
    private let state = Lock<[ObjectIdentifier: Int]>([:])
    var counts: [ObjectIdentifier: Int] { state.withLock { $0 } }

    func imagePipeline(_ pipeline: ImagePipeline, task: ImageTask, didReceive event: ImageTask.Event) {
      if case .finished = event { state.withLock { $0[ObjectIdentifier(task), default: 0] += 1 } }
    }
  }

  private final class SlowHook: ImagePipelineDelegate {
    let started = TestSupport.Gate()

    func imagePipeline(
      _ pipeline: ImagePipeline, willSend request: HTTPRequest, for imageRequest: ImageRequest
    ) async throws -> HTTPRequest {
      guard request.url.path == "/slow" else { return request }
      started.open()
      try await Task.sleep(for: .seconds(3600))
      return request
    }
  }
}
