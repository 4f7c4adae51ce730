#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A value that one thread at a time may touch, and that threads may wait for a change of.
// Sound as Sendable: the value is reached only with the mutex held.
final class Condition<Value>: @unchecked Sendable {
  /// What a look at the value came to.
  enum Look<Result> {
    /// There is nothing for this thread yet.
    case wait
    /// What it waited for.
    case done(Result)
  }

  private var value: Value
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init(_ value: Value) {
    self.value = value
    pthread_mutex_init(mutex, nil)
    #if canImport(Darwin)
      pthread_cond_init(condition, nil)
    #else
      // Nobody sets this clock: one that is set back would make a wait of a second last a day.
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Calls a closure that may look at and change the value, while no other thread can.
  func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&value)
  }

  /// Wakes one thread that waits.
  func signal() { pthread_cond_signal(condition) }

  /// Wakes all threads that wait.
  func broadcast() { pthread_cond_broadcast(condition) }

  /// Looks at the value until the look is done, waiting for ``signal()`` in between.
  ///
  /// - Parameters:
  ///   - seconds: How long to wait; after that one more look is taken, with `timedOut` set, that must be done.
  ///   - look: Looks at the value and may change it.
  ///   - whileWaiting: Told, with the value at hand, when waiting begins and ends.
  func wait<Result>(
    upTo seconds: Int, _ look: (inout Value, _ timedOut: Bool) -> Look<Result>,
    whileWaiting: (inout Value, Bool) -> Void
  ) -> Result {
    wait(upToNanoseconds: UInt64(max(0, seconds)) &* 1_000_000_000, look, whileWaiting: whileWaiting)
  }

  /// The same with a wait in nanoseconds.
  func wait<Result>(
    upToNanoseconds length: UInt64, _ look: (inout Value, _ timedOut: Bool) -> Look<Result>,
    whileWaiting: (inout Value, Bool) -> Void = { _, _ in }
  ) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    var deadline: UInt64?
    var timedOut = false
    while true {
      if case .done(let result) = look(&value, timedOut) { return result }
      let end = deadline ?? monotonicNanoseconds() &+ length
      deadline = end
      whileWaiting(&value, true)
      timedOut = !waitForSignal(until: end)
      whileWaiting(&value, false)
    }
  }

  /// Whether the wait ended before the time on the monotonic clock.
  private func waitForSignal(until end: UInt64) -> Bool {
    #if canImport(Darwin)
      let now = monotonicNanoseconds()
      var rest = timespec(nanoseconds: end > now ? end - now : 0)
      return pthread_cond_timedwait_relative_np(condition, mutex, &rest) == 0
    #else
      var time = timespec(nanoseconds: end)
      return pthread_cond_timedwait(condition, mutex, &time) == 0
    #endif
  }
}

extension timespec {
  fileprivate init(nanoseconds: UInt64) {
    self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}
