import Foundation

extension Escaping {
  /// The most bytes in a file name that ``fileName(_:fallback:reservedBytes:)`` makes.
  package static let maximumFileNameLength = 200

  /// A file name without its extension from any text: one path component that every usual file system
  /// takes and no shell or program misreads.
  ///
  /// There are no separators, control or bidirectional characters and none that Windows forbids; it does
  /// not begin with a dash, a dot or a tilde nor end with a dot or a space, and is no device's name.
  /// Letters of every script stay, composed (NFC). It is at most ``maximumFileNameLength`` bytes long,
  /// with room for what is put behind it, and cut between characters.
  ///
  /// - Parameters:
  ///   - text: Any text.
  ///   - fallback: The name where nothing of the text is left; it is made by the program and safe.
  ///   - reservedBytes: Room to leave for a number and an extension.
  package static func fileName(_ text: String, fallback: String = "unnamed", reservedBytes: Int = 16)
    -> String
  {
    let limit = maximumFileNameLength - reservedBytes
    if isPlainFileName(text, limit: limit) { return text }
    // Far more than can be kept is not worth normalising.
    let start = text.utf8.count > 4096 ? String(text.prefix(1024)) : text
    var name = ""
    for scalar in composed(start).unicodeScalars {
      name.unicodeScalars.append(isForbiddenInFileName(scalar) ? "_" : scalar)
    }
    name = trimmed(name)
    if name.utf8.count > limit { name = trimmed(cut(name, toBytes: limit)) }
    if name.isEmpty || name.allSatisfy({ $0 == "_" }) { return fallback }
    if isDeviceName(name) { name = cut("_" + name, toBytes: limit) }
    return name
  }

  /// Two file names whose keys are equal name one file on some file system: letters' case is not told apart
  /// on several, nor are composed and decomposed letters.
  package static func fileNameCollisionKey(_ name: String) -> String {
    composed(name.uppercased().lowercased())
  }

  /// Whether a text is a safe name as it stands: short, of ASCII letters, digits and what stands between them in
  /// most lists. The long way would give it back unchanged, at many times the cost.
  private static func isPlainFileName(_ text: String, limit: Int) -> Bool {
    let bytes = text.utf8
    guard bytes.count <= limit, let first = bytes.first, let last = bytes.last, isPlain(first),
      last != 0x20, last != 0x2E
    else { return false }
    var start: UInt32 = 0
    for byte in bytes {
      switch byte {
      case 0x20, 0x2B, 0x2D, 0x2E, 0x5F: break
      default: if !isPlain(byte) { return false }
      }
      if byte != 0x20, start < 1 << 16 { start = start << 8 | UInt32(byte | 0x20) }
    }
    switch start {
    // What devices' names begin with: aux, com, con, lpt, nul, prn.
    case 0x617578, 0x636F6D, 0x636F6E, 0x6C7074, 0x6E756C, 0x70726E: return !isDeviceName(text)
    default: return true
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }

  private static func composed(_ text: String) -> String {
    text.utf8.allSatisfy { $0 < 0x80 } ? text : text.precomposedStringWithCanonicalMapping
  }

  private static func isForbiddenInFileName(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "/", "\\", ":", "*", "?", "\"", "<", ">", "|": true
    // Other scripts' look-alikes of a slash.
    case "\u{2044}", "\u{2215}", "\u{29F8}", "\u{FF0F}", "\u{FF3C}": true
    default: isUnsafeForDisplay(scalar) || scalar.properties.generalCategory == .unassigned
    }
  }

  private static func trimmed(_ name: String) -> String {
    let isEdge: (Character) -> Bool = { $0.isWhitespace || $0 == "." }
    var rest = name[...]
    while let first = rest.first, isEdge(first) || first == "-" || first == "~" { rest = rest.dropFirst() }
    while let last = rest.last, isEdge(last) { rest = rest.dropLast() }
    return String(rest)
  }

  private static func cut(_ name: String, toBytes limit: Int) -> String {
    var bytes = 0
    var end = name.startIndex
    for index in name.indices {
      bytes += name[index].utf8.count
      if bytes > limit { break }
      end = name.index(after: index)
    }
    if end > name.startIndex || name.utf8.count <= limit { return String(name[..<end]) }
    // One character of thousands of combining marks: cut between its scalars.
    var result = "", length = 0
    for scalar in name.unicodeScalars {
      length += UTF8.width(scalar)
      if length > limit { break }
      result.unicodeScalars.append(scalar)
    }
    return result
  }

  /// Names that Windows keeps for devices, whatever extension follows.
  private static func isDeviceName(_ name: String) -> Bool {
    let stem = name.prefix { $0 != "." }.filter { $0 != " " }.uppercased()
    switch stem {
    case "CON", "PRN", "AUX", "NUL", "CLOCK$", "CONIN$", "CONOUT$": return true
    default:
      guard stem.hasPrefix("COM") || stem.hasPrefix("LPT"), stem.count == 4, let last = stem.last else {
        return false
      }
      return "0123456789¹²³".contains(last)
    }
  }
}
