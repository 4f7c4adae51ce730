#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Measures how long this package keeps the main thread at once, for the benchmarks; off otherwise.
@MainActor
package enum WorkMeter {
  /// Told the processor seconds of each piece of work; a machine that is busy elsewhere does not count.
  package static var report: (@MainActor (Double) -> Void)?

  static func start() -> Double? { report == nil ? nil : seconds() }

  static func end(_ start: Double?) {
    if let start { report?(seconds() - start) }
  }

  private static func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }
}
