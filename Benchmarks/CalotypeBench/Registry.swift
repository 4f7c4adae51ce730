/// Every set of measurements, in the order they run.
let allBenchmarks: [any Benchmark.Type] = [
  DecodeBenchmarks.self,
  IsolationBenchmarks.self,
  ResampleBenchmarks.self,
  ProcessBenchmarks.self,
  TransportBenchmarks.self,
  CacheBenchmarks.self,
  PipelineBenchmarks.self,
  MemoryBenchmarks.self,
]
