import CCurl
import CLateLibraries
import Foundation

/// Carries wishes from any thread to the one thread that libcurl runs on.
///
/// A wish costs a lock and an append; the thread is woken only where it sleeps, and once for any number
/// of wishes that come before it has woken.
final class CurlEngine: DescriptorShortage.Holder {
  /// What the thread can be asked for.
  enum Command {
    case start(CurlTransfer)
    case cancel(CurlTransfer)
    case prioritize(CurlTransfer, ImageRequest.Priority)
    /// Others lack descriptors: let connections go that nothing runs on.
    case closeIdle
    case stop
  }

  private struct Inbox {
    var commands: [Command] = []
    var isStarted = false
    /// Whether the thread has ended for good: what comes for transfers that have ended is dropped.
    var isOver = false
    /// Whether the thread sleeps, or is about to, and nobody has woken it yet.
    var isAsleep = false
    /// What the thread works with; here, since any thread may wake it.
    var multi: UnsafeMutableRawPointer?
  }

  let configuration: CurlTransport.Configuration
  /// Says where names lead in place of the system, for tests.
  let lookup: CurlTransport.Lookup?
  // Sound to share: it is used on the engine's thread alone. Others reach libcurl's handle through the inbox, and
  // only to wake the thread.
  nonisolated(unsafe) private(set) var multi: UnsafeMutableRawPointer?
  /// Whether the thread can be woken: libcurl does without what that takes where descriptors are short.
  nonisolated(unsafe) private(set) var canBeWoken = false
  private let inbox = Lock(Inbox())

  /// What keeps libcurl from being used; nil where nothing does. It may wait for a descriptor.
  static var problem: String? {
    DescriptorShortage.waitForOne()
    if let problem = calotype_load_curl() { return String(cString: problem) }
    return initializationProblem
  }
  private static let initializationProblem: String? = {
    let code = calotype_curl_global_init()
    return code == CURLE_OK ? nil : "libcurl cannot be used: \(String(cString: curl_easy_strerror(code)))"
  }()

  init(configuration: CurlTransport.Configuration, lookup: CurlTransport.Lookup?) {
    self.configuration = configuration
    self.lookup = lookup
    DescriptorShortage.add(self)
  }

  deinit { if let multi { curl_multi_cleanup(multi) } }

  func submit(_ command: Command) {
    enum Action { case none, start }
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
      // Under the lock, so that it is there for as long as that takes: a byte into a socket. What fails for want of
      // memory goes well the next time; else the next wish has to wake it.
      for _ in 0..<3 { if curl_multi_wakeup(inbox.multi) == CURLM_OK { return .none } }
      inbox.isAsleep = true
      return .none
    }
    if action == .start { startThread() }
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

  /// Makes libcurl's handle, or makes it anew, which closes all connections. Nothing may be under way.
  func renew() {
    inbox.withLock { $0.multi = nil }
    // The old one first: it may hold the descriptors that the new one needs.
    if let multi { curl_multi_cleanup(multi) }
    multi = curl_multi_init()
    canBeWoken = multi != nil && curl_multi_wakeup(multi) == CURLM_OK
    inbox.withLock { $0.multi = multi }
  }

  /// Waits until a socket is ready, a time-out of libcurl's or the given one ends, or a wish comes.
  func sleep(milliseconds: Int32) {
    let isIdle = inbox.withLock { inbox in
      inbox.isAsleep = inbox.commands.isEmpty
      return inbox.isAsleep
    }
    guard isIdle else { return }
    // Who cannot be woken looks by itself, now and then.
    let most = canBeWoken ? milliseconds : min(milliseconds, 50)
    if multi == nil || curl_multi_poll(multi, nil, 0, most, nil) != CURLM_OK {
      usleep(UInt32(clamping: min(most, 50)) * 1000)
    }
  }

  /// Asks for connections to be closed that nothing runs on.
  func releaseDescriptors() {
    if inbox.withLock({ $0.isStarted }) { submit(.closeIdle) }
  }

  private func startThread() {
    let thread = Thread { [self] in
      Self.blockSignals()
      // Here, for what is in the cache needs neither.
      let problem = Self.problem
      if problem == nil { renew() }
      guard multi != nil else { return refuse(problem ?? "libcurl has no memory") }
      CurlLoop(engine: self).run()
    }
    thread.name = "calotype.curl"
    thread.stackSize = 1 << 20
    thread.start()
  }

  /// Fails all that was asked for. Who comes later starts another thread, and another try.
  private func refuse(_ problem: String) {
    let isShort = DescriptorShortage.isThere
    while let commands = takeLastCommands() {
      for case .start(let transfer) in commands {
        transfer.complete(
          .failure(
            HTTPTransportError(
              isShort ? .tooManyOpenFiles : .other, url: transfer.request.url,
              message: isShort ? systemMessage(EMFILE) : problem)))
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
