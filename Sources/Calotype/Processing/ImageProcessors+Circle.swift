extension ImageProcessors {
  /// Cuts the picture to a circle; one that is not square is cropped to its middle first.
  public struct Circle: RowProcessing, Hashable {
    /// A line along the circle's edge, on the inside.
    public var border: ImageBorder?

    /// Creates the processor.
    public init(border: ImageBorder? = nil) { self.border = border }

    /// For example `circle(border:2,#ffffff)`.
    public var identifier: String { border.map { "circle(\($0.identifier))" } ?? "circle" }

    func rowWork(for size: PixelSize, isOpaque: Bool) throws -> RowWork {
      try border?.check("circle")
      let side = min(size.width, size.height)
      let square = PixelSize(width: side, height: side)
      let radius = Float(side) / 2
      let shape = RoundedShape(
        size: square, topLeft: radius, topRight: radius, bottomRight: radius, bottomLeft: radius,
        borderWidth: border?.drawnWidth ?? 0, borderColor: border?.color.premultiplied ?? .zero)
      return RowWork(
        x: (size.width - side) / 2, y: (size.height - side) / 2, size: square, isOpaque: false, run: shape.run
      )
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.Circle {
  /// Cuts the picture to a circle.
  public static var circle: Self { Self() }

  /// Cuts the picture to a circle with a border.
  public static func circle(border: ImageBorder?) -> Self { Self(border: border) }
}
