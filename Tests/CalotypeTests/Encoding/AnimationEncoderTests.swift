import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct AnimationEncoderTests {
  private func encode(
    _ animation: ImageAnimation, _ format: ImageFormat, isLossless: Bool = true
  ) throws -> Data {
    try ImageEncoder().encode(
      animation, options: .init(format: format, quality: 95, isLossless: isLossless, effort: .fast))
  }

  /// A kilobyte that would be hours of work.
  @Test func framesWithoutEndAreRefused() throws {
    var file = MadeGIF(width: 3000, height: 3000)
    for _ in 0..<300 { file.add(width: 1, height: 1) }
    let animation = try FrameTruthTests.animation(file.file)
    #expect(animation.frameCount == 300)
    let error = #expect(throws: ImageEncodingError.self) { try encode(animation, .webp) }
    #expect(error?.description.contains("300 frames of 3000×3000 pixels are too many") == true, "\(error)")
  }

  /// What is written is what was read: pixels, delays, rounds, and whether there is an alpha.
  @Test(arguments: ["cleared.gif", "kept.gif", "restored.gif", "over.png", "moving.webp", "animated.avif"])
  func everyFrameIsWritten(name: String) throws {
    let data = try FrameTruthTests.data(name)
    let source = try FrameTruthTests.animation(data)
    let frames = try FrameTruthTests.frames(data)
    let isOpaque = frames.allSatisfy(\.isOpaque)
    for format in ImageEncoder.animatedFormats {
      let file = try encode(source, format)
      let animation = try FrameTruthTests.animation(file)
      #expect(animation.format == format)
      #expect(animation.frameCount == source.frameCount)
      #expect(animation.loopCount == (format == .avif ? 0 : source.loopCount))
      #expect(
        (0..<animation.frameCount).allSatisfy {
          animation.milliseconds(at: $0) == source.milliseconds(at: $0)
        })
      for (index, (written, frame)) in zip(try FrameTruthTests.frames(file), frames).enumerated() {
        let error = PixelDifference.meanAbsoluteError(written, frame)
        #expect(error < (format == .avif ? 0.6 : 0.05), "frame \(index) of \(name) as \(format): \(error)")
        #expect(written.isOpaque == frame.isOpaque)
      }
      if format != .webp {
        #expect(try ImageDecoder().inspect(file).hasAlpha == !isOpaque, "\(name) as \(format)")
      }
      // The still picture in it is the first frame.
      let still = try DecodingFixtures.decode(file)
      #expect(PixelDifference.meanAbsoluteError(still.bitmap, frames[0]) < 0.6)
    }
  }

  @Test func framesAreWrittenAtTheTargetSizeAndProcessed() throws {
    var animation = try FrameTruthTests.animation(
      try FrameTruthTests.data("kept.gif"), target: TargetSize(width: 20, height: 20, mode: .fill))
    animation.processors = [.circle]
    for format in ImageEncoder.animatedFormats {
      let frames = try FrameTruthTests.frames(try encode(animation, format))
      #expect(frames.count == 5)
      #expect(frames.allSatisfy { $0.size == PixelSize(width: 20, height: 20) && $0[0, 0].alpha < 8 })
      #expect(frames.allSatisfy { $0[10, 10].alpha > 250 })
    }
  }

  /// A file of some megabytes can hold more frames than anyone can wait for.
  @Test func allFramesTogetherHaveALimitOfTime() throws {
    var animation = try FrameTruthTests.animation(try FrameTruthTests.data("kept.gif"))
    animation.limits.maximumSeconds = 0
    for format in ImageEncoder.animatedFormats {
      let error = #expect(throws: ImageEncodingError.self) { try encode(animation, format) }
      #expect("\(String(describing: error))".contains("5 frames take more than"))
    }
  }

  /// A frame in which nothing changes, one that changes a corner, and long delays.
  @Test func framesThatHardlyDiffer() throws {
    var gif = MadeGIF(width: 30, height: 20, loops: 2)
    gif.add(color: 1, delay: 60_000)
    gif.add(color: 1, delay: 5)
    gif.add(color: 2, x: 29, y: 19, width: 1, height: 1, delay: 7)
    let source = try FrameTruthTests.animation(gif.file)
    let png = try encode(source, .png)
    let animation = try FrameTruthTests.animation(png)
    #expect((0..<3).map { animation.delay(at: $0) } == [600, 0.05, 0.07])
    #expect(animation.loopCount == 3)
    let frames = try FrameTruthTests.frames(png)
    #expect(frames == (try FrameTruthTests.frames(gif.file)))
    #expect(frames[1] == frames[0] && frames[2] != frames[0])
    #expect(png.count < 600, "frames that hardly differ took \(png.count) bytes")
  }

  @Test func otherFormatsAndDamageAndCancelling() throws {
    let animation = try FrameTruthTests.animation(try FrameTruthTests.data("kept.gif"))
    for format in [ImageFormat.jpeg, .gif, .bmp] {
      #expect(throws: ImageEncodingError.unsupported(format)) { try encode(animation, format) }
    }
    let flag = CancellationFlag()
    flag.cancel()
    for format in ImageEncoder.animatedFormats {
      #expect(throws: ImageEncodingError.cancelled) {
        try ImageEncoder().encode(animation, options: .init(format: format), cancellation: flag)
      }
    }
    var failing = animation
    failing.processors = [TestProcessor(identifier: "no") { _, _ in throw CocoaError(.fileNoSuchFile) }]
    #expect {
      try encode(failing, .webp)
    } throws: { error in
      if case .failed(.webp, let reason) = error as? ImageEncodingError {
        reason.contains("frame 0")
      } else {
        false
      }
    }
  }
}
