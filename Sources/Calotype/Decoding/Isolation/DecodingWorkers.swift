import Foundation

/// Sandboxed processes that decode pictures, kept warm between them.
///
/// A program as a rule needs ``shared`` only, which finds the helper `calotype-decoder` beside the executable.
/// The workers end with this object, and with the process whatever way that ends.
public final class DecodingWorkers: Sendable {
  /// What workers are, and how many of them there are.
  public struct Configuration: Sendable {
    /// The program that a worker runs.
    public struct Program: Hashable, Sendable {
      enum Kind: Hashable {
        case helper, path(String), thisProgram, command(String, [String])
      }
      let kind: Kind

      /// The package's product `calotype-decoder`, looked for in the executable's folder and then in
      /// `../libexec/calotype` from there.
      public static let helper = Program(kind: .helper)
      /// The product `calotype-decoder` at a path, wherever it has been installed.
      public static func path(_ path: String) -> Program { Program(kind: .path(path)) }
      /// A program of the package's own that hands its arguments to the worker's side first of all.
      /// It is not started where it has not done so itself.
      package static let thisProgram = Program(kind: .thisProgram)
      /// A program with arguments of its own, for tests.
      package static func command(_ path: String, _ arguments: [String]) -> Program {
        Program(kind: .command(path, arguments))
      }
    }

    /// The program that a worker runs, ``Program/helper`` by default.
    public var program: Program = .helper
    /// The most pictures decoded at once, by default as many as the machine has cores, at least 2. One more
    /// worker is kept in reserve.
    public var maximumCount = max(2, ProcessInfo.processInfo.activeProcessorCount)
    /// The most time that one picture may take, in seconds, 30 by default. What
    /// ``ImageDecodingLimits/maximumSeconds`` allows of the processor's time goes beside it.
    public var deadline = 30.0
    /// The most memory that a worker may have, in bytes, 2 GiB by default.
    public var memoryLimit = 2 << 30
    /// After how many pictures a worker is replaced, 500 by default.
    public var picturesPerWorker = 500
    /// After how many seconds without a picture a worker ends, 60 by default.
    public var idleTime = 60.0
    /// How long, in seconds, a picture that ended a worker is not tried again, 300 by default.
    public var killerMemory = 300.0

    /// Creates a configuration with the defaults.
    public init() {}
  }

  /// The helper's name.
  public static let helperName = "calotype-decoder"

  /// Workers for the whole program, with the default configuration. None is started before it is needed.
  public static let shared = DecodingWorkers()

  /// What the workers are.
  public let configuration: Configuration
  private let pool: WorkerPool

  /// Creates workers; none is started before it is needed.
  public init(configuration: Configuration = Configuration()) {
    self.configuration = configuration
    pool = WorkerPool(configuration)
  }

  deinit { pool.stop() }

  /// What holds of an isolation, by a worker that is started for it where there is none.
  ///
  /// It may take as long as the start of a process; it is not for the main thread.
  public func status(for isolation: DecodingIsolation) -> DecodingIsolationStatus {
    guard isolation != .inProcess else {
      return DecodingIsolationStatus(isolation: isolation, isIsolated: false, reason: "it was asked for")
    }
    do throws(WorkerPool.Unavailable) {
      if let worker = try pool.take(CancellationFlag()) { pool.give(back: worker, isUsable: true) }
    } catch {
      return DecodingIsolationStatus(isolation: isolation, isIsolated: false, reason: error.reason)
    }
    let missing = DecodingIsolationStatus.missing(pool.lastHello?.layers ?? [])
    var status = DecodingIsolationStatus(isolation: isolation, isIsolated: true, missing: missing)
    if isolation == .required, !missing.isEmpty {
      status.isIsolated = false
      status.reason = Self.shortfall(missing)
    }
    return status
  }

  /// The workers that have nothing to do, for tests.
  package var idleProcessIdentifiers: [pid_t] { pool.processIdentifiers }

  /// What came of a picture.
  enum Outcome<Value> {
    // Indirect: optimized by Swift 6.3, an `ImageInfo` comes out of a large enum as garbage.
    indirect case value(Value)
    case failure(ImageDecodingError)
    /// There is no worker; whether this process may take the picture itself.
    case unavailable(reason: String, mayDecodeHere: Bool)
  }

