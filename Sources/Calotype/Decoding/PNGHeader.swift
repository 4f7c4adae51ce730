/// What a PNG's chunks say (PNG, third edition, section 5), read without unpacking any.
struct PNGHeader {
  var size = PixelSize(width: 0, height: 0)
  var bitDepth = 8
  var colorType = 0
  var isInterlaced = false
  var hasTransparencyChunk = false
  var hasProfile = false
  var orientation = ImageOrientation.up
  var loopCount = 1
  /// Whether every chunk up to the last is there.
  var isComplete = false

  private var animationFrameCount = 0
  private var frameControlCount = 0
  /// How long each frame is shown, in milliseconds as stored, where that was asked for.
  private(set) var delays: [UInt32] = []
  private let collectsDelays: Bool

  /// - Returns: `nil` where the bytes end before the picture's size is known.
  init?(_ view: ByteView, collectsDelays: Bool = false) {
    self.collectsDelays = collectsDelays
    guard view.matches("IHDR", at: 12), let width = view.uint32(at: 16), let height = view.uint32(at: 20),
      let depth = view[24], let color = view[25], let interlace = view[28]
    else { return nil }
    size = PixelSize(width: width, height: height)
    bitDepth = Int(depth)
    colorType = Int(color)
    isInterlaced = interlace != 0
    readChunks(view)
  }

  private mutating func readChunks(_ view: ByteView) {
    var at = 8
    while let length = view.uint32(at: at), let type = view.uint32(at: at + 4) {
      // A length over 2³¹ − 1 is no length.
      guard length <= 0x7FFF_FFFF, let body = view.slice(at: at + 8, count: length),
        view[at + length + 11] != nil
      else { return }
      switch type {
      case 0x7452_4E53: hasTransparencyChunk = true  // tRNS
      case 0x6943_4350: hasProfile = true  // iCCP
      case 0x6558_4966: orientation = EXIFOrientation.read(body)  // eXIf
      case 0x6163_544C:  // acTL
        animationFrameCount = body.uint32(at: 0) ?? 0
        loopCount = body.uint32(at: 4) ?? 1
      case 0x6663_544C:  // fcTL
        frameControlCount += 1
        if collectsDelays { delays.append(Self.delay(body)) }
      case 0x4945_4E44:  // IEND
        isComplete = true
        return
      default: break
      }
      at += length + 12
    }
  }

  /// A fraction of a second; a denominator of 0 stands for 100.
  private static func delay(_ body: ByteView) -> UInt32 {
    let numerator = body.uint16(at: 20) ?? 0, denominator = body.uint16(at: 22) ?? 0
    return UInt32(numerator * 1000 / (denominator == 0 ? 100 : denominator))
  }

  /// What `acTL` promises, as far as there are frames.
  var frameCount: Int { max(1, min(animationFrameCount, frameControlCount)) }

  var hasAlpha: Bool { colorType & 4 != 0 || hasTransparencyChunk }

  var info: ImageInfo {
    ImageInfo(
      format: .png, storedSize: size, orientation: orientation, frameCount: frameCount,
      loopCount: frameCount > 1 ? loopCount : 1, hasAlpha: hasAlpha, bitsPerChannel: bitDepth)
  }
}
