import Foundation

/// A finished picture and what is known of where it came from: what decoders give and memory caches keep.
public struct ImageContainer: Sendable {
  /// The pixels.
  public var bitmap: Bitmap
  /// The original's format, or `nil` where there was no original.
  public var format: ImageFormat?
  /// The original's size as shown, in pixels, before it was brought to the target size.
  public var originalSize: PixelSize
  /// The number of frames in the original; ``bitmap`` is the first.
  public var frameCount: Int
  /// Whether this is a preview of a picture that is not whole yet. Previews are never stored.
  public var isPreview: Bool

  /// The picture with all of its depth and colours, at the same size, where that was asked for
  /// (``ImageRequest/isDeep``) and there is more to it than ``bitmap`` has. Processors work on 8 bits, so that a
  /// request with any has none.
  public var deepBitmap: DeepBitmap?
  /// The original's animation, where it has one that can be played and the request did not ask for a still
  /// picture; ``bitmap`` is its first frame.
  public var animation: ImageAnimation?

  /// The colour profile (ICC) that the pixels are in, where it was to be kept
  /// (``ImageDecodingOptions/keepsProfile``) and the file has one; `nil` for sRGB.
  public var profile: Data?

  /// Until when it may be shown without asking the server, in seconds since 1970 (RFC 9111, section 4.2).
  package var freshUntil = Double.infinity {
    didSet { freshUntilSteadily = steadyTime(of: freshUntil) }
  }
  /// The same on the clock that nobody sets: one that is set back would let a picture be fresh for ever.
  private var freshUntilSteadily = Double.infinity

  /// Creates a container.
  public init(
    bitmap: Bitmap, format: ImageFormat? = nil, originalSize: PixelSize? = nil, frameCount: Int = 1,
    isPreview: Bool = false
  ) {
    self.bitmap = bitmap
    self.format = format
    self.originalSize = originalSize ?? bitmap.size
    self.frameCount = frameCount
    self.isPreview = isPreview
  }

  /// Whether it may be shown without asking the server.
  var isFresh: Bool { freshUntil == .infinity || isFresh(wall: wallClockSeconds(), steady: steadySeconds()) }

  func isFresh(wall: Double, steady: Double) -> Bool { freshUntil > wall && freshUntilSteadily > steady }

  /// Bytes in memory, an animation's file among them: what a cache counts.
  public var cost: Int {
    bitmap.byteCount + (animation?.data.count ?? 0) + (deepBitmap?.byteCount ?? 0)
  }
}

/// The moment on the steady clock that a moment of the wall clock is as things are now.
private func steadyTime(of wall: Double) -> Double {
  wall.isFinite ? steadySeconds() + (wall - wallClockSeconds()) : wall
}
