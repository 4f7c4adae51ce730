/// What a JPEG's markers say before its first scan (ITU-T T.81, annex B).
struct JPEGHeader {
  var size = PixelSize(width: 0, height: 0)
  var componentCount = 0
  var bitsPerChannel = 8
  var orientation = ImageOrientation.up
  /// The embedded profile's parts in their order.
  private var profileParts: [(number: Int, bytes: ByteView)] = []

  /// - Returns: `nil` where the bytes end before the picture's size is known.
  init?(_ view: ByteView) {
    var at = 2
    while true {
      while let byte = view[at], byte != 0xFF { at += 1 }
      while view[at] == 0xFF { at += 1 }
      guard let marker = view[at] else { return nil }
      at += 1
      switch marker {
      case 0x00, 0x01, 0xD0...0xD8: continue
      case 0xD9: return nil
      case 0xDA:
        if size.width > 0 { return }
        return nil
      default: break
      }
      guard let length = view.uint16(at: at), length >= 2,
        let body = view.slice(at: at + 2, count: length - 2)
      else {
        // A cut after the frame header still tells the size.
        if size.width > 0 { return }
        return nil
      }
      at += length
      readSegment(marker, body)
    }
  }

  private mutating func readSegment(_ marker: UInt8, _ body: ByteView) {
    switch marker {
    case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
      guard let height = body.uint16(at: 1), let width = body.uint16(at: 3), let bits = body[0],
        let components = body[5]
      else { return }
      size = PixelSize(width: width, height: height)
      bitsPerChannel = Int(bits)
      componentCount = Int(components)
    case 0xE1 where body.matches("Exif\0"):
      // The first one that says anything counts.
      if orientation == .up { orientation = EXIFOrientation.read(body) }
    case 0xE2 where body.matches("ICC_PROFILE\0"):
      if let number = body[12] { profileParts.append((Int(number), body.dropFirst(14))) }
    default: break
    }
  }

  /// Calls a closure with the embedded profile, whole (ICC.1:2022, B.4), or `nil` where there is none.
  func withProfile<Result>(_ body: (ByteView?) -> Result) -> Result {
    guard let first = profileParts.first else { return body(nil) }
    if profileParts.count == 1 { return body(first.bytes) }
    var whole: [UInt8] = []
    for part in profileParts.sorted(by: { $0.number < $1.number }) {
      whole.append(contentsOf: part.bytes.bytes)
    }
    return whole.withUnsafeBytes { body(ByteView($0)) }
  }

  /// The channels as libjpeg gives them, for finding the profile's conversion.
  func colorSource(isInverted: Bool, profile: ByteView?) -> ColorConversion.Source {
    switch componentCount {
    case 1: profile?.matches("GRAY", at: 16) == true ? .gray : .rgb
    case 4: isInverted ? .invertedCMYK : .cmyk
    default: .rgb
    }
  }

  var info: ImageInfo {
    ImageInfo(
      format: .jpeg, storedSize: size, orientation: orientation, bitsPerChannel: bitsPerChannel,
      profile: withProfile { $0.flatMap(ColorProfile.description) })
  }
}
