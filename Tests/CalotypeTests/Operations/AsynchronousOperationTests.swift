import Foundation
import Synchronization
import Testing

@testable import Calotype

/// Records what the state machine calls; finishes when the test says so, or as `body` does.
private final class ProbeOperation: AsynchronousOperation, @unchecked Sendable {
  let executions = Atomic<Int>(0)
  let cancellations = Atomic<Int>(0)
  let finishesOnCancel: Bool
  let body: (@Sendable (ProbeOperation) -> Void)?

  init(finishesOnCancel: Bool = true, body: (@Sendable (ProbeOperation) -> Void)? = nil) {
    self.finishesOnCancel = finishesOnCancel
    self.body = body
  }

  override func execute() {
    executions.add(1, ordering: .relaxed)
    body?(self)
  }

  override func didCancel() {
    cancellations.add(1, ordering: .relaxed)
    if finishesOnCancel { finish() }
  }

  var executionCount: Int { executions.load(ordering: .relaxed) }
  var cancellationCount: Int { cancellations.load(ordering: .relaxed) }
}

@Suite struct AsynchronousOperationTests {
  @Test func goesFromReadyOverExecutingToFinished() {
    let operation = ProbeOperation()
    #expect(operation.isAsynchronous)
    #expect(operation.isReady && !operation.isExecuting && !operation.isFinished)
    operation.start()
    #expect(operation.isExecuting && !operation.isFinished)
    #expect(operation.executionCount == 1)
    operation.finish()
    #expect(!operation.isExecuting && operation.isFinished && !operation.isCancelled)
    #expect(operation.cancellationCount == 0)
  }

  @Test func isExecutingWithinExecute() {
    let operation = ProbeOperation { operation in
      #expect(operation.isExecuting)
      operation.finish()
      #expect(operation.isFinished && !operation.isExecuting)
    }
    operation.start()
    #expect(operation.isFinished)
  }

  @Test func startingAgainDoesNothing() {
    let operation = ProbeOperation()
    operation.start()
    operation.start()
    operation.finish()
    operation.start()
    #expect(operation.executionCount == 1)
    #expect(operation.isFinished)
  }

  @Test func cancelledBeforeItsStartItNeverExecutes() {
    let operation = ProbeOperation()
    operation.cancel()
    #expect(operation.isCancelled && !operation.isFinished)
    #expect(operation.cancellationCount == 1)
    operation.start()
    #expect(operation.executionCount == 0)
    #expect(operation.isFinished && !operation.isExecuting)
    #expect(operation.cancellationCount == 1)
  }

  @Test func cancelledWithinExecuteTheHookComesAfterIt() {
    let operation = ProbeOperation { operation in
      operation.cancel()
      #expect(operation.isCancelled)
      #expect(operation.cancellationCount == 0)
    }
    operation.start()
    #expect(operation.cancellationCount == 1)
    #expect(operation.isFinished)
  }

  @Test func cancelledWithinExecuteAndFinishedThereTheHookIsNotCalled() {
    let operation = ProbeOperation { operation in
      operation.cancel()
      operation.finish()
    }
    operation.start()
    #expect(operation.cancellationCount == 0)
    #expect(operation.isFinished && operation.isCancelled)
  }

  @Test func cancelledWhileExecutingTheHookIsCalledOnce() {
    let operation = ProbeOperation(finishesOnCancel: false)
    operation.start()
    operation.cancel()
    operation.cancel()
    #expect(operation.cancellationCount == 1)
    #expect(operation.isCancelled && operation.isExecuting)
    operation.finish()
    #expect(operation.isFinished)
  }

  @Test func cancelledAfterItsEndNothingChanges() {
    let operation = ProbeOperation()
    operation.start()
    operation.finish()
    operation.cancel()
    #expect(!operation.isCancelled)
    #expect(operation.cancellationCount == 0)
  }

  @Test func finishedBeforeItsStartItFinishesThenWithoutExecuting() {
    let operation = ProbeOperation()
    operation.finish()
    #expect(!operation.isFinished)
    operation.start()
    #expect(operation.isFinished)
    #expect(operation.executionCount == 0)
  }

