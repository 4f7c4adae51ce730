extension ImageProcessors {
  /// Blurs the picture.
  public struct Blur: BuiltInProcessing, Hashable {
    /// The Gaussian's standard deviation in pixels, as CSS's `blur()` and Pillow's `GaussianBlur` count it; 0
    /// leaves every pixel as it was.
    public var radius: Double

    /// Creates the processor.
    public init(radius: Double) { self.radius = radius }

    /// For example `blur(8)`.
    public var identifier: String { "blur(\(canonical(radius)))" }

    /// Makes the new picture.
    public func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
      guard radius >= 0 else {
        throw ImageProcessingError.invalidParameter(
          processor: identifier, reason: "the radius must be a number of at least 0")
      }
      if radius == 0 { return image }
      // Beyond its own size a picture is as blurred as it can be.
      let most = Double(max(image.width, image.height))
      return try GaussianBlur(deviation: min(radius, most)).apply(to: image, cancellation: cancellation)
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.Blur {
  /// Blurs the picture by a Gaussian whose standard deviation is `radius` pixels.
  public static func blur(radius: Double) -> Self { Self(radius: radius) }
}
