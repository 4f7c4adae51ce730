extension ImageProcessors {
  /// Rounds the picture's corners.
  public struct RoundedCorners: RowProcessing, Hashable {
    /// The radius in pixels; cut to half of the picture's shorter side, as are the others.
    public var topLeft: Double
    /// The radius in pixels.
    public var topRight: Double
    /// The radius in pixels.
    public var bottomRight: Double
    /// The radius in pixels.
    public var bottomLeft: Double
    /// A line along the edge, on the inside.
    public var border: ImageBorder?

    /// Creates the processor with one radius for all corners.
    public init(radius: Double, border: ImageBorder? = nil) {
      self.init(
        topLeft: radius, topRight: radius, bottomRight: radius, bottomLeft: radius, border: border)
    }

    /// Creates the processor with a radius for each corner; 0 leaves a corner as it is.
    public init(
      topLeft: Double = 0, topRight: Double = 0, bottomRight: Double = 0, bottomLeft: Double = 0,
      border: ImageBorder? = nil
    ) {
      self.topLeft = topLeft
      self.topRight = topRight
      self.bottomRight = bottomRight
      self.bottomLeft = bottomLeft
      self.border = border
    }

    private var radii: [Double] { [topLeft, topRight, bottomRight, bottomLeft] }

    /// For example `round(8)` or `round(8,8,0,0,border:1,#000000)`.
    public var identifier: String {
      let isEven = radii.allSatisfy { $0 == topLeft }
      let parts = (isEven ? [topLeft] : radii).map(canonical) + (border.map { [$0.identifier] } ?? [])
      return "round(\(parts.joined(separator: ",")))"
    }

    func rowWork(for size: PixelSize, isOpaque: Bool) throws -> RowWork {
      try border?.check("round")
      guard radii.allSatisfy({ $0.isFinite && $0 >= 0 }) else {
        throw ImageProcessingError.invalidParameter(
          processor: "round", reason: "a radius must be a number of at least 0")
      }
      let most = Double(min(size.width, size.height)) / 2
      let shape = RoundedShape(
        size: size, topLeft: Float(min(topLeft, most)), topRight: Float(min(topRight, most)),
        bottomRight: Float(min(bottomRight, most)), bottomLeft: Float(min(bottomLeft, most)),
        borderWidth: border?.drawnWidth ?? 0, borderColor: border?.color.premultiplied ?? .zero)
      return RowWork(size: size, isOpaque: isOpaque && radii.allSatisfy { $0 == 0 }, run: shape.run)
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.RoundedCorners {
  /// Rounds all corners.
  public static func roundedCorners(radius: Double, border: ImageBorder? = nil) -> Self {
    Self(radius: radius, border: border)
  }

  /// Rounds each corner by a radius of its own.
  public static func roundedCorners(
    topLeft: Double = 0, topRight: Double = 0, bottomRight: Double = 0, bottomLeft: Double = 0,
    border: ImageBorder? = nil
  ) -> Self {
    Self(
      topLeft: topLeft, topRight: topRight, bottomRight: bottomRight, bottomLeft: bottomLeft, border: border)
  }

  /// Draws a line along the picture's edge, on the inside.
  public static func border(width: Double, color: ColorValue) -> Self {
    Self(radius: 0, border: ImageBorder(width: width, color: color))
  }
}
