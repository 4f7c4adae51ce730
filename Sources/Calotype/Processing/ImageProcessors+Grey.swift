extension ImageProcessors {
  /// Turns the picture grey: each pixel takes its brightness as JPEG and Pillow count it (ITU-R BT.601).
  public struct Grey: RowProcessing, Hashable {
    /// Creates the processor.
    public init() {}

    /// `grey`.
    public var identifier: String { "grey" }

    func rowWork(for size: PixelSize, isOpaque: Bool) -> RowWork {
      func column(_ share: Float) -> SIMD4<Float> { SIMD4(share, share, share, 0) }
      return ColorMatrix(
        red: column(0.299), green: column(0.587), blue: column(0.114), alpha: SIMD4(0, 0, 0, 1)
      ).rowWork(for: size, isOpaque: isOpaque)
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.Grey {
  /// Turns the picture grey.
  public static var grey: Self { Self() }
}
