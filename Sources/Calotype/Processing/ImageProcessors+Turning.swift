extension ImageProcessors {
  /// Mirrors the picture.
  public struct Flip: BuiltInProcessing, Hashable {
    /// What changes places.
    public enum Direction: String, Hashable, Sendable, CaseIterable {
      /// Left and right.
      case horizontal
      /// Top and bottom.
      case vertical
    }

    /// What changes places.
    public var direction: Direction

    /// Creates the processor.
    public init(_ direction: Direction) { self.direction = direction }

    /// For example `flip(horizontal)`.
    public var identifier: String { "flip(\(direction.rawValue))" }

    /// Makes the new picture.
    public func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
      try image.oriented(direction == .horizontal ? .upMirrored : .downMirrored)
    }
  }

  /// Turns the picture by quarters.
  public struct Rotate: BuiltInProcessing, Hashable {
    /// Quarter turns clockwise, 0 to 3.
    public let quarters: Int

    /// Creates the processor.
    ///
    /// - Parameter quarters: Quarter turns clockwise; any number, taken for its rest by 4.
    public init(quarters: Int) { self.quarters = (quarters % 4 + 4) % 4 }

    /// For example `rotate(90)`.
    public var identifier: String { "rotate(\(quarters * 90))" }

    /// Makes the new picture.
    public func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
      try image.oriented([.up, .right, .down, .left][quarters])
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.Flip {
  /// Mirrors the picture.
  public static func flip(_ direction: ImageProcessors.Flip.Direction) -> Self { Self(direction) }
}

extension ImageProcessing where Self == ImageProcessors.Rotate {
  /// Turns the picture clockwise by a number of quarters.
  public static func rotate(quarters: Int) -> Self { Self(quarters: quarters) }
}
