import Foundation

extension ImageEncoder {
  /// The formats that animations can be written in.
  public static let animatedFormats: [ImageFormat] = [.webp, .png, .avif]

  /// Encodes an animation with all its frames, at its target size and processed, with their delays and its
  /// number of rounds. One frame at a time is in memory.
  ///
  /// An AVIF always plays for ever: this version of its library writes no number of rounds.
  ///
  /// - Parameters:
  ///   - animation: The animation.
  ///   - options: The format, one of ``animatedFormats``, and how to write it.
  ///   - cancellation: Looked at between rows and frames.
  /// - Throws: ``ImageEncodingError/unsupported(_:)`` for other formats, ``ImageEncodingError/failed(_:reason:)``
  ///   where a frame cannot be decoded, processed or written, where all of them take longer than the animation's limits
  ///   allow, or where the file's frames have more than twenty times the pixels that one picture may have (a kilobyte
  ///   can promise hours of work), ``ImageEncodingError/cancelled``.
  public func encode(
    _ animation: ImageAnimation, options: ImageEncodingOptions,
    cancellation: CancellationFlag = CancellationFlag()
  ) throws(ImageEncodingError) -> Data {
    guard Self.animatedFormats.contains(options.format) else { throw .unsupported(options.format) }
    let (pixels, overflows) = animation.originalSize.pixelCount.multipliedReportingOverflow(
      by: animation.frameCount)
    guard !overflows, pixels / 20 <= animation.limits.maximumPixelCount else {
      throw .failed(
        options.format,
        reason:
          "\(animation.frameCount) frames of \(animation.originalSize) pixels are too many; one still picture can be made of it"
      )
    }
    let frames: any FrameReading
    do { frames = try animation.makeReader() } catch { throw Self.failure(error, 0, options.format) }
    var writer: (any AnimationWriting)?
    var size = PixelSize(width: 0, height: 0)
    let start = threadProcessorNanoseconds()
    for index in 0..<animation.frameCount {
      // A file of some megabytes can hold millions of frames.
      if Double(threadProcessorNanoseconds() - start) > animation.limits.maximumSeconds * 1e9 {
        throw .failed(
          options.format,
          reason: "its \(animation.frameCount) frames take more than "
            + "\(animation.limits.maximumSeconds) s of the processor's time")
      }
      let bitmap = try Self.frame(index, of: animation, frames, options.format, cancellation)
      if writer == nil {
        size = bitmap.size
        writer = try Self.writer(for: animation, first: bitmap, options, cancellation)
      }
      guard bitmap.size == size else {
        throw .failed(options.format, reason: "frame \(index) is of \(bitmap.size), those before of \(size)")
      }
      try writer?.add(bitmap, milliseconds: animation.milliseconds(at: index), cancellation)
    }
    guard let writer else { throw .failed(options.format, reason: "there are no frames") }
    return try writer.finish()
  }

  private static func frame(
    _ index: Int, of animation: ImageAnimation, _ frames: any FrameReading, _ format: ImageFormat,
    _ cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> Bitmap {
    do {
      guard let bitmap = try frames.nextFrame(cancellation) else {
        throw ImageDecodingError.truncated(animation.format)
      }
      return animation.processors.isEmpty
        ? bitmap
        : try ImageProcessors.apply(
          animation.processors, to: bitmap, limits: animation.limits, cancellation: cancellation)
    } catch {
      throw failure(error, index, format)
    }
  }

  private static func failure(_ error: any Error, _ index: Int, _ format: ImageFormat) -> ImageEncodingError {
    if error is CancellationError || (error as? ImageDecodingError) == .cancelled { return .cancelled }
    return .failed(format, reason: "frame \(index): \(error)")
  }

  private static func writer(
    for animation: ImageAnimation, first: Bitmap, _ options: ImageEncodingOptions,
    _ cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> any AnimationWriting {
    switch options.format {
    case .webp: return try WebPAnimationWriter(first.size, options, loopCount: animation.loopCount)
    case .png:
      return PNGAnimationWriter(
        options, hasAlpha: try hasAlpha(animation, first, options.format, cancellation),
        frameCount: animation.frameCount, loopCount: animation.loopCount)
    default:
      return try AVIFAnimationWriter(
        options, hasAlpha: try hasAlpha(animation, first, options.format, cancellation))
    }
  }

  /// Whether any frame is not opaque, which has to be said before the first is written. Clear pixels in the
  /// file tell little: most stand for those of the frame before.
  private static func hasAlpha(
    _ animation: ImageAnimation, _ first: Bitmap, _ format: ImageFormat, _ cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> Bool {
    if !first.isOpaque { return true }
    if !animation.hasAlpha, animation.processors.isEmpty { return false }
    let frames: any FrameReading
    do { frames = try animation.makeReader() } catch { throw failure(error, 0, format) }
    for index in 0..<animation.frameCount {
      if try !frame(index, of: animation, frames, format, cancellation).isOpaque { return true }
    }
    return false
  }
}

/// Writes the frames of one format, all of one size.
protocol AnimationWriting: AnyObject {
  func add(
    _ bitmap: Bitmap, milliseconds: Int, _ cancellation: CancellationFlag
  ) throws(ImageEncodingError)
  /// The file.
  func finish() throws(ImageEncodingError) -> Data
}
