import CCurl
import Foundation

/// What runs on the engine's thread: takes wishes, starts what may start, lets libcurl work, tells of what
/// has ended. It lives on that thread alone.
final class CurlLoop {
  private let engine: CurlEngine
  private let configuration: CurlTransport.Configuration
  private var multi: UnsafeMutableRawPointer? { engine.multi }
  private var scheduler: TransferScheduler<CurlTransfer>
  private var commands: [CurlEngine.Command] = []
  private var running: [CurlHandle] = []
  private var pool: [CurlHandle] = []
  private var isStopping = false
  var maximumHeaderSize: Int { configuration.maximumHeaderSize }
  /// When the time limits of the running transfers are to be looked at, at the latest.
  private var nextDeadline = UInt64.max
  /// The time at the start of this turn, so that callbacks need not read the clock.
  private(set) var now: UInt64 = 0

  /// What is known of a want of descriptors, while there is one.
  private struct Shortage {
    /// Since when no connection could be made though nothing else was under way.
    var since: UInt64?
    /// The most transfers to have under way.
    var limit: Int
    /// When to try again.
    var tryTime: UInt64
  }
  private var shortage: Shortage?
  /// Whether there may be connections that nothing runs on.
  private var mayHaveIdleConnections = false
  /// When connections are kept again that nothing runs on, where they are not.
  private var keepTime: UInt64?
  /// Whether the transfer whose connection is being made is not the only one.
  var hasOthersRunning: Bool { running.count > 1 }

  init(engine: CurlEngine) {
    self.engine = engine
    configuration = engine.configuration
    scheduler = TransferScheduler(limits: .init(configuration))
  }

  /// Makes libcurl's part, or makes it anew: that closes all connections.
  private func renew() {
    engine.renew()
    mayHaveIdleConnections = false
    keepConnections()
  }

