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
    pthread_cond_init(condition, nil)
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
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    var deadline = timespec()
    var timedOut = false
    while true {
      if case .done(let result) = look(&value, timedOut) { return result }
      if deadline.tv_sec == 0 {
        clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += seconds
      }
      whileWaiting(&value, true)
      timedOut = pthread_cond_timedwait(condition, mutex, &deadline) != 0
      whileWaiting(&value, false)
    }
  }
}
