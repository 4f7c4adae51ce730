extension ImageProcessors {
  /// Washes the picture over with a colour, within its shape: an opaque colour leaves the picture's outline
  /// in that colour, as of a template icon; a half clear one colours it.
  public struct Tint: RowProcessing, Hashable {
    /// The colour; its alpha says how much of the picture it hides.
    public var color: ColorValue

    /// Creates the processor.
    public init(_ color: ColorValue) { self.color = color }

    /// For example `tint(#ff0000)`.
    public var identifier: String { "tint(\(color))" }

    func rowWork(for size: PixelSize, isOpaque: Bool) -> RowWork {
      let wash = color.premultiplied / 255
      var matrix = ColorMatrix.scale(1 - wash.w)
      matrix.alpha = SIMD4(wash.x, wash.y, wash.z, 1)
      return matrix.rowWork(for: size, isOpaque: isOpaque)
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.Tint {
  /// Washes the picture over with a colour, within its shape.
  public static func tint(_ color: ColorValue) -> Self { Self(color) }
}
