import Foundation

#if os(Linux)
  import CSystem
#endif

// Sound as Sendable: everything that changes is behind the lock; the pipe's ends never change.
/// Learns when memory is short, from whatever the system has for that, and tells those who can give some back.
///
/// A pipeline registers itself with its first load, unless its configuration says otherwise
/// (``ImagePipeline/Configuration/respondsToMemoryPressure``), and then empties its memory cache and cancels
/// prefetches that wait. One monitor serves the process: a thread that sleeps until the system wakes it.
///
/// ```swift
/// let observation = MemoryPressureMonitor.shared.observe { thumbnails.removeAll() }
/// ```
///
/// Where the system's word comes by another way, such as a desktop's own service, pass it on with ``warn()``.
public final class MemoryPressureMonitor: @unchecked Sendable {
  /// The process's monitor.
  public static let shared = MemoryPressureMonitor(open: systemSources)

  /// What says that memory is short.
  public enum Source: Hashable, Sendable, CustomStringConvertible {
    /// Linux's pressure stall information, of a control group or of the whole system.
    case pressureStall(path: String)
    /// The counters of a version 2 control group's limits.
    case controlGroupEvents(path: String)
    /// The pressure level of a version 1 control group.
    case controlGroupPressure(path: String)

    /// The name and the file.
    public var description: String {
      switch self {
      case .pressureStall(let path): "pressure stall information (\(path))"
      case .controlGroupEvents(let path): "control group's events (\(path))"
      case .controlGroupPressure(let path): "control group's pressure level (\(path))"
      }
    }
  }

  /// Keeps a closure registered for as long as it is kept.
  public final class Observation: Sendable {
    private let monitor: MemoryPressureMonitor
    private let identifier: UInt64

    fileprivate init(monitor: MemoryPressureMonitor, identifier: UInt64) {
      self.monitor = monitor
      self.identifier = identifier
    }

    deinit { monitor.state.withLock { _ = $0.handlers.removeValue(forKey: identifier) } }
  }

  private enum Phase { case idle, running, stopping, stopped }

  private struct State {
    var phase = Phase.idle
    var handlers: [UInt64: @Sendable () -> Void] = [:]
    var lastIdentifier: UInt64 = 0
    /// What was opened, until the thread takes it.
    var watched: [any MemoryPressureWatching]?
    var sources: [Source]?
    var stopWaiters: [CheckedContinuation<Void, Never>] = []
  }

  private enum Wish { static let warn: UInt8 = 1, stop: UInt8 = 2 }

  private let state = Lock(State())
  private let open: @Sendable () -> [any MemoryPressureWatching]
  /// Milliseconds between two warnings, at least.
  private let interval: Int32
  private let pipeEnds: (read: Int32, write: Int32)

  /// Creates a monitor that watches what a closure opens, with so many milliseconds between two warnings.
  package init(interval: Int32 = 1000, open: @escaping @Sendable () -> [any MemoryPressureWatching]) {
    self.open = open
    self.interval = interval
    var ends: [Int32] = [-1, -1]
    if pipe(&ends) == 0 {
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
    }
    pipeEnds = (ends[0], ends[1])
  }

  deinit {
    if pipeEnds.read >= 0 { close(pipeEnds.read) }
    if pipeEnds.write >= 0 { close(pipeEnds.write) }
  }

  /// What this system lets us watch; empty where a program's own call is the only source.
  public var sources: [Source] { state.withLock { prepare(&$0) } }

  /// Calls a closure each time that memory is short, at most once a second, on the monitor's own thread.
  ///
  /// - Returns: What keeps the closure registered: when it goes, the closure goes.
  public func observe(_ handler: @escaping @Sendable () -> Void) -> Observation {
    let (identifier, starts) = state.withLock { state in
      state.lastIdentifier += 1
      state.handlers[state.lastIdentifier] = handler
      let starts = state.phase == .idle && pipeEnds.read >= 0
      if starts { state.phase = .running }
      return (state.lastIdentifier, starts)
    }
    if starts {
      let thread = Thread { self.run() }
      thread.name = "calotype.memory"
      thread.start()
    }
    return Observation(monitor: self, identifier: identifier)
  }

  /// Says that memory is short, in the system's place. Whoever observes is told soon, from the monitor's
  /// thread.
  public func warn() { wish(Wish.warn) }

