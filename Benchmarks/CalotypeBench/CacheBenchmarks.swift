import Calotype

struct CacheBenchmarks: Benchmark {
  static let name = "cache"
  static let summary = "memory and disk caches: hits, stores, evictions, hit ratios on traces"

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    []
  }
}
