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
}
