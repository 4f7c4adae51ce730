/// Makes strings from outside harmless where they are shown or written. One function for each place.
public enum Escaping {
  /// A text for a terminal or a log: one line, nothing in it steers the terminal or turns the order of
  /// letters around. What would is written out as `\n`, `\u{1B}` and the like; a backslash stays as it is.
  ///
  /// - Parameter text: Any text. Control characters (C0, DEL, C1), bidirectional controls, line and
  ///   paragraph separators, tag characters and the byte order mark are written out.
  public static func displaySafe(_ text: String) -> String {
    if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
    var result = ""
    result.reserveCapacity(text.utf8.count + 16)
    for scalar in text.unicodeScalars {
      if isUnsafeForDisplay(scalar) {
        appendWrittenOut(scalar, to: &result)
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// The same for bytes that should be UTF-8: each byte that is not is written out as `\xNN`.
  package static func displaySafe(bytes: some Collection<UInt8>) -> String {
    let bytes = Array(bytes)
    var result = "", at = 0
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let encoded):
        at += encoded.count
        let scalar = Unicode.UTF8.decode(encoded)
        if isUnsafeForDisplay(scalar) {
          appendWrittenOut(scalar, to: &result)
        } else {
          result.unicodeScalars.append(scalar)
        }
      case .error(let length):
        for byte in bytes[at..<min(at + length, bytes.count)] {
          result += byte < 16 ? "\\x0" : "\\x"
          result += String(byte, radix: 16, uppercase: true)
        }
        at += length
      case .emptyInput:
        return result
      }
    }
  }

  /// Whether a scalar can steer a terminal, break a line, or change the order in which letters are shown.
  package static func isUnsafeForDisplay(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F: true
    case 0x061C, 0x200B, 0x200E, 0x200F, 0x2028...0x202E, 0x2060...0x206F: true
    case 0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F: true
    default: false
    }
  }

  private static func appendWrittenOut(_ scalar: Unicode.Scalar, to result: inout String) {
    switch scalar {
    case "\n": result += "\\n"
    case "\r": result += "\\r"
    case "\t": result += "\\t"
    default:
      result += "\\u{"
      result += String(scalar.value, radix: 16, uppercase: true)
      result += "}"
    }
  }
}
