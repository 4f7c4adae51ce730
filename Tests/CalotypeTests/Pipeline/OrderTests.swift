import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct OrderTests {
  @Test func noMoreThanTheLimitAtOnceAndTheMostUrgentFirst() async throws {
    let fixture = PipelineFixture(configure: { $0.maximumConcurrentDownloads = 2 }) { _ in .hold }
    let priorities: [ImageRequest.Priority] = [.normal, .normal, .low, .veryHigh, .normal]
    let tasks = priorities.enumerated().map { fixture.pipeline.task(for: request("/\($0)", priority: $1)) }
    await fixture.transport.waitForRequests(2)
    #expect(fixture.transport.paths == ["/0", "/1"])
    fixture.transport.release("/0")
    await fixture.transport.waitForRequests(3)
    #expect(fixture.transport.paths.last == "/3")
    tasks[2].priority = .high
    fixture.transport.release("/1")
    await fixture.transport.waitForRequests(4)
    #expect(fixture.transport.paths.last == "/2")
    fixture.transport.release()
    await fixture.transport.waitForRequests(5)
    fixture.transport.release()
    for task in tasks { #expect(await task.outcome.errorCode == nil) }
  }

  @Test func aSharedLoadHasTheHighestPriorityOfItsTasks() async throws {
    let fixture = PipelineFixture(configure: { $0.maximumConcurrentDownloads = 1 }) { _ in .hold }
    let tasks = ["/first", "/a", "/b"].map { fixture.pipeline.task(for: request($0, priority: .low)) }
    await fixture.transport.waitForRequests(1)
    let urgent = fixture.pipeline.task(for: request("/b", priority: .veryHigh))
    fixture.transport.release("/first")
    await fixture.transport.waitForRequests(2)
    #expect(fixture.transport.paths.last == "/b")
    fixture.transport.release()
    await fixture.transport.waitForRequests(3)
    fixture.transport.release()
    for task in tasks + [urgent] { #expect(await task.outcome.errorCode == nil) }
  }

  @Test func suspendedNothingStartsAndResumedTheMostUrgentIsFirst() async throws {
    let fixture = PipelineFixture(configure: { $0.maximumConcurrentDownloads = 6 }) { _ in .hold }
    let running = (0..<6).map { fixture.pipeline.task(for: request("/\($0)")) }
    await fixture.transport.waitForRequests(6)
    fixture.pipeline.isSuspended = true
    let waiting = [request("/low", priority: .low), request("/high", priority: .high)].map {
      fixture.pipeline.task(for: $0)
    }
    let dropped = fixture.pipeline.task(for: request("/dropped"))
    // What was under way is delivered although nothing new starts.
    fixture.transport.release()
    for task in running { #expect(await task.outcome.errorCode == nil) }
    #expect(fixture.transport.requests.count == 6)
    dropped.cancel()
    fixture.pipeline.isSuspended = false
    await fixture.transport.waitForRequests(8)
    #expect(fixture.transport.paths.suffix(2) == ["/high", "/low"])
    fixture.transport.release()
    for task in waiting { #expect(await task.outcome.errorCode == nil) }
  }

  @Test func progressReachesTheTask() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let task = fixture.pipeline.task(for: request("/a"))
    await fixture.transport.waitForRequests(1)
    let stream = task.progress
    fixture.transport.release(with: .respond(body: Data([1, 2, 3, 4])))
    var last: ImageTask.Progress?
    for await progress in stream { last = progress }
    #expect(last == ImageTask.Progress(completed: 4, total: 4))
    #expect(last?.fraction == 1)
    #expect(await task.outcome.errorCode == nil)
  }

  @Test func aLoadsPriorityFollowsItsTasks() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let tasks = (0..<3).map { _ in fixture.pipeline.task(for: request("/a")) }
    func priorities() -> [ImageRequest.Priority?] {
      fixture.pipeline.core.withLock { _ in [tasks[2].load?.priority, tasks[2].load?.original?.priority] }
    }
    tasks[1].priority = .high
    #expect(priorities() == [.high, .high])
    tasks[0].priority = .low
    #expect(priorities() == [.high, .high])
    tasks[1].cancel()
    #expect(priorities() == [.normal, .normal])
    tasks[2].priority = .veryLow
    #expect(priorities() == [.low, .low])
    fixture.pipeline.cancelAll()
  }

  /// Thousands of tasks may share one print.
  @Test func theSearchForTheHighestPriorityEndsWithIt() {
    var looks = 0
    func highest(_ priorities: [ImageRequest.Priority], upTo bound: ImageRequest.Priority)
      -> ImageRequest.Priority
    {
      looks = 0
      return .highest(
        of: priorities.lazy.map { priority in
          looks += 1
          return priority
        }, upTo: bound)
    }
    #expect(highest(Array(repeating: .normal, count: 1000), upTo: .normal) == .normal)
    #expect(looks == 1)
    #expect(highest([.low, .normal, .veryLow], upTo: .high) == .normal)
    #expect(highest([], upTo: .high) == .high)
  }

  @Test func aTransportIsToldOfPrioritiesInOrderAndWithoutALockHeld() async throws {
    let transport = AskingTransport()
    let fixture = PipelineFixture(configure: { $0.transport = transport }) { _ in .hold }
    transport.pipeline.withLock { $0 = fixture.pipeline }
    let task = fixture.pipeline.task(for: request("/a"))
    task.priority = .high
    task.priority = .low
    var told: [ImageRequest.Priority] = []
    for await (priority, isFree) in transport.told {
      #expect(isFree)
      told.append(priority)
      if told.count == 2 { break }
    }
    #expect(told == [.high, .low])
    transport.pipeline.withLock { $0 = nil }
    task.cancel()
  }
}

/// A transport that waits for a thread that uses the pipeline, as one with a lock of its own may have to.
private final class AskingTransport: HTTPTransport, HTTPTransfer {
  let pipeline = Lock<ImagePipeline?>(nil)
  let (told, continuation) = AsyncStream<(ImageRequest.Priority, Bool)>.makeStream()

  func send(_ request: HTTPRequest, to receiver: any HTTPReceiver) -> any HTTPTransfer { self }
  func cancel() {}

  func setPriority(_ priority: ImageRequest.Priority) {
    let hasAnswered = DispatchSemaphore(value: 0)
    let pipeline = pipeline.withLock { $0 }
    Thread.detachNewThread {
      _ = pipeline?.downloadCounts
      hasAnswered.signal()
    }
    continuation.yield((priority, hasAnswered.wait(timeout: .now() + 10) == .success))
  }
}
