import Calotype
import Foundation

/// The downscaler, the processors and the encoders, beside Pillow where Python has it.
///
/// Pillow runs in one process of its own that is asked turn by turn over pipes; the time is what it measures
/// itself, of the call alone.
struct ResampleBenchmarks: Benchmark {
  static let name = "resample"
  static let summary = "resize, process and encode bitmaps, beside Pillow"

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    let peer = PillowPeer()
    var rows: [BenchmarkRow] = []
    for (title, width, height, isOpaque, outputWidth, outputHeight) in [
      ("64×64 icon to 48", 64, 64, false, 48, 48), ("256×256 icon to 48", 256, 256, false, 48, 48),
      ("500×375 photo to 96×72", 500, 375, true, 96, 72),
      ("4000×3000 photo to 1024×768", 4000, 3000, true, 1024, 768),
    ] {
      let picture = try Self.picture(width: width, height: height, isOpaque: isOpaque)
      let size = PixelSize(width: outputWidth, height: outputHeight)
      rows.append(
        try await compare(
          title + ", Lanczos", context, peer,
          job: "resize \(width) \(height) \(isOpaque ? "RGB" : "RGBa") \(outputWidth) \(outputHeight)"
        ) { keep(try picture.resampled(to: size)) })
    }

    let square = try Self.picture(width: 1000, height: 1000, isOpaque: true)
    rows.append(
      try await compare("blur of radius 8, 1000×1000", context, peer, goal: 1, job: "blur 1000 1000 RGB 8") {
        keep(try ImageProcessors.apply([.blur(radius: 8)], to: square))
      })

    let photo = try Self.picture(width: 500, height: 375, isOpaque: true)
    rows.append(
      try await context.compare(
        "resize to 96 and circle", peer: "the resize alone", goal: 1.3,
        ours: {
          keep(
            try ImageProcessors.apply([.resize(width: 96, height: 96, mode: .fill), .circle], to: photo))
        },
        theirs: { keep(try ImageProcessors.apply([.resize(width: 96, height: 96, mode: .fill)], to: photo)) })
    )
    rows += try await encoders(context)
    return rows
  }

  private func encoders(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    let photo = try Self.picture(width: 500, height: 375, isOpaque: true)
      .resampled(to: PixelSize(width: 256, height: 192))
    let icon = try ImageProcessors.apply([.circle], to: photo.resampled(to: PixelSize(width: 48, height: 48)))
    var rows: [BenchmarkRow] = []
    for (name, bitmap) in [("256×192 photo", photo), ("48×48 icon", icon)] {
      for format in ImageEncoder.formats {
        for effort in [ImageEncodingOptions.Effort.fast, .balanced] {
          let options = ImageEncodingOptions(format: format, effort: effort)
          let bytes = try ImageEncoder().encode(bitmap, options: options).count
          rows.append(
            try await context.measure(
              "\(name) as \(format.rawValue), \(effort)", runs: 3, note: "\(bytes) bytes"
            ) { keep(try ImageEncoder().encode(bitmap, options: options)) })
        }
      }
    }
    return rows
  }

  private func compare(
    _ title: String, _ context: BenchmarkContext, _ peer: PillowPeer?, goal: Double? = nil, job: String,
    _ body: () throws -> Void
  ) async throws -> BenchmarkRow {
    guard let peer else {
      return try await context.measure(title, note: "Pillow is not installed") { try body() }
    }
    var ours: [Double] = []
    var theirs: [Double] = []
    try body()
    for _ in 0..<context.defaultRuns {
      // The best of a few: what other programs take of the processor is in neither.
      var best = Double.infinity
      for _ in 0..<5 {
        let start = ProcessUsage.processorSeconds
        try body()
        best = min(best, ProcessUsage.processorSeconds - start)
      }
      ours.append(best)
      theirs.append(try peer.seconds(job + " 5"))
    }
    return BenchmarkRow(
      title: title, value: ours.median * 1e6, unit: "µs", peer: "Pillow", peerValue: theirs.median * 1e6,
      ratio: zip(ours, theirs).map { $0 / $1 }.median, goal: goal, runs: ours.count, note: "processor time")
  }

  /// Something with edges, slopes and noise.
  private static func picture(width: Int, height: Int, isOpaque: Bool) throws -> Bitmap {
    try Bitmap(size: PixelSize(width: width, height: height), isOpaque: isOpaque) { bytes in
      var state: UInt32 = 1
      for y in 0..<height {
        for x in 0..<width {
          state = state &* 1_664_525 &+ 1_013_904_223
          let alpha = isOpaque ? 255 : UInt8(min(255, max(0, 255 - abs(x - width / 2) * 2)))
          let at = (y * width + x) * 4
          let noise = Int(state >> 29)
          let red = UInt8(min(255, x * 240 / width + noise))
          let green = UInt8(min(255, y * 240 / height + noise))
          bytes[at] = min(alpha, red)
          bytes[at + 1] = min(alpha, green)
          bytes[at + 2] = min(alpha, (x / 16 + y / 16) % 2 == 0 ? 200 : 40)
          bytes[at + 3] = alpha
        }
      }
    }
  }
}

/// A Python process with Pillow that times its own calls.
private final class PillowPeer {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  private static let script = """
    import sys, time
    from PIL import Image, ImageFilter
    print("ready", flush=True)
    for line in sys.stdin:
        job, *words = line.split()
        width, height, mode = int(words[0]), int(words[1]), words[2]
        image = Image.effect_noise((width, height), 60).convert("RGB")
        if mode == "RGBa":
            image = image.convert("RGBA").convert("RGBa")
        best = 1e9
        for _ in range(int(words[-1])):
            start = time.process_time()
            if job == "resize":
                image.resize((int(words[3]), int(words[4])), Image.LANCZOS)
            else:
                image.filter(ImageFilter.GaussianBlur(float(words[3])))
            best = min(best, time.process_time() - start)
        print(best, flush=True)
    """

  /// Starts Python; `nil` where it or Pillow is missing. `CALOTYPE_BENCH_PYTHON` names another than
  /// `python3`.
  init?() {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let python = ProcessInfo.processInfo.environment["CALOTYPE_BENCH_PYTHON"] ?? "python3"
    process.arguments = [python, "-c", Self.script]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    do { try process.run() } catch { return nil }
    guard line() == "ready" else { return nil }
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  func seconds(_ job: String) throws -> Double {
    try input.fileHandleForWriting.write(contentsOf: Data((job + "\n").utf8))
    guard let seconds = Double(line()) else { throw CocoaError(.fileReadUnknown) }
    return seconds
  }

  private func line() -> String {
    var text = ""
    while let byte = try? output.fileHandleForReading.read(upToCount: 1), let first = byte.first, first != 10
    {
      text.append(Character(UnicodeScalar(first)))
    }
    return text
  }
}
