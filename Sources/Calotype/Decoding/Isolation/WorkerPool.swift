import Foundation

/// The workers of one ``DecodingWorkers``: who is free, who is to be started, and which pictures are not to be
/// tried.
///
/// A thread of its own, the keeper, starts and buries the workers. A worker dies with the thread that started
/// it, so that must be one that stays.
final class WorkerPool: DescriptorShortage.Holder {
  /// Why there is no worker.
  struct Unavailable: Error {
    var reason: String
    /// Whether there has never been one, so that nobody has been promised any isolation yet.
    var hasNeverWorked: Bool
    /// Whether the system lacks something that may be there in a while. That is no reason to decode what strangers
    /// send in this process: strangers may have brought it about.
    var mayPass: Bool
  }

  private struct Problem {
    var reason: String
    /// Until when no other try is made.
    var until: UInt64
    /// Since when the system has lacked something that may be there in a while; `nil` for other problems.
    var lackingSince: UInt64?
  }

  private struct State {
    var idle: [DecodingWorker] = []
    /// Those that are there or being started.
    var count = 0
    var busyCount = 0
    var failure: Problem?
    var hasWorked = false
    var hello: WorkerHello?
    var pictureCount = 0
    var isKept = false
    var isWatched = false
    var killers = KillerTable()
  }

  private enum Command {
    case start, watch, tick, stop
    case bury(DecodingWorker)
  }

  private let configuration: DecodingWorkers.Configuration
  private let state: Condition<State>
  private let commands = Condition<[Command]>([])

  init(_ configuration: DecodingWorkers.Configuration) {
    self.configuration = configuration
    state = Condition(State())
    DescriptorShortage.add(self)
  }

  /// The workers there are, for tests.
  var processIdentifiers: [pid_t] { state.withLock { $0.idle.map(\.processIdentifier) } }

  /// What the last worker said of its lock-down.
  var lastHello: WorkerHello? { state.withLock { $0.hello } }

  /// How many workers may be ended by others at their start before that is taken for a failure.
  private static let mostLost = 4

  // MARK: Workers for pictures

  /// Takes a worker that is locked down and waits for a picture.
  ///
  /// - Returns: `nil` where the picture was cancelled while it waited for one.
  func take(_ cancellation: CancellationFlag) throws(Unavailable) -> DecodingWorker? {
    var lostCount = 0
    while true {
      guard let worker = try next(cancellation) else { return nil }
      guard worker.hello == nil else { return worker }
      // The first to use a worker waits for the rest of its start.
      let deadline = monotonicNanoseconds() + 10_000_000_000
      let problem: String
      do throws(DecodingWorker.Failure) {
        let hello = try worker.greet(deadline: deadline)
        if let text = Self.problem(with: hello) {
          problem = text
        } else {
          state.withLock { state in
            state.hello = hello
            state.hasWorked = true
            state.failure = nil
          }
          return worker
        }
      } catch {
        let end = error == .died ? worker.end(isExpected: true) : .unknown
        // Somebody has ended or stopped it, which says nothing against the next.
        if end.isFromOutside || error == .stopped, lostCount < Self.mostLost {
          lostCount += 1
          give(back: worker, isUsable: false)
          continue
        }
        problem =
          switch error {
          case .died: "it ended at its start: \(end.text)"
          case .overdue: "it was not ready in time"
          default: "it is none of this package's"
          }
      }
      // One that fails after others have worked may have met a bad moment.
      fail(
        "\(configuration.programName) cannot be used as a worker: \(problem)",
        forGood: !state.withLock { $0.hasWorked })
      give(back: worker, isUsable: false)
    }
  }

  /// Gives a worker back.
  ///
  /// - Parameter isUsable: Whether it may have another picture.
  func give(back worker: DecodingWorker, isUsable: Bool) {
    let keeps =
      isUsable && worker.pictureCount < configuration.picturesPerWorker && !worker.holdsTooMuch
      && worker.busyTime < UInt64(configuration.processorSeconds) * 500_000_000
    let watches = state.withLock { state -> Bool in
      state.busyCount -= 1
      if keeps {
        worker.idleSince = monotonicNanoseconds()
        state.idle.append(worker)
      } else {
        state.count -= 1
        startSpare(&state)
      }
      let watches = !state.isWatched
      state.isWatched = true
      return watches
    }
    state.broadcast()
    if !keeps { post(.bury(worker)) }
    if watches { post(.watch) }
  }

  /// Notes that a picture ended a worker.
  func remember(killer data: Data) {
    let until = monotonicNanoseconds() &+ UInt64(max(0, configuration.killerMemory) * 1e9)
    state.withLock { $0.killers.note(data, until: until) }
  }

  /// Whether a picture ended a worker a while ago.
  func remembers(killer data: Data) -> Bool {
    state.withLock { $0.killers.contains(data, now: monotonicNanoseconds()) }
  }

  /// Ends all workers; what they are busy with fails.
  func stop() {
    if state.withLock({ $0.isKept }) { post(.stop) }
  }

