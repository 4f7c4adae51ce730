import Foundation
import TestSupport
import Testing

@testable import Calotype

private struct StepProcessor: ImageProcessing {
  let identifier: String
  let body: @Sendable (Bitmap, CancellationFlag) throws -> Bitmap
  func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
    try body(image, cancellation)
  }
}

@Suite struct DecodeOperationTests {
  private let url = URL(string: "http://host/picture")!

  @Test func decodesAndProcessesInOrder() throws {
    let seen = Lock<[String]>([])
    let processors = ["a", "b"].map { name in
      StepProcessor(identifier: name) { image, _ in
        seen.withLock { $0.append(name) }
        return image
      }
    }
    let decode = DecodeOperation(
      data: Data([5]), request: ImageRequest(url: url, processors: processors), decoder: StubDecoder())
    #expect(!decode.isAsynchronous)
    #expect(decode.result == nil)
    decode.start()
    #expect(decode.isFinished)
    #expect(seen.withLock { $0 } == ["a", "b"])
    #expect(try decode.result?.get().bitmap[0, 0].red == 5)
  }

  @Test func cancelledBeforeItsStartItDecodesNothing() async {
    let decoder = StubDecoder()
    let decode = DecodeOperation(data: Data([5]), request: ImageRequest(url: url), decoder: decoder)
    decode.cancel()
    let queue = OperationQueue()
    queue.addOperation(decode)
    await queue.drained()
    #expect(decoder.decodeCount == 0)
    guard case .failure(let error) = decode.result else { return #expect(Bool(false), "it has a result") }
    #expect(error.isCancelled)
  }

  @Test func cancelledBetweenStepsTheNextIsNotTaken() async {
    let isSecondReached = Lock(false)
    let box = Lock<DecodeOperation?>(nil)
    let processors = [
      StepProcessor(identifier: "a") { image, _ in
        box.withLock { $0 }?.cancel()
        return image
      },
      StepProcessor(identifier: "b") { image, _ in
        isSecondReached.withLock { $0 = true }
        return image
      },
    ]
    let decode = DecodeOperation(
      data: Data([5]), request: ImageRequest(url: url, processors: processors), decoder: StubDecoder())
    box.withLock { $0 = decode }
    decode.start()
    box.withLock { $0 = nil }
    #expect(!isSecondReached.withLock { $0 })
    guard case .failure(let error) = decode.result else { return #expect(Bool(false), "it was cancelled") }
    #expect(error.isCancelled)
  }

  @Test func cancellingReachesIntoTheDecode() async {
    let decoding = TestSupport.Gate()
    let decoder = StubDecoder { cancellation in
      decoding.open()
      while !cancellation.isCancelled { sched_yield() }
    }
    let decode = DecodeOperation(data: Data([5]), request: ImageRequest(url: url), decoder: decoder)
    let queue = OperationQueue()
    queue.addOperation(decode)
    await decoding.wait()
    decode.cancel()
    await queue.drained()
    guard case .failure(let error) = decode.result else { return #expect(Bool(false), "it was cancelled") }
    #expect(error.isCancelled)
  }

  @Test func saysWhatFailed() {
    struct Broken: Swift.Error {}
    let empty = DecodeOperation(data: Data(), request: ImageRequest(url: url), decoder: StubDecoder())
    empty.start()
    let broken = DecodeOperation(
      data: Data([1]),
      request: ImageRequest(
        url: url, processors: [StepProcessor(identifier: "p(1)") { _, _ in throw Broken() }]),
      decoder: StubDecoder())
    broken.start()
    guard case .failure(let emptyError) = empty.result, case .failure(let brokenError) = broken.result else {
      return #expect(Bool(false), "both failed")
    }
    #expect(emptyError.code == "empty")
    #expect(emptyError.stage == .decode)
    #expect(brokenError.code == "processing_failed")
    #expect(brokenError.stage == .process)
    #expect(brokenError.message.contains("p(1)"))
  }
}
