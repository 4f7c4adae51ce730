/// An entity tag (RFC 9110, section 8.8.3), kept as it was written.
///
/// Tags that break the grammar, which real servers send, are compared as the text that they are, and never
/// count as strong.
struct EntityTag: Hashable, Sendable {
  /// The whole tag as it came, with its quotes and `W/`.
  let text: String
  /// The part that is compared: without `W/`.
  let opaque: Substring
  /// Whether the tag stands for exactly these bytes.
  let isStrong: Bool

  /// Reads a tag; `nil` for a text that is empty.
  init?(_ text: String) {
    let text = text.trimmingOptionalWhitespace()
    guard !text.isEmpty else { return nil }
    self.text = text
    let isWeak = text.utf8.starts(with: "W/".utf8)
    opaque = isWeak ? Substring(text.utf8.dropFirst(2)) : text[...]
    isStrong = !isWeak && Self.isQuoted(opaque)
  }

  private static func isQuoted(_ text: Substring) -> Bool {
    let bytes = text.utf8
    guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else {
      return false
    }
    return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7F) }
  }

  /// Whether both are strong and the same (RFC 9110, section 8.8.3.2): for joining parts.
  func matchesStrongly(_ other: EntityTag) -> Bool { isStrong && other.isStrong && opaque == other.opaque }

  /// Whether they are the same when strength is not looked at: for asking whether something changed.
  func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

  /// The tags of If-None-Match lines, or `nil` where one is `*`.
  static func list(_ values: [String]) -> [EntityTag]? {
    var tags: [EntityTag] = []
    for value in values {
      for member in HTTPFieldSyntax.listMembers(value) {
        if member == "*" { return nil }
        if let tag = EntityTag(member) { tags.append(tag) }
      }
    }
    return tags
  }
}
