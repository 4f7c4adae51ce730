import CCurl
import CLateLibraries
import Foundation

/// Carries wishes from any thread to the one thread that libcurl runs on.
///
/// A wish costs a lock and an append; the thread is woken only where it sleeps, and once for any number
/// of wishes that come before it has woken.
final class CurlEngine: Sendable {
  /// What the thread can be asked for.
  enum Command {
    case start(CurlTransfer)
    case cancel(CurlTransfer)
    case prioritize(CurlTransfer, ImageRequest.Priority)
    case stop
  }

  private struct Inbox {
    var commands: [Command] = []
    var isStarted = false
    /// Whether the thread has ended for good: what comes for transfers that have ended is dropped.
    var isOver = false
    /// Whether the thread sleeps, or is about to, and nobody has woken it yet.
    var isAsleep = false
  }

  let configuration: CurlTransport.Configuration
  /// Says where names lead in place of the system, for tests.
  let lookup: CurlTransport.Lookup?
  // Sound to share: the engine's thread makes it before it sleeps for the first time and uses it alone, but
  // for curl_multi_wakeup, which is called only while it sleeps; and it is freed when nobody holds the engine
  // any more.
  nonisolated(unsafe) private(set) var multi: UnsafeMutableRawPointer?
  private let inbox = Lock(Inbox())

  /// What keeps libcurl from being used; nil where nothing does.
  static let problem: String? = {
    if let problem = calotype_load_curl() { return String(cString: problem) }
    let code = calotype_curl_global_init()
    return code == CURLE_OK ? nil : "libcurl cannot be used: \(String(cString: curl_easy_strerror(code)))"
  }()

  init(configuration: CurlTransport.Configuration, lookup: CurlTransport.Lookup?) {
    self.configuration = configuration
    self.lookup = lookup
  }

  deinit { if let multi { curl_multi_cleanup(multi) } }

  func submit(_ command: Command) {
    enum Action { case none, wake, start }
    let action = inbox.withLock { inbox in
      if inbox.isOver { return Action.none }
      // Before the thread there is nothing that could be cancelled or stopped.
      if !inbox.isStarted { guard case .start = command else { return .none } }
      inbox.commands.append(command)
      if !inbox.isStarted {
        inbox.isStarted = true
        return .start
      }
      guard inbox.isAsleep else { return .none }
      inbox.isAsleep = false
      return .wake
    }
    switch action {
    case .none: break
    case .wake: curl_multi_wakeup(multi)
    case .start: startThread()
    }
  }

  /// Takes all wishes; the array passed in is emptied and takes their place, so that its memory is used
  /// again.
  func takeCommands(into commands: inout [Command]) {
    commands.removeAll(keepingCapacity: true)
    inbox.withLock { inbox in
      inbox.isAsleep = false
      swap(&inbox.commands, &commands)
    }
  }

  /// Whether the thread has ended for good.
  var isOver: Bool { inbox.withLock { $0.isOver } }

  /// Ends the thread's turn for good, unless there is something left to obey; whether it has ended.
  func end() -> Bool {
    inbox.withLock { inbox in
      inbox.isOver = inbox.commands.isEmpty
      return inbox.isOver
    }
  }

  /// Waits until a socket is ready, a time-out of libcurl's or the given one ends, or a wish comes.
  func sleep(milliseconds: Int32) {
    let isIdle = inbox.withLock { inbox in
      inbox.isAsleep = inbox.commands.isEmpty
      return inbox.isAsleep
    }
    if isIdle { curl_multi_poll(multi, nil, 0, milliseconds, nil) }
  }

  private func startThread() {
    let thread = Thread { [self] in
      Self.blockSignals()
      // Here, for what is in the cache needs neither.
      if Self.problem == nil { multi = curl_multi_init() }
      guard let multi else { return refuse() }
      CurlLoop(engine: self, multi: multi).run()
    }
    thread.name = "calotype.curl"
    thread.stackSize = 1 << 20
    thread.start()
  }

  /// Fails all that was asked for. Who comes later starts another thread, and another try.
  private func refuse() {
    let message = Self.problem ?? "libcurl has no memory"
    while let commands = takeLastCommands() {
      for case .start(let transfer) in commands {
        transfer.complete(.failure(HTTPTransportError(.other, url: transfer.request.url, message: message)))
      }
    }
  }

  /// Takes all wishes; nil where there are none, and the thread counts as ended.
  private func takeLastCommands() -> [Command]? {
    inbox.withLock { inbox in
      guard !inbox.commands.isEmpty else {
        inbox.isStarted = false
        return nil
      }
      defer { inbox.commands = [] }
      return inbox.commands
    }
  }

  /// Keeps signals off this thread. A write to a closed connection raises SIGPIPE in the thread that
  /// writes (TLS libraries cannot avoid it); blocked here, it is never delivered, and the program's own
  /// handling of it stays as it is.
  private static func blockSignals() {
    var signals = sigset_t()
    sigfillset(&signals)
    for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&signals, fault) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }
}
