import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Calotype

@Suite struct CurlTransportCancelTests {
  @Test(arguments: ["before the head", "within the body"])
  func cancellingClosesTheConnectionAtOnce(moment: String) async throws {
    let server = try ScriptedServer { _ in
      moment == "before the head" ? .hang : [.head(200, [("Content-Length", "100")]), .body([1]), .hang]
    }
    let transport = CurlTransport.forTests()
    let receiver = RecordingReceiver()
    let transfer = transport.send(HTTPRequest(url: server.url("/")), to: receiver)
    try await server.waitForRequests(1)
    if moment == "within the body" { await receiver.wait { $0.pieces > 0 } }
    let start = ContinuousClock.now
    transfer.cancel()
    #expect(try await receiver.failure().code == .cancelled)
    let closed = try await server.waitForClose()
    #expect(server.connections[0].wasClosedByPeer)
    // 0.1 s is the aim; the rest is for a machine under load.
    #expect(closed - start < .seconds(2))
    transfer.cancel()
    #expect(receiver.now.results.count == 1)
  }

  /// What is still said of a transfer after its transport's thread has ended keeps nothing alive.
  @Test func aTransportThatIsGoneLeavesNothingBehind() async throws {
    let server = try ScriptedServer { _ in .ok([1]) }
    let receiver = RecordingReceiver()
    weak var engine: CurlEngine?
    try await {
      var transport: CurlTransport? = CurlTransport.forTests()
      let transfer = transport?.send(HTTPRequest(url: server.url("/")), to: receiver)
      engine = (transfer as? CurlTransfer)?.engine
      #expect(engine != nil)
      _ = try await receiver.end().get()
      transport = nil
      while engine?.isOver == false { try await Task.sleep(for: .milliseconds(2)) }
      transfer?.cancel()
      transfer?.setPriority(.high)
    }()
    // With it its connection.
    while engine != nil { try await Task.sleep(for: .milliseconds(2)) }
    try await server.waitForAllClosed()
  }

  @Test func oneThatWaitsIsCancelledWithoutARequest() async throws {
    let gate = TestSupport.Gate()
    let server = try ScriptedServer { _ in Script.ok([1]).after(gate) }
    let transport = CurlTransport.forTests { $0.maximumConcurrentTransfers = 1 }
    let first = RecordingReceiver()
    let second = RecordingReceiver()
    let third = RecordingReceiver()
    _ = transport.send(HTTPRequest(url: server.url("/1")), to: first)
    let waiting = transport.send(HTTPRequest(url: server.url("/2")), to: second)
    _ = transport.send(HTTPRequest(url: server.url("/3")), to: third)
    try await server.waitForRequests(1)
    waiting.cancel()
    #expect(try await second.failure().code == .cancelled)
    gate.open()
    _ = try await first.end().get()
    _ = try await third.end().get()
    #expect(server.requests.map(\.path) == ["/1", "/3"])
  }