  /// Has a worker decode a picture; waits for it on this thread.
  func decode(
    _ data: Data, options: ImageDecodingOptions, isolation: DecodingIsolation, cancellation: CancellationFlag
  ) -> Outcome<ImageContainer> {
    perform(data, isolation, options.limits, cancellation) {
      (worker, deadline) throws(DecodingWorker.Failure) in
      try worker.decode(data, options: options, cancellation: cancellation, deadline: deadline)
    }
  }

  /// Has a worker read a picture's header; waits for it on this thread.
  func inspect(
    _ data: Data, limits: ImageDecodingLimits, isolation: DecodingIsolation
  ) -> Outcome<ImageInfo> {
    perform(data, isolation, limits, CancellationFlag()) {
      (worker, deadline) throws(DecodingWorker.Failure) in
      try worker.inspect(data, limits: limits, deadline: deadline)
    }
  }

  /// Has a worker read what a file says of its frames.
  func readAnimation(
    _ data: Data, limits: ImageDecodingLimits, isolation: DecodingIsolation
  ) -> Outcome<AnimationFacts> {
    perform(data, isolation, limits, CancellationFlag()) {
      (worker, deadline) throws(DecodingWorker.Failure) in
      try worker.readAnimation(data, limits: limits, deadline: deadline)
    }
  }

  /// Has a worker decode some frames of an animation.
  func decodeFrames(
    _ data: Data, options: ImageDecodingOptions, token: UInt64, first: Int, isolation: DecodingIsolation,
    cancellation: CancellationFlag
  ) -> Outcome<[Bitmap]> {
    perform(data, isolation, options.limits, cancellation) {
      (worker, deadline) throws(DecodingWorker.Failure) in
      try worker.decodeFrames(
        data, options: options, token: token, first: first, cancellation: cancellation, deadline: deadline)
    }
  }

  /// Has a worker make previews of the beginning of a file.
  func previews(
    of data: Data, limits: ImageDecodingLimits, token: UInt64, targets: [TargetSize?],
    isolation: DecodingIsolation, cancellation: CancellationFlag
  ) -> Outcome<WorkerPreviews> {
    perform(data, isolation, limits, cancellation) { (worker, deadline) throws(DecodingWorker.Failure) in
      try worker.previews(
        of: data, limits: limits, token: token, targets: targets, cancellation: cancellation,
        deadline: deadline)
    }
  }

  /// Has workers try a picture, as a rule one.
  private func perform<Value>(
    _ data: Data, _ isolation: DecodingIsolation, _ limits: ImageDecodingLimits,
    _ cancellation: CancellationFlag,
    _ work: (DecodingWorker, _ deadline: UInt64) throws(DecodingWorker.Failure) -> Value
  ) -> Outcome<Value> {
    if data.isEmpty { return .failure(.empty) }
    if pool.remembers(killer: data) { return .failure(.decoderDiedBefore) }
    var losses = Losses()
    while true {
      let worker: DecodingWorker
      do throws(WorkerPool.Unavailable) {
        guard let taken = try pool.take(cancellation) else { return .failure(.cancelled) }
        worker = taken
      } catch {
        return .unavailable(
          reason: error.reason,
          mayDecodeHere: isolation == .whenAvailable && error.hasNeverWorked && !error.mayPass)
      }
      if isolation == .required {
        let missing = DecodingIsolationStatus.missing(worker.hello?.layers ?? [])
        guard missing.isEmpty else {
          pool.give(back: worker, isUsable: true)
          return .unavailable(reason: Self.shortfall(missing), mayDecodeHere: false)
        }
      }
      // The worker keeps to the limit on processor time by itself, where it still can.
      let seconds = min(configuration.deadline, limits.maximumSeconds * 2 + 1)
      let deadline = monotonicNanoseconds() &+ UInt64(seconds > 0 ? min(seconds, 1e9) * 1e9 : 0)
      do throws(DecodingWorker.Failure) {
        let value = try work(worker, deadline)
        pool.give(back: worker, isUsable: true)
        return .value(value)
      } catch {
        if let error = settle(error, worker, data, seconds, &losses) { return .failure(error) }
      }
    }
  }

