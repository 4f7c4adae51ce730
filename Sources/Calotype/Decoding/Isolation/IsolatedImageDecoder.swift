import Foundation
import Synchronization

/// Decodes the formats of ``ImageDecoder`` in sandboxed workers.
///
/// A pipeline makes one by itself where its configuration's ``ImagePipeline/Configuration/isolation`` asks for
/// it. The errors of workers come as ``ImageDecodingError/decoderDied(reason:)``,
/// ``ImageDecodingError/timedOut(seconds:)``, ``ImageDecodingError/decoderDiedBefore`` and
/// ``ImageDecodingError/isolationUnavailable(reason:)``; the next picture is not affected.
public final class IsolatedImageDecoder: ImageDecoding {
  /// What was asked for.
  public let isolation: DecodingIsolation
  private let workers: DecodingWorkers
  private let decoder = ImageDecoder()
  private let onFallback: (@Sendable (_ reason: String) -> Void)?
  private let hasFallenBack = Atomic<Bool>(false)

  /// Creates a decoder.
  ///
  /// - Parameters:
  ///   - isolation: Whether a worker must be had.
  ///   - workers: Who decodes.
  ///   - onFallback: Told once why, before the first picture is decoded in this process that a worker should
  ///     have decoded: with ``DecodingIsolation/whenAvailable``, where none can be had.
  public init(
    _ isolation: DecodingIsolation, workers: DecodingWorkers = .shared,
    onFallback: (@Sendable (_ reason: String) -> Void)? = nil
  ) {
    self.isolation = isolation
    self.workers = workers
    self.onFallback = onFallback
  }

  /// Whether pictures are, or would be, decoded in this process, as far as has been seen.
  package var decodesInProcess: Bool {
    isolation == .inProcess || hasFallenBack.load(ordering: .relaxed)
  }

  /// What holds of it; it may start a process, so it is not for the main thread.
  public var status: DecodingIsolationStatus { workers.status(for: isolation) }

  /// Reads the header only, in a worker.
  public func inspect(
    _ data: Data, limits: ImageDecodingLimits = .init()
  ) throws(ImageDecodingError) -> ImageInfo {
    if isolation == .inProcess { return try decoder.inspect(data, limits: limits) }
    switch workers.inspect(data, limits: limits, isolation: isolation) {
    case .value(let info): return info
    case .failure(let error): throw error
    case .unavailable(let reason, mayDecodeHere: true):
      noteFallback(reason)
      return try decoder.inspect(data, limits: limits)
    case .unavailable(let reason, mayDecodeHere: false): throw .isolationUnavailable(reason: reason)
    }
  }

  /// Reads the header only, without the profile: in this process where its reader is this package's own, which
  /// checks each access, else in a worker. A worker is asked for nothing but pixels and foreign headers, so that
  /// who only stores files starts none.
  package func inspectSize(
    _ data: Data, limits: ImageDecodingLimits = .init()
  ) throws(ImageDecodingError) -> ImageInfo {
    if let info = try decoder.readOwnHeader(data, limits: limits) { return info }
    return try inspect(data, limits: limits)
  }

  /// Decodes the first, or only, frame in a worker; the calling thread waits for it.
  ///
  /// - Parameters:
  ///   - data: The original, whole.
  ///   - options: The size wanted and the limits; by default the picture's own size.
  ///   - cancellation: Passed on to the worker within a few milliseconds; one that does not heed it within
  ///     100 ms is ended.
  public func decode(
    _ data: Data, options: ImageDecodingOptions = .init(), cancellation: CancellationFlag = CancellationFlag()
  ) throws(ImageDecodingError) -> ImageContainer {
    if let target = options.targetSize, target.pixelSize == nil {
      throw .invalidTargetSize(width: target.width, height: target.height)
    }
    if cancellation.isCancelled { throw .cancelled }
    if isolation == .inProcess {
      return try decoder.decode(data, options: options, cancellation: cancellation)
    }
    switch workers.decode(data, options: options, isolation: isolation, cancellation: cancellation) {
    case .value(let container): return container
    case .failure(let error): throw error
    case .unavailable(let reason, mayDecodeHere: true):
      noteFallback(reason)
      return try decoder.decode(data, options: options, cancellation: cancellation)
    case .unavailable(let reason, mayDecodeHere: false): throw .isolationUnavailable(reason: reason)
    }
  }

  /// What a file says of its frames, read in a worker, as the frames are when it is played.
  public func animation(of data: Data, options: ImageDecodingOptions = .init()) -> ImageAnimation? {
    if isolation == .inProcess { return decoder.animation(of: data, options: options) }
    switch workers.readAnimation(data, limits: options.limits, isolation: isolation) {
    case .value(let facts):
      var animation = ImageAnimation(facts, data: data, options: options, colors: decoder.colors)
      animation.isolated = self
      return animation
    case .failure, .unavailable(_, mayDecodeHere: false): return nil
    case .unavailable(let reason, mayDecodeHere: true):
      noteFallback(reason)
      return decoder.animation(of: data, options: options)
    }
  }

  /// Some frames of an animation, none after the last; `nil` where this process may decode them itself.
  func frames(
    of data: Data, options: ImageDecodingOptions, token: UInt64, first: Int, cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> [Bitmap]? {
    let outcome = workers.decodeFrames(
      data, options: options, token: token, first: first, isolation: isolation, cancellation: cancellation)
    switch outcome {
    case .value(let frames): return frames
    case .failure(let error): throw error
    case .unavailable(let reason, mayDecodeHere: true):
      noteFallback(reason)
      return nil
    case .unavailable(let reason, mayDecodeHere: false): throw .isolationUnavailable(reason: reason)
    }
  }

  /// Previews of the beginning of a file, made in a worker.
  func previews(
    of data: Data, limits: ImageDecodingLimits, token: UInt64, targets: [TargetSize?],
    _ cancellation: CancellationFlag
  ) -> DecodingWorkers.Outcome<WorkerPreviews> {
    let outcome = workers.previews(
      of: data, limits: limits, token: token, targets: targets, isolation: isolation,
      cancellation: cancellation)
    if case .unavailable(let reason, mayDecodeHere: true) = outcome { noteFallback(reason) }
    return outcome
  }

  private func noteFallback(_ reason: String) {
    if !hasFallenBack.exchange(true, ordering: .relaxed) { onFallback?(reason) }
  }
}
