import Foundation
import Synchronization

/// How animations go through workers: a few frames at a time, so that no worker is kept from other pictures while
/// one plays.
enum WorkerFrames {
  /// Frames of so many bytes come with one request; one always does.
  static let batchSize = 4 << 20

  /// Names an animation that is read to the workers.
  static func newToken() -> UInt64 { lastToken.add(1, ordering: .relaxed).newValue }
  private static let lastToken = Atomic<UInt64>(0)

  /// How far frames lie from one another in the shared memory.
  static func stride(_ byteCount: Int) -> Int { (byteCount + 63) & ~63 }
}

/// Reads an animation's frames in sandboxed workers.
final class IsolatedFrameReader: FrameReading {
  private let animation: ImageAnimation
  private let decoder: IsolatedImageDecoder
  private let token = WorkerFrames.newToken()
  /// Frames that have come, the next one at the end.
  private var waiting: [Bitmap] = []
  private var next = 0
  /// Reads on in this process, where no worker was to be had from the beginning.
  private var own: (any FrameReading)?

  init(_ animation: ImageAnimation, _ decoder: IsolatedImageDecoder) {
    self.animation = animation
    self.decoder = decoder
  }

  func nextFrame(_ cancellation: CancellationFlag) throws(ImageDecodingError) -> Bitmap? {
    if let own { return try own.nextFrame(cancellation) }
    if let frame = waiting.popLast() { return frame }
    guard next < animation.frameCount else { return nil }
    let options = ImageDecodingOptions(targetSize: animation.targetSize, limits: animation.limits)
    let frames = try decoder.frames(
      of: animation.data, options: options, token: token, first: next, cancellation: cancellation)
    guard let frames else {
      guard next == 0 else {
        throw .isolationUnavailable(reason: "its first frames came from a worker, and there is none any more")
      }
      var here = animation
      here.isolated = nil
      let reader = try here.makeReader()
      own = reader
      return try reader.nextFrame(cancellation)
    }
    next += frames.count
    waiting = frames.reversed()
    return waiting.popLast()
  }
}

extension AnimationFacts {
  init(info: ImageInfo, delays: [UInt32]) {
    self.info = info
    self.delays = delays
  }
}

extension DecodingWorker {
  /// Has it read what a file says of its frames.
  func readAnimation(
    _ data: Data, limits: ImageDecodingLimits, deadline: UInt64
  ) throws(Failure) -> AnimationFacts {
    // A frame takes some bytes of the file, so that its delay takes no more than they.
    let reply = try ask(data, CancellationFlag(), deadline, mostOutput: data.count + 64) { sequence in
      .readAnimation(sequence: sequence, byteCount: data.count, limits: limits)
    }
    guard case .animation(_, let info, let count) = reply, count > 1, info.storedSize.width > 0,
      info.storedSize.height > 0, info.storedSize.pixelCount <= limits.maximumPixelCount,
      let bytes = outputBytes(at: 0, count: count * 4)
    else { throw .confused("its animation is none") }
    try check(info.format, of: data)
    let delays = (0..<count).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self) }
    return AnimationFacts(info: info, delays: delays)
  }

  /// Has it decode some frames of an animation.
  func decodeFrames(
    _ data: Data, options: ImageDecodingOptions, token: UInt64, first: Int, cancellation: CancellationFlag,
    deadline: UInt64
  ) throws(Failure) -> [Bitmap] {
    let most = max(WorkerFrames.batchSize + 64 << 10, mostOutput(options.limits))
    let reply = try ask(data, cancellation, deadline, mostOutput: most) { sequence in
      .decodeFrames(
        sequence: sequence, byteCount: data.count, options: options, token: token, first: first)
    }
    guard case .frames(_, let size, let count) = reply else { throw .confused("it answers something else") }
    if count == 0 { return [] }
    let byteCount = try check(size, options)
    let stride = WorkerFrames.stride(byteCount)
    guard count == 1 || count <= WorkerFrames.batchSize / byteCount else {
      throw .confused("its frames are too many")
    }
    var frames: [Bitmap] = []
    for index in 0..<count {
      frames.append(try copyBitmap(at: index * stride, size, isOpaque: true))
    }
    return frames
  }
}
