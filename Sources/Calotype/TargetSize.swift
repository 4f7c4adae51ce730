/// The size that a print is wanted in, and how a picture of another shape is brought to it.
public struct TargetSize: Hashable, Sendable {
  /// How a picture of another shape is brought to the target size.
  public enum Mode: UInt8, Hashable, Sendable, CaseIterable {
    /// The whole picture, as large as fits inside the target; one side may come out smaller.
    case fit
    /// The target filled: scaled until both sides reach it, then cropped to the middle.
    case fill
    /// Both sides brought to the target exactly, the picture's shape given up.
    case exact
  }

  /// The width in points: pixels where ``scale`` is 1.
  public var width: Double
  /// The height in points.
  public var height: Double
  /// Pixels a point, 1 by default; 2 on a high-resolution screen.
  public var scale: Double
  /// How a picture of another shape is brought to this size, ``Mode/fit`` by default.
  public var mode: Mode
  /// Whether a picture smaller than the target is enlarged; off by default.
  public var allowsUpscaling: Bool

  /// Creates a target size. Its values are checked when the request is started: see ``resolve(for:)``.
  public init(
    width: Double, height: Double, scale: Double = 1, mode: Mode = .fit, allowsUpscaling: Bool = false
  ) {
    self.width = width
    self.height = height
    self.scale = scale
    self.mode = mode
    self.allowsUpscaling = allowsUpscaling
  }

  /// The target in whole pixels, at least 1 a side, or `nil` where a side is not a positive number or is
  /// larger than any picture can be (2³¹ − 1).
  public var pixelSize: PixelSize? {
    func pixels(_ points: Double) -> Int? {
      let value = points * scale
      guard value.isFinite, points > 0, scale > 0, value <= 2_147_483_647 else { return nil }
      return max(1, Int(value.rounded()))
    }
    guard let width = pixels(width), let height = pixels(height) else { return nil }
    return PixelSize(width: width, height: height)
  }

  /// What a picture of a given size becomes: which part of it is shown, and how large.
  public struct Geometry: Hashable, Sendable {
    /// Left edge, top edge, width and height of the part of the source that is shown, in its pixels;
    /// fractions are meant.
    public var cropX: Double, cropY: Double, cropWidth: Double, cropHeight: Double
    /// The size of the result, at least 1×1.
    public var size: PixelSize
  }

  /// Works out the crop and the final size for an upright picture.
  ///
  /// - Parameter source: The picture's size after its orientation has been applied.
  /// - Returns: The geometry, or `nil` where this target has no ``pixelSize``.
  public func resolve(for source: PixelSize) -> Geometry? {
    guard let target = pixelSize, source.width > 0, source.height > 0 else { return nil }
    let sourceWidth = Double(source.width), sourceHeight = Double(source.height)
    let scaleX = Double(target.width) / sourceWidth, scaleY = Double(target.height) / sourceHeight
    func side(_ value: Double) -> Int { max(1, Int(value.rounded())) }
    var geometry = Geometry(
      cropX: 0, cropY: 0, cropWidth: sourceWidth, cropHeight: sourceHeight, size: source)
    switch mode {
    case .fit:
      var factor = min(scaleX, scaleY)
      if !allowsUpscaling { factor = min(factor, 1) }
      geometry.size = PixelSize(
        width: min(side(sourceWidth * factor), max(target.width, 1)),
        height: min(side(sourceHeight * factor), max(target.height, 1)))
      if factor == 1 { geometry.size = source }
    case .fill:
      var factor = max(scaleX, scaleY)
      if !allowsUpscaling { factor = min(factor, 1) }
      geometry.size = PixelSize(
        width: min(target.width, side(sourceWidth * factor)),
        height: min(target.height, side(sourceHeight * factor)))
      geometry.cropWidth = min(sourceWidth, Double(geometry.size.width) / factor)
      geometry.cropHeight = min(sourceHeight, Double(geometry.size.height) / factor)
      geometry.cropX = (sourceWidth - geometry.cropWidth) / 2
      geometry.cropY = (sourceHeight - geometry.cropHeight) / 2
    case .exact:
      geometry.size = target
      if !allowsUpscaling {
        geometry.size.width = min(target.width, source.width)
        geometry.size.height = min(target.height, source.height)
      }
    }
    return geometry
  }
}
