import Calotype
import Foundation
import PlainC

struct DecodeBenchmarks: Benchmark {
  static let name = "decode"
  static let summary = "pictures to bitmaps, beside plain C on the same codec"

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    let small = try encoded(48, 48, .jpeg, isOpaque: true)
    let icon = try encoded(64, 64, .png, isOpaque: false)
    let photo = try encoded(4000, 3000, .jpeg, isOpaque: true)
    let progressive = try encoded(4000, 3000, .jpeg, isOpaque: true, isProgressive: true)
    return [
      await context.compare(
        "48×48 JPEG to 48", peer: "plain C, libjpeg-turbo", goal: 1.3,
        ours: { decode(small, 48) }, theirs: { plainJPEG(small, scale: 8) }),
      await context.compare(
        "64×64 PNG to 48", peer: "plain C, libpng and a box filter", goal: 1.3,
        ours: { decode(icon, 48) }, theirs: { plainPNG(icon, size: 48) }),
      await context.compare(
        "64×64 PNG to 64", peer: "plain C, libpng", goal: 1.3,
        ours: { decode(icon, 64) }, theirs: { plainPNG(icon, size: nil) }),
      await context.compare(
        "12-megapixel JPEG to 96", unit: .milliseconds, peer: "libjpeg-turbo at 1/8 alone", goal: 1.1,
        ours: { decode(photo, 96) }, theirs: { plainJPEG(photo, scale: 1) }),
      await context.compare(
        "12-megapixel JPEG to 512", unit: .milliseconds, peer: "libjpeg-turbo at 2/8 alone",
        ours: { decode(photo, 512) }, theirs: { plainJPEG(photo, scale: 2) }),
      await context.compare(
        "12-megapixel JPEG, whole", unit: .milliseconds, peer: "libjpeg-turbo alone",
        ours: { decode(photo, nil) }, theirs: { plainJPEG(photo, scale: 8) }),
      await context.compare(
        "12-megapixel progressive JPEG to 96", unit: .milliseconds, peer: "libjpeg-turbo at 1/8 alone",
        goal: 1.1,
        ours: { decode(progressive, 96) }, theirs: { plainJPEG(progressive, scale: 1) }),
      try await cancelRow(context, photo, "12-megapixel JPEG"),
      try await cancelRow(context, progressive, "12-megapixel progressive JPEG"),
    ]
  }

  private let decoder = ImageDecoder()

  private func decode(_ data: Data, _ size: Double?) {
    let options = ImageDecodingOptions(targetSize: size.map { TargetSize(width: $0, height: $0) })
    keep(try? decoder.decode(data, options: options))
  }

  /// From `cancel()` to the decode's end, the longest of some moments.
  private func cancelRow(
    _ context: BenchmarkContext, _ data: Data, _ name: String
  ) async throws -> BenchmarkRow {
    var longest = 0.0
    let runs = context.isQuick ? 3 : 12
    for run in 0..<runs {
      let flag = CancellationFlag()
      let decoder = self.decoder
      async let end: ContinuousClock.Instant = {
        _ = try? decoder.decode(data, cancellation: flag)
        return ContinuousClock.now
      }()
      try await Task.sleep(for: .milliseconds(5 + run * 4))
      let start = ContinuousClock.now
      flag.cancel()
      longest = max(longest, (await end - start).seconds)
    }
    return BenchmarkRow(
      title: "\(name), cancelled: longest wait", value: longest * 1000, unit: "ms", goal: 20, runs: runs)
  }

  private func plainJPEG(_ data: Data, scale: UInt32) {
    data.withUnsafeBytes { bytes in
      var width: Int32 = 0, height: Int32 = 0
      let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      free(plain_decode_jpeg(base, bytes.count, scale, &width, &height))
    }
  }

  private func plainPNG(_ data: Data, size: Int32?) {
    data.withUnsafeBytes { bytes in
      var width: Int32 = 0, height: Int32 = 0
      let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      let pixels = plain_decode_png(base, bytes.count, &width, &height)
      if let size { free(plain_resize(pixels, width, height, size, size)) }
      free(pixels)
    }
  }

  /// A made picture with edges, gradients and grain, so that it packs about as a photo or an icon does.
  func encoded(
    _ width: Int, _ height: Int, _ format: ImageFormat, isOpaque: Bool, isProgressive: Bool = false
  ) throws -> Data {
    let bitmap = try Bitmap(size: PixelSize(width: width, height: height), isOpaque: isOpaque) { pixels in
      var noise: UInt32 = 1
      for y in 0..<height {
        for x in 0..<width {
          noise = noise &* 1_664_525 &+ 1_013_904_223
          let grain = Int(noise >> 28)
          let isEdge = (x * 24 / width + y * 18 / height) % 5 == 0
          let at = (y * width + x) * 4
          let distance = abs(x * 2 - width) * 256 / width + abs(y * 2 - height) * 256 / height
          let alpha = isOpaque ? 255 : max(0, min(255, 900 - distance * 3))
          func store(_ offset: Int, _ value: Int) {
            pixels[at + offset] = UInt8(min(255, value) * alpha / 255)
          }
          store(0, x * 200 / width + grain)
          store(1, (isEdge ? 160 : y * 180 / height) + grain)
          store(2, 200 - x * 90 / width - y * 90 / height + grain)
          pixels[at + 3] = UInt8(alpha)
        }
      }
    }
    let options = ImageEncodingOptions(format: format, quality: 88, isProgressive: isProgressive)
    return try ImageEncoder().encode(bitmap, options: options)
  }
}
