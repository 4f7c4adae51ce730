import Calotype

struct DecodeBenchmarks: Benchmark {
  static let name = "decode"
  static let summary = "pictures to bitmaps, beside plain C on the same codec"

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    []
  }
}
