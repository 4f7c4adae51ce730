import Foundation
import TestSupport
import Testing

@testable import Calotype

/// A screen with as many rows as it likes, that keeps what it was told to show.
@MainActor
private final class FakeScreen {
  var loader: RowLoader<Int>!
  var shown: [Int: RowPicture] = [:]
  var updates: [Int] = []
  private var waiters: [(isMet: () -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

  init(_ pipeline: ImagePipeline) {
    loader = RowLoader(pipeline: pipeline) { [weak self] row, picture in
      guard let self else { return }
      shown[row] = picture
      updates.append(row)
      let met = waiters.filter { $0.isMet() }
      waiters.removeAll { $0.isMet() }
      for waiter in met { waiter.continuation.resume() }
    }
  }

  func show(_ path: String?, in row: Int) {
    shown[row] = loader.bind(row, to: path.map { request($0) })
  }

  func red(_ row: Int) -> UInt8? { shown[row]?.bitmap?[0, 0].red }

  func wait(until isMet: @escaping () -> Bool) async {
    if isMet() { return }
    await withCheckedContinuation { waiters.append((isMet, $0)) }
  }
}

@MainActor
@Suite struct RowLoaderTests {
  /// A server whose pictures' red is the number in their path.
  private static let numbered: @Sendable (HTTPRequest) -> StubTransport.Answer = { request in
    .respond(body: Data([UInt8(request.url.lastPathComponent) ?? 255]))
  }

  @Test func aPictureInMemoryIsShownAtOnce() async throws {
    let fixture = PipelineFixture(Self.numbered)
    _ = try await fixture.pipeline.image(for: request("/7"))
    let screen = FakeScreen(fixture.pipeline)
    screen.show("/7", in: 0)
    #expect(screen.red(0) == 7)
    #expect(screen.loader.loadingCount == 0)
    #expect(screen.updates.isEmpty)
  }

  @Test func onlyTheRowsOfAnAddressAreToldAndItIsAskedForOnce() async {
    let fixture = PipelineFixture { _ in .hold }
    let screen = FakeScreen(fixture.pipeline)
    for (row, path) in ["/1", "/2", "/1"].enumerated() { screen.show(path, in: row) }
    #expect(screen.red(0) == nil)
    await fixture.transport.waitForRequests(2)
    fixture.transport.release("/1", with: .respond(body: Data([1])))
    await screen.wait { screen.red(0) == 1 && screen.red(2) == 1 }
    #expect(screen.updates.sorted() == [0, 2])
    #expect(fixture.transport.paths.sorted() == ["/1", "/2"])
  }

  @Test func aReusedRowNeverShowsAnothersPicture() async {
    let fixture = PipelineFixture { _ in .hold }
    let screen = FakeScreen(fixture.pipeline)
    screen.show("/1", in: 0)
    await fixture.transport.waitForRequests(1)
    screen.show("/2", in: 0)
    await fixture.transport.waitForRequests(2)
    // The first comes late, or not at all: its load was cancelled.
    fixture.transport.release("/1", with: .respond(body: Data([1])))
    fixture.transport.release("/2", with: .respond(body: Data([2])))
    await screen.wait { screen.red(0) == 2 }
    screen.show(nil, in: 0)
    #expect(screen.red(0) == nil)
    #expect(screen.updates == [0])
  }

  @Test func afterAThousandRebindsEachRowShowsItsLastAddress() async {
    let fixture = PipelineFixture(Self.numbered)
    let screen = FakeScreen(fixture.pipeline)
    var generator = SplitMix(state: 1)
    var last: [Int: Int] = [:]
    for step in 0..<1000 {
      let row = Int(generator.next() % 15)
      let number = Int(generator.next() % 200)
      screen.show("/\(number)", in: row)
      last[row] = number
      if step % 10 == 0 { await Task.yield() }
    }
    await screen.wait { last.allSatisfy { screen.red($0.key) == UInt8($0.value) } }
    await fixture.pipeline.flush()
    await Task.yield()
    for (row, number) in last { #expect(screen.red(row) == UInt8(number)) }
  }

  @Test func aFailureLeavesThePlaceholderAndCanBeTriedAgain() async {
    let fixture = PipelineFixture { _ in .hold }
    let screen = FakeScreen(fixture.pipeline)
    screen.show("/1", in: 0)
    await fixture.transport.waitForRequests(1)
    fixture.transport.release(with: .respond(status: 500, body: Data()))
    await screen.wait { if case .failed = screen.shown[0] { true } else { false } }
    screen.loader.retry(0)
    await fixture.transport.waitForRequests(2)
    fixture.transport.release(with: .respond(body: Data([1])))
    await screen.wait { screen.red(0) == 1 }
  }

  @Test func suspendedItAsksForNothingAndQueuesNothing() async {
    let fixture = PipelineFixture { _ in .hold }
    let screen = FakeScreen(fixture.pipeline)
    screen.loader.isSuspended = true
    // A fling: 5,000 rows pass through a window of fifteen.
    for number in 0..<5000 {
      screen.show("/\(number)", in: number)
      if number >= 15 { screen.loader.unbind(number - 15) }
    }
    #expect(fixture.transport.requests.isEmpty)
    #expect(screen.loader.loadingCount == 0)
    #expect(fixture.pipeline.core.withLock { $0.isIdle })
    screen.loader.isSuspended = false
    await fixture.transport.waitForRequests(6)
    // Those that are on screen, the last bound first.
    #expect(fixture.transport.paths == (4994..<5000).reversed().map { "/\($0)" })
    #expect(screen.loader.loadingCount == 15)
    for number in 4985..<5000 { screen.loader.unbind(number) }
    await fixture.pipeline.flush()
  }

  @Test func scrolledThroughCachedRowsDecodesAreBounded() async throws {
    let fixture = PipelineFixture(
      memory: false, disk: true, configure: { $0.decodingWidth = 2 }, Self.numbered)
    for number in 0..<200 { _ = try await fixture.pipeline.image(for: request("/\(number)")) }
    await fixture.pipeline.flush()
    let before = fixture.decoder.decodeCount
    let screen = FakeScreen(fixture.pipeline)
    screen.loader.isSuspended = true
    for row in 0..<5000 {
      screen.show("/\(row % 200)", in: row)
      if row >= 15 { screen.loader.unbind(row - 15) }
    }
    screen.loader.isSuspended = false
    await screen.wait { (4985..<5000).allSatisfy { screen.red($0) != nil } }
    #expect(fixture.decoder.decodeCount - before <= 15 + 2)
    #expect(fixture.transport.requests.count == 200)
  }

  @Test func aMemoryWarningEmptiesAndCancels() async throws {
    let fixture = PipelineFixture { _ in .hold }
    let screen = FakeScreen(fixture.pipeline)
    for number in 0..<20 { screen.show("/\(number)", in: number) }
    await fixture.transport.waitForRequests(6)
    fixture.memory.store(
      try StubDecoder().decode(Data([1]), options: .init(), cancellation: CancellationFlag()),
      for: request("/kept").cacheKey)
    screen.loader.handleMemoryWarning()
    #expect(fixture.memory.count == 0)
    #expect(screen.loader.loadingCount == 0)
    await fixture.transport.waitForCancellations(6)
    await fixture.pipeline.flush()
  }

  @Test(arguments: [false, true])
  func aRowWhoseLoadWasCancelledIsAskedForWhenItIsBoundAgain(byThePipeline: Bool) async {
    let fixture = PipelineFixture { _ in .hold }
    let screen = FakeScreen(fixture.pipeline)
    screen.show("/1", in: 0)
    await fixture.transport.waitForRequests(1)
    if byThePipeline { fixture.pipeline.cancelAll() } else { screen.loader.handleMemoryWarning() }
    // In the same turn, before the row has been told.
    screen.show("/1", in: 0)
    await fixture.transport.waitForRequests(2)
    #expect(screen.loader.loadingCount == 1)
    fixture.transport.release("/1", with: .respond(body: Data([1])))
    await screen.wait { screen.red(0) == 1 }
    #expect(screen.loader.loadingCount == 0)
    screen.show("/1", in: 0)
    #expect(fixture.transport.requests.count == 2)
  }

  @Test func aRowThatWaitsWhileItsLoaderIsSuspendedIsNotAskedForTwice() async {
    let fixture = PipelineFixture { _ in .hold }
    let screen = FakeScreen(fixture.pipeline)
    screen.show("/1", in: 0)
    await fixture.transport.waitForRequests(1)
    screen.loader.isSuspended = true
    screen.loader.handleMemoryWarning()
    screen.show("/1", in: 0)
    #expect(screen.loader.loadingCount == 0)
    screen.loader.isSuspended = false
    await fixture.transport.waitForRequests(2)
    // Nor is it lost where its load is cancelled and the row has not been told yet.
    fixture.pipeline.cancelAll()
    screen.loader.isSuspended = true
    screen.loader.isSuspended = false
    await fixture.transport.waitForRequests(3)
    fixture.transport.release("/1", with: .respond(body: Data([1])))
    await screen.wait { screen.red(0) == 1 }
    #expect(fixture.transport.requests.count == 3)
  }

  @Test func aPreviewThatComesBehindThePictureIsNotShown() async throws {
    let fixture = PipelineFixture(Self.numbered)
    let screen = FakeScreen(fixture.pipeline)
    screen.show("/7", in: 0)
    await screen.wait { screen.red(0) == 7 }
    let preview = try StubDecoder().decode(Data([1]), options: .init(), cancellation: CancellationFlag())
    let load = screen.loader.lastNumber
    screen.loader.take(.preview(ImageResponse(container: preview, source: .network)), for: 0, of: load)
    #expect(screen.red(0) == 7)
    screen.loader.take(.refreshed(ImageResponse(container: preview, source: .network)), for: 0, of: load)
    #expect(screen.red(0) == 1)
  }

  @Test func aLoaderThatIsLetGoCancelsAndTellsNobody() async {
    let fixture = PipelineFixture { _ in .hold }
    var screen: FakeScreen? = FakeScreen(fixture.pipeline)
    weak let loader = screen?.loader
    screen?.show("/1", in: 0)
    await fixture.transport.waitForRequests(1)
    screen = nil
    await fixture.transport.waitForCancellations(1)
    #expect(loader == nil)
    await fixture.pipeline.flush()
  }
}
