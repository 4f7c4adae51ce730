import Calotype

struct ResampleBenchmarks: Benchmark {
  static let name = "resample"
  static let summary = "the downscaler: time a picture, quality beside its reference"

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    []
  }
}