  /// Ends the thread and returns when it has ended. Nobody is told any more.
  func stop() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        switch state.phase {
        case .idle, .stopped:
          state.phase = .stopped
          return true
        case .running, .stopping:
          state.phase = .stopping
          state.stopWaiters.append(continuation)
          return false
        }
      }
      if isOver { continuation.resume() } else { wish(Wish.stop) }
    }
  }

  private func wish(_ wish: UInt8) {
    var byte = wish
    // A full pipe holds wishes enough.
    if pipeEnds.write >= 0 { _ = write(pipeEnds.write, &byte, 1) }
  }

  /// Opens the sources, once. A matter of microseconds, and nobody else waits for this lock.
  private func prepare(_ state: inout State) -> [Source] {
    if let sources = state.sources { return sources }
    let watched = open()
    let sources = watched.map(\.source)
    state.watched = watched
    state.sources = sources
    return sources
  }

  // MARK: The thread

  private func run() {
    // Signals are for the program's threads, but those that a fault here raises.
    var signals = sigset_t()
    sigfillset(&signals)
    for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&signals, fault) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    let watched = state.withLock { state in
      _ = prepare(&state)
      defer { state.watched = nil }
      return state.watched ?? []
    }
    watch(watched)
    let waiters = state.withLock { state in
      state.phase = .stopped
      defer { state.stopWaiters = [] }
      return state.stopWaiters
    }
    for waiter in waiters { waiter.resume() }
  }

  private func watch(_ watched: [any MemoryPressureWatching]) {
    var polled = [pollfd(fd: pipeEnds.read, events: Int16(POLLIN), revents: 0)]
    polled += watched.map { pollfd(fd: $0.descriptor, events: $0.pollEvents, revents: 0) }
    var isWarned = false
    while true {
      if !isWarned { poll(&polled, nfds_t(polled.count), -1) }
      let isNews = polled.dropFirst().contains { $0.revents != 0 }
      for (index, source) in watched.enumerated() where polled[index + 1].revents != 0 {
        // What has broken, as when its group is gone, would be ready for ever; a negative one is passed over.
        if polled[index + 1].revents & Int16(POLLERR | POLLNVAL | POLLHUP) != 0 { polled[index + 1].fd = -1 }
        if source.takeEvent() { isWarned = true }
        polled[index + 1].revents = 0
      }
      if takeWishes(&isWarned) { return }
      guard isWarned || isNews else { continue }
      let wasWarned = isWarned
      isWarned = false
      if wasWarned { tell() }
      // Looking costs something too, and the kernel may have news thousands of times a second.
      if rest(wasWarned ? interval : interval / 10, &isWarned) { return }
    }
  }

  /// Takes what was asked of the thread. Returns whether it is to end.
  private func takeWishes(_ isWarned: inout Bool) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 64)
    var isStopped = false
    while true {
      let count = read(pipeEnds.read, &bytes, bytes.count)
      guard count > 0 else { return isStopped }
      if bytes[..<count].contains(Wish.warn) { isWarned = true }
      if bytes[..<count].contains(Wish.stop) { isStopped = true }
    }
  }

  private func tell() {
    let handlers = state.withLock { Array($0.handlers.values) }
    guard !handlers.isEmpty else { return }
    for handler in handlers { handler() }
    SystemMemory.returnFreedMemory()
  }

  /// Lets some time pass in which only wishes are taken. Returns whether the thread is to end.
  private func rest(_ milliseconds: Int32, _ isWarned: inout Bool) -> Bool {
    let end = monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
    while true {
      let now = monotonicNanoseconds()
      guard now < end else { return false }
      var polled = pollfd(fd: pipeEnds.read, events: Int16(POLLIN), revents: 0)
      poll(&polled, 1, Int32((end - now) / 1_000_000) + 1)
      if takeWishes(&isWarned) { return true }
    }
  }

  /// Opens all that this system has. What may not be opened is left out.
  package static func systemSources() -> [any MemoryPressureWatching] {
    #if os(Linux)
      let groups = ControlGroup.ofThisProcess()
      var sources: [any MemoryPressureWatching] = []
      if let source = PressureStallSource.open(groups: groups) { sources.append(source) }
      if let source = ControlGroupEventsSource.open(groups: groups) { sources.append(source) }
      if let source = ControlGroupPressureSource.open(groups: groups) { sources.append(source) }
      return sources
    #else
      return []
    #endif
  }
}

extension SystemMemory {
  /// Gives the pages of freed memory back to the system, which the C library otherwise keeps.
  static func returnFreedMemory() {
    #if canImport(Glibc)
      malloc_trim(0)
    #endif
  }
}
