import Calotype
@preconcurrency import Dispatch
import Foundation

/// Ctrl-C and its like: what runs is cancelled and the command ends on its own; where that takes too long,
/// or at the second time, the process ends at once.
final class Interruption: Sendable {
  private struct State {
    var isInterrupted = false
    var handlers: [@Sendable () -> Void] = []
    var sources: [any DispatchSourceSignal] = []
  }

  static let exitStatus: Int32 = 130
  private static let patience = 0.7
  private let state = Lock(State())

  /// Begins to listen.
  init() {
    let queue = DispatchQueue(label: "calotype.signals")
    for number in [SIGINT, SIGTERM, SIGHUP] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { [weak self] in self?.interrupt(on: queue) }
      source.resume()
      state.withLock { $0.sources.append(source) }
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

  private func interrupt(on queue: DispatchQueue) {
    let handlers = state.withLock { state -> [@Sendable () -> Void]? in
      if state.isInterrupted { return nil }
      state.isInterrupted = true
      defer { state.handlers = [] }
      return state.handlers
    }
    guard let handlers else { _exit(Self.exitStatus) }
    queue.asyncAfter(deadline: .now() + Self.patience) {
      // Show the cursor again that the progress bar may have hidden.
      if isatty(2) == 1 { Terminal.standardError.write("\r\u{1B}[K\u{1B}[?25h") }
      _exit(Self.exitStatus)
    }
    for handler in handlers { handler() }
  }
}
