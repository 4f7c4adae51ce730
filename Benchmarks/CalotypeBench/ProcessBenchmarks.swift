import Calotype
import Foundation

struct ProcessBenchmarks: Benchmark {
  static let name = "process"
  static let summary = "processors: what a chain costs beside the resize alone, the blur beside Pillow's"

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    let photo = try picture(1000, 1000, isOpaque: true)
    var rows: [BenchmarkRow] = []
    for side in [48, 256] {
      let resize = ImageProcessors.Resize(TargetSize(width: Double(side), height: Double(side)))
      rows.append(
        await context.compare(
          "1000×1000 to \(side) and a circle", peer: "the resize alone", goal: 1.3,
          ours: { apply([resize, ImageProcessors.Circle()], to: photo) },
          theirs: { apply([resize], to: photo) }))
    }
    let icon = try ImageEncoder().encode(picture(256, 256, isOpaque: true), options: .init(format: .jpeg))
    let decoder = ImageDecoder(), target = TargetSize(width: 48, height: 48)
    rows.append(
      await context.compare(
        "256×256 JPEG to 48 and a circle", peer: "decode and resize alone", goal: 1.3,
        ours: {
          if let print = try? decoder.decode(icon, targetSize: target) { apply([.circle], to: print.bitmap) }
        },
        theirs: { keep(try? decoder.decode(icon, targetSize: target)) }))
    for (name, bitmap) in [("opaque", photo), ("with alpha", try picture(1000, 1000, isOpaque: false))] {
      rows.append(try await blur(context, name, bitmap))
    }
    let print = try ImagePlaceholder.thumbHash(of: photo)
    rows.append(await context.measure("a ThumbHash drawn") { keep(try? print.bitmap()) })
    let text = try ImagePlaceholder.blurHash(of: photo)
    rows.append(await context.measure("a BlurHash drawn") { keep(try? text.bitmap()) })
    return rows
  }

  private func apply(_ processors: [any ImageProcessing], to bitmap: Bitmap) {
    keep(try? ImageProcessors.apply(processors, to: bitmap))
  }

  /// Ours and Pillow's turn by turn; without a Python that has Pillow, ours alone.
  private func blur(_ context: BenchmarkContext, _ name: String, _ bitmap: Bitmap) async throws
    -> BenchmarkRow
  {
    let title = "1000×1000 \(name), blur of 8"
    let mine = { apply([.blur(radius: 8)], to: bitmap) }
    guard let pillow = Pillow(isOpaque: bitmap.isOpaque) else {
      return await context.measure(title, unit: .milliseconds, note: "Pillow is not there", mine)
    }
    var pairs: [(ours: Double, theirs: Double)] = []
    for _ in 0..<context.defaultRuns {
      let ours = await context.measure(title, unit: .milliseconds, runs: 1, mine).value
      pairs.append((ours, try pillow.milliseconds()))
    }
    return BenchmarkRow(
      title: title, value: pairs.map(\.ours).median, unit: "ms", peer: "Pillow's GaussianBlur",
      peerValue: pairs.map(\.theirs).median, ratio: pairs.map { $0.ours / $0.theirs }.median, goal: 1,
      runs: pairs.count)
  }

  private func picture(_ width: Int, _ height: Int, isOpaque: Bool) throws -> Bitmap {
    try Bitmap(size: PixelSize(width: width, height: height), isOpaque: isOpaque) { pixels in
      var noise: UInt32 = 1
      for at in 0..<width * height {
        noise = noise &* 1_664_525 &+ 1_013_904_223
        let (x, y) = (at % width, at / width)
        let alpha = isOpaque ? 255 : min(255, (x + y) * 300 / (width + height))
        for (offset, value) in [x * 200 / width, y * 200 / height, Int(noise >> 25)].enumerated() {
          pixels[at * 4 + offset] = UInt8(value * alpha / 255)
        }
        pixels[at * 4 + 3] = UInt8(alpha)
      }
    }
  }
}

/// A Python that blurs when it is told to.
private final class Pillow {
  private static let script = """
    import os, sys, time
    from PIL import Image, ImageFilter
    image = Image.frombytes("RGBA", (1000, 1000), os.urandom(4_000_000))
    image = image.convert("RGB") if sys.argv[1] == "opaque" else image.convert("RGBa")
    blur = ImageFilter.GaussianBlur(8)
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        for _ in range(5): image.filter(blur)
        print((time.perf_counter() - start) / 5 * 1000, flush=True)
    """

  private let process = Process()
  private let input = Pipe(), output = Pipe()

  /// `CALOTYPE_PYTHON`, else `python3`; `nil` where it has no Pillow.
  init?(isOpaque: Bool) {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let python = ProcessInfo.processInfo.environment["CALOTYPE_PYTHON"] ?? "python3"
    process.arguments = [python, "-c", Self.script, isOpaque ? "opaque" : "alpha"]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil, line() == "ready" else { return nil }
  }

  deinit { try? input.fileHandleForWriting.close() }

  func milliseconds() throws -> Double {
    try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    return Double(line()) ?? .nan
  }

  private func line() -> String {
    var bytes = Data()
    while let byte = try? output.fileHandleForReading.read(upToCount: 1), let first = byte.first,
      first != 0x0A
    {
      bytes.append(first)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