  @Test func completesOnceHoweverOftenItFinishes() async {
    let completions = Lock(0)
    let queue = OperationQueue()
    let operation = ProbeOperation { operation in
      for _ in 0..<4 { DispatchQueue.global().async { operation.finish() } }
    }
    await withCheckedContinuation { continuation in
      operation.completionBlock = {
        completions.withLock { $0 += 1 }
        continuation.resume()
      }
      queue.addOperation(operation)
    }
    await queue.drained()
    #expect(completions.withLock { $0 } == 1)
  }

  @Test func aQueueOfOneRunsOneAfterTheOtherAndKeepsNoSlot() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let running = Lock((now: 0, most: 0, done: 0))
    for index in 0..<50 {
      let operation = ProbeOperation { operation in
        running.withLock { state in
          state.now += 1
          state.most = max(state.most, state.now)
        }
        DispatchQueue.global().async {
          running.withLock { state in
            state.now -= 1
            state.done += 1
          }
          operation.finish()
        }
      }
      queue.addOperation(operation)
      if index % 5 == 4 { operation.cancel() }
    }
    await queue.drained()
    let (now, most, done) = running.withLock { $0 }
    #expect(now == 0)
    #expect(most == 1)
    #expect(done >= 40)
  }

  @Test func dependenciesWaitForTheRealEnd() async {
    let queue = OperationQueue()
    let order = Lock<[String]>([])
    let first = ProbeOperation { operation in
      DispatchQueue.global().asyncAfter(deadline: .now() + 0.02) {
        order.withLock { $0.append("first") }
        operation.finish()
      }
    }
    let second = ProbeOperation { operation in
      order.withLock { $0.append("second") }
      operation.finish()
    }
    second.addDependency(first)
    queue.addOperation(second)
    queue.addOperation(first)
    await queue.drained()
    #expect(order.withLock { $0 } == ["first", "second"])
  }

  /// What it depended on keeps its bare address: it must not outlive the operation.
  @Test func aCancelledOperationMayBeLetGoBeforeWhatItDependsOn() async {
    for kind in 0..<2 {
      let queue = OperationQueue()
      let dependency = ProbeOperation()
      queue.addOperation(dependency)
      weak var gone: Operation?
      do {
        let request = ImageRequest(url: URL(filePath: "/unused"))
        let operation = kind == 0 ? ProbeOperation() : DecodeOperation(data: Data(), request: request)
        operation.addDependency(dependency)
        await confirmation { ended in
          await withUnsafeContinuation { continuation in
            operation.completionBlock = {
              ended()
              continuation.resume()
            }
            queue.addOperation(operation)
            operation.cancel()
          }
        }
        #expect(operation.isFinished && !dependency.isFinished)
        // The queue's thread may still be on its way out of the operation's start.
        while !operation.dependencies.isEmpty { await Task.yield() }
        gone = operation
        operation.completionBlock = nil
      }
      while gone != nil { await Task.yield() }
      dependency.finish()
      await queue.drained()
      #expect(dependency.isFinished)
    }
  }

  @Test func cancelAllEmptiesAQueue() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    let operations = (0..<100).map { _ in ProbeOperation() }
    for operation in operations { queue.addOperation(operation) }
    // A place that a cancelled operation frees is not to be taken before the next is cancelled too.
    queue.isSuspended = true
    queue.cancelAllOperations()
    queue.isSuspended = false
    await queue.drained()
    #expect(operations.allSatisfy { $0.isFinished && $0.isCancelled })
    #expect(operations.allSatisfy { $0.cancellationCount == 1 })
    #expect(operations.count { $0.executionCount > 0 } <= 2)
  }

  @Test func aStormOfStartsCancelsAndFinishesEndsEachOnce() async {
    for _ in 0..<300 {
      let operation = ProbeOperation()
      let completions = Lock(0)
      operation.completionBlock = { completions.withLock { $0 += 1 } }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { operation.start() }
        group.addTask { operation.cancel() }
        group.addTask { operation.finish() }
        group.addTask { operation.cancel() }
      }
      // Whichever came first, it has been started and been told to end.
      #expect(operation.isFinished && !operation.isExecuting)
      #expect(operation.executionCount <= 1)
      #expect(operation.cancellationCount <= 1)
    }
  }
}

extension OperationQueue {
  /// Returns when all operations that are in the queue have finished, without holding up a thread of the
  /// caller's.
  func drained() async {
    await withCheckedContinuation { continuation in
      let thread = Thread {
        self.waitUntilAllOperationsAreFinished()
        continuation.resume()
      }
      thread.start()
    }
  }
}
