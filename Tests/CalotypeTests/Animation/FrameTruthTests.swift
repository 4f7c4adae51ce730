import Foundation
import TestSupport
import Testing

@testable import Calotype

/// Frames as another program composes them, and as the formats' rules have it.
@Suite struct FrameTruthTests {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")

  static func data(_ name: String) throws -> Data {
    let own = folder.appending(path: name)
    return FileManager.default.fileExists(atPath: own.path)
      ? try Data(contentsOf: own) : try DecodingFixtures.data(name)
  }

  static func animation(_ data: Data, target: TargetSize? = nil) throws -> ImageAnimation {
    try #require(ImageDecoder().animation(of: data, options: .init(targetSize: target)))
  }

  /// Every frame of one round.
  static func frames(_ data: Data, target: TargetSize? = nil) throws -> [Bitmap] {
    let reader = try animation(data, target: target).makeReader()
    var frames: [Bitmap] = []
    while let frame = try reader.nextFrame(CancellationFlag()) { frames.append(frame) }
    return frames
  }

  private static func references(_ name: String, _ size: PixelSize) throws -> [Bitmap] {
    let pixels = try Data(contentsOf: folder.appending(path: name + ".frames"))
    let bytes = size.pixelCount * 4
    return try stride(from: 0, to: pixels.count, by: bytes).map { start in
      try Bitmap(size: size, isOpaque: false) { target in
        _ = pixels[start..<start + bytes].copyBytes(to: target)
      }
    }
  }

  @Test(arguments: [
    ("cleared.gif", 0.0), ("kept.gif", 0), ("restored.gif", 0), ("cleared.png", 0.1), ("over.png", 0.1),
    ("restored.png", 0.1), ("hidden-default.png", 0.1), ("moving.webp", 0.1), ("kept.webp", 0.1),
    ("animated.gif", 0), ("animated.png", 0), ("animated.webp", 0.1), ("animated.avif", 1),
  ])
  func framesAreThoseOfAnotherProgram(name: String, tolerance: Double) throws {
    let frames = try Self.frames(try Self.data(name))
    let size = try #require(frames.first).size
    var expected = try Self.references(name, size)
    // Pillow counts a default picture that is not part of the animation.
    if name == "hidden-default.png" { expected.removeFirst() }
    #expect(frames.count == expected.count)
    for (index, (frame, reference)) in zip(frames, expected).enumerated() {
      let error = PixelDifference.meanAbsoluteError(frame, reference)
      #expect(error <= tolerance, "frame \(index) of \(name) is off by \(error)")
    }
    #expect(Set(frames.map { $0.withUnsafeBytes { Array($0) } }).count == frames.count)
  }

  @Test(arguments: ["cleared.gif", "over.png", "moving.webp", "animated.avif"])
  func framesAreBroughtToTheTargetSizeAsTheyCome(name: String) throws {
    let data = try Self.data(name)
    let whole = try Self.frames(data)
    let target = TargetSize(width: 12, height: 12, mode: .fill)
    for (small, large) in zip(try Self.frames(data, target: target), whole) {
      #expect(small.size == PixelSize(width: 12, height: 12))
      let expected = try ImageProcessors.Resize(target).process(large, cancellation: CancellationFlag())
      #expect(PixelDifference.meanAbsoluteError(small, expected) < 1)
    }
  }

  @Test func theFirstFrameIsTheStillPicture() throws {
    for name in ["cleared.gif", "kept.gif", "cleared.png", "moving.webp", "animated.avif"] {
      let data = try Self.data(name)
      let still = try DecodingFixtures.decode(data)
      let first = try #require(try Self.frames(data).first)
      #expect(still.bitmap == first, "\(name)")
      #expect(still.frameCount == (try Self.animation(data)).frameCount)
    }
  }

