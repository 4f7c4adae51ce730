#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The monotonic clock in nanoseconds: for lengths of time.
package func monotonicNanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Seconds since 1970: for what headers and files say.
@Sendable package func wallClockSeconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// How long the processor has worked for this thread, in nanoseconds.
func threadProcessorNanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
}

/// Seconds on a clock that nobody sets, and that goes on while the machine sleeps.
func steadySeconds() -> Double {
  var time = timespec()
  #if os(Linux)
    clock_gettime(CLOCK_BOOTTIME, &time)
  #else
    // On Darwin this one goes on in sleep.
    clock_gettime(CLOCK_MONOTONIC, &time)
  #endif
  return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}
