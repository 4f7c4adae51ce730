/// What a WebP's chunks say (RFC 9649), read without unpacking any.
struct WebPHeader {
  var size = PixelSize(width: 0, height: 0)
  var hasAlpha = false
  var isLossless = false
  var isAnimated = false
  var frameCount = 0
  var loopCount = 1
  var orientation = ImageOrientation.up
  var profile: ByteView?
  /// Whether all the bytes that the header promises are there.
  var isComplete = false
  /// How long each frame is shown, in milliseconds as stored, where that was asked for.
  private(set) var delays: [UInt32] = []
  private let collectsDelays: Bool

  /// - Returns: `nil` where the bytes end before the picture's size is known.
  init?(_ view: ByteView, collectsDelays: Bool = false) {
    self.collectsDelays = collectsDelays
    guard view.matches("RIFF"), view.matches("WEBP", at: 8),
      let length = view.uint32(at: 4, littleEndian: true)
    else { return nil }
    isComplete = length <= view.count - 8
    let end = min(view.count, length + 8)
    var at = 12
    while at <= end - 8, let type = view.uint32(at: at),
      let size = view.uint32(at: at + 4, littleEndian: true)
    {
      // The size of the picture stands at the start of its chunk, which need not be all there.
      let available = min(size, end - at - 8)
      if available < size { isComplete = false }
      if let body = view.slice(at: at + 8, count: available) { read(type, body, isWhole: available == size) }
      at += 8 + size + (size & 1)
    }
    guard size.width > 0 else { return nil }
  }

  private mutating func read(_ type: Int, _ body: ByteView, isWhole: Bool) {
    switch type {
    case 0x5650_3858:  // VP8X, which counts as the first chunk alone
      guard size.width == 0, let flags = body[0], let width = body.uint24LittleEndian(at: 4),
        let height = body.uint24LittleEndian(at: 7)
      else { return }
      size = PixelSize(width: width + 1, height: height + 1)
      hasAlpha = flags & 0x10 != 0
      isAnimated = flags & 0x02 != 0
    case 0x5650_3820:  // VP8␣
      frameCount += 1
      guard size.width == 0, let width = body.uint16(at: 6, littleEndian: true),
        let height = body.uint16(at: 8, littleEndian: true)
      else { return }
      size = PixelSize(width: width & 0x3FFF, height: height & 0x3FFF)
    case 0x5650_384C:  // VP8L
      frameCount += 1
      isLossless = true
      guard size.width == 0, let bits = body.uint32(at: 1, littleEndian: true) else { return }
      size = PixelSize(width: (bits & 0x3FFF) + 1, height: (bits >> 14 & 0x3FFF) + 1)
      hasAlpha = bits >> 28 & 1 != 0
    case 0x414C_5048: hasAlpha = true  // ALPH
    case 0x414E_4D46:  // ANMF
      frameCount += 1
      if collectsDelays { delays.append(UInt32(body.uint24LittleEndian(at: 12) ?? 0)) }
    case 0x414E_494D: loopCount = body.uint16(at: 4, littleEndian: true) ?? 0  // ANIM
    case 0x4943_4350: if isWhole { profile = body }  // ICCP
    case 0x4558_4946: if isWhole { orientation = EXIFOrientation.read(body) }  // EXIF
    default: break
    }
  }

  var info: ImageInfo {
    ImageInfo(
      format: .webp, storedSize: size, orientation: orientation, frameCount: max(1, frameCount),
      loopCount: isAnimated ? loopCount : 1, hasAlpha: hasAlpha,
      profile: profile.flatMap(ColorProfile.description))
  }
}
