import Calotype

struct PipelineBenchmarks: Benchmark {
  static let name = "pipeline"
  static let summary = "hits, misses, sharing, cancelling and memory through the whole pipeline"

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    []
  }
}
