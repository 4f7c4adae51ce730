import Foundation

/// Turns an original's bytes into a picture.
///
/// ``ImageDecoder`` is the default. Decoders are called off the main thread, from several threads at once.
public protocol ImageDecoding: Sendable {
  /// Reads the header only.
  func inspect(_ data: Data, limits: ImageDecodingLimits) throws(ImageDecodingError) -> ImageInfo

  /// Decodes the first, or only, frame: upright, in sRGB, at the size that the options ask for.
  ///
  /// - Parameters:
  ///   - data: The original, whole.
  ///   - options: The size wanted and the limits.
  ///   - cancellation: Looked at between rows; once set, the decode ends with
  ///     ``ImageDecodingError/cancelled``.
  func decode(
    _ data: Data, options: ImageDecodingOptions, cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> ImageContainer

  /// What a file says of its frames, or `nil` where it is no animation that can be played, which is the
  /// default's answer.
  func animation(of data: Data, options: ImageDecodingOptions) -> ImageAnimation?
}

extension ImageDecoding {
  /// Decodes the first, or only, frame: upright, in sRGB, at its own size or one that is asked for.
  public func decode(_ data: Data, targetSize: TargetSize? = nil) throws(ImageDecodingError) -> ImageContainer
  {
    try decode(data, options: .init(targetSize: targetSize), cancellation: CancellationFlag())
  }
}

/// How to decode.
public struct ImageDecodingOptions: Hashable, Sendable {
  /// The size wanted; `nil` for the picture's own.
  public var targetSize: TargetSize?
  /// What a file may ask for.
  public var limits: ImageDecodingLimits
  /// Whether the picture is also wanted with all of its depth and colours, as far as they are more than 8 bits of
  /// sRGB: see ``ImageContainer/deepBitmap``.
  public var isDeep: Bool
  /// Whether the pixels stay in the file's own colours where it has a profile for red, green and blue: see
  /// ``ImageContainer/profile``. Off by default: pixels are brought to sRGB, and so are all others' anyway, and what
  /// a sandboxed worker decodes.
  public var keepsProfile: Bool

  /// Creates options: full size, the default limits and 8 bits of sRGB, unless said otherwise.
  public init(
    targetSize: TargetSize? = nil, limits: ImageDecodingLimits = .init(), isDeep: Bool = false,
    keepsProfile: Bool = false
  ) {
    self.keepsProfile = keepsProfile
    self.targetSize = targetSize
    self.limits = limits
    self.isDeep = isDeep
  }
}

/// What a file's header may promise before anything is allocated for it.
public struct ImageDecodingLimits: Hashable, Sendable {
  /// The most pixels that may have to be in memory at once, 100 million by default: width × height of a still
  /// picture, of the first frame of an animation, and of the print.
  public var maximumPixelCount: Int
  /// How much of a processor's time, in seconds, a decode may take, 30 by default. It is looked at between rows
  /// and scans; a format that is decoded in one call (AVIF) is past it only afterwards, unless it is decoded in
  /// a worker. An animation that is written has as long for all of its frames.
  public var maximumSeconds: Double

  /// Creates limits.
  public init(maximumPixelCount: Int = 100_000_000, maximumSeconds: Double = 30) {
    self.maximumPixelCount = maximumPixelCount
    self.maximumSeconds = maximumSeconds
  }
}

/// Why a file gave no picture.
public enum ImageDecodingError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
  /// There are no bytes.
  case empty
  /// The bytes are those of no known image; what they look like (`HTML`, `text`, `data`).
  case unrecognized(looksLike: String)
  /// A known format that is not decoded here; its name, and why.
  case unsupported(format: String, reason: String)
  /// The file ends before its picture does.
  case truncated(ImageFormat)
  /// The file breaks its format's rules; what the codec said.
  case corrupt(ImageFormat, reason: String)
  /// The header promises more than the limits allow.
  case limitExceeded(size: PixelSize, frames: Int, maximumPixelCount: Int)
  /// The target size is not a positive, finite number a side.
  case invalidTargetSize(width: Double, height: Double)
  /// There is no memory for the picture.
  case outOfMemory(PixelSize)
  /// The decode took more of the processor's time than the limits allow, or its sandboxed worker was not done
  /// in time and was ended.
  case timedOut(seconds: Double)
  /// The decode was cancelled.
  case cancelled
  /// The sandboxed worker that decoded it died; what ended it.
  case decoderDied(reason: String)
  /// The same bytes ended a sandboxed worker a while ago; they are not tried again for some minutes.
  case decoderDiedBefore
  /// It was to be decoded in a sandboxed worker, and there is none; why.
  case isolationUnavailable(reason: String)

  /// A short stable name for reports, such as `truncated`.
  public var code: String {
    switch self {
    case .empty: "empty"
    case .unrecognized: "not_an_image"
    case .unsupported: "unsupported_format"
    case .truncated: "truncated"
    case .corrupt: "corrupt"
    case .limitExceeded: "too_many_pixels"
    case .invalidTargetSize: "invalid_size"
    case .outOfMemory: "out_of_memory"
    case .timedOut: "decode_timed_out"
    case .cancelled: "cancelled"
    case .decoderDied: "decoder_died"
    case .decoderDiedBefore: "decoder_died_before"
    case .isolationUnavailable: "isolation_unavailable"
    }
  }

  /// A sentence for people.
  public var description: String {
    switch self {
    case .empty: "there are no bytes to decode"
    case .unrecognized(let kind): "not an image: the bytes look like \(kind)"
    case .unsupported(let format, let reason): "\(format) is not supported: \(reason)"
    case .truncated(let format): "the \(format.rawValue) ends before its picture does"
    case .corrupt(let format, let reason): "the \(format.rawValue) is damaged: \(reason)"
    case .limitExceeded(let size, let frames, let maximum):
      "\(size) pixels\(frames > 1 ? " × \(frames) frames" : "") are over the limit of \(maximum) pixels"
    case .invalidTargetSize(let width, let height):
      "a target of \(width)×\(height) is not a size: both sides must be positive numbers"
    case .outOfMemory(let size): "there is no memory for \(size) pixels"
    case .timedOut(let seconds):
      "decoding it took longer than the limit of \(String(format: "%g", seconds)) s"
    case .cancelled: "cancelled"
    case .decoderDied(let reason): "its sandboxed decoder died on it: \(reason)"
    case .decoderDiedBefore:
      "it ended a sandboxed decoder a while ago, and is not tried again for some minutes"
    case .isolationUnavailable(let reason):
      "it is not decoded, since no sandboxed decoder can be had: \(reason)"
    }
  }
}
