import Foundation

/// Plays an animation: decodes its frames in their order, a few ahead of the one that is shown, round after
/// round.
///
/// ```swift
/// if let animation = response.container.animation {
///   let source = ImageFrameSource(animation)
///   while let frame = try await source.nextFrame() {
///     show(frame.bitmap)
///     try await Task.sleep(for: .seconds(frame.delay))
///   }
/// }
/// ```
///
/// Decoding begins when the first frame is asked for, and goes on off the caller's thread. However long the
/// animation is, memory stays within ``Limits``; an animation whose frames all fit in there is decoded once and
/// kept. Once nobody holds the source any more, it ends.
public final class ImageFrameSource: Sendable {
  /// How far ahead frames are decoded.
  public struct Limits: Hashable, Sendable {
    /// The most frames that wait to be shown, 3 by default, at least 1.
    public var maximumFrameCount: Int
    /// The most bytes that frames which wait to be shown take, 4 MB by default. One always may.
    public var maximumByteCount: Int

    /// Creates limits.
    public init(maximumFrameCount: Int = 3, maximumByteCount: Int = 4 << 20) {
      self.maximumFrameCount = maximumFrameCount
      self.maximumByteCount = maximumByteCount
    }
  }

  /// Why there are no more frames.
  public enum Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
    /// A frame could not be decoded. Those before it were given.
    case decoding(frame: Int, ImageDecodingError)
    /// A processor failed on a frame; what it said.
    case processing(frame: Int, reason: String)
    /// The source was cancelled, or the Swift task that waited was.
    case cancelled

