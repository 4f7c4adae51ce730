import CCurl
import Foundation

/// What runs on the engine's thread: takes wishes, starts what may start, lets libcurl work, tells of what
/// has ended. It lives on that thread alone.
final class CurlLoop {
  private let engine: CurlEngine
  private let configuration: CurlTransport.Configuration
  private let multi: UnsafeMutableRawPointer
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

  init(engine: CurlEngine, multi: UnsafeMutableRawPointer) {
    self.engine = engine
    configuration = engine.configuration
    self.multi = multi
    scheduler = TransferScheduler(limits: .init(configuration))
    let connections = Int(max(configuration.maximumConcurrentTransfers, 8) * 2)
    calotype_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connections)
  }

  func run() {
    while true {
      now = DispatchTime.now().uptimeNanoseconds
      engine.takeCommands(into: &commands)
      for command in commands { obey(command) }
      commands.removeAll(keepingCapacity: true)
      _ = startTransfers()
      repeat { work() } while startTransfers() > 0
      // Behind the work, so that what came while the thread slept counts before a limit ends a transfer.
      if expireTransfers() { continue }
      if isStopping, scheduler.isEmpty, engine.end() { break }
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
    while let (transfer, slot) = scheduler.next(now: now) {
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
      end(handle, with: handle.result(code))
    }
  }

  /// Takes a handle out of libcurl, which closes its connection unless the response was whole, and tells
  /// the receiver.
  private func end(_ handle: CurlHandle, with result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    guard let transfer = handle.transfer, case .running(let slot, _) = transfer.place else { return }
    curl_multi_remove_handle(multi, handle.easy)
    let last = running.removeLast()
    if last !== handle {
      running[handle.position] = last
      last.position = handle.position
    }
    scheduler.finish(slot)
    handle.clear()
    if pool.count < configuration.maximumConcurrentTransfers { pool.append(handle) }
    transfer.complete(result)
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
