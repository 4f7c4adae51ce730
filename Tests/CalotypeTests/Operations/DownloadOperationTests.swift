import Foundation
import TestSupport
import Testing

@testable import Calotype

/// What a delegate was told, and where.
private final class RecordingDelegate: DownloadOperationDelegate, @unchecked Sendable {
  private struct State {
    var calls: [String] = []
    var progress: [(Int, Int?)] = []
    var image: ImageContainer?
    var error: ImagePipeline.Error?
    var wasAlwaysOnMain = true
    var continuations: [CheckedContinuation<Void, Never>] = []
    var hasEnded = false
  }
  // The main queue need not be on the main thread here, so it is known by a mark.
  private static let mainKey: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()
  private let state = Lock(State())
  private let onResponse: (@Sendable (DownloadOperation) -> Void)?
  init(onResponse: (@Sendable (DownloadOperation) -> Void)? = nil) {
    self.onResponse = onResponse
    _ = Self.mainKey
  }

  var calls: [String] { state.withLock { $0.calls } }
  var progress: [(Int, Int?)] { state.withLock { $0.progress } }
  var image: ImageContainer? { state.withLock { $0.image } }
  var error: ImagePipeline.Error? { state.withLock { $0.error } }
  var wasAlwaysOnMain: Bool { state.withLock { $0.wasAlwaysOnMain } }

  private func note(_ call: String, isEnd: Bool = false, _ change: (inout State) -> Void = { _ in }) {
    let waiting: [CheckedContinuation<Void, Never>] = state.withLock { state in
      if state.calls.last != call { state.calls.append(call) }
      if DispatchQueue.getSpecific(key: Self.mainKey) == nil { state.wasAlwaysOnMain = false }
      change(&state)
      guard isEnd else { return [] }
      state.hasEnded = true
      return state.continuations
    }
    for continuation in waiting { continuation.resume() }
  }

  func end() async {
    await withCheckedContinuation { continuation in
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.continuations.append(continuation) }
        return state.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }

  func downloadOperation(_ operation: DownloadOperation, didReceive response: HTTPResponseHead) {
    note("response \(response.status)")
    onResponse?(operation)
  }
  func downloadOperation(_ operation: DownloadOperation, didReceive byteCount: Int, of total: Int?) {
    note("progress") { $0.progress.append((byteCount, total)) }
  }
  func downloadOperation(_ operation: DownloadOperation, didDownload original: DownloadedOriginal) {
    note("downloaded")
  }
  func downloadOperation(_ operation: DownloadOperation, didFinishWith image: ImageContainer) {
    note("finished", isEnd: true) { $0.image = image }
  }
  func downloadOperation(_ operation: DownloadOperation, didFailWith error: ImagePipeline.Error) {
    note("failed", isEnd: true) { $0.error = error }
  }
  func downloadOperationDidCancel(_ operation: DownloadOperation) { note("cancelled", isEnd: true) }
}

@Suite struct DownloadOperationTests {
  let transport = CurlTransport.forTests()
  let queue = OperationQueue()

  private func operation(
    _ url: URL, processors: [any ImageProcessing] = [], decoder: any ImageDecoding = StubDecoder()
  ) -> DownloadOperation {
    DownloadOperation(
      request: ImageRequest(url: url, processors: processors), transport: transport, decoder: decoder)
  }

  @Test func tellsItsDelegateOnTheMainThreadInOrder() async throws {
    let server = try ScriptedServer { _ in .ok([200] + [UInt8](repeating: 0, count: 99_999)) }
    let delegate = RecordingDelegate()
    let download = operation(server.url("/"))
    download.delegate = delegate
    queue.addOperation(download)
    await delegate.end()
    let calls = delegate.calls
    #expect(calls == ["response 200", "progress", "downloaded", "finished"])
    #expect(delegate.wasAlwaysOnMain)
    #expect(delegate.image?.bitmap[0, 0].red == 200)
    #expect(delegate.progress.allSatisfy { $0.1 == 100_000 })
    #expect(delegate.progress.last?.0 == 100_000)
    await queue.drained()
    #expect(try download.result?.get().bitmap[0, 0].red == 200)
    #expect(download.isFinished)
  }

