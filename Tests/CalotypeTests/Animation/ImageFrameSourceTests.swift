import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct ImageFrameSourceTests {
  private func gif(frames: Int, side: Int = 16, loops: Int? = 0) -> Data {
    var gif = MadeGIF(width: side, height: side, loops: loops)
    for frame in 0..<frames { gif.add(color: UInt8(frame % 4), delay: 2 + frame) }
    return gif.file
  }

  private func source(
    _ data: Data, target: TargetSize? = nil, limits: ImageFrameSource.Limits = .init(),
    processors: [any ImageProcessing] = []
  ) throws -> ImageFrameSource {
    var animation = try FrameTruthTests.animation(data, target: target)
    animation.processors = processors
    return ImageFrameSource(animation, limits: limits)
  }

  @Test func framesComeInTheirOrderRoundAfterRound() async throws {
    for limits in [ImageFrameSource.Limits(), .init(maximumFrameCount: 1, maximumByteCount: 0)] {
      let source = try source(gif(frames: 5, loops: 1), limits: limits)
      var indices: [Int] = []
      while let frame = try await source.nextFrame() {
        #expect(frame.delay == Double(2 + frame.index) / 100)
        #expect(frame.bitmap[3, 3].alpha == 255)
        indices.append(frame.index)
      }
      #expect(indices == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
      #expect(source.isAtEnd)
      #expect(try source.takeFrame() == nil)
      source.rewind()
      #expect(!source.isAtEnd)
      #expect(try await source.nextFrame()?.index == 0)
    }
  }

  @Test func anAnimationWithoutEndGoesOn() async throws {
    let source = try source(gif(frames: 3), limits: .init(maximumFrameCount: 2, maximumByteCount: 1 << 11))
    for index in 0..<30 { #expect(try await source.nextFrame()?.index == index % 3) }
    #expect(!source.isAtEnd)
  }

  /// Frames ahead stop at the limits, however long nobody asks.
  @Test func noMoreIsDecodedAheadThanTheLimitsSay() async throws {
    for (limits, ahead) in [
      (ImageFrameSource.Limits(maximumFrameCount: 4, maximumByteCount: 1 << 14), 4),
      (.init(maximumFrameCount: 100, maximumByteCount: 2 << 10), 2), (.init(maximumFrameCount: 0), 1),
    ] {
      let processed = Lock(0)
      let counter = TestProcessor(identifier: "count") { image, _ in
        processed.withLock { $0 += 1 }
        return image
      }
      // 100 frames of 1 KB.
      let source = try source(gif(frames: 100), limits: limits, processors: [counter])
      _ = try await source.nextFrame()
      try await waitUntil("the frames ahead") { source.readyCount == ahead }
      try await Task.sleep(for: .milliseconds(20))
      #expect(source.readyCount == ahead)
      #expect(processed.withLock { $0 } == ahead + 1)
      for _ in 0..<150 { _ = try await source.nextFrame() }
      #expect(source.readyCount <= ahead)
    }
  }

  /// An animation that fits is decoded once, however often it plays.
  @Test func aSmallAnimationIsDecodedOnce() async throws {
    let processed = Lock(0)
    let counter = TestProcessor(identifier: "count") { image, _ in
      processed.withLock { $0 += 1 }
      return image
    }
    let source = try source(gif(frames: 4), processors: [counter])
    for index in 0..<40 { #expect(try await source.nextFrame()?.index == index % 4) }
    #expect(processed.withLock { $0 } == 4)
    source.rewind()
    #expect(try source.takeFrame()?.index == 0)
  }

  @Test func frameTakenAtOnceWhereItIsReady() async throws {
    let source = try source(gif(frames: 100, side: 64))
    #expect(try source.takeFrame() == nil)
    try await waitUntil("the first frame") { source.readyCount > 0 }
    #expect(try source.takeFrame()?.index == 0)
  }

  @Test func framesAreProcessedAndAtTheTargetSize() async throws {
    let source = try source(
      gif(frames: 3, side: 64), target: TargetSize(width: 20, height: 20), processors: [.circle])
    let frame = try #require(try await source.nextFrame())
    #expect(frame.bitmap.size == PixelSize(width: 20, height: 20))
    #expect(frame.bitmap[0, 0].alpha == 0 && frame.bitmap[10, 10].alpha == 255)
  }

  @Test func cancellingEndsWhoeverWaits() async throws {
    let gate = Gate(), entered = TestSupport.Gate()
    let holder = TestProcessor(identifier: "hold") { image, cancellation in
      entered.open()
      gate.wait()
      if cancellation.isCancelled { throw CancellationError() }
      return image
    }
    let source = try source(gif(frames: 3), processors: [holder])
    let waiter = Task { try await source.nextFrame() }
    await entered.wait()
    source.cancel()
    await #expect(throws: ImageFrameSource.Error.cancelled) { try await waiter.value }
    gate.open()
    await #expect(throws: ImageFrameSource.Error.cancelled) { try await source.nextFrame() }
    #expect(throws: ImageFrameSource.Error.cancelled) { try source.takeFrame() }
  }

  @Test func cancellingTheTaskThatWaitsLeavesTheSource() async throws {
    let gate = Gate(), entered = TestSupport.Gate()
    let isFirst = Lock(true)
    let holder = TestProcessor(identifier: "hold") { image, _ in
      if isFirst.withLock({ first in
        defer { first = false }
        return first
      }) {
        entered.open()
        gate.wait()
      }
      return image
    }
    let source = try source(gif(frames: 3), processors: [holder])
    let waiter = Task { try await source.nextFrame() }
    await entered.wait()
    waiter.cancel()
    await #expect(throws: ImageFrameSource.Error.cancelled) { try await waiter.value }
    gate.open()
    #expect(try await source.nextFrame()?.index == 0)
  }

  @Test func goingBackWhileAFrameIsDecoded() async throws {
    var generator = SplitMix(state: 3)
    let source = try source(
      gif(frames: 20), limits: .init(maximumFrameCount: 2, maximumByteCount: 4 << 10))
    for _ in 0..<100 {
      for index in 0..<Int.random(in: 1...6, using: &generator) {
        #expect(try await source.nextFrame()?.index == index)
      }
      source.rewind()
    }
  }

  /// A frame from before the return to the beginning is nobody's.
  @Test func goingBackWhileTheSecondFrameIsUnderWay() async throws {
    let gate = Gate(), entered = TestSupport.Gate()
    let calls = Lock(0)
    let holder = TestProcessor(identifier: "hold") { image, _ in
      let call = calls.withLock { calls -> Int in
        calls += 1
        return calls
      }
      if call == 2 {
        entered.open()
        gate.wait()
      }
      return image
    }
    let source = try source(
      gif(frames: 5), limits: .init(maximumFrameCount: 2, maximumByteCount: 3 << 10), processors: [holder])
    #expect(try await source.nextFrame()?.index == 0)
    await entered.wait()
    source.rewind()
    gate.open()
    for index in [0, 1, 2] { #expect(try await source.nextFrame()?.index == index) }
  }

  @Test func aFrameThatIsDamagedEndsIt() async throws {
    var file = gif(frames: 6)
    // The fourth frame's picture gets a code size that no GIF has.
    let frame = try #require(file.ranges(of: Data([0x2C, 0, 0, 0, 0, 16, 0, 16, 0, 0])).dropFirst(3).first)
    file[frame.upperBound] = 200
    let source = try source(file)
    for index in 0..<3 { #expect(try await source.nextFrame()?.index == index) }
    do {
      _ = try await source.nextFrame()
      Issue.record("a damaged frame was given")
    } catch {
      if case .decoding(frame: 3, _) = error {} else { Issue.record("\(error)") }
    }
  }

  @Test func aProcessorThatFails() async throws {
    let failing = TestProcessor(identifier: "fail") { _, _ in
      throw ImageProcessingError.failed(processor: "fail", reason: "on purpose")
    }
    let source = try source(gif(frames: 3), processors: [failing])
    do {
      _ = try await source.nextFrame()
      Issue.record("a frame was given")
    } catch {
      #expect(error == .processing(frame: 0, reason: "fail: on purpose"))
    }
  }

  /// P8: only the canvas and a few frames are in memory, however many there are.
  @Test func tenThousandFrames() async throws {
    let source = try source(gif(frames: 10_000, side: 8), target: TargetSize(width: 4, height: 4))
    #expect(source.animation.frameCount == 10_000)
    for index in 0..<10_003 { #expect(try await source.nextFrame()?.index == index % 10_000) }
  }
}