  private func keepConnections() {
    keepTime = nil
    let connections = Int(max(configuration.maximumConcurrentTransfers, 8) * 2)
    calotype_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connections)
  }

  func run() {
    keepConnections()
    while true {
      now = DispatchTime.now().uptimeNanoseconds
      if let keepTime, now >= keepTime { keepConnections() }
      engine.takeCommands(into: &commands)
      for command in commands { obey(command) }
      commands.removeAll(keepingCapacity: true)
      _ = startTransfers()
      repeat { work() } while startTransfers() > 0
      // Behind the work, so that what came while the thread slept counts before a limit ends a transfer.
      if expireTransfers() { continue }
      if isStopping, scheduler.isEmpty, engine.end() { break }
      if !engine.canBeWoken, running.isEmpty { renew() }
      engine.sleep(milliseconds: sleepTime())
    }
    pool.removeAll()
  }

  private func work() {
    guard !running.isEmpty else { return }
    var count: Int32 = 0
    curl_multi_perform(multi, &count)
    finishTransfers()
  }

  // MARK: Wishes

  private func obey(_ command: CurlEngine.Command) {
    switch command {
    case .start(let transfer): enqueue(transfer)
    case .cancel(let transfer): cancel(transfer)
    case .prioritize(let transfer, let priority):
      switch transfer.place {
      case .waiting(let slot, _): scheduler.setPriority(slot, to: priority)
      // What is no longer only prefetched counts as what it is.
      case .running(let slot, _): scheduler.setPriority(slot, to: priority)
      case .new, .ended: break
      }
    case .closeIdle: closeIdle()
    case .stop: isStopping = true
    }
  }

  private func enqueue(_ transfer: CurlTransfer) {
    guard !transfer.isCancelled else { return transfer.complete(.failure(.cancelled(transfer.request.url))) }
    do {
      let target = try transfer.target.get()
      try CurlHandle.validate(transfer.request)
      let slot = scheduler.enqueue(
        transfer, host: target.authority, priority: transfer.request.priority, now: now)
      transfer.place = .waiting(slot, since: now)
    } catch {
      transfer.complete(.failure(error))
    }
  }

  private func cancel(_ transfer: CurlTransfer) {
    switch transfer.place {
    case .new, .ended: break
    case .waiting(let slot, _):
      _ = scheduler.remove(slot)
      transfer.complete(.failure(.cancelled(transfer.request.url)))
    case .running(_, let handle):
      end(handle, with: .failure(.cancelled(transfer.request.url)))
    }
  }

  // MARK: Transfers

  private func startTransfers() -> Int {
    var count = 0
    while mayStart, let (transfer, slot) = scheduler.next(now: now) {
      count += 1
      var queuedSince = now
      if case .waiting(_, let since) = transfer.place { queuedSince = since }
      guard let handle = pool.popLast() ?? CurlHandle(loop: self) else {
        scheduler.finish(slot)
        transfer.complete(
          .failure(HTTPTransportError(.other, url: transfer.request.url, message: "libcurl has no memory")))
        continue
      }
      handle.begin(transfer, at: now, queued: Double(now - queuedSince) / 1e9)
      transfer.place = .running(slot, handle)
      handle.position = running.count
      running.append(handle)
      nextDeadline = min(nextDeadline, handle.deadline(configuration))
      do {
        try handle.prepare(configuration: configuration, lookup: engine.lookup)
        try handle.attach(to: multi)
      } catch {
        end(handle, with: .failure(error))
      }
    }
    return count
  }

  private func finishTransfers() {
    var code = CURLE_OK
    while let easy = calotype_curl_multi_next_done(multi, &code) {
      guard let context = calotype_curl_get_private(easy) else { continue }
      let handle = Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue()
      let result = handle.result(code)
      switch result {
      case .failure(let error) where error.code == .tooManyOpenFiles:
        if waitsForDescriptor(handle) { continue }
      case .success: noteProgress()
      case .failure: break
      }
      end(handle, with: result)
    }
  }

  /// Takes a handle out of libcurl, which closes its connection unless the response was whole, and tells
  /// the receiver.
  private func end(_ handle: CurlHandle, with result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    guard let transfer = handle.transfer, case .running(let slot, _) = transfer.place else { return }
    scheduler.finish(slot)
    takeOut(handle)
    transfer.complete(result)
  }

  private func takeOut(_ handle: CurlHandle) {
    curl_multi_remove_handle(multi, handle.easy)
    mayHaveIdleConnections = true
    let last = running.removeLast()
    if last !== handle {
      running[handle.position] = last
      last.position = handle.position
    }
    handle.clear()
    if pool.count < configuration.maximumConcurrentTransfers { pool.append(handle) }
  }

  // MARK: Want of descriptors

  private var mayStart: Bool {
    guard let shortage else { return true }
    return running.count < shortage.limit && now >= shortage.tryTime
  }

  /// Has a transfer wait for which there was no descriptor. Returns whether it does: not where there has been none
  /// for long, though nothing of ours holds any.
  private func waitsForDescriptor(_ handle: CurlHandle) -> Bool {
    guard let transfer = handle.transfer, case .running(let slot, _) = transfer.place else { return true }
    let others = running.count - 1
    var shortage = shortage ?? Shortage(since: nil, limit: 1, tryTime: now)
    shortage.limit = max(1, others)
    defer { self.shortage = shortage }
    // Those that are under way end, each within its own limits.
    if others > 0 { shortage.since = nil }
    let since = shortage.since ?? now
    if others == 0 { shortage.since = since }
    guard others > 0 || mayHaveIdleConnections || now < since &+ DescriptorShortage.patience else {
      return false
    }
    DescriptorShortage.report()
    shortage.tryTime = now &+ DescriptorShortage.pause
    takeOut(handle)
    scheduler.putBack(slot, transfer)
    transfer.place = .waiting(slot, since: now)
    closeIdle()
    return true
  }

  /// Closes the connections that nothing runs on. libcurl cannot do that alone: it is done where nothing runs at
  /// all, and else nothing is kept for a second.
  private func closeIdle() {
    guard mayHaveIdleConnections else { return }
    if running.isEmpty { return renew() }
    calotype_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 1)
    keepTime = now &+ 1_000_000_000
  }

  /// A transfer went well: where descriptors were short, one more may be tried.
  private func noteProgress() {
    guard var shortage else { return }
    shortage.since = nil
    shortage.limit += 1
    self.shortage = shortage.limit < configuration.maximumConcurrentTransfers ? shortage : nil
  }

  // MARK: Time

  /// Ends the transfers whose time is over; whether there were any.
  private func expireTransfers() -> Bool {
    guard now >= nextDeadline else { return false }
    var hasEnded = false
    nextDeadline = .max
    for handle in running {
      if let error = handle.expire(at: now, configuration) {
        end(handle, with: .failure(error))
        hasEnded = true
      } else {
        nextDeadline = min(nextDeadline, handle.deadline(configuration))
      }
    }
    return hasEnded
  }

  private func sleepTime() -> Int32 {
    var until = UInt64.max
    if !running.isEmpty { until = nextDeadline }
    if let start = scheduler.nextStartTime { until = min(until, start) }
    if let shortage, running.count < shortage.limit, scheduler.pendingCount > 0 {
      until = min(until, shortage.tryTime)
    }
    guard until != .max else { return .max }
    let time = DispatchTime.now().uptimeNanoseconds
    return until <= time ? 0 : Int32(min((until - time) / 1_000_000 + 1, 3_600_000))
  }
}

extension TransferScheduler.Limits {
  init(_ configuration: CurlTransport.Configuration) {
    maximumConcurrent = max(1, configuration.maximumConcurrentTransfers)
    maximumPerHost = max(1, configuration.maximumTransfersPerHost)
    order = configuration.order
    if let rate = configuration.maximumStartsPerSecondPerHost, rate > 0, rate.isFinite {
      minimumStartInterval = UInt64(min(1e9 / rate, 3.6e12))
    }
  }
}
