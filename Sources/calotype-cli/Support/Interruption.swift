import Calotype
import Foundation

/// Ctrl-C and its like: what runs is cancelled and the command ends on its own; where that takes too long,
/// or at the second time, the process ends at once.
///
/// A signal's handler posts a semaphore, and a thread waits for that. Neither needs a descriptor, as Dispatch's
/// sources do, so that a program that has none left can be ended too.
final class Interruption: Sendable {
  private struct State {
    var isInterrupted = false
    var handlers: [@Sendable () -> Void] = []
  }

  static let exitStatus: Int32 = 130
  private static let patience = 0.7
  private let state = Lock(State())

  /// Posted for each signal; it is there as long as the process.
  // Sound to share: a semaphore is made for that.
  private nonisolated(unsafe) static let arrivals = {
    let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    sem_init(semaphore, 0, 0)
    return semaphore
  }()

  /// Begins to listen.
  init() {
    // Before the handler can: what is made at its first use is not to be made in there.
    _ = Self.arrivals
    let thread = Thread { [self] in listen() }
    thread.name = "calotype.signals"
    thread.stackSize = 1 << 19
    thread.start()
    for number in [SIGINT, SIGTERM, SIGHUP] {
      var action = sigaction(), earlier = sigaction()
      action.__sigaction_handler.sa_handler = { _ in sem_post(Interruption.arrivals) }
      action.sa_flags = SA_RESTART
      sigaction(number, nil, &earlier)
      // Whoever starts a program with nohup wants it to outlive the terminal.
      let isIgnored = unsafeBitCast(earlier.__sigaction_handler.sa_handler, to: Int.self) == 1
      if number == SIGHUP, isIgnored { continue }
      sigaction(number, &action, nil)
    }
  }

  var isInterrupted: Bool { state.withLock { $0.isInterrupted } }

  /// Calls a closure at the interruption; at once, where it has been.
  func whenInterrupted(_ handler: @escaping @Sendable () -> Void) {
    let isInterrupted = state.withLock { state in
      if !state.isInterrupted { state.handlers.append(handler) }
      return state.isInterrupted
    }
    if isInterrupted { handler() }
  }

  private func listen() {
    while sem_wait(Self.arrivals) != 0 {}
    let handlers = state.withLock { state in
      state.isInterrupted = true
      defer { state.handlers = [] }
      return state.handlers
    }
    // Elsewhere, so that nothing in them holds up the end.
    Thread { for handler in handlers { handler() } }.start()
    Thread { [self] in
      usleep(UInt32(Self.patience * 1e6))
      end()
    }.start()
    while sem_wait(Self.arrivals) != 0 {}
    end()
  }

  private func end() -> Never {
    // Show the cursor again that the progress bar may have hidden.
    if isatty(2) == 1 { Terminal.standardError.write("\r\u{1B}[K\u{1B}[?25h") }
    _exit(Self.exitStatus)
  }
}
