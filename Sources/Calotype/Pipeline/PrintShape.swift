/// What a print is of its picture: the size asked for and the processors.
struct PrintShape: Sendable {
  let targetSize: TargetSize?
  let processors: [any ImageProcessing]

  init(_ request: ImageRequest) {
    targetSize = request.targetSize
    processors = request.processors
  }

  init(targetSize: TargetSize?, processors: [any ImageProcessing]) {
    self.targetSize = targetSize
    self.processors = processors
  }

  /// How one print is made from a larger one.
  struct Derivation: Sendable {
    /// The part of the larger print, in its pixels.
    var crop: PixelRectangle
    /// What it is brought to.
    var size: PixelSize
    /// What is done after that.
    var processors: [any ImageProcessing]

    /// Makes the print.
    func apply(
      to bitmap: Bitmap, limits: ImageDecodingLimits, cancellation: CancellationFlag
    ) throws -> Bitmap {
      let part = (x: crop.x, y: crop.y, width: crop.width, height: crop.height)
      let reduced = try bitmap.resampled(crop: part, to: size, cancellation: cancellation)
      return try ImageProcessors.apply(processors, to: reduced, limits: limits, cancellation: cancellation)
    }
  }

  /// How much larger a print has to be a side, where it has been reduced itself: reducing twice by less than this
  /// would show as softness.
  static let leastReduction = 1.5

  /// How a print of another shape is made from one of this shape; `nil` where it would not be, to the eye, the one
  /// that is made from the original.
  ///
  /// - Parameters:
  ///   - wanted: The other shape.
  ///   - size: This print's size.
  ///   - original: The picture's own size.
  func derivation(of wanted: PrintShape, from size: PixelSize, original: PixelSize) -> Derivation? {
    guard let target = wanted.targetSize?.resolve(for: original) else { return nil }
    var mine = TargetSize.Geometry(
      cropX: 0, cropY: 0, cropWidth: Double(original.width), cropHeight: Double(original.height),
      size: original)
    if let targetSize {
      guard let geometry = targetSize.resolve(for: original) else { return nil }
      mine = geometry
    }
    let scale = (
      x: Double(mine.size.width) / mine.cropWidth, y: Double(mine.size.height) / mine.cropHeight
    )
    // One that was enlarged has nothing that the original has not.
    guard scale.x <= 1.001, scale.y <= 1.001 else { return nil }
    var crop = PixelRectangle(
      x: (target.cropX - mine.cropX) * scale.x, y: (target.cropY - mine.cropY) * scale.y,
      width: target.cropWidth * scale.x, height: target.cropHeight * scale.y)
    var goal = target.size
    var processors = wanted.processors
    if self.processors.isEmpty {
      guard mine.size == size else { return nil }
    } else {
      // The same is done to both, and what is done scales: then it need not be done again, if the part is the same.
      guard self.processors.map(\.identifier) == wanted.processors.map(\.identifier),
        abs(crop.x) < 0.5, abs(crop.y) < 0.5, abs(crop.width - Double(mine.size.width)) < 1,
        abs(crop.height - Double(mine.size.height)) < 1
      else { return nil }
      var processed = mine.size
      for processor in self.processors {
        guard let scaling = processor as? any ScalingProcessing, scaling.scales else { return nil }
        processed = scaling.size(of: processed)
        goal = scaling.size(of: goal)
      }
      guard processed == size else { return nil }
      crop = PixelRectangle(x: 0, y: 0, width: Double(size.width), height: Double(size.height))
      processors = []
    }
    // Sizes are rounded to whole pixels, so a part may seem to stick out by a fraction of one.
    guard crop.x > -0.5, crop.y > -0.5, crop.x + crop.width < Double(size.width) + 0.5,
      crop.y + crop.height < Double(size.height) + 0.5
    else { return nil }
    crop.x = max(0, crop.x)
    crop.y = max(0, crop.y)
    crop.width = min(crop.width, Double(size.width) - crop.x)
    crop.height = min(crop.height, Double(size.height) - crop.y)
    let isWhole = mine.size == PixelSize(width: Int(mine.cropWidth), height: Int(mine.cropHeight))
    let least = isWhole ? 1 : Self.leastReduction
    guard crop.width >= Double(goal.width) * least, crop.height >= Double(goal.height) * least else {
      return nil
    }
    return Derivation(crop: crop, size: goal, processors: processors)
  }
}

/// A processor for which it makes no difference to the eye whether a picture is reduced before or after it.
protocol ScalingProcessing: ImageProcessing {
  /// Whether this holds for its parameters.
  var scales: Bool { get }
  /// The size that it makes of a picture's.
  func size(of picture: PixelSize) -> PixelSize
}

extension ScalingProcessing {
  var scales: Bool { true }
  func size(of picture: PixelSize) -> PixelSize { picture }
}

extension ImageProcessors.Grey: ScalingProcessing {}
extension ImageProcessors.Tint: ScalingProcessing {}
extension ImageProcessors.Background: ScalingProcessing {}
extension ImageProcessors.Flip: ScalingProcessing {}

extension ImageProcessors.Rotate: ScalingProcessing {
  func size(of picture: PixelSize) -> PixelSize { quarters % 2 == 0 ? picture : picture.transposed }
}

extension ImageProcessors.Circle: ScalingProcessing {
  // A border's width is in the print's own pixels.
  var scales: Bool { border == nil }

  func size(of picture: PixelSize) -> PixelSize {
    let side = min(picture.width, picture.height)
    return PixelSize(width: side, height: side)
  }
}

/// Which prints of a picture have been put into the memory cache, and which sizes are asked for at all.
struct PrintIndex: Sendable {
  struct Print: Sendable {
    let key: ImageCacheKey
    let shape: PrintShape
    let size: PixelSize
    let originalSize: PixelSize
  }

  private var prints: [String: [Print]] = [:]
  /// Sizes that prints were asked for in, the largest first.
  private(set) var targetSizes: [TargetSize] = []

  /// What is remembered is a hint only, so that it may be forgotten at any time.
  private static let maximumCount = 10_000
  private static let maximumPrintsOfOne = 8
  private static let maximumSizes = 12

  init(targetSizes: [TargetSize]) { for size in targetSizes { note(size) } }

  /// Notes that a size is asked for.
  mutating func note(_ size: TargetSize) {
    guard targetSizes.count < Self.maximumSizes, !targetSizes.contains(size), size.pixelSize != nil else {
      return
    }
    targetSizes.append(size)
    targetSizes.sort { ($0.pixelSize?.pixelCount ?? 0) > ($1.pixelSize?.pixelCount ?? 0) }
  }

  /// Notes that a print is in memory.
  mutating func note(_ image: ImageContainer, _ key: ImageCacheKey, _ shape: PrintShape) {
    // The first frame of an animation is not the whole of it.
    guard image.frameCount == 1, !image.isPreview else { return }
    if prints.count >= Self.maximumCount, prints[key.address] == nil {
      prints.removeAll(keepingCapacity: true)
    }
    prints[key.address, default: []].removeAll { $0.key == key }
    if prints[key.address, default: []].count >= Self.maximumPrintsOfOne {
      prints[key.address]?.removeFirst()
    }
    prints[key.address]?.append(
      Print(key: key, shape: shape, size: image.bitmap.size, originalSize: image.originalSize))
  }

  /// The prints of a picture, the largest first.
  func prints(of address: String) -> [Print] {
    guard let known = prints[address] else { return [] }
    return known.count < 2 ? known : known.sorted { $0.size.pixelCount > $1.size.pixelCount }
  }
}
