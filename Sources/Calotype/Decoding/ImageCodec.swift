/// Reads one format.
///
/// A codec keeps nothing between calls, opens no file and starts no thread, so that it can run on any
/// thread and inside a sandbox.
protocol ImageCodec {
  /// Reads the header only.
  static func inspect(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo

  /// What the header says, all but the profile, without any library's help; `nil` where it is needed.
  static func ownHeader(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo?

  /// Decodes the first, or only, frame.
  static func decode(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer
}

extension ImageCodec {
  static func ownHeader(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo? { nil }
}

/// What a decode was given.
struct DecodeJob {
  /// The file, whole.
  let view: ByteView
  let options: ImageDecodingOptions
  let cancellation: CancellationFlag
  let colors: ColorConversionCache
  /// The processor time of this thread at which the decode has to be done, in nanoseconds.
  let deadline: UInt64

  init(
    view: ByteView, options: ImageDecodingOptions, cancellation: CancellationFlag,
    colors: ColorConversionCache
  ) {
    self.view = view
    self.options = options
    self.cancellation = cancellation
    self.colors = colors
    let seconds = options.limits.maximumSeconds
    let allowed = seconds.isFinite ? UInt64(min(max(seconds, 0), 1e6) * 1e9) : .max
    let (end, overflows) = threadProcessorNanoseconds().addingReportingOverflow(allowed)
    deadline = overflows ? .max : end
  }

  /// Ends the decode where the caller has cancelled it, or it has taken too long.
  func checkCancellation() throws(ImageDecodingError) {
    if cancellation.isCancelled { throw .cancelled }
    if threadProcessorNanoseconds() > deadline { throw .timedOut(seconds: options.limits.maximumSeconds) }
  }

  /// Works out what becomes of a picture; throws where it is over the limits or the target is no size.
  func plan(for info: ImageInfo) throws(ImageDecodingError) -> DecodePlan {
    try options.limits.check(info)
    var plan = try DecodePlan(info: info, targetSize: options.targetSize)
    plan.isDeep = options.isDeep
    // Upscaling can ask for far more than the file holds.
    guard plan.outputSize.pixelCount <= options.limits.maximumPixelCount else {
      throw .limitExceeded(
        size: plan.outputSize, frames: 1, maximumPixelCount: options.limits.maximumPixelCount)
    }
    return plan
  }

  /// The finished result.
  func container(_ bitmap: Bitmap, info: ImageInfo, deep: DeepBitmap? = nil) -> ImageContainer {
    var container = ImageContainer(
      bitmap: bitmap, format: info.format, originalSize: info.displaySize, frameCount: info.frameCount)
    container.deepBitmap = deep
    return container
  }
}

extension ImageDecodingLimits {
  /// Throws where a picture is over the limits. Only what has to be in memory at once counts: one frame.
  func check(_ info: ImageInfo) throws(ImageDecodingError) {
    guard info.storedSize.width > 0, info.storedSize.height > 0 else {
      throw .corrupt(info.format, reason: "its size is \(info.storedSize)")
    }
    guard info.storedSize.pixelCount <= maximumPixelCount else {
      throw .limitExceeded(size: info.storedSize, frames: 1, maximumPixelCount: maximumPixelCount)
    }
  }
}

/// What becomes of a picture on its way to the target: its crop and its size, both as it is stored, that is
/// before it is turned upright.
struct DecodePlan {
  let storedSize: PixelSize
  let orientation: ImageOrientation
  /// The part that is shown, in stored pixels.
  let crop: PixelRectangle
  /// The size to resample to, before the orientation is applied.
  let outputSize: PixelSize
  /// Whether more than 8 bits of sRGB are wanted, where there is more.
  var isDeep = false

  init(info: ImageInfo, targetSize: TargetSize?) throws(ImageDecodingError) {
    storedSize = info.storedSize
    orientation = info.orientation
    let display = info.displaySize
    guard let targetSize else {
      crop = PixelRectangle(x: 0, y: 0, width: Double(storedSize.width), height: Double(storedSize.height))
      outputSize = storedSize
      return
    }
    guard let geometry = targetSize.resolve(for: display) else {
      throw .invalidTargetSize(width: targetSize.width, height: targetSize.height)
    }
    let upright = PixelRectangle(
      x: geometry.cropX, y: geometry.cropY, width: geometry.cropWidth, height: geometry.cropHeight)
    crop = orientation.storedRectangle(of: upright, in: storedSize)
    outputSize = orientation.isTransposed ? geometry.size.transposed : geometry.size
  }

  /// Whether the stored pixels are the result, but for the orientation.
  var keepsEveryPixel: Bool {
    outputSize == storedSize && crop.x == 0 && crop.y == 0 && crop.width == Double(storedSize.width)
      && crop.height == Double(storedSize.height)
  }

  /// How many stored pixels go into one of the result, along the side where there are fewer.
  var reduction: Double {
    min(crop.width / Double(outputSize.width), crop.height / Double(outputSize.height))
  }
}

/// A part of a picture, in pixels; fractions are meant.
struct PixelRectangle: Equatable {
  var x: Double, y: Double, width: Double, height: Double
}

extension ImageOrientation {
  /// Where a part of the upright picture lies in the picture as stored.
  func storedRectangle(of upright: PixelRectangle, in stored: PixelSize) -> PixelRectangle {
    let width = Double(stored.width), height = Double(stored.height)
    var result =
      isTransposed
      ? PixelRectangle(x: upright.y, y: upright.x, width: upright.height, height: upright.width) : upright
    switch self {
    case .up, .leftMirrored: break
    case .upMirrored, .left: result.x = width - result.x - result.width
    case .downMirrored, .right: result.y = height - result.y - result.height
    case .down, .rightMirrored:
      result.x = width - result.x - result.width
      result.y = height - result.y - result.height
    }
    return result
  }
}
