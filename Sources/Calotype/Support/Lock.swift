#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A value that one thread at a time may touch.
///
/// It does what `Synchronization.Mutex` does, at the same cost, on a `pthread_mutex_t`: the thread sanitizer
/// understands that one, while on Linux it reports a race for every contended `Mutex` (the hand-over happens
/// in the kernel, out of its sight).
// Sound as Sendable: the value is reached only through `withLock`.
package struct Lock<Value>: @unchecked Sendable {
  private let buffer: ManagedBuffer<Value, pthread_mutex_t>

  private final class Buffer: ManagedBuffer<Value, pthread_mutex_t> {
    deinit { withUnsafeMutablePointerToElements { _ = pthread_mutex_destroy($0) } }
  }

  /// Creates a lock around a value. Copies of the lock share the value.
  package init(_ value: Value) {
    buffer = Buffer.create(minimumCapacity: 1) { buffer in
      buffer.withUnsafeMutablePointerToElements { _ = pthread_mutex_init($0, nil) }
      return value
    }
  }

  /// Calls a closure that may look at and change the value, while no other thread can.
  @inline(__always)
  package func withLock<Result, Failure: Swift.Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let (value, mutex) = buffer.withUnsafeMutablePointers { ($0, $1) }
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value.pointee)
  }
}
