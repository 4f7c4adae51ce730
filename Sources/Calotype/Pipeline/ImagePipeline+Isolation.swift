import Foundation

extension ImagePipeline {
  /// What holds of the isolation that the configuration asks for.
  ///
  /// Where a worker is wanted and none has been started yet, one is: it may take as long as the start of a
  /// process, and is not for the main thread.
  public var isolationStatus: DecodingIsolationStatus {
    if let decoder = configuration.decoder as? IsolatedImageDecoder { return decoder.status }
    if configuration.isolation == .inProcess {
      return DecodingIsolationStatus(isolation: .inProcess, isIsolated: false, reason: "it was asked for")
    }
    return DecodingIsolationStatus(
      isolation: configuration.isolation, isIsolated: false, reason: Configuration.ownDecoder)
  }
}

extension ImagePipeline.Configuration {
  static let ownDecoder = "the decoder is the program's own, which workers do not have"

  /// The configuration with the decoder that its isolation asks for.
  func withIsolatedDecoder() -> Self {
    guard isolation != .inProcess, !(decoder is IsolatedImageDecoder) else { return self }
    var configuration = self
    if decoder is ImageDecoder {
      configuration.decoder = IsolatedImageDecoder(isolation, workers: decodingWorkers)
    } else if isolation == .required {
      configuration.decoder = RefusingDecoder(reason: Self.ownDecoder)
    }
    return configuration
  }
}

/// Stands in for a decoder that cannot be isolated as required.
private struct RefusingDecoder: ImageDecoding {
  let reason: String

  func inspect(_ data: Data, limits: ImageDecodingLimits) throws(ImageDecodingError) -> ImageInfo {
    throw .isolationUnavailable(reason: reason)
  }

  func decode(
    _ data: Data, options: ImageDecodingOptions, cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> ImageContainer {
    throw .isolationUnavailable(reason: reason)
  }
}