  /// The workers that a picture has lost through no fault of its own, as far as can be told.
  private struct Losses {
    /// Those that had ended before it came to them.
    var before = 0
    /// Those that somebody ended or stopped while they had it. It may be that it did so itself, so that the
    /// second is not forgiven.
    var during = 0
  }

  /// What becomes of a worker and of its picture after a failure; `nil` where it is to be tried once more.
  private func settle(
    _ failure: DecodingWorker.Failure, _ worker: DecodingWorker, _ data: Data, _ seconds: Double,
    _ losses: inout Losses
  ) -> ImageDecodingError? {
    var error: ImageDecodingError?
    var isKiller = true
    switch failure {
    case .decoding(let own):
      pool.give(back: worker, isUsable: true)
      return own
    case .heedless:
      error = .cancelled
      isKiller = false
    case .noMemory(let size):
      error = .outOfMemory(size)
      isKiller = false
    case .noDescriptor(let failure):
      error = .isolationUnavailable(reason: failure.text)
      isKiller = false
    case .overdue: error = .timedOut(seconds: seconds)
    case .confused(let what): error = .decoderDied(reason: "it was ended since \(what)")
    case .gone:
      losses.before += 1
      isKiller = false
      if losses.before > configuration.maximumCount + 1 {
        error = .decoderDied(reason: "one worker after the other ends before it has the picture")
      }
    case .stopped:
      losses.during += 1
      if losses.during > 1 { error = .decoderDied(reason: "it was stopped, as was the one before it") }
    case .died:
      let end = worker.end(isExpected: true)
      if end.isFromOutside { losses.during += 1 }
      if !end.isFromOutside || losses.during > 1 {
        error = .decoderDied(reason: losses.during > 1 ? "\(end.text), twice" : end.text)
      }
    }
    if isKiller, error != nil { pool.remember(killer: data) }
    pool.give(back: worker, isUsable: false)
    return error
  }

  private static func shortfall(_ missing: [DecodingIsolationStatus.Layer: String]) -> String {
    let parts = DecodingIsolationStatus.Layer.allCases.compactMap { layer in
      missing[layer].map { "\(layer.rawValue) (\($0))" }
    }
    return "a part of the sandbox does not hold: \(parts.joined(separator: ", "))"
  }
}

extension DecodingWorkers.Configuration {
  /// The processor time after which the kernel ends a worker that its parent does not look after any more.
  var processorSeconds: Int { Int(min(max(1, deadline), 1e6)) * 4 + 600 }

  /// What the program is called in messages.
  var programName: String {
    switch program.kind {
    case .helper: programPath ?? "\(DecodingWorkers.helperName), which is not beside the executable,"
    case .path(let path), .command(let path, _): path
    case .thisProgram: "this program, as long as it does not begin with the worker's side,"
    }
  }

  /// Where the program is; `nil` where the helper is not found.
  var programPath: String? {
    switch program.kind {
    case .path(let path), .command(let path, _): return path
    // The file itself, even where another has been installed in its place since.
    case .thisProgram:
      return DecodingWorkerProcess.isReachable.load(ordering: .relaxed) ? "/proc/self/exe" : nil
    case .helper:
      guard let executable = Self.executable else { return nil }
      let folder = executable.deletingLastPathComponent()
      let places = [folder, folder.deletingLastPathComponent().appendingPathComponent("libexec/calotype")]
      return places.map { $0.appendingPathComponent(DecodingWorkers.helperName).path }
        .first { access($0, X_OK) == 0 }
    }
  }

  var programArguments: [String] {
    if case .command(_, let arguments) = program.kind { return arguments }
    return DecodingWorkerProcess.arguments(memoryLimit: memoryLimit, processorSeconds: processorSeconds)
  }

  /// Nothing of this process's own but where its libraries are: a worker needs no more, and the rest may hold
  /// secrets.
  var environment: [String: String] {
    var environment = ["LC_ALL": "C", "SWIFT_BACKTRACE": "enable=no"]
    environment["LD_LIBRARY_PATH"] = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"]
    return environment
  }

  private static let executable: URL? = {
    #if os(Linux)
      guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
        return nil
      }
      return URL(fileURLWithPath: path)
    #else
      return Bundle.main.executableURL
    #endif
  }()
}
