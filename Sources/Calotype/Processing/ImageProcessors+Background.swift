extension ImageProcessors {
  /// Puts the picture on a colour.
  public struct Background: RowProcessing, Hashable {
    /// The colour; where it is opaque, so is the result.
    public var color: ColorValue

    /// Creates the processor.
    public init(_ color: ColorValue) { self.color = color }

    /// For example `background(#ffffff)`.
    public var identifier: String { "background(\(color))" }

    func rowWork(for size: PixelSize, isOpaque: Bool) -> RowWork {
      let fill = PixelLanes.pixel(color.premultiplied, opaque: PixelLanes.opaqueMask(color.isOpaque))
      return RowWork(size: size, isOpaque: isOpaque || color.isOpaque) { source, target, _ in
        if isOpaque {
          if UnsafePointer(target) != source { target.update(from: source, count: size.width) }
          return
        }
        var at = 0
        while at < size.width {
          target[at] = PixelBlending.over(source[at], fill)
          at &+= 1
        }
      }
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.Background {
  /// Puts the picture on a colour.
  public static func background(_ color: ColorValue) -> Self { Self(color) }
}
