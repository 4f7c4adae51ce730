/// Reads an XML property list (Apple's PropertyList-1.0 DTD) piece by piece, however large it is.
///
/// Entities other than XML's own five and numeric ones are refused, so there is nothing to expand.
final class XMLPropertyListTokenizer: TreeTokenizing {
  private let bytes: ListByteReader
  private let limits: ImageListLimits
  private var open: [Container] = []
  private var isAfterKey = false
  private var hasValue = false
  private var isClosed = false
  /// A container that was written as `<array/>` or `<dict/>`: its end is the next piece.
  private var endsAtOnce = false
  private var text: [UInt8] = []

  private enum Container: String { case array, dict }
  private struct Tag {
    var name: String
    var isEnd = false
    var isEmpty = false
  }

  init(_ bytes: ListByteReader, limits: ImageListLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  let formatName = "property list"
  var isReady: Bool { bytes.isReady }
  var place: ImageListPlace { ImageListPlace(line: bytes.line) }

  func next() throws(ImageListError) -> TreeToken? {
    if endsAtOnce, let container = open.popLast() {
      endsAtOnce = false
      return container == .array ? .endArray : .endDictionary
    }
    while true {
      guard let tag = try nextTag() else {
        if hasValue, open.isEmpty, isClosed { return nil }
        throw bytes.error("the property list ends before it is complete: the list is cut off")
      }
      if tag.name == "plist" {
        guard open.isEmpty else {
          throw bytes.error("\(tag.isEnd ? "</plist>" : "<plist>") stands inside a value")
        }
        isClosed = tag.isEnd || tag.isEmpty
        if isClosed, !hasValue { throw bytes.error("the property list is empty") }
        continue
      }
      if tag.isEnd { return try end(tag) }
      if open.isEmpty {
        if hasValue { throw bytes.error("<\(tag.name)> follows the property list's only value") }
        hasValue = true
      }
      return try begin(tag)
    }
  }

  func skipContainer() throws(ImageListError) {
    let depth = open.count - 1
    while open.count > depth { _ = try next() }
  }

  private func end(_ tag: Tag) throws(ImageListError) -> TreeToken {
    guard let container = open.last, container.rawValue == tag.name, !isAfterKey else {
      throw bytes.error("</\(tag.name)> ends nothing that is open")
    }
    open.removeLast()
    return container == .array ? .endArray : .endDictionary
  }

  private func begin(_ tag: Tag) throws(ImageListError) -> TreeToken {
    if open.last == .dict {
      guard isAfterKey != (tag.name == "key") else {
        throw bytes.error(isAfterKey ? "a <key> follows another" : "<\(tag.name)> has no <key> before it")
      }
      isAfterKey = tag.name == "key"
    } else if tag.name == "key" {
      throw bytes.error("a <key> stands outside a <dict>")
    }
    switch tag.name {
    case "array", "dict":
      guard open.count < limits.maximumDepth else {
        throw bytes.error("is nested deeper than \(limits.maximumDepth) levels")
      }
      open.append(tag.name == "array" ? .array : .dict)
      endsAtOnce = tag.isEmpty
      return tag.name == "array" ? .beginArray : .beginDictionary
    case "true", "false":
      if !tag.isEmpty { _ = try content(of: tag) }
      return .scalar(tag.name)
    case "key":
      return .key(try content(of: tag) ? String(decoding: text, as: UTF8.self) : "")
    case "string", "integer", "real", "date":
      guard try content(of: tag) else { return .unusable(RowText.tooLong(limits)) }
      return RowText.string(text[...]).map(TreeToken.scalar) ?? .unusable(RowText.notUTF8)
    case "data":
      _ = try content(of: tag)
      return .nothing
    default: throw bytes.error("<\(tag.name)> is not part of a property list")
    }
  }

  // MARK: Markup

  /// The next tag after white space, comments and declarations; `nil` at the end.
  private func nextTag() throws(ImageListError) -> Tag? {
    while let byte = try bytes.peekPastWhitespace() {
      guard byte == UInt8(ascii: "<") else { throw bytes.error("text stands where a tag should") }
      _ = try bytes.next()
      switch try bytes.peek() {
      case UInt8(ascii: "?"): try skipDeclaration()
      case UInt8(ascii: "!"): try skipCommentOrDoctype()
      default: return try readTag()
      }
    }
    return nil
  }

  private func readTag() throws(ImageListError) -> Tag {
    var tag = Tag(name: "")
    if try bytes.peek() == UInt8(ascii: "/") {
      tag.isEnd = true
      _ = try bytes.next()
    }
    let markup = try readMarkup(to: ">")
    tag.isEmpty = markup.last == UInt8(ascii: "/")
    let name = markup.prefix { $0 != UInt8(ascii: "/") && !($0 == 0x20 || (0x09...0x0D).contains($0)) }
    tag.name = Escaping.displaySafe(bytes: name)
    return tag
  }

  /// Reads up to an end that is near in anything that is markup.
  private func readMarkup(to end: String) throws(ImageListError) -> [UInt8] {
    var markup: [UInt8] = []
    let end = Array(end.utf8)
    while true {
      guard let byte = try bytes.next() else { throw bytes.error("a tag is cut off") }
      markup.append(byte)
      if markup.ends(with: end) { return Array(markup.dropLast(end.count)) }
      if markup.count > 4096 { throw bytes.error("a tag is longer than 4096 bytes") }
    }
  }

  private func skipDeclaration() throws(ImageListError) {
    let declaration = String(decoding: try readMarkup(to: "?>"), as: UTF8.self)
    guard let range = declaration.range(of: "encoding=") else { return }
    let name = declaration[range.upperBound...].dropFirst().prefix { $0 != "\"" && $0 != "'" }.uppercased()
    guard ["UTF-8", "UTF8", "US-ASCII", "ASCII", "UTF-16"].contains(name) else {
      throw bytes.error("is written in \(name); convert it to UTF-8")
    }
  }

  private func skipCommentOrDoctype() throws(ImageListError) {
    _ = try bytes.next()
    if try bytes.peek() == UInt8(ascii: "-") {
      var last: (UInt8, UInt8) = (0, 0)
      _ = try bytes.next()
      while let byte = try bytes.next() {
        if byte == UInt8(ascii: ">"), last == (UInt8(ascii: "-"), UInt8(ascii: "-")) { return }
        last = (last.1, byte)
      }
      throw bytes.error("a comment is cut off")
    }
    let doctype = try readMarkup(to: ">")
    if doctype.contains(UInt8(ascii: "[")) {
      throw bytes.error("declares entities of its own, which no property list needs: refused")
    }
  }

  /// Reads a text element's content and its end into `text`; `false` where it is over the limit.
  private func content(of tag: Tag) throws(ImageListError) -> Bool {
    text.removeAll(keepingCapacity: true)
    if tag.isEmpty { return true }
    var isWhole = true
    while true {
      bytes.appendRun(until: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }, to: &text)
      if text.count > limits.maximumRowLength {
        isWhole = false
        text.removeAll(keepingCapacity: true)
      }
      guard let byte = try bytes.peek() else { throw bytes.error("<\(tag.name)> is cut off") }
      guard byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") else { continue }
      _ = try bytes.next()
      if byte == UInt8(ascii: "&") {
        try readEntity()
      } else if try bytes.peek() == UInt8(ascii: "!") {
        try readCDATAOrComment()
      } else {
        let end = try readTag()
        guard end.isEnd, end.name == tag.name else {
          throw bytes.error(
            "<\(tag.name)> holds <\(end.isEnd ? "/" : "")\(end.name)>: is </\(tag.name)> missing?")
        }
        return isWhole
      }
    }
  }