  @Test func reachesOnlyWhatItsRequestMayReach() async throws {
    let server = try ScriptedServer { _ in .ok([1]) }
    let request = ImageRequest(url: server.url("/"), addressPolicy: .untrusted)
    for download in [
      DownloadOperation(request: request, transport: transport, decoder: StubDecoder()),
      DownloadOperation(downloading: request, transport: transport),
    ] {
      queue.addOperation(download)
      await queue.drained()
      #expect(throws: ImagePipeline.Error.self) { try download.result?.get() }
      if case .failure(let error) = download.result { #expect(error.code == "address_refused") }
    }
    #expect(server.requests.isEmpty)
  }

  @Test func aDelegateHearsOfTheEndThoughTheOneBeforeItIsGone() async throws {
    let mailbox = DownloadMailbox()
    let download = operation(url("/"))
    let calls = OperationQueue()
    calls.maxConcurrentOperationCount = 1
    mailbox.queue = calls
    calls.isSuspended = true
    var first: RecordingDelegate? = RecordingDelegate()
    mailbox.delegate = first
    mailbox.post(from: download) { $0.progress = (1, nil) }
    first = nil
    calls.isSuspended = false
    await calls.drained()
    let second = RecordingDelegate()
    mailbox.delegate = second
    mailbox.post(from: download) { $0.progress = (2, nil) }
    mailbox.post(from: download) { $0.end = .success(nil) }
    await calls.drained()
    #expect(second.progress.map(\.0) == [2])
  }

  @Test func tellsItsDelegateOnAQueueOfItsChoiceOneCallAtATime() async throws {
    let server = try ScriptedServer { _ in .chunked([[1], [2], [3], [4]], pauseMilliseconds: 5) }
    let delegate = RecordingDelegate()
    let download = operation(server.url("/"))
    download.delegate = delegate
    download.delegateQueue = OperationQueue()
    queue.addOperation(download)
    await delegate.end()
    #expect(delegate.calls == ["response 200", "progress", "downloaded", "finished"])
    #expect(!delegate.wasAlwaysOnMain)
    #expect(delegate.progress.allSatisfy { $0.1 == nil })
    #expect(delegate.progress.map(\.0) == delegate.progress.map(\.0).sorted())
  }

  @MainActor private final class Screen: @MainActor DownloadOperationDelegate {
    var image: ImageContainer?
    var continuation: CheckedContinuation<Void, Never>?
    func downloadOperation(_ operation: DownloadOperation, didFinishWith image: ImageContainer) {
      MainActor.assertIsolated()
      self.image = image
      continuation?.resume()
    }
  }

  @MainActor @Test func aClassOfTheMainActorIsADelegate() async throws {
    let server = try ScriptedServer { _ in .ok([7]) }
    let screen = Screen()
    let download = operation(server.url("/"))
    download.delegate = screen
    await withCheckedContinuation { continuation in
      screen.continuation = continuation
      queue.addOperation(download)
    }
    #expect(screen.image?.bitmap[0, 0].red == 7)
  }

  @Test func nothingIsCalledOnceCancelWasReported() async throws {
    let server = try ScriptedServer { _ in
      [.head(200, [("Content-Length", "100")]), .drip([UInt8](repeating: 1, count: 100), milliseconds: 2)]
    }
    let delegate = RecordingDelegate(onResponse: { $0.cancel() })
    let download = operation(server.url("/"))
    download.delegate = delegate
    queue.addOperation(download)
    await delegate.end()
    await queue.drained()
    try await server.waitForClose()
    // Whatever else had been posted to the main thread has run by then.
    await MainActor.run {}
    #expect(delegate.calls == ["response 200", "cancelled"])
    #expect(download.isFinished && download.isCancelled)
    guard case .failure(let error) = download.result else { return #expect(Bool(false), "there is a result") }
    #expect(error.isCancelled)
  }

  @Test(arguments: [
    (Script.status(404, body: [1, 2, 3]), "http_404"), (.status(500), "http_500"), (.ok([]), "empty"),
    (.status(304), "http_304"), (.status(302), "http_302"), (.status(206, body: [1]), "http_206"),
    (.truncated([1], promising: 10), "connection_lost"), (.reset, "connection_lost"),
  ])
  func whatIsNoPictureIsATypedError(script: Script, code: String) async throws {
    let server = try ScriptedServer { _ in script }
    let delegate = RecordingDelegate()
    let download = operation(server.url("/x"))
    download.delegate = delegate
    queue.addOperation(download)
    await delegate.end()
    #expect(delegate.calls.last == "failed")
    #expect(delegate.error?.code == code)
    #expect(delegate.error?.url == server.url("/x"))
    #expect(code == "empty" || !delegate.calls.contains("response 404"))
  }

  @Test func aLongErrorPageIsNotReadToItsEnd() async throws {
    for script: Script in [
      [.head(404, [("Content-Length", "10000000")]), .body([1]), .hang],
      [.head(404, [("Connection", "close")]), .endless([UInt8](repeating: 1, count: 1000))],
    ] {
      let server = try ScriptedServer { _ in script }
      let delegate = RecordingDelegate()
      let download = operation(server.url("/"))
      download.delegate = delegate
      queue.addOperation(download)
      await delegate.end()
      #expect(delegate.error?.code == "http_404")
      try await server.waitForClose()
    }
  }

  @Test func cancelledBeforeItsTurnItAsksNothingAndSaysSoAtOnce() async throws {
    let gate = TestSupport.Gate()
    let server = try ScriptedServer { _ in Script.ok([1]).after(gate) }
    queue.maxConcurrentOperationCount = 1
    let first = operation(server.url("/1"))
    let second = operation(server.url("/2"))
    let delegate = RecordingDelegate()
    second.delegate = delegate
    queue.add([first, second])
    try await server.waitForRequests(1)
    second.cancel()
    await delegate.end()
    #expect(delegate.calls == ["cancelled"])
    gate.open()
    await queue.drained()
    #expect(server.requests.map(\.path) == ["/1"])
    #expect(second.isFinished)
  }

  @Test func cancelledWhileDecodingItEndsAndSoDoesTheDecode() async throws {
    let server = try ScriptedServer { _ in .ok([1]) }
    let (decoding, stopped) = (TestSupport.Gate(), TestSupport.Gate())
    let decoder = StubDecoder { cancellation in
      decoding.open()
      while !cancellation.isCancelled { sched_yield() }
      stopped.open()
    }
    let delegate = RecordingDelegate()
    let download = operation(server.url("/"), decoder: decoder)
    download.delegate = delegate
    queue.addOperation(download)
    await decoding.wait()
    download.cancel()
    await delegate.end()
    await stopped.wait()
    await queue.drained()
    #expect(delegate.calls.last == "cancelled")
  }

  @Test func aDelegateThatIsGoneIsNotCalledAndNothingLeaks() async throws {
    let gate = TestSupport.Gate()
    let server = try ScriptedServer { _ in Script.ok([1]).after(gate) }
    weak var weakDownload: DownloadOperation?
    weak var weakDelegate: RecordingDelegate?
    do {
      let download = operation(server.url("/"))
      weakDownload = download
      do {
        let delegate = RecordingDelegate()
        weakDelegate = delegate
        download.delegate = delegate
        queue.addOperation(download)
        try await server.waitForRequests(1)
      }
      #expect(weakDelegate == nil)
      gate.open()
      await queue.drained()
      #expect(download.isFinished)
    }
    // The last references are those of the queues' own blocks, which end soon.
    for _ in 0..<2000 where weakDownload != nil { try await Task.sleep(for: .milliseconds(1)) }
    #expect(weakDownload == nil)
  }

  @Test func aSuspendedQueueFinishesWhatRunsAndThenStartsTheMostUrgent() async throws {
    let gate = TestSupport.Gate()
    let server = try ScriptedServer { request in
      request.path.hasPrefix("/running") ? Script.ok([1]).after(gate) : .ok([2])
    }
    queue.maxConcurrentOperationCount = 3
    let running = (0..<3).map { operation(server.url("/running\($0)")) }
    let priorities: [Operation.QueuePriority] = [.low, .normal, .veryHigh]
    let waiting = priorities.map { priority in
      let download = operation(server.url("/\(priority.rawValue)"))
      download.queuePriority = priority
      return download
    }
    queue.add(running)
    try await server.waitForRequests(3)
    queue.isSuspended = true
    queue.add(waiting)
    gate.open()
    for download in running { await download.finished() }
    #expect(running.allSatisfy { $0.isFinished })
    #expect(server.requests.count == 3)
    // One at a time from here, so that the order can be seen.
    queue.maxConcurrentOperationCount = 1
    queue.isSuspended = false
    await queue.drained()
    #expect(server.requests.dropFirst(3).map(\.path) == ["/8", "/0", "/-4"])
  }

  @Test func startsAndCancelsInAnyOrderAndFetchesAgain() async throws {
    let server = try ScriptedServer { _ in .ok([9]) }
    queue.maxConcurrentOperationCount = 4
    for round in 0..<150 {
      let first = operation(server.url("/"))
      let delegate = RecordingDelegate()
      first.delegate = delegate
      queue.addOperation(first)
      if round % 2 == 0 { try await Task.sleep(for: .microseconds(round * 30)) }
      first.cancel()
      await delegate.end()
      #expect(["cancelled", "finished"].contains(delegate.calls.last))
      let second = operation(server.url("/"))
      queue.addOperation(second)
      await second.finished()
      #expect(try second.result?.get().bitmap[0, 0].red == 9)
    }
    await queue.drained()
    #expect(queue.operationCount == 0)
  }

  @Test func manyDownloadsWithRandomCancelsEndOnceEach() async throws {
    let server = try ScriptedServer { request in
      request.index % 5 == 0 ? Script.ok([1]).after(milliseconds: 1) : .ok([1])
    }
    queue.maxConcurrentOperationCount = 8
    let ends = Lock<[Int]>([Int](repeating: 0, count: 600))
    var random = SplitMix(state: 5)
    var downloads: [DownloadOperation] = []
    for index in 0..<600 {
      let handlers = DownloadOperation.Handlers(onCompletion: { _ in ends.withLock { $0[index] += 1 } })
      let download = DownloadOperation(
        downloading: ImageRequest(url: server.url("/\(index)")), client: HTTPClient(transport: transport),
        handlers: handlers)
      downloads.append(download)
      queue.addOperation(download)
      if Int.random(in: 0..<3, using: &random) == 0 { downloads.randomElement(using: &random)?.cancel() }
      if index % 50 == 0 { await Task.yield() }
    }
    await queue.drained()
    #expect(ends.withLock { $0.allSatisfy { $0 == 1 } })
  }

  @Test func aDecodeThatDependsOnADownloadTakesItsBytes() async throws {
    let server = try ScriptedServer(routes: ["/a": [.ok([42])]])
    func run(_ path: String) async -> Result<ImageContainer, ImagePipeline.Error>? {
      let download = DownloadOperation(
        downloading: ImageRequest(url: server.url(path), processors: [Turn(to: 3)]), transport: transport)
      let decode = DecodeOperation(download: download, decoder: StubDecoder())
      queue.add([decode, download])
      await queue.drained()
      #expect(download.result.map { if case .failure = $0 { true } else { false } } ?? true)
      return decode.result
    }
    #expect(try await run("/a")?.get().bitmap[0, 0].blue == 3)
    guard case .failure(let error) = await run("/none") else { return #expect(Bool(false), "it failed") }
    #expect(error.code == "http_404")
  }
}

/// Gives every pixel a blue.
private struct Turn: ImageProcessing {
  let blue: UInt8
  init(to blue: UInt8) { self.blue = blue }
  var identifier: String { "turn(\(blue))" }
  func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
    try Bitmap(size: image.size, isOpaque: true) { pixels in
      for start in stride(from: 0, to: pixels.count, by: 4) {
        pixels[start] = 0
        pixels[start + 1] = 0
        pixels[start + 2] = blue
        pixels[start + 3] = 255
      }
    }
  }
}

extension OperationQueue {
  fileprivate func add(_ operations: [Operation]) { for operation in operations { addOperation(operation) } }
}

extension Operation {
  /// Returns when the operation has finished.
  func finished() async {
    await withCheckedContinuation { continuation in
      let thread = Thread {
        self.waitUntilFinished()
        continuation.resume()
      }
      thread.start()
    }
  }
}