  /// GIF 89a, section 23: what becomes of a frame's place once it has been shown.
  @Test func disposalOfGIFFrames() throws {
    var gif = MadeGIF(width: 6, height: 4)
    gif.add(color: 1, disposal: 1)
    gif.add(color: 2, x: 1, y: 1, width: 2, height: 2, disposal: 3)
    gif.add(color: 3, x: 4, y: 0, width: 9, height: 9, disposal: 2, isInterlaced: true)
    gif.add(x: 0, y: 3, width: 6, height: 1, clear: 2) { x, _ in x < 3 ? 2 : 0 }
    let frames = try Self.frames(gif.file)
    let red = Bitmap.Pixel(red: 255, green: 0, blue: 0), green = Bitmap.Pixel(red: 0, green: 255, blue: 0)
    let blue = Bitmap.Pixel(red: 0, green: 0, blue: 255), black = Bitmap.Pixel(red: 0, green: 0, blue: 0)
    let clear = Bitmap.Pixel(red: 0, green: 0, blue: 0, alpha: 0)
    try #require(frames.count == 4)
    #expect(frames[0].isOpaque && frames[0][1, 1] == red)
    #expect(frames[1][1, 1] == green && frames[1][0, 0] == red && frames[1][3, 3] == red)
    // The second frame has gone without a trace; the third reaches past the screen.
    #expect(frames[2][1, 1] == red && frames[2][4, 0] == blue && frames[2][5, 3] == blue)
    // The third has left clear behind; the fourth shows what is below its clear pixels.
    #expect(frames[3][4, 0] == clear && frames[3][0, 3] == red && frames[3][5, 3] == black)
    #expect(!frames[3].isOpaque)
  }

  /// P2.
  @Test func delaysAndLoopsOfGIFs() throws {
    var gif = MadeGIF(width: 2, height: 2)
    for delay in [0, 1, 2, 10, 60_000] { gif.add(delay: delay) }
    gif.add(delay: nil)
    let once = try Self.animation(gif.file)
    #expect((0..<6).map { once.delay(at: $0) } == [0.1, 0.1, 0.02, 0.1, 600, 0.1])
    #expect(once.loopCount == 1)
    #expect(abs(once.duration - 600.42) < 1e-9)
    for (block, count) in [(0, 0), (1, 2), (4, 5)] {
      var gif = MadeGIF(width: 2, height: 2, loops: block)
      for _ in 0..<2 { gif.add() }
      #expect(try Self.animation(gif.file).loopCount == count)
    }
  }

  @Test func delaysAndLoopsOfTheOthers() throws {
    for (name, loops, delay) in [
      ("animated.png", 3, 0.1), ("animated.webp", 2, 0.08), ("animated.avif", 0, 0.08), ("over.png", 0, 0.1),
    ] {
      let animation = try Self.animation(try Self.data(name))
      #expect(animation.loopCount == loops, "\(name)")
      #expect(
        (0..<animation.frameCount).allSatisfy { abs(animation.delay(at: $0) - delay) < 1e-6 }, "\(name)")
    }
  }

  @Test func stillPicturesAreNoAnimations() throws {
    for name in ["still.gif", "rgb.png", "lossy.webp", "photo.avif", "baseline.jpg", "rgb24.bmp"] {
      #expect(ImageDecoder().animation(of: try DecodingFixtures.data(name)) == nil, "\(name)")
    }
    #expect(ImageDecoder().animation(of: Data()) == nil)
    #expect(ImageDecoder().animation(of: Data("GIF89a".utf8)) == nil)
  }

  /// Damage ends in an error or in other frames, never in a crash.
  @Test(arguments: [
    "cleared.gif", "restored.gif", "over.png", "hidden-default.png", "moving.webp", "animated.avif",
  ])
  func damagedAnimations(name: String) throws {
    let whole = try Self.data(name)
    var generator = SplitMix(state: 7)
    for round in 0..<400 {
      var bytes = whole
      if round % 4 == 0 {
        bytes = bytes.prefix(Int.random(in: 0..<whole.count, using: &generator))
      } else {
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
          bytes[Int.random(in: 0..<whole.count, using: &generator)] = UInt8.random(
            in: 0...255, using: &generator)
        }
      }
      let limits = ImageDecodingLimits(maximumPixelCount: 1 << 20)
      guard let animation = ImageDecoder().animation(of: bytes, options: .init(limits: limits)) else {
        continue
      }
      do {
        let reader = try animation.makeReader()
        while try reader.nextFrame(CancellationFlag()) != nil {}
      } catch {
        #expect(error != .cancelled)
      }
    }
  }
}
