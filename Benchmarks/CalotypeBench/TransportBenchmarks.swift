import Calotype

struct TransportBenchmarks: Benchmark {
  static let name = "transport"
  static let summary = "requests a second and processor time from nginx on loopback"

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    []
  }
}
