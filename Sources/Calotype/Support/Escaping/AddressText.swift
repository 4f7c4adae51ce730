import CXXHash
import Foundation

extension Escaping {
  /// An address as people and reports are to see it: without the password that it may hold, and without the
  /// bytes of a `data:` address. Any other text stays as it is.
  ///
  /// `https://user:secret@host/a.png` becomes `https://user:***@host/a.png`, and a `data:` address its type and
  /// its length: `data:image/png;base64,… (1,234 characters)`. Requests and keys keep the real one.
  ///
  /// - Parameter text: An address, or what somebody took for one.
  package static func address(_ text: String) -> String {
    let bytes = text.utf8
    guard let colon = bytes.prefix(longestScheme).firstIndex(of: UInt8(ascii: ":")) else {
      return bytes.starts(with: "//".utf8) ? withoutPassword(text, authority: 2) : text
    }
    if text[..<colon].lowercased() == "data" { return shortenedData(text, after: colon) }
    let rest = bytes[bytes.index(after: colon)...]
    guard rest.starts(with: "//".utf8) else {
      return bytes.starts(with: "//".utf8) ? withoutPassword(text, authority: 2) : text
    }
    return withoutPassword(text, authority: bytes.distance(from: bytes.startIndex, to: colon) + 3)
  }

  /// A short name for a `data:` address, the same for the same bytes: nobody could read its own.
  package static func dataAddressName(_ text: String) -> String {
    var text = text
    let hash = text.withUTF8 { XXH3_64bits($0.baseAddress, $0.count) }
    let digits = String(UInt32(truncatingIfNeeded: hash), radix: 16)
    return "data-" + String(repeating: "0", count: 8 - digits.count) + digits
  }

  /// Whether a text is a `data:` address.
  package static func isDataAddress(_ text: String) -> Bool {
    text.utf8.count >= 5 && text.prefix(5).lowercased() == "data:"
  }

  private static let longestScheme = 32

  /// - Parameter authority: How many bytes come before the host and what stands before it.
  private static func withoutPassword(_ text: String, authority offset: Int) -> String {
    let start = text.utf8.index(text.startIndex, offsetBy: offset)
    let rest = text.utf8[start...]
    let end = rest.firstIndex { "/?#\\".utf8.contains($0) } ?? rest.endIndex
    var at = rest[..<end].lastIndex(of: UInt8(ascii: "@"))
    if at == nil, let colon = rest[..<end].firstIndex(of: UInt8(ascii: ":")),
      rest.first != UInt8(ascii: "["),
      rest[rest.index(after: colon)..<end].contains(where: { !(0x30...0x39).contains($0) })
    {
      // What follows a host's colon is a port. This is none: a password with a slash or its like in it, which
      // makes no address of the whole, but is shown as what is wrong.
      at = rest[end...].lastIndex(of: UInt8(ascii: "@"))
    }
    guard let at, let colon = rest[..<at].firstIndex(of: UInt8(ascii: ":")) else { return text }
    return text[...colon] + "***" + text[at...]
  }

  private static func shortenedData(_ text: String, after colon: String.Index) -> String {
    let bytes = text.utf8
    guard bytes.count > longestData else { return text }
    let start = bytes.prefix(longestData)
    let comma = start.firstIndex(of: UInt8(ascii: ","))
    let shown = comma.map { text[...$0] } ?? text[...colon]
    return "\(shown)… (\(grouped(bytes.count)) characters)"
  }

  /// A `data:` address that is no longer than this is a line of its own already.
  private static let longestData = 64

  /// A number with commas between its thousands.
  private static func grouped(_ number: Int) -> String {
    var digits = String(number)[...], groups: [Substring] = []
    while digits.count > 3 {
      groups.insert(digits.suffix(3), at: 0)
      digits = digits.dropLast(3)
    }
    return ([digits] + groups).joined(separator: ",")
  }
}

extension URL {
  /// The address as people and reports are to see it: see ``Escaping/address(_:)``.
  package var displayText: String { Escaping.address(absoluteString) }
}