  @Test func cancellingInTheSameTurnAsTheStartEnds() async throws {
    let server = try ScriptedServer { _ in .ok([1]) }
    let transport = CurlTransport.forTests()
    for _ in 0..<200 {
      let receiver = RecordingReceiver()
      transport.send(HTTPRequest(url: server.url("/")), to: receiver).cancel()
      // On a busy machine the answer may be there before the cancel.
      if case .failure(let error) = await receiver.end() { #expect(error.code == .cancelled) }
      #expect(receiver.now.results.count == 1)
    }
    // The transport is as good as before.
    _ = try await transport.data(for: HTTPRequest(url: server.url("/")))
  }

  @Test func cancellingWhileConnectingEnds() async throws {
    let full = try FullListener()
    let transport = CurlTransport.forTests()
    let receiver = RecordingReceiver()
    let transfer = transport.send(HTTPRequest(url: full.url), to: receiver)
    // Behind it in the transport's own order, so that it is under way by then.
    let server = try ScriptedServer { _ in .ok([1]) }
    _ = try await transport.data(for: HTTPRequest(url: server.url("/")))
    transfer.cancel()
    #expect(try await receiver.failure().code == .cancelled)
  }

  @Test func cancellingWithinACallEndsBeforeTheBody() async throws {
    let server = try ScriptedServer { _ in .ok([UInt8](repeating: 1, count: 100_000)) }
    let transport = CurlTransport.forTests()
    let box = Lock<(any HTTPTransfer)?>(nil)
    let ready = DispatchSemaphore(value: 0)
    let receiver = RecordingReceiver(onHead: {
      ready.wait()
      box.withLock { $0 }?.cancel()
    })
    let transfer = transport.send(HTTPRequest(url: server.url("/")), to: receiver)
    box.withLock { $0 = transfer }
    ready.signal()
    #expect(try await receiver.failure().code == .cancelled)
    #expect(receiver.now.pieces == 0)
  }

  @Test func cancellingAfterTheEndChangesNothing() async throws {
    let server = try ScriptedServer { _ in .ok([1]) }
    let transport = CurlTransport.forTests()
    let receiver = RecordingReceiver()
    let transfer = transport.send(HTTPRequest(url: server.url("/")), to: receiver)
    _ = try await receiver.end().get()
    transfer.cancel()
    _ = try await transport.data(for: HTTPRequest(url: server.url("/")))
    #expect(receiver.now.results.count == 1)
    #expect(server.connections.count == 1)
  }

  @Test func cancellingTheTaskCancelsTheTransfer() async throws {
    let server = try ScriptedServer { _ in .hang }
    let transport = CurlTransport.forTests()
    let url = server.url("/")
    let task = Task { try await transport.data(for: HTTPRequest(url: url)) }
    try await server.waitForRequests(1)
    task.cancel()
    let error = await #expect(throws: HTTPTransportError.self) { _ = try await task.value }
    #expect(error?.code == .cancelled)
    try await server.waitForClose()
  }

  @Test func aStormOfCancelsEndsEachExactlyOnce() async throws {
    let server = try ScriptedServer { request in
      switch request.index % 4 {
      case 0: .ok([UInt8](repeating: 1, count: 20_000))
      case 1: Script.ok([1]).after(milliseconds: 1)
      case 2: .truncated([1, 2], promising: 10)
      default: .chunked([[1], [2], [3]], pauseMilliseconds: 1)
      }
    }
    let transport = CurlTransport.forTests {
      $0.maximumConcurrentTransfers = 12
      $0.maximumTransfersPerHost = 12
    }
    let url = server.url("/")
    let receivers = await withTaskGroup(of: [RecordingReceiver].self) { group in
      for worker in 0..<4 {
        group.addTask {
          var random = SplitMix(state: UInt64(worker))
          var receivers: [RecordingReceiver] = []
          var transfers: [any HTTPTransfer] = []
          for _ in 0..<250 {
            let receiver = RecordingReceiver(keepsBytes: false)
            receivers.append(receiver)
            transfers.append(transport.send(HTTPRequest(url: url), to: receiver))
            switch Int.random(in: 0..<4, using: &random) {
            case 0: transfers.last?.cancel()
            case 1: transfers.randomElement(using: &random)?.cancel()
            case 2: transfers.randomElement(using: &random)?.setPriority(.high)
            default: await Task.yield()
            }
          }
          for receiver in receivers { await receiver.end() }
          return receivers
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    // Behind everything that was asked of the transport before.
    let last = RecordingReceiver()
    transport.send(HTTPRequest(url: url), to: last).cancel()
    await last.end()
    #expect(receivers.count == 1000)
    #expect(receivers.allSatisfy { $0.now.results.count == 1 })
    #expect(receivers.allSatisfy { $0.now.heads.count <= 1 })
  }

  @Test func theMostUrgentStartsFirstAndChangesCount() async throws {
    for order in TransferOrder.allCases {
      let gate = TestSupport.Gate()
      let server = try ScriptedServer { request in
        request.path == "/first" ? Script.ok([1]).after(gate) : .ok([1])
      }
      let transport = CurlTransport.forTests {
        $0.maximumConcurrentTransfers = 1
        $0.order = order
      }
      var receivers = [RecordingReceiver()]
      _ = transport.send(HTTPRequest(url: server.url("/first")), to: receivers[0])
      try await server.waitForRequests(1)
      var transfers: [any HTTPTransfer] = []
      let priorities: [ImageRequest.Priority] = [.low, .normal, .normal, .high, .low]
      for (index, priority) in priorities.enumerated() {
        receivers.append(RecordingReceiver())
        transfers.append(
          transport.send(
            HTTPRequest(url: server.url("/\(index)"), priority: priority), to: receivers[index + 1]))
      }
      transfers[4].setPriority(.veryHigh)
      // A cancelled one comes back when the transport has heard of all that went before it.
      let marker = RecordingReceiver()
      transport.send(HTTPRequest(url: server.url("/marker")), to: marker).cancel()
      await marker.end()
      gate.open()
      for receiver in receivers { _ = try await receiver.end().get() }
      #expect(
        server.requests.map(\.path)
          == (order == .oldestFirst
            ? ["/first", "/4", "/3", "/1", "/2", "/0"] : ["/first", "/4", "/3", "/2", "/1", "/0"]))
    }
  }

  @Test func aSlowHostDelaysNoOther() async throws {
    let gate = TestSupport.Gate()
    let slow = try ScriptedServer { _ in Script.ok([1]).after(gate) }
    let fast = try ScriptedServer { _ in .ok([2]) }
    let transport = CurlTransport.forTests {
      $0.maximumConcurrentTransfers = 6
      $0.maximumTransfersPerHost = 3
    }
    let slowReceivers = (0..<40).map { _ in RecordingReceiver() }
    let fastReceivers = (0..<40).map { _ in RecordingReceiver() }
    for receiver in slowReceivers { _ = transport.send(HTTPRequest(url: slow.url("/")), to: receiver) }
    for receiver in fastReceivers { _ = transport.send(HTTPRequest(url: fast.url("/")), to: receiver) }
    for receiver in fastReceivers { _ = try await receiver.end().get() }
    try await slow.waitForRequests(3)
    #expect(slowReceivers.allSatisfy { $0.now.results.isEmpty })
    #expect(slow.requests.count == 3)
    #expect(fast.connections.count <= 3)
    gate.open()
    for receiver in slowReceivers { _ = try await receiver.end().get() }
    #expect(slow.connections.count == 3)
  }

  @Test func aTransportThatIsLetGoOfFinishesItsWork() async throws {
    let gate = TestSupport.Gate()
    let server = try ScriptedServer { _ in Script.ok([1]).after(gate) }
    var transport: CurlTransport? = CurlTransport.forTests { $0.maximumConcurrentTransfers = 1 }
    let receivers = (0..<3).map { _ in RecordingReceiver() }
    for receiver in receivers { _ = transport?.send(HTTPRequest(url: server.url("/")), to: receiver) }
    try await server.waitForRequests(1)
    weak let released = transport
    transport = nil
    #expect(released == nil)
    gate.open()
    for receiver in receivers { _ = try await receiver.end().get() }
    // Its thread has ended and its connections with it.
    try await server.waitForAllClosed()
  }

  @Test func aReceiverIsLetGoOfWhenItHasBeenTold() async throws {
    let server = try ScriptedServer { _ in .ok([1]) }
    let transport = CurlTransport.forTests()
    let isReleased = Lock(false)
    final class Witness: Sendable {
      let onRelease: @Sendable () -> Void
      init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }
      deinit { onRelease() }
    }
    var transfer: (any HTTPTransfer)?
    do {
      let witness = Witness { isReleased.withLock { $0 = true } }
      let receiver = RecordingReceiver(onEnd: { _ = witness })
      transfer = transport.send(HTTPRequest(url: server.url("/")), to: receiver)
      await receiver.end()
    }
    _ = try await transport.data(for: HTTPRequest(url: server.url("/")))
    #expect(isReleased.withLock { $0 })
    transfer?.cancel()
  }
}
