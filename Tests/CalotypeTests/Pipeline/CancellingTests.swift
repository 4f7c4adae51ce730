import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Calotype

@Suite struct CancellingTests {
  @Test func oneOfThreeIsCancelledAlone() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let tasks = (0..<3).map { _ in fixture.pipeline.task(for: request("/a")) }
    await fixture.transport.waitForRequests(1)
    tasks[1].cancel()
    #expect(tasks[1].result?.errorCode == "cancelled")
    #expect(fixture.transport.cancelledCount == 0)
    fixture.transport.release()
    #expect(await tasks[0].outcome.errorCode == nil)
    #expect(await tasks[2].outcome.errorCode == nil)
    #expect(fixture.transport.requests.count == 1)
  }

  @Test func theLastToCancelEndsTheTransfer() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let tasks = (0..<3).map { _ in fixture.pipeline.task(for: request("/a")) }
    await fixture.transport.waitForRequests(1)
    for task in tasks { task.cancel() }
    await fixture.transport.waitForCancellations(1)
    for task in tasks { #expect(task.result?.errorCode == "cancelled") }
    await fixture.pipeline.flush()
  }

  @Test func cancelledInTheSameTurn() async throws {
    let fixture = PipelineFixture(disk: true) { _ in .hold }
    let task = fixture.pipeline.task(for: request("/a"))
    task.cancel()
    #expect(task.result?.errorCode == "cancelled")
    await fixture.pipeline.flush()
  }

  @Test func startedAgainAtOnceItGetsThePicture() async throws {
    let fixture = PipelineFixture { _ in .respond(body: Data([1])) }
    for _ in 0..<1000 {
      fixture.memory.removeAll()
      let first = fixture.pipeline.task(for: request("/a"))
      first.cancel()
      #expect(await fixture.pipeline.task(for: request("/a")).outcome.errorCode == nil)
      #expect(first.result != nil)
    }
  }

  @Test func cancellingTheSwiftTaskCancelsTheLoad() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let waiting = Task { try await fixture.pipeline.image(for: request("/a")) }
    await fixture.transport.waitForRequests(1)
    waiting.cancel()
    await fixture.transport.waitForCancellations(1)
    await #expect(throws: ImagePipeline.Error.self) { try await waiting.value }
    let bytes = Task { try await fixture.pipeline.data(for: request("/a")) }
    await fixture.transport.waitForRequests(2)
    bytes.cancel()
    await fixture.transport.waitForCancellations(2)
    await #expect(throws: ImagePipeline.Error.self) { try await bytes.value }
    await fixture.pipeline.flush()
  }

  @Test func tenThousandLoadsEndOnceEach() async throws {
    let fixture = PipelineFixture(disk: true) { _ in .respond(body: Data([1])) }
    let ends = Counts(10_000)
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          var generator = SplitMix(state: UInt64(worker))
          for index in stride(from: worker, to: 10_000, by: 4) {
            let task = fixture.pipeline.task(for: request("/\(generator.next() % 200)"))
            task.whenFinished { _ in ends.add(at: index) }
            if generator.next() % 2 == 0 { task.cancel() }
            if generator.next() % 50 == 0 { fixture.memory.removeAll() }
            if generator.next() % 8 == 0 { _ = await task.outcome }
          }
        }
      }
    }
    await fixture.pipeline.flush()
    #expect(ends.values.allSatisfy { $0 == 1 })
    #expect(fixture.pipeline.core.withLock { $0.isIdle })
  }

  @Test func cancelledWhileTheHookRunsNothingIsSent() async throws {
    let hook = HoldingDelegate()
    let fixture = PipelineFixture(configure: { $0.maximumConcurrentDownloads = 1 }) { _ in
      .respond(body: Data([1]))
    }
    fixture.pipeline.delegate = hook
    let first = fixture.pipeline.task(for: request("/held"))
    await hook.entered()
    first.cancel()
    #expect(first.result?.errorCode == "cancelled")
    // Its place is free although the hook has not returned.
    #expect(await fixture.pipeline.task(for: request("/b")).outcome.errorCode == nil)
    hook.release()
    await hook.left()
    #expect(fixture.transport.paths == ["/b"])
  }

  @Test func cancelledWhileAProcessorRunsThereIsNoPicture() async throws {
    let entered = AsyncStream.makeStream(of: Void.self)
    let gate = Gate()
    let slow = TestProcessor(identifier: "slow") { image, cancellation in
      entered.continuation.yield()
      gate.wait()
      if cancellation.isCancelled { throw CancellationError() }
      return image
    }
    let fixture = PipelineFixture { _ in .respond(body: Data([1])) }
    let task = fixture.pipeline.task(for: ImageRequest(url: url("/a"), processors: [slow]))
    for await _ in entered.stream { break }
    task.cancel()
    #expect(task.result?.errorCode == "cancelled")
    gate.open()
    await fixture.pipeline.flush()
    #expect(fixture.memory.count == 0)
  }

  @Test func cancellingAllBeginsNothing() async throws {
    let fixture = PipelineFixture(configure: { $0.maximumConcurrentDownloads = 2 }) { _ in .hold }
    let tasks = (0..<10).map { fixture.pipeline.task(for: request("/\($0 / 2)")) }
    await fixture.transport.waitForRequests(2)
    fixture.pipeline.cancelAll()
    for task in tasks { #expect(task.result?.errorCode == "cancelled") }
    await fixture.transport.waitForCancellations(2)
    await fixture.pipeline.flush()
    #expect(fixture.transport.requests.count == 2)
    let next = fixture.pipeline.task(for: request("/next"))
    await fixture.transport.waitForRequests(3)
    fixture.transport.release()
    #expect(await next.outcome.errorCode == nil)
  }

  /// The delegate is asked in a task that is made before it is kept, and the load may end in between.
  @Test func aHookOfALoadThatHasEndedIsCancelled() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let task = fixture.pipeline.task(for: request("/a"))
    await fixture.transport.waitForRequests(1)
    let load = try #require(fixture.pipeline.core.withLock { _ in task.load?.original })
    let hook = Task<Void, Never> { try? await Task.sleep(for: .seconds(3600)) }
    task.cancel()
    fixture.pipeline.keep(hook, for: load)
    #expect(hook.isCancelled)
    hook.cancel()
    await hook.value
  }
}

private final class Counts: Sendable {
  private let counts: Lock<[Int]>
  init(_ count: Int) { counts = Lock([Int](repeating: 0, count: count)) }
  func add(at index: Int) { counts.withLock { $0[index] += 1 } }
  var values: [Int] { counts.withLock { $0 } }
}

/// Holds the request for `/held` in its hook until it is released.
private final class HoldingDelegate: ImagePipelineDelegate {
  private let enter = AsyncStream.makeStream(of: Void.self)
  private let leave = AsyncStream.makeStream(of: Void.self)
  private let gate = AsyncStream.makeStream(of: Void.self)

  func imagePipeline(
    _ pipeline: ImagePipeline, willSend request: HTTPRequest, for imageRequest: ImageRequest
  ) async throws -> HTTPRequest {
    guard request.url.path == "/held" else { return request }
    enter.continuation.yield()
    // Deaf to cancellation on purpose.
    await Task.detached { [gate] in for await _ in gate.stream { break } }.value
    leave.continuation.yield()
    return request
  }

  func entered() async { for await _ in enter.stream { break } }
  func left() async { for await _ in leave.stream { break } }
  func release() { gate.continuation.yield() }
}
