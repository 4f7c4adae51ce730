extension ImageProcessors {
  /// Sharpens the picture: adds what it differs by from a blurred copy of itself (an unsharp mask).
  public struct Sharpen: BuiltInProcessing, Hashable {
    /// How much of the difference is added: 0 changes nothing, 1 doubles it.
    public var amount: Double
    /// The blurred copy's radius in pixels.
    public var radius: Double

    /// Creates the processor.
    public init(amount: Double = 0.5, radius: Double = 1) {
      self.amount = amount
      self.radius = radius
    }

    /// For example `sharpen(0.5,1)`.
    public var identifier: String { "sharpen(\(canonical(amount)),\(canonical(radius)))" }

    /// Makes the new picture.
    public func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
      guard radius >= 0, amount >= 0, amount <= 1000 else {
        throw ImageProcessingError.invalidParameter(
          processor: identifier,
          reason: "the amount must be within 0 and 1,000 and the radius a number of at least 0")
      }
      if amount == 0 || radius == 0 { return image }
      let blurred = try Blur(radius: radius).process(image, cancellation: cancellation)
      guard let sharp = image.storage.buffer.baseAddress?.assumingMemoryBound(to: UInt32.self),
        let soft = blurred.storage.buffer.baseAddress?.assumingMemoryBound(to: UInt32.self)
      else { return image }
      let opaque = PixelLanes.opaqueMask(image.isOpaque)
      let amount = Float(amount)
      for y in 0..<image.height {
        if cancellation.isCancelled { throw CancellationError() }
        for at in y * image.width..<(y + 1) * image.width {
          let pixel = PixelLanes.floats(sharp[at])
          var other = PixelLanes.floats(soft[at])
          // Straight colours are compared, so that an edge of the shape is no edge of the colour.
          other *= other.w > 0 ? pixel.w / other.w : 0
          // The blurred copy is this function's own: the result may take its place.
          soft[at] = PixelLanes.pixel(pixel + (pixel - other) * amount, opaque: opaque)
        }
      }
      return blurred
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.Sharpen {
  /// Sharpens the picture.
  ///
  /// - Parameters:
  ///   - amount: 0 changes nothing, 1 doubles the difference from a blurred copy.
  ///   - radius: The blurred copy's radius in pixels.
  public static func sharpen(amount: Double = 0.5, radius: Double = 1) -> Self {
    Self(amount: amount, radius: radius)
  }
}