  private func readCDATAOrComment() throws(ImageListError) {
    _ = try bytes.next()
    guard try bytes.peek() == UInt8(ascii: "[") else {
      guard try bytes.peek() == UInt8(ascii: "-") else {
        throw bytes.error("a declaration stands inside a value")
      }
      var last: [UInt8] = []
      while !last.ends(with: Array("-->".utf8)) || last.count < 5 {
        guard let byte = try bytes.next() else { throw bytes.error("a comment is cut off") }
        if last.count >= 5 { last.removeFirst() }
        last.append(byte)
      }
      return
    }
    for letter in "[CDATA[".utf8 {
      guard try bytes.next() == letter else { throw bytes.error("expected <![CDATA[") }
    }
    let start = text.count
    while let byte = try bytes.next() {
      text.append(byte)
      if byte == UInt8(ascii: ">"), text.count - start >= 3, text.ends(with: Array("]]>".utf8)) {
        text.removeLast(3)
        return
      }
      if text.count - start > limits.maximumRowLength {
        throw bytes.error("a CDATA section " + RowText.tooLong(limits))
      }
    }
    throw bytes.error("a CDATA section is cut off")
  }

  private func readEntity() throws(ImageListError) {
    var name = ""
    while let byte = try bytes.next(), byte != UInt8(ascii: ";") {
      name.unicodeScalars.append(Unicode.Scalar(byte))
      if name.utf8.count > 12 { break }
    }
    switch name {
    case "lt": text.append(UInt8(ascii: "<"))
    case "gt": text.append(UInt8(ascii: ">"))
    case "amp": text.append(UInt8(ascii: "&"))
    case "quot": text.append(UInt8(ascii: "\""))
    case "apos": text.append(UInt8(ascii: "'"))
    default:
      let value =
        name.hasPrefix("#x")
        ? UInt32(name.dropFirst(2), radix: 16)
        : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
      guard let value, value > 0, let scalar = Unicode.Scalar(value) else {
        throw bytes.error("the entity &\(Escaping.displaySafe(name)); is not XML's own")
      }
      text += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
    }
  }
}

extension Array where Element == UInt8 {
  /// Whether the last bytes are these.
  func ends(with other: [UInt8]) -> Bool {
    count >= other.count && self[(count - other.count)...].elementsEqual(other)
  }
}
