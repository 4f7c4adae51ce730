/// Why a processor could not make its picture.
public enum ImageProcessingError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
  /// A parameter has a value that makes no sense; the processor's identifier, and what is wrong.
  case invalidParameter(processor: String, reason: String)
  /// The part asked for is outside of the picture.
  case outside(processor: String, of: PixelSize)
  /// A processor failed; its identifier, and what it said.
  case failed(processor: String, reason: String)
  /// An option of the command line is not understood; the option with its value, and why.
  case invalidOption(String, reason: String)

  /// A sentence for people.
  public var description: String {
    switch self {
    case .invalidParameter(let processor, let reason): "\(processor): \(reason)"
    case .outside(let processor, let size): "\(processor): nothing of the picture of \(size) pixels is inside"
    case .failed(let processor, let reason): "\(processor): \(reason)"
    case .invalidOption(let option, let reason): "\(option): \(reason)"
    }
  }

  /// The processor or the option that failed.
  public var processor: String {
    switch self {
    case .invalidParameter(let processor, _), .outside(let processor, _), .failed(let processor, _),
      .invalidOption(let processor, _):
      processor
    }
  }
}