    /// A sentence for people.
    public var description: String {
      switch self {
      case .decoding(let frame, let error): "frame \(frame): \(error)"
      case .processing(let frame, let reason): "frame \(frame): \(reason)"
      case .cancelled: "cancelled"
      }
    }
  }

  /// The animation that is played.
  public let animation: ImageAnimation
  private let limits: Limits

  /// A frame of a round.
  private struct Position: Equatable {
    var round = 0
    var index = 0
  }

  private struct State {
    /// Frames that wait to be shown.
    var ready: [ImageFrame] = []
    /// The frames from the first on, as long as it looks as if all fit into the limits.
    var kept: [ImageFrame]? = []
    /// The frame that is given next.
    var given = Position()
    /// The frame that is decoded next.
    var decoded = Position()
    var isDecoding = false
    var failure: Error?
    /// Counts the returns to the beginning, so that a frame decoded before one is told.
    var generation = 0
    var waiters: [(id: Int, continuation: UnsafeContinuation<Result<ImageFrame?, Error>, Never>)] = []
    var waiterCount = 0
  }

  private let state = Lock(State())
  private let cancellation = CancellationFlag()
  /// The file's reader and the generation that it is in. Only one piece of work at a time touches it.
  private let work = Lock<(reader: (any FrameReading)?, generation: Int)>((nil, 0))

  /// Threads that decode the frames of all animations.
  private static let queue = WorkQueue(label: "calotype.frames", width: 2)

  /// Creates a source that plays an animation from its first frame on.
  public init(_ animation: ImageAnimation, limits: Limits = .init()) {
    self.animation = animation
    self.limits = limits
  }

  deinit { cancellation.cancel() }

  // MARK: Asking

  /// The next frame where it is ready, else `nil`, at once: for a program that draws at each refresh of the
  /// screen and goes on showing the frame before until this one is there.
  ///
  /// After the last frame of the last round it is `nil` for ever; ``isAtEnd`` tells so.
  public func takeFrame() throws(Error) -> ImageFrame? {
    let (result, starts) = state.withLock { state in (take(&state), startsDecoding(&state)) }
    if starts { submit() }
    return try result?.get() ?? nil
  }

  /// The next frame, waited for; `nil` after the last frame of the last round.
  public nonisolated(nonsending) func nextFrame() async throws(Error) -> ImageFrame? {
    let id = state.withLock { state in
      state.waiterCount += 1
      return state.waiterCount
    }
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let (result, starts) = state.withLock { state -> (Result<ImageFrame?, Error>?, Bool) in
          if Task.isCancelled { return (.failure(.cancelled), false) }
          let result = take(&state)
          if result == nil { state.waiters.append((id, continuation)) }
          return (result, startsDecoding(&state))
        }
        if let result { continuation.resume(returning: result) }
        if starts { submit() }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: .failure(.cancelled))
    }
    return try result.get()
  }

  /// Whether the last frame of the last round was given.
  public var isAtEnd: Bool { state.withLock { isOver($0.given) } }

  /// Frames that are decoded and wait to be shown.
  var readyCount: Int { state.withLock { $0.ready.count } }

  // MARK: Changing

  /// Plays from the first frame on again, with all rounds ahead.
  public func rewind() {
    state.withLock { state in
      state.given = Position()
      guard !isAllKept(state) else { return }
      state.generation += 1
      state.ready = []
      state.decoded = Position()
      if state.kept != nil { state.kept = [] }
    }
  }

  /// Ends the work. Whoever waits, or asks later, is told ``Error/cancelled``.
  public func cancel() {
    cancellation.cancel()
    let waiters = state.withLock { state in
      state.failure = .cancelled
      state.ready = []
      state.kept = nil
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.continuation.resume(returning: .failure(.cancelled)) }
  }

  // MARK: Frames

  private func isOver(_ position: Position) -> Bool {
    animation.loopCount > 0 && position.round >= animation.loopCount
  }

  private func isAllKept(_ state: State) -> Bool { state.kept?.count == animation.frameCount }

  private func step(_ position: inout Position) {
    position.index += 1
    if position.index == animation.frameCount { position = Position(round: position.round + 1, index: 0) }
  }

  /// Gives the next frame, the end or the failure; `nil` where it has to be waited for.
  private func take(_ state: inout State) -> Result<ImageFrame?, Error>? {
    if isOver(state.given) { return .success(nil) }
    let frame: ImageFrame
    if isAllKept(state), let kept = state.kept {
      frame = kept[state.given.index]
    } else if !state.ready.isEmpty {
      frame = state.ready.removeFirst()
    } else {
      return state.failure.map { .failure($0) }
    }
    step(&state.given)
    return .success(frame)
  }

  /// Whether a frame is to be decoded by the caller of this.
  private func startsDecoding(_ state: inout State) -> Bool {
    guard !state.isDecoding, state.failure == nil, !isAllKept(state), !isOver(state.decoded) else {
      return false
    }
    if let last = state.ready.last {
      let bytes = state.ready.reduce(0) { $0 + $1.bitmap.byteCount }
      guard state.ready.count < limits.maximumFrameCount,
        bytes + last.bitmap.byteCount <= limits.maximumByteCount
      else { return false }
    }
    state.isDecoding = true
    return true
  }

  private func submit() {
    // Weakly: what is dropped while it waits for a thread needs no frame any more.
    Self.queue.submit(priority: .normal) { [weak self] in self?.decodeNext() }
  }

  private func decodeNext() {
    let (index, generation) = state.withLock { ($0.decoded.index, $0.generation) }
    let result = decodeFrame(index, generation)
    let (answers, starts) = state.withLock { state in
      state.isDecoding = false
      // A frame from before a return to the beginning, or an end, is nobody's.
      if state.generation == generation, state.failure == nil { accept(result, &state) }
      var answers: [(UnsafeContinuation<Result<ImageFrame?, Error>, Never>, Result<ImageFrame?, Error>)] = []
      while let waiter = state.waiters.first, let answer = take(&state) {
        state.waiters.removeFirst()
        answers.append((waiter.continuation, answer))
      }
      return (answers, startsDecoding(&state))
    }
    for (continuation, answer) in answers { continuation.resume(returning: answer) }
    if starts { submit() }
  }

  private func accept(_ result: Result<ImageFrame, Error>, _ state: inout State) {
    switch result {
    case .failure(let error): state.failure = error
    case .success(let frame):
      if state.decoded.round == 0, var kept = state.kept {
        state.kept = nil
        kept.append(frame)
        let bytes = kept.reduce(0) { $0 + $1.bitmap.byteCount } / kept.count
        let (all, overflow) = bytes.multipliedReportingOverflow(by: animation.frameCount)
        if !overflow, all <= limits.maximumByteCount { state.kept = kept }
      }
      if isAllKept(state) { state.ready = [] } else { state.ready.append(frame) }
      step(&state.decoded)
    }
  }

  private func decodeFrame(_ index: Int, _ generation: Int) -> Result<ImageFrame, Error> {
    work.withLock { work in
      do throws(Error) {
        let bitmap: Bitmap
        do throws(ImageDecodingError) {
          if work.reader == nil || work.generation != generation || index == 0 {
            work = (try animation.makeReader(), generation)
          }
          guard let next = try work.reader?.nextFrame(cancellation) else {
            throw .truncated(animation.format)
          }
          bitmap = next
        } catch {
          throw error == .cancelled ? .cancelled : .decoding(frame: index, error)
        }
        return .success(
          ImageFrame(
            bitmap: try process(bitmap, index), index: index, delay: animation.delay(at: index)))
      } catch {
        return .failure(error)
      }
    }
  }

  private func process(_ bitmap: Bitmap, _ index: Int) throws(Error) -> Bitmap {
    guard !animation.processors.isEmpty else { return bitmap }
    do {
      return try ImageProcessors.apply(
        animation.processors, to: bitmap, limits: animation.limits, cancellation: cancellation)
    } catch is CancellationError {
      throw .cancelled
    } catch {
      throw .processing(frame: index, reason: "\(error)")
    }
  }
}
