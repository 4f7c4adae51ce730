/// Reads JSON (RFC 8259) piece by piece, however large it is.
final class JSONTokenizer: TreeTokenizing {
  private let bytes: ListByteReader
  private let limits: ImageListLimits
  private var open: [Container] = []
  private var hasStarted = false
  private var needsSeparator = false
  private var text: [UInt8] = []

  private enum Container { case array, dictionary }

  init(_ bytes: ListByteReader, limits: ImageListLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  let formatName = "JSON"
  var isReady: Bool { bytes.isReady }
  var place: ImageListPlace { ImageListPlace(line: bytes.line) }

  /// Begins anew, for the next value of a list of lines.
  func restart() {
    open.removeAll(keepingCapacity: true)
    (hasStarted, needsSeparator) = (false, false)
    isAfterKey = false
  }

  private var isAfterKey = false

  func next() throws(ImageListError) -> TreeToken? {
    guard let container = open.last else {
      if hasStarted {
        guard let byte = try bytes.peekPastWhitespace() else { return nil }
        throw bytes.error("the JSON has ended, and \(Self.shown(byte)) follows it")
      }
      hasStarted = true
      guard let byte = try bytes.peekPastWhitespace() else { throw bytes.error("there is no JSON in it") }
      return try value(byte)
    }
    var byte = try byteOrCutOff()
    if isAfterKey {
      isAfterKey = false
      return try value(byte)
    }
    let end = container == .array ? UInt8(ascii: "]") : UInt8(ascii: "}")
    if byte == end {
      _ = try bytes.next()
      return close(container)
    }
    if needsSeparator {
      guard byte == UInt8(ascii: ",") else { throw expected("a comma or \(Self.shown(end))", byte) }
      _ = try bytes.next()
      byte = try byteOrCutOff()
      if byte == end { throw bytes.error("a comma stands before \(Self.shown(end))") }
    }
    return container == .array ? try value(byte) : try key(byte)
  }

  func skipContainer() throws(ImageListError) {
    let depth = open.count - 1
    while open.count > depth { _ = try next() }
  }

  private func close(_ container: Container) -> TreeToken {
    open.removeLast()
    needsSeparator = true
    return container == .array ? .endArray : .endDictionary
  }

  private func key(_ byte: UInt8) throws(ImageListError) -> TreeToken {
    guard byte == UInt8(ascii: "\"") else { throw expected("a key in quotes", byte) }
    _ = try bytes.next()
    let isWhole = try readString()
    let colon = try byteOrCutOff()
    guard colon == UInt8(ascii: ":") else { throw expected("a colon", colon) }
    _ = try bytes.next()
    isAfterKey = true
    return .key(isWhole ? String(decoding: text, as: UTF8.self) : "")
  }

  private func value(_ byte: UInt8) throws(ImageListError) -> TreeToken {
    needsSeparator = true
    switch byte {
    case UInt8(ascii: "["), UInt8(ascii: "{"):
      _ = try bytes.next()
      guard open.count < limits.maximumDepth else {
        throw bytes.error("is nested deeper than \(limits.maximumDepth) levels")
      }
      open.append(byte == UInt8(ascii: "[") ? .array : .dictionary)
      needsSeparator = false
      return byte == UInt8(ascii: "[") ? .beginArray : .beginDictionary
    case UInt8(ascii: "\""):
      _ = try bytes.next()
      guard try readString() else { return .unusable(RowText.tooLong(limits)) }
      return RowText.string(text[...]).map(TreeToken.scalar) ?? .unusable(RowText.notUTF8)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .scalar(try readNumber())
    case UInt8(ascii: "t"): return try readWord("true", .scalar("true"))
    case UInt8(ascii: "f"): return try readWord("false", .scalar("false"))
    case UInt8(ascii: "n"): return try readWord("null", .nothing)
    default: throw expected("a value", byte)
    }
  }

  private func readWord(_ word: String, _ token: TreeToken) throws(ImageListError) -> TreeToken {
    for letter in word.utf8 {
      guard try bytes.next() == letter else { throw bytes.error("expected \(word)") }
    }
    return token
  }

  private func readNumber() throws(ImageListError) -> String {
    text.removeAll(keepingCapacity: true)
    while let byte = try bytes.peek() {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "e"), UInt8(ascii: "E"):
        text.append(byte)
        _ = try bytes.next()
        if text.count > 1000 { throw bytes.error("a number has more than 1000 digits") }
        continue
      default: break
      }
      break
    }
    let number = String(decoding: text, as: UTF8.self)
    guard Double(number) != nil else { throw bytes.error("\(number) is not a number") }
    return number
  }

  /// Reads a string, after its opening quote, into `text`; `false` where it is over the limit.
  private func readString() throws(ImageListError) -> Bool {
    text.removeAll(keepingCapacity: true)
    var isWhole = true
    while true {
      bytes.appendRun(until: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 < 0x20 }, to: &text)
      if text.count > limits.maximumRowLength {
        isWhole = false
        text.removeAll(keepingCapacity: true)
      }
      guard let byte = try bytes.peek() else { throw cutOff() }
      switch byte {
      case UInt8(ascii: "\""):
        _ = try bytes.next()
        return isWhole
      case UInt8(ascii: "\\"):
        _ = try bytes.next()
        try readEscape()
      case 0..<0x20: throw bytes.error("a string holds a control character that is not escaped")
      default: continue
      }
    }
  }

  private func readEscape() throws(ImageListError) {
    guard let byte = try bytes.next() else { throw cutOff() }
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"): try readUnicodeEscape()
    default: throw bytes.error("a string holds an unknown escape, \\\(Self.shown(byte))")
    }
  }

  private func readUnicodeEscape() throws(ImageListError) {
    var unit = try readHex()
    while UTF16.isLeadSurrogate(unit) {
      // Half of a pair: the other half follows as an escape of its own, or it is a mistake that U+FFFD marks.
      guard try bytes.peek() == UInt8(ascii: "\\") else { break }
      _ = try bytes.next()
      guard try bytes.peek() == UInt8(ascii: "u") else {
        text += UTF8.encodedReplacementCharacter
        return try readEscape()
      }
      _ = try bytes.next()
      let second = try readHex()
      if UTF16.isTrailSurrogate(second) {
        let value = 0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
        text += UTF8.encode(Unicode.Scalar(value) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter
        return
      }
      text += UTF8.encodedReplacementCharacter
      unit = second
    }
    text += UTF8.encode(Unicode.Scalar(unit) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter
  }

  private func readHex() throws(ImageListError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = try bytes.next() else { throw cutOff() }
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw bytes.error("\\u is not followed by four hexadecimal digits")
      }
      unit = unit << 4 | UInt16(digit)
    }
    return unit
  }

  private func byteOrCutOff() throws(ImageListError) -> UInt8 {
    guard let byte = try bytes.peekPastWhitespace() else { throw cutOff() }
    return byte
  }

  private func cutOff() -> ImageListError {
    bytes.error("the JSON ends before it is complete: the list is cut off")
  }

  private func expected(_ what: String, _ byte: UInt8) -> ImageListError {
    bytes.error("expected \(what), found \(Self.shown(byte))")
  }

  private static func shown(_ byte: UInt8) -> String {
    (0x21...0x7E).contains(byte)
      ? "\"\(Character(Unicode.Scalar(byte)))\"" : "byte 0x\(String(byte, radix: 16))"
  }
}
