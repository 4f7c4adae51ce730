import Foundation

/// An animated picture: what its file says of its frames, and the file itself. No frame is decoded; an
/// ``ImageFrameSource`` does that while it plays.
///
/// ``ImageContainer/animation`` has it where a picture is animated, and ``ImageDecoding/animation(of:options:)``
/// makes it of any bytes. GIF, animated WebP, animated PNG and AVIF sequences are read.
public struct ImageAnimation: Sendable {
  /// The file's format.
  public let format: ImageFormat
  /// The number of frames, at least 2.
  public let frameCount: Int
  /// How often it plays, 0 for ever. A GIF without a word on it plays once, an AVIF for ever.
  public let loopCount: Int
  /// The size of the file's frames as shown, in pixels, before they are brought to the target size.
  public let originalSize: PixelSize
  /// The file.
  public let data: Data
  /// The size that frames are brought to as they come; `nil` for their own.
  public var targetSize: TargetSize?
  /// Applied to every frame at its target size.
  public var processors: [any ImageProcessing]
  /// What the file may ask for.
  public var limits: ImageDecodingLimits

  /// Whether its file can hold transparent pixels.
  let hasAlpha: Bool
  let colors: ColorConversionCache
  /// Who decodes the frames in a sandboxed worker; `nil` where they are decoded in this process.
  var isolated: IsolatedImageDecoder?
  private let delays: [UInt32]

  init(
    _ facts: AnimationFacts, data: Data, options: ImageDecodingOptions, colors: ColorConversionCache
  ) {
    info = facts.info
    format = facts.info.format
    frameCount = facts.delays.count
    loopCount = facts.info.loopCount
    originalSize = facts.info.displaySize
    hasAlpha = facts.info.hasAlpha
    self.data = data
    targetSize = options.targetSize
    processors = []
    limits = options.limits
    self.colors = colors
    delays = facts.delays
  }

  /// How long a frame is shown, in seconds. As browsers do it, a delay of 10 milliseconds or less counts as
  /// one of 100: such files are made for programs that could not be so fast.
  public func delay(at index: Int) -> Double { Double(milliseconds(at: index)) / 1000 }

  /// How long one round of all frames takes, in seconds.
  public var duration: Double { delays.reduce(0) { $0 + Double(FrameDelay.shown($1)) } / 1000 }

  /// The delays as the file has them, in milliseconds.
  var storedDelays: [UInt32] { delays }
  /// What the file's header says.
  let info: ImageInfo

  func milliseconds(at index: Int) -> Int { Int(FrameDelay.shown(delays[index])) }
}

/// One frame of an animation, finished: composed, at its size, processed.
public struct ImageFrame: Sendable {
  /// The pixels of the whole picture at this moment.
  public let bitmap: Bitmap
  /// Which frame it is, from 0.
  public let index: Int
  /// How long it is shown, in seconds.
  public let delay: Double
}

/// The rules of how long frames are shown.
enum FrameDelay {
  /// What a file's delay stands for, both in milliseconds.
  static func shown(_ milliseconds: UInt32) -> UInt32 { milliseconds <= 10 ? 100 : milliseconds }
}

extension ImageDecoding {
  /// Reads no animation.
  public func animation(of data: Data, options: ImageDecodingOptions) -> ImageAnimation? { nil }

  /// Decodes what a request asks for, without its processors; where it is animated, with the animation.
  func decode(
    _ data: Data, for request: ImageRequest, limits: ImageDecodingLimits, cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> ImageContainer {
    let options = ImageDecodingOptions(
      targetSize: request.targetSize, limits: limits,
      isDeep: request.isDeep && request.processors.isEmpty)
    var container = try decode(data, options: options, cancellation: cancellation)
    if container.frameCount > 1, !request.isStill {
      container.animation = animation(of: data, options: options)
      container.animation?.processors = request.processors
    }
    return container
  }
}

extension ImageDecoder {
  /// What a file says of its frames, or `nil` where it is no animation that is read here, or is damaged. It
  /// costs a look at the file's headers, no decoding.
  public func animation(of data: Data, options: ImageDecodingOptions = .init()) -> ImageAnimation? {
    data.withUnsafeBytes { bytes -> ImageAnimation? in
      let view = ByteView(bytes)
      guard let facts = AnimationFacts(view), facts.delays.count > 1,
        (try? options.limits.check(facts.info)) != nil
      else { return nil }
      return ImageAnimation(facts, data: data, options: options, colors: colors)
    }
  }

  /// Whether animations of a format are read.
  static func playsAnimations(of format: ImageFormat?) -> Bool {
    switch format {
    case .gif, .webp, .png, .avif: true
    default: false
    }
  }
}

/// What a file's headers say of its animation.
struct AnimationFacts {
  var info: ImageInfo
  /// Milliseconds as stored.
  var delays: [UInt32]

  init?(_ view: ByteView) {
    guard case .image(let format) = FileSignature(view) else { return nil }
    switch format {
    case .gif:
      guard let header = GIFHeader(view, collectsDelays: true) else { return nil }
      info = header.info
      delays = header.delays
    case .webp:
      guard let header = WebPHeader(view, collectsDelays: true), header.isAnimated else { return nil }
      info = header.info
      delays = header.delays
    case .png:
      guard let header = PNGHeader(view, collectsDelays: true) else { return nil }
      info = header.info
      delays = Array(header.delays.prefix(header.frameCount))
    case .avif:
      guard let reader = try? AVIFReader(view, maximumPixelCount: .max) else { return nil }
      info = reader.info
      delays = reader.delays
    default: return nil
    }
  }
}