  /// A worker that has nothing to do, waited for.
  private func next(_ cancellation: CancellationFlag) throws(Unavailable) -> DecodingWorker? {
    enum Next {
      case worker(DecodingWorker), unavailable(Unavailable), again
    }
    while true {
      let isLacking = state.withLock { $0.failure?.lackingSince != nil }
      let length = isLacking ? DescriptorShortage.pause : 1_000_000_000
      let next: Next = state.wait(upToNanoseconds: length) { state, timedOut in
        if state.busyCount < configuration.maximumCount {
          // The last that was given back: its memory is the warmest.
          if let worker = state.idle.popLast() {
            state.busyCount += 1
            state.pictureCount += 1
            // One picture is often all there is.
            if state.pictureCount > 1 { startSpare(&state) }
            return .done(.worker(worker))
          }
          let now = monotonicNanoseconds()
          if let failure = state.failure, now < failure.until {
            guard let since = failure.lackingSince else {
              return .done(
                .unavailable(
                  Unavailable(reason: failure.reason, hasNeverWorked: !state.hasWorked, mayPass: false)))
            }
            // Who is busy comes back; without anyone there is an end to waiting.
            if state.count == 0, now >= since &+ DescriptorShortage.patience {
              return .done(
                .unavailable(
                  Unavailable(reason: failure.reason, hasNeverWorked: !state.hasWorked, mayPass: true)))
            }
          } else if state.count == state.busyCount {
            start(&state)
          }
        }
        return timedOut ? .done(.again) : .wait
      }
      switch next {
      case .worker(let worker): return worker
      case .unavailable(let unavailable): throw unavailable
      case .again: if cancellation.isCancelled { return nil }
      }
    }
  }

  /// Has a worker started that waits for the death of another, or for more to do.
  private func startSpare(_ state: inout State) {
    if state.idle.isEmpty, state.count == state.busyCount, state.failure == nil, state.hasWorked {
      start(&state)
    }
  }

  private func start(_ state: inout State) {
    guard state.count <= configuration.maximumCount else { return }
    state.count += 1
    if !state.isKept {
      state.isKept = true
      let keeper = Thread { [self] in keep() }
      keeper.name = "calotype.keeper"
      keeper.stackSize = 1 << 19
      keeper.start()
    }
    post(.start)
  }

  private func fail(_ reason: String, forGood: Bool) {
    state.withLock { state in
      state.failure = Problem(
        reason: reason, until: forGood ? .max : monotonicNanoseconds() + 1_000_000_000)
    }
    state.broadcast()
  }

  /// Notes that the system lacks something for a worker that may be there in a while.
  private func failForNow(_ reason: String) {
    let now = monotonicNanoseconds()
    state.withLock { state in
      // One of long ago is not this one.
      let earlier = state.failure.flatMap { now < $0.until &+ 2_000_000_000 ? $0.lackingSince : nil }
      state.failure = Problem(
        reason: reason, until: now + DescriptorShortage.pause, lackingSince: earlier ?? now)
    }
    state.broadcast()
    DescriptorShortage.report()
  }

  /// Ends the workers that have nothing to do, but for one: they hold descriptors that others lack.
  func releaseDescriptors() {
    let released = state.withLock { state -> [DecodingWorker] in
      guard state.idle.count > 1 else { return [] }
      let released = state.idle.dropLast()
      state.idle.removeFirst(released.count)
      state.count -= released.count
      return Array(released)
    }
    for worker in released { post(.bury(worker)) }
  }

  /// Why a worker that has introduced itself cannot be used.
  private static func problem(with hello: WorkerHello) -> String? {
    guard hello.version == CalotypeVersion.string else {
      return "it is of version \(hello.version.prefix(40)), not \(CalotypeVersion.string)"
    }
    return DecodingIsolationStatus.missing(hello.layers)[.seccomp].map { "its filter does not hold: \($0)" }
  }

  // MARK: The keeper

  private func post(_ command: Command) {
    commands.withLock { $0.append(command) }
    commands.signal()
  }

  private func keep() {
    var isWatching = false
    while true {
      // Without idle workers there is nothing to look after.
      let seconds = isWatching ? max(1, Int(min(configuration.idleTime, 3600) / 4)) : 3600
      let command = commands.wait(upTo: seconds) { commands, timedOut in
        if !commands.isEmpty { return .done(commands.removeFirst()) }
        return timedOut ? .done(Command.tick) : .wait
      } whileWaiting: { _, _ in
      }
      switch command {
      case .start: startWorker()
      case .bury(let worker): _ = worker.end()
      case .watch: isWatching = true
      case .tick: isWatching = endIdle()
      case .stop:
        for worker in state.withLock({ $0.idle }) { _ = worker.end() }
        return
      }
    }
  }

  private func startWorker() {
    let result: Result<DecodingWorker, POSIXFailure>
    let path = configuration.programPath
    if let path {
      result = DecodingWorker.start(
        path: path, arguments: configuration.programArguments, environment: configuration.environment)
    } else {
      result = .failure(POSIXFailure(number: ENOENT))
    }
    switch result {
    case .success(let worker):
      state.withLock { state in
        state.idle.append(worker)
        if state.failure?.lackingSince != nil { state.failure = nil }
      }
      state.broadcast()
    case .failure(let failure):
      state.withLock { $0.count -= 1 }
      let passes = [EAGAIN, ENOMEM, EMFILE, ENFILE].contains(failure.number)
      if passes {
        failForNow("a sandboxed decoder cannot be started: \(failure.text)")
      } else {
        fail("\(configuration.programName) cannot be started: \(failure.text)", forGood: true)
      }
    }
  }

  /// Ends the workers that have had nothing to do for long.
  ///
  /// - Returns: Whether any are left.
  private func endIdle() -> Bool {
    let now = monotonicNanoseconds()
    let longest = UInt64(max(0, configuration.idleTime) * 1e9)
    let (expired, isWatched) = state.withLock { state -> ([DecodingWorker], Bool) in
      let expired = state.idle.filter { now >= $0.idleSince + longest }
      state.idle.removeAll { now >= $0.idleSince + longest }
      state.count -= expired.count
      state.isWatched = state.count > 0
      return (expired, state.isWatched)
    }
    for worker in expired { _ = worker.end() }
    return isWatched
  }
}
