import Calotype
import Foundation
import TestSupport

/// The most memory that long work takes above what the process had before it.
struct MemoryBenchmarks: Benchmark {
  static let name = "memory"
  static let summary = "the most memory of a large picture's decode and of a long animation"

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    var rows: [BenchmarkRow] = []
    let pixels = PixelSize(width: 8000, height: 6000)
    for isProgressive in [false, true] {
      let photo = try encoded(pixels, isProgressive: isProgressive)
      rows += await row(
        "48-megapixel \(isProgressive ? "progressive " : "")JPEG to 256", goal: isProgressive ? nil : 60,
        note: isProgressive ? "all coefficients have to be kept until the last scan" : nil
      ) {
        keep(try? ImageDecoder().decode(photo, targetSize: TargetSize(width: 256, height: 256)))
      }
    }
    let frames = context.isQuick ? 40 : 500
    let file = animation(frames: frames)
    rows += await row("\(frames) frames of 512×512 played", goal: 40) {
      guard let animation = ImageDecoder().animation(of: file) else { return }
      let source = ImageFrameSource(animation)
      for _ in 0..<frames { keep(try? await source.nextFrame()) }
    }
    return rows
  }

  private func row(
    _ title: String, goal: Double?, note: String? = nil, _ body: () async -> Void
  ) async -> [BenchmarkRow] {
    ProcessUsage.resetPeak()
    guard let before = ProcessUsage.residentBytes else { return [] }
    await body()
    guard let after = ProcessUsage.residentBytes else { return [] }
    return [
      BenchmarkRow(
        title: title, value: Double(after.peak - before.now) / 1e6, unit: "MB", goal: goal, note: note)
    ]
  }

  private func encoded(_ size: PixelSize, isProgressive: Bool) throws -> Data {
    let bitmap = try Bitmap(size: size, isOpaque: true) { pixels in
      let words = pixels.bindMemory(to: UInt32.self)
      for y in 0..<size.height {
        for x in 0..<size.width {
          let noise = UInt32(truncatingIfNeeded: (x &* 73_856_093) ^ (y &* 19_349_663)) >> 7 & 0x0F0F0F
          words[y * size.width + x] =
            0xFF00_0000 | UInt32(x * 200 / size.width) << 16 | UInt32(y * 200 / size.height) << 8 &+ noise
        }
      }
    }
    return try ImageEncoder().encode(
      bitmap, options: .init(format: .jpeg, quality: 85, isProgressive: isProgressive, effort: .fast))
  }

  /// A GIF whose every frame is another picture.
  private func animation(frames: Int) -> Data {
    var gif = MadeGIF(width: 512, height: 512, loops: 0)
    for frame in 0..<frames {
      gif.add(delay: 4) { x, y in UInt8(((x + frame * 3) / 40 + (y + frame) / 30) % 4) }
    }
    return gif.file
  }
}
