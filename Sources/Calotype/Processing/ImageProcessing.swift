/// Changes a decoded picture: rounds its corners, blurs it, turns it grey.
///
/// A processor is a pure value: the same picture and the same parameters always give the same pixels, and
/// ``identifier`` names all of its parameters. Processors run off the main thread.
public protocol ImageProcessing: Sendable {
  /// The processor's name with every parameter that changes its result, for example
  /// `round(radius:8)`. Two processors with the same identifier are taken for the same.
  var identifier: String { get }

  /// Makes the new picture.
  ///
  /// - Parameters:
  ///   - image: The picture, upright and at its target size.
  ///   - cancellation: Looked at in long work; once set, throw `CancellationError`.
  func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap
}

/// A processor that can make a picture larger, and keeps to its caller's limits in that.
protocol LimitedProcessing: ImageProcessing {
  /// Makes the new picture, of no more pixels than the limits allow.
  func process(_ image: Bitmap, limits: ImageDecodingLimits, cancellation: CancellationFlag) throws -> Bitmap
}

extension LimitedProcessing {
  /// Makes the new picture within the usual limits.
  public func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
    try process(image, limits: ImageDecodingLimits(), cancellation: cancellation)
  }
}

extension ImageProcessing {
  /// Makes the new picture, within the limits where the processor knows of any.
  func process(
    _ image: Bitmap, within limits: ImageDecodingLimits, cancellation: CancellationFlag
  ) throws -> Bitmap {
    if let limited = self as? any LimitedProcessing {
      return try limited.process(image, limits: limits, cancellation: cancellation)
    }
    return try process(image, cancellation: cancellation)
  }
}

/// The processors that Calotype has. Write them as `.circle`, `.roundedCorners(radius: 8)` and so on
/// wherever processors are asked for.
public enum ImageProcessors {}
