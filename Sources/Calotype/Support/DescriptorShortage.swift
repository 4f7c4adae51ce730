#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// What is done where a program has no descriptors left: those who keep some that they can do without are asked to
/// let them go, and whoever needs one tries again for a while.
package enum DescriptorShortage {
  /// Whether an error number says that there are no descriptors left, in the process or in the system.
  package static func isMeant(by number: Int32) -> Bool { number == EMFILE || number == ENFILE }

  /// How long, in nanoseconds, a shortage may last until something fails for it.
  static let patience: UInt64 = 3_000_000_000
  /// How long to wait between tries, in nanoseconds.
  static let pause: UInt64 = 20_000_000
  /// Descriptors that are left to the rest of the program by those who could do with fewer.
  static let reserve = 8

  /// Holds descriptors that it can do without for the moment.
  protocol Holder: AnyObject, Sendable {
    /// Lets them go, soon.
    func releaseDescriptors()
  }

  private struct Entry {
    weak var holder: (any Holder)?
  }

  private static let entries = Lock<[Entry]>([])

  /// Has a holder told of shortages as long as it lives.
  static func add(_ holder: any Holder) {
    entries.withLock { entries in
      entries.removeAll { $0.holder == nil }
      entries.append(Entry(holder: holder))
    }
  }

  /// Says that somebody needs a descriptor and got none.
  package static func report() {
    for holder in entries.withLock({ $0.compactMap(\.holder) }) { holder.releaseDescriptors() }
  }

  private static func copyOfOne() -> Int32 { fcntl(0, F_DUPFD_CLOEXEC, 0) }

  /// Whether there is none at this moment.
  package static var isThere: Bool {
    let descriptor = copyOfOne()
    if descriptor >= 0 {
      close(descriptor)
      return false
    }
    return isMeant(by: errno)
  }

  /// Whether a descriptor that the system gave out is among the last ones of this process: it gives out the lowest
  /// that is free.
  static func isAmongTheLast(_ descriptor: Int32) -> Bool {
    var limit = rlimit()
    #if canImport(Glibc)
      guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return false }
    #else
      guard getrlimit(RLIMIT_NOFILE, &limit) == 0 else { return false }
    #endif
    return UInt64(max(0, descriptor)) + UInt64(reserve) >= UInt64(limit.rlim_cur)
  }

  /// Waits for a while where there is no descriptor, on a thread that may wait.
  package static func waitForOne() {
    let descriptor = waiting(copyOfOne)
    if descriptor >= 0 { close(descriptor) }
  }

  /// Makes a call that gives a descriptor, again for a while where there is none, on a thread that may wait.
  package static func waiting(_ call: () -> Int32) -> Int32 {
    let deadline = monotonicNanoseconds() &+ patience
    while true {
      let result = call()
      guard result < 0, isMeant(by: errno), monotonicNanoseconds() < deadline else { return result }
      report()
      usleep(UInt32(pause / 1000))
    }
  }
}

/// What the system says of an error number, and the way out where there is one.
package func systemMessage(_ number: Int32) -> String {
  switch number {
  case EMFILE: "too many open files: raise the limit (ulimit -n)"
  case ENFILE: "too many open files in the whole system: raise its limit (fs.file-max)"
  default: String(cString: strerror(number))
  }
}
