import Calotype
import Foundation

struct IsolationBenchmarks: Benchmark {
  static let name = "isolation"
  static let summary = "pictures decoded in a sandboxed worker, beside the same in this process"

  private let here = ImageDecoder()

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    let there = IsolatedImageDecoder(.required)
    let status = there.status
    guard status.isIsolated else { throw Unavailable(description: status.summary) }
    let pictures = DecodeBenchmarks()
    let icon = try pictures.encoded(64, 64, .png, isOpaque: false)
    let photo = try pictures.encoded(1632, 1224, .jpeg, isOpaque: true)
    let whole = ImageDecodingOptions()
    let small = ImageDecodingOptions(targetSize: TargetSize(width: 256, height: 256))
    var rows: [BenchmarkRow] = []
    let round = await context.compare(
      "64×64 PNG", peer: "in this process",
      ours: { keep(try? there.decode(icon, options: whole)) },
      theirs: { keep(try? here.decode(icon, options: whole)) })
    rows.append(round)
    rows.append(
      BenchmarkRow(
        title: "64×64 PNG, what the worker adds", value: round.value - (round.peerValue ?? 0), unit: "µs",
        goal: 60, runs: round.runs))
    rows.append(
      await context.compare(
        "2-megapixel JPEG, whole", unit: .milliseconds, peer: "in this process", goal: 1.1,
        ours: { keep(try? there.decode(photo, options: whole)) },
        theirs: { keep(try? here.decode(photo, options: whole)) }))
    rows.append(
      await context.compare(
        "2-megapixel JPEG to 256", unit: .milliseconds, peer: "in this process", goal: 1.03,
        ours: { keep(try? there.decode(photo, options: small)) },
        theirs: { keep(try? here.decode(photo, options: small)) }))
    rows.append(try start(context, icon))
    rows.append(
      try afterDeath(
        context, icon, try pictures.encoded(4000, 3000, .jpeg, isOpaque: true, isProgressive: true)))
    return rows
  }

  /// The first picture of a process: a worker is started for it.
  private func start(_ context: BenchmarkContext, _ icon: Data) throws -> BenchmarkRow {
    let times = (0..<(context.isQuick ? 3 : 15)).map { _ in
      let decoder = IsolatedImageDecoder(.required, workers: DecodingWorkers())
      let start = ContinuousClock.now
      keep(try? decoder.decode(icon))
      return (ContinuousClock.now - start).seconds * 1000
    }
    return BenchmarkRow(
      title: "the first picture, with the start of a worker", value: times.median, unit: "ms",
      runs: times.count)
  }

  /// A picture that takes too long ends its worker; the one after it is measured.
  private func afterDeath(_ context: BenchmarkContext, _ icon: Data, _ slow: Data) throws -> BenchmarkRow {
    var configuration = DecodingWorkers.Configuration()
    configuration.deadline = 0.03
    configuration.killerMemory = 0
    let decoder = IsolatedImageDecoder(.required, workers: DecodingWorkers(configuration: configuration))
    var times: [Double] = []
    for _ in 0..<(context.isQuick ? 5 : 40) {
      for _ in 0..<20 { keep(try? decoder.decode(icon)) }
      // The worker in reserve is ready by then.
      Thread.sleep(forTimeInterval: 0.2)
      guard (try? decoder.decode(slow)) == nil else { continue }
      let start = ContinuousClock.now
      keep(try? decoder.decode(icon))
      times.append((ContinuousClock.now - start).seconds * 1000)
    }
    return BenchmarkRow(
      title: "64×64 PNG after a picture that ended its worker", value: times.median, unit: "ms", goal: 1,
      runs: times.count, note: String(format: "longest %.2f ms", times.max() ?? 0))
  }

  private struct Unavailable: Error, CustomStringConvertible {
    let description: String
  }
}
