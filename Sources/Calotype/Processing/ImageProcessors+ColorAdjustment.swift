extension ImageProcessors {
  /// Makes the picture brighter or darker, then its contrast stronger or weaker, as the CSS functions
  /// `brightness()` and `contrast()` do.
  public struct ColorAdjustment: RowProcessing, Hashable {
    /// What every colour is multiplied by: 1 changes nothing, 0 gives black.
    public var brightness: Double
    /// What every colour's distance from the middle grey is multiplied by: 1 changes nothing, 0 gives grey.
    public var contrast: Double

    /// Creates the processor.
    public init(brightness: Double = 1, contrast: Double = 1) {
      self.brightness = brightness
      self.contrast = contrast
    }

    /// For example `adjust(brightness:1.2,contrast:1)`.
    public var identifier: String {
      "adjust(brightness:\(canonical(brightness)),contrast:\(canonical(contrast)))"
    }

    func rowWork(for size: PixelSize, isOpaque: Bool) throws -> RowWork {
      guard [brightness, contrast].allSatisfy({ $0 >= 0 && $0 <= 1000 }) else {
        throw ImageProcessingError.invalidParameter(
          processor: identifier, reason: "brightness and contrast must be within 0 and 1,000")
      }
      let brighten = ColorMatrix.scale(Float(brightness))
      let spread = ColorMatrix.scale(Float(contrast), adding: Float(0.5 - 0.5 * contrast))
      return RowWork(size: size, isOpaque: isOpaque) { [brightness, contrast] source, target, _ in
        var from = source
        if brightness != 1 || contrast == 1 {
          brighten.run(from, target, count: size.width, isOpaque: isOpaque)
          from = UnsafePointer(target)
        }
        if contrast != 1 { spread.run(from, target, count: size.width, isOpaque: isOpaque) }
      }
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.ColorAdjustment {
  /// Makes the picture brighter (over 1) or darker (under 1).
  public static func brightness(_ factor: Double) -> Self { Self(brightness: factor) }

  /// Makes the contrast stronger (over 1) or weaker (under 1).
  public static func contrast(_ factor: Double) -> Self { Self(contrast: factor) }

  /// Changes brightness, then contrast; 1 changes nothing.
  public static func adjust(brightness: Double = 1, contrast: Double = 1) -> Self {
    Self(brightness: brightness, contrast: contrast)
  }
}
