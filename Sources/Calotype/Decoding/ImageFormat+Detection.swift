import Foundation

extension ImageFormat {
  /// Tells a file's format by its bytes, whatever its name or its `Content-Type` says.
  ///
  /// - Parameter bytes: The file, or its start: 64 bytes tell all but SVG, whose root element may stand
  ///   within the first 4096.
  /// - Returns: The format, or `nil` where the bytes are those of no known image.
  public static func detect(_ bytes: Data) -> ImageFormat? {
    bytes.withUnsafeBytes { FileSignature(ByteView($0)).format }
  }

  /// The format's registered media type, such as `image/jpeg`.
  public var mimeType: String {
    switch self {
    case .jpeg: "image/jpeg"
    case .png: "image/png"
    case .gif: "image/gif"
    case .webp: "image/webp"
    case .avif: "image/avif"
    case .bmp: "image/bmp"
    case .ico: "image/vnd.microsoft.icon"
    case .heif: "image/heif"
    case .jxl: "image/jxl"
    case .tiff: "image/tiff"
    case .svg: "image/svg+xml"
    case .pdf: "application/pdf"
    }
  }

  /// The usual file name extension without its dot, such as `jpg`.
  public var fileExtension: String {
    switch self {
    case .jpeg: "jpg"
    case .heif: "heic"
    case .tiff: "tif"
    default: rawValue
    }
  }

  /// The format's name for people, such as `JPEG XL`.
  public var displayName: String {
    switch self {
    case .jpeg: "JPEG"
    case .png: "PNG"
    case .gif: "GIF"
    case .webp: "WebP"
    case .avif: "AVIF"
    case .bmp: "BMP"
    case .ico: "ICO"
    case .heif: "HEIF"
    case .jxl: "JPEG XL"
    case .tiff: "TIFF"
    case .svg: "SVG"
    case .pdf: "PDF"
    }
  }
}

/// What a file's first bytes look like.
enum FileSignature: Equatable {
  /// An image.
  case image(ImageFormat)
  /// Nothing that this package reads; what it looks like, for the error message.
  case other(String)

  var format: ImageFormat? {
    if case .image(let format) = self { format } else { nil }
  }

  init(_ view: ByteView) {
    if let format = Self.binaryFormat(view) {
      self = .image(format)
    } else if let kind = Self.otherKind(view) {
      self = .other(kind)
    } else {
      self = Self.text(view)
    }
  }

  /// Formats told by fixed bytes.
  private static func binaryFormat(_ view: ByteView) -> ImageFormat? {
    switch view[0] {
    case 0xFF:
      if view[1] == 0xD8, view[2] == 0xFF { return .jpeg }
      if view[1] == 0x0A { return .jxl }
    case 0x89: if view.matches("PNG\r\n\u{1A}\n", at: 1) { return .png }
    case UInt8(ascii: "G"): if view.matches("GIF87a") || view.matches("GIF89a") { return .gif }
    case UInt8(ascii: "R"): if view.matches("RIFF"), view.matches("WEBP", at: 8) { return .webp }
    case UInt8(ascii: "B"): if isBitmapHeader(view) { return .bmp }
    case UInt8(ascii: "I"): if view.matches("II*\0") || view.matches("II+\0") { return .tiff }
    case UInt8(ascii: "M"): if view.matches("MM\0*") || view.matches("MM\0+") { return .tiff }
    case UInt8(ascii: "%"): if view.matches("%PDF-") { return .pdf }
    case 0:
      if view.matches("\0\0\0\u{0C}JXL \r\n") { return .jxl }
      if isIconHeader(view) { return .ico }
      return fileTypeBox(view)
    default: break
    }
    return nil
  }

  /// The `ftyp` box of the ISO base media file format (ISO/IEC 14496-12, section 4.3): AVIF and HEIF.
  private static func fileTypeBox(_ view: ByteView) -> ImageFormat? {
    guard view.matches("ftyp", at: 4), let size = view.uint32(at: 0), size >= 16 else { return nil }
    var isHEIF = false
    // The major brand, then the compatible ones; what stands between them is a version number.
    for offset in [8] + Array(stride(from: 16, through: min(size, 256) - 4, by: 4)) {
      if view.matches("avif", at: offset) || view.matches("avis", at: offset) { return .avif }
      for brand in ["heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1"] as [StaticString]
      where view.matches(brand, at: offset) {
        isHEIF = true
      }
    }
    return isHEIF ? .heif : nil
  }

  private static func isBitmapHeader(_ view: ByteView) -> Bool {
    guard view.matches("BM") else { return false }
    // Two letters prove little; the size of the second header does.
    guard let header = view.uint32(at: 14, littleEndian: true) else { return false }
    return [12, 16, 40, 52, 56, 64, 108, 124].contains(header)
  }

  private static func isIconHeader(_ view: ByteView) -> Bool {
    guard view.uint16(at: 0) == 0, let kind = view.uint16(at: 2, littleEndian: true), kind == 1 || kind == 2,
      let count = view.uint16(at: 4, littleEndian: true), count > 0, view[9] == 0
    else { return false }
    return true
  }

  /// Files that are known, and no image.
  private static func otherKind(_ view: ByteView) -> String? {
    if view.matches("PK\u{3}\u{4}") { return "a ZIP archive" }
    if view[0] == 0x1F, view[1] == 0x8B { return "gzip data" }
    if view[0] == 0x28, view[1] == 0xB5, view[2] == 0x2F, view[3] == 0xFD { return "Zstandard data" }
    if view.matches("8BPS") { return "a Photoshop document" }
    if view.matches("\u{7F}ELF") { return "a program" }
    if view.matches("ftyp", at: 4) || view.matches("ID3") || view.matches("OggS") { return "a media file" }
    if view.matches("%!PS") { return "PostScript" }
    if view.matches("wOFF") || view.matches("wOF2") { return "a font" }
    return nil
  }

  /// SVG, HTML, JSON, other text, or plain data.
  private static func text(_ view: ByteView) -> FileSignature {
    var start = 0
    if view[0] == 0xEF, view[1] == 0xBB, view[2] == 0xBF { start = 3 }
    while let byte = view[start], [0x20, 0x09, 0x0A, 0x0D].contains(byte), start < 4096 { start += 1 }
    let head = view.dropFirst(start).bytes.prefix(4096)
    // A character cut in two at the end of the prefix is no sign of binary data; control bytes are.
    guard !head.isEmpty, !head.contains(where: { $0 < 0x20 && ![0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains($0) })
    else { return .other("data") }
    let text = String(decoding: head, as: UTF8.self).lowercased()
    if text.hasPrefix("<") {
      if text.hasPrefix("<!doctype html") || text.contains("<html") || text.hasPrefix("<head")
        || text.hasPrefix("<body")
      {
        return .other("HTML")
      }
      if text.hasPrefix("<svg") || text.contains("<svg") || text.hasPrefix("<!doctype svg") {
        return .image(.svg)
      }
      return .other(text.hasPrefix("<?xml") ? "XML" : "HTML")
    }
    if text.hasPrefix("{") || text.hasPrefix("[") { return .other("JSON") }
    return .other(String(decoding: head, as: UTF8.self).unicodeScalars.contains("\u{FFFD}") ? "data" : "text")
  }
}
