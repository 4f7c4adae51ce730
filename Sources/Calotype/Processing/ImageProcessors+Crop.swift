extension ImageProcessors {
  /// Cuts a part out of the picture.
  public struct Crop: BuiltInProcessing, Hashable {
    /// Pixels left of the part.
    public var x: Int
    /// Pixels above the part.
    public var y: Int
    /// The part's width in pixels; what is outside of the picture is left out.
    public var width: Int
    /// The part's height in pixels.
    public var height: Int

    /// Creates the processor.
    public init(x: Int, y: Int, width: Int, height: Int) {
      self.x = x
      self.y = y
      self.width = width
      self.height = height
    }

    /// For example `crop(10,0,32,32)`.
    public var identifier: String { "crop(\(x),\(y),\(width),\(height))" }

    /// Makes the new picture.
    ///
    /// - Throws: ``ImageProcessingError/outside(processor:of:)`` where nothing of the picture is in the part.
    public func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
      do {
        return try image.cropped(x: x, y: y, width: width, height: height)
      } catch BitmapError.invalidSize {
        throw ImageProcessingError.outside(processor: identifier, of: image.size)
      }
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.Crop {
  /// Cuts a part out of the picture.
  public static func crop(x: Int, y: Int, width: Int, height: Int) -> Self {
    Self(x: x, y: y, width: width, height: height)
  }
}
