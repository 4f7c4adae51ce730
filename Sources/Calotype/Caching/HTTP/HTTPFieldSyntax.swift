/// The small grammar that header fields share (RFC 9110, section 5.6).
enum HTTPFieldSyntax {
  /// The largest number of seconds that is counted with; larger ones are taken for it (RFC 9111, section
  /// 1.2.2).
  static let largestDeltaSeconds = 2_147_483_648

  /// Reads `delta-seconds`: digits and nothing else. Numbers past ``largestDeltaSeconds`` are taken for it.
  static func deltaSeconds(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    guard !bytes.isEmpty else { return nil }
    var value = 0
    for byte in bytes {
      guard (0x30...0x39).contains(byte) else { return nil }
      value = min(value * 10 + Int(byte - 0x30), largestDeltaSeconds)
    }
    return value
  }

  /// Reads `delta-seconds` from a text.
  static func deltaSeconds(_ text: String) -> Int? {
    var text = text
    return text.withUTF8 { deltaSeconds($0) }
  }

  /// Reads a length or position in bytes: digits and nothing else, `nil` where it does not fit.
  static func length(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    guard !bytes.isEmpty else { return nil }
    var value = 0
    for byte in bytes {
      guard (0x30...0x39).contains(byte) else { return nil }
      let (product, overflows) = value.multipliedReportingOverflow(by: 10)
      let (sum, carries) = product.addingReportingOverflow(Int(byte - 0x30))
      guard !overflows, !carries else { return nil }
      value = sum
    }
    return value
  }

  /// Splits a list at its commas, those in quoted strings left out; white space and empty members dropped
  /// (RFC 9110, section 5.6.1). A quote that is never closed counts as an ordinary sign, so that nothing
  /// hides behind it.
  static func listMembers(_ text: String) -> [String] {
    var text = text
    return text.withUTF8 { bytes in
      var members: [String] = []
      var start = 0
      var at = 0
      // Behind a quote that is never closed there is none that is.
      var mayQuote = true
      while at <= bytes.count {
        if at == bytes.count || bytes[at] == UInt8(ascii: ",") {
          let member = UnsafeBufferPointer(rebasing: bytes[start..<at]).trimmingOptionalWhitespace()
          if !member.isEmpty { members.append(String(decoding: member, as: UTF8.self)) }
          start = at + 1
          at += 1
        } else if mayQuote, bytes[at] == UInt8(ascii: "\"") {
          let end = endOfQuotedString(bytes, from: at)
          mayQuote = end != nil
          at = end ?? at + 1
        } else {
          at += 1
        }
      }
      return members
    }
  }

  /// The place behind the quoted string that begins at `start`, or `nil` where it is never closed.
  static func endOfQuotedString(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    var at = start + 1
    while at < bytes.count {
      if bytes[at] == UInt8(ascii: "\\") {
        at += 2
      } else if bytes[at] == UInt8(ascii: "\"") {
        return at + 1
      } else {
        at += 1
      }
    }
    return nil
  }

  /// Whether a byte may stand in a token (RFC 9110, section 5.6.2).
  static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"),
      UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"),
      UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// Whether a text is a token.
  static func isToken(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(isTokenByte) }

  static func isOptionalWhitespace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// The bytes without blanks and tabs at their ends.
  func trimmingOptionalWhitespace() -> UnsafeBufferPointer<UInt8> {
    var start = 0
    var end = count
    while start < end, HTTPFieldSyntax.isOptionalWhitespace(self[start]) { start += 1 }
    while end > start, HTTPFieldSyntax.isOptionalWhitespace(self[end - 1]) { end -= 1 }
    return UnsafeBufferPointer(rebasing: self[start..<end])
  }

  /// Whether the bytes are a name, given in lower case, in any case.
  func equalsIgnoringASCIICase(_ lowercase: StaticString, prefix: Int? = nil) -> Bool {
    let length = prefix ?? lowercase.utf8CodeUnitCount
    guard count == length else { return false }
    return lowercase.withUTF8Buffer { name in
      for index in 0..<length {
        let byte = self[index]
        let lower = byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
        if lower != name[index] { return false }
      }
      return true
    }
  }
}

extension String {
  /// The text with ASCII capitals made small and nothing else changed.
  func lowercasedASCII() -> String {
    guard utf8.contains(where: { $0 >= 0x41 && $0 <= 0x5A }) else { return self }
    return String(decoding: utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
  }

  /// The text without blanks and tabs at its ends.
  func trimmingOptionalWhitespace() -> String {
    guard let first = utf8.first, let last = utf8.last,
      HTTPFieldSyntax.isOptionalWhitespace(first) || HTTPFieldSyntax.isOptionalWhitespace(last)
    else { return self }
    var text = self
    return text.withUTF8 { String(decoding: $0.trimmingOptionalWhitespace(), as: UTF8.self) }
  }
}
