extension ColorValue {
  /// Reads a colour as CSS writes it: `#rgb`, `#rgba`, `#rrggbb`, `#rrggbbaa` or one of the basic names.
  ///
  /// - Parameter text: Upper and lower case count the same.
  /// - Returns: `nil` where the text is no such colour.
  public init?(css text: String) {
    let text = text.lowercased()
    if let named = ColorValue.names[text] {
      self = named
      return
    }
    guard text.first == "#" else { return nil }
    let digits = text.dropFirst().compactMap { $0.isASCII ? $0.hexDigitValue.map(UInt8.init) : nil }
    guard digits.count == text.count - 1 else { return nil }
    let bytes: [UInt8]
    switch digits.count {
    case 3, 4: bytes = digits.map { $0 * 17 }
    case 6, 8: bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    default: return nil
    }
    self.init(bytes[0], bytes[1], bytes[2], alpha: bytes.count == 4 ? bytes[3] : 255)
  }

  /// CSS Color 4, section 6.1: the sixteen that HTML has always had, and a few that are often wanted.
  static let names: [String: ColorValue] = [
    "black": .black, "white": .white, "transparent": .clear, "clear": .clear,
    "silver": ColorValue(192, 192, 192), "gray": ColorValue(128, 128, 128), "grey": ColorValue(128, 128, 128),
    "maroon": ColorValue(128, 0, 0), "red": ColorValue(255, 0, 0), "purple": ColorValue(128, 0, 128),
    "fuchsia": ColorValue(255, 0, 255), "magenta": ColorValue(255, 0, 255), "green": ColorValue(0, 128, 0),
    "lime": ColorValue(0, 255, 0), "olive": ColorValue(128, 128, 0), "yellow": ColorValue(255, 255, 0),
    "navy": ColorValue(0, 0, 128), "blue": ColorValue(0, 0, 255), "teal": ColorValue(0, 128, 128),
    "aqua": ColorValue(0, 255, 255), "cyan": ColorValue(0, 255, 255), "orange": ColorValue(255, 165, 0),
    "pink": ColorValue(255, 192, 203), "brown": ColorValue(165, 42, 42),
  ]
}
