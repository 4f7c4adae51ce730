/// A set of measurements about one subject. Each lives in a file of its own and is listed in
/// `allBenchmarks`.
protocol Benchmark: Sendable {
  /// The name by which it is picked on the command line, such as `decode`.
  static var name: String { get }
  /// What it measures, in one line.
  static var summary: String { get }

  init()

  /// Measures, and returns a row for each figure.
  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow]
}

/// One figure, alone or beside its peer's.
struct BenchmarkRow: Codable, Sendable {
  /// What was measured, such as `48×48 JPEG to 48`.
  var title: String
  /// The median of the runs.
  var value: Double
  /// The unit of the values, such as `µs` or `requests/s`.
  var unit: String
  /// What it is measured beside, where there is such a thing.
  var peer: String?
  /// The peer's median.
  var peerValue: Double?
  /// The median of the pairs' ratios, ours over the peer's. The machine's speed varies from one moment to
  /// the next, so this is what to compare, not the values.
  var ratio: Double?
  /// What the ratio (or, without a peer, the value) should not be over, or under where more is better.
  var goal: Double?
  /// How many runs, or pairs of runs, the medians are of.
  var runs: Int
  /// What a reader has to know to read the figure.
  var note: String?

  init(
    title: String, value: Double, unit: String, peer: String? = nil, peerValue: Double? = nil,
    ratio: Double? = nil, goal: Double? = nil, runs: Int = 1, note: String? = nil
  ) {
    self.title = title
    self.value = value
    self.unit = unit
    self.peer = peer
    self.peerValue = peerValue
    self.ratio = ratio
    self.goal = goal
    self.runs = runs
    self.note = note
  }
}
