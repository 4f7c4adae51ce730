/// What a file's header says of its picture, without decoding it.
public struct ImageInfo: Hashable, Sendable {
  /// The format, told by the bytes.
  public var format: ImageFormat
  /// Width and height as stored, in pixels.
  public var storedSize: PixelSize
  /// How the stored picture is turned to be upright.
  public var orientation: ImageOrientation
  /// The number of frames, 1 for a still picture.
  public var frameCount: Int
  /// How often an animation plays, 0 for ever; 1 for a still picture.
  public var loopCount: Int
  /// Whether the file can hold transparent pixels.
  public var hasAlpha: Bool
  /// Bits a channel as stored.
  public var bitsPerChannel: Int
  /// The embedded colour profile's own description, or `nil` without a profile.
  public var profile: String?

  /// Creates an info; what is left out is a still, upright, opaque 8-bit picture's.
  public init(
    format: ImageFormat, storedSize: PixelSize, orientation: ImageOrientation = .up, frameCount: Int = 1,
    loopCount: Int = 1, hasAlpha: Bool = false, bitsPerChannel: Int = 8, profile: String? = nil
  ) {
    self.format = format
    self.storedSize = storedSize
    self.orientation = orientation
    self.frameCount = frameCount
    self.loopCount = loopCount
    self.hasAlpha = hasAlpha
    self.bitsPerChannel = bitsPerChannel
    self.profile = profile
  }

  /// Width and height as shown, after the orientation is applied, in pixels.
  public var displaySize: PixelSize { orientation.isTransposed ? storedSize.transposed : storedSize }
}
