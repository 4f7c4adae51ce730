import Foundation

/// Takes the time of closures, alone or turn by turn with a peer.
struct BenchmarkContext: Sendable {
  /// Fewer and shorter runs: to see that everything works, not to quote the figures.
  var isQuick = false

  /// How long one run lasts at least, in seconds: a body is repeated until it has passed.
  var minimumRunTime: Double { isQuick ? 0.02 : 0.2 }
  /// The runs that a median is taken of, unless told.
  var defaultRuns: Int { isQuick ? 3 : 9 }

  /// Times a body that does its work once.
  ///
  /// - Parameters:
  ///   - title: What is measured.
  ///   - unit: What the seconds of one turn are shown in.
  ///   - operations: How many operations one turn of the body does; the time is divided by it.
  ///   - runs: How many runs the median is taken of.
  ///   - goal: What the value should not be over.
  ///   - body: One turn.
  func measure(
    _ title: String, unit: TimeUnit = .microseconds, operations: Int = 1, runs: Int? = nil,
    goal: Double? = nil, note: String? = nil, _ body: () async throws -> Void
  ) async rethrows -> BenchmarkRow {
    let turns = try await calibrate(body)
    var times: [Double] = []
    for _ in 0..<(runs ?? defaultRuns) {
      times.append(try await time(turns: turns, body) / Double(operations))
    }
    return BenchmarkRow(
      title: title, value: times.median * unit.perSecond, unit: unit.rawValue, goal: goal, runs: times.count,
      note: note)
  }

  /// Times ours and the peer's turn by turn (A B A B …); the ratio is the median of the pairs' ratios, so
  /// that a machine that slows down for a while slows both.
  ///
  /// - Parameters:
  ///   - goal: What the ratio should not be over.
  func compare(
    _ title: String, unit: TimeUnit = .microseconds, operations: Int = 1, runs: Int? = nil,
    peer: String, goal: Double? = nil, note: String? = nil,
    ours: () async throws -> Void, theirs: () async throws -> Void
  ) async rethrows -> BenchmarkRow {
    let ourTurns = try await calibrate(ours)
    let theirTurns = try await calibrate(theirs)
    var ourTimes: [Double] = []
    var theirTimes: [Double] = []
    for _ in 0..<(runs ?? defaultRuns) {
      ourTimes.append(try await time(turns: ourTurns, ours) / Double(operations))
      theirTimes.append(try await time(turns: theirTurns, theirs) / Double(operations))
    }
    return BenchmarkRow(
      title: title, value: ourTimes.median * unit.perSecond, unit: unit.rawValue, peer: peer,
      peerValue: theirTimes.median * unit.perSecond, ratio: zip(ourTimes, theirTimes).map { $0 / $1 }.median,
      goal: goal, runs: ourTimes.count, note: note)
  }

  /// The turns that fill the shortest run; also warms up.
  private func calibrate(_ body: () async throws -> Void) async rethrows -> Int {
    var turns = 1
    while true {
      let seconds = try await time(turns: turns, body) * Double(turns)
      if seconds >= minimumRunTime { return turns }
      let wanted = minimumRunTime / max(seconds, 1e-9) * 1.1
      turns = max(turns + 1, Int(Double(turns) * min(wanted, 20)))
    }
  }

  /// The seconds of one turn.
  private func time(turns: Int, _ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    for _ in 0..<turns { try await body() }
    return (ContinuousClock.now - start).seconds / Double(turns)
  }
}

/// What times are shown in.
enum TimeUnit: String, Sendable {
  case nanoseconds = "ns"
  case microseconds = "µs"
  case milliseconds = "ms"
  case seconds = "s"

  var perSecond: Double {
    switch self {
    case .nanoseconds: 1e9
    case .microseconds: 1e6
    case .milliseconds: 1e3
    case .seconds: 1
    }
  }
}

extension Duration {
  /// The whole as seconds.
  var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}

extension [Double] {
  /// The middle value; of an even number, the mean of the two in the middle. 0 of none.
  var median: Double {
    guard !isEmpty else { return 0 }
    let sorted = sorted()
    let middle = count / 2
    return count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}

/// Keeps the optimiser from dropping work whose result nobody looks at.
@inline(never)
func keep<Value>(_ value: Value) {}

/// What the process has used so far.
enum ProcessUsage {
  /// Processor time of all threads, in seconds.
  static var processorSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  /// Resident bytes now, and at their peak, as Linux tells them; `nil` elsewhere.
  static var residentBytes: (now: Int, peak: Int)? {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return nil }
    func kilobytes(_ name: String) -> Int? {
      status.split(separator: "\n").first { $0.hasPrefix(name) }?
        .split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }
    }
    guard let now = kilobytes("VmRSS:"), let peak = kilobytes("VmHWM:") else { return nil }
    return (now << 10, peak << 10)
  }

  /// Sets the peak back to what is resident now.
  static func resetPeak() {
    guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else { return }
    file.write(Data("5".utf8))
    try? file.close()
  }
}
