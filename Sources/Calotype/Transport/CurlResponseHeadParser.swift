/// Puts a response's head together from the lines that libcurl passes on: skips the heads of 1xx responses,
/// joins folded lines, and pays no heed to the trailers of a chunked body.
struct CurlResponseHeadParser {
  /// What a line led to.
  enum Step {
    /// More lines are needed, or the line does not matter.
    case more
    /// The final response's head is whole.
    case complete(status: Int, headers: HTTPHeaders)
    /// The line cannot start a response.
    case notHTTP
  }

  private enum State { case statusLine, fields, done }

  private var state = State.statusLine
  private var status = 0
  private var fields: [HTTPHeaders.Field] = []

  /// Whether a final head has come.
  var isComplete: Bool { state == .done }

  mutating func reset() {
    state = .statusLine
    status = 0
    fields = []
  }

  /// Takes one line, its line break included.
  mutating func consume(_ rawLine: UnsafeRawBufferPointer) -> Step {
    var line = rawLine[...]
    while let last = line.last, last == 10 || last == 13 { line.removeLast() }
    switch state {
    case .done: return .more
    case .statusLine:
      guard let status = Self.status(in: line) else { return .notHTTP }
      self.status = status
      fields = []
      fields.reserveCapacity(12)
      state = .fields
      return .more
    case .fields:
      guard !line.isEmpty else { return endOfFields() }
      addField(line)
      return .more
    }
  }

  private mutating func endOfFields() -> Step {
    // 101 is final here: no upgrade is ever asked for.
    if (100..<200).contains(status), status != 101 {
      state = .statusLine
      return .more
    }
    state = .done
    let headers = HTTPHeaders(fields)
    fields = []
    return .complete(status: status, headers: headers)
  }

  private mutating func addField(_ line: Slice<UnsafeRawBufferPointer>) {
    if let first = line.first, first == 0x20 || first == 0x09 {
      // A folded line goes on with the value before it (RFC 9112, section 5.2).
      guard !fields.isEmpty else { return }
      fields[fields.count - 1].value += " " + Self.text(Self.trimmed(line))
      return
    }
    guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex else { return }
    fields.append(
      HTTPHeaders.Field(
        name: Self.text(Self.trimmed(line[..<colon])),
        value: Self.text(Self.trimmed(line[line.index(after: colon)...]))))
  }

  private static func status(in line: Slice<UnsafeRawBufferPointer>) -> Int? {
    guard line.starts(with: "HTTP/".utf8), let space = line.firstIndex(of: 0x20) else { return nil }
    var value = 0
    var digits = 0
    for byte in line[space...].drop(while: { $0 == 0x20 }) {
      guard (0x30...0x39).contains(byte), digits < 6 else { break }
      value = value * 10 + Int(byte - 0x30)
      digits += 1
    }
    return digits > 0 ? value : nil
  }

  private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    var bytes = bytes
    while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
    while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
    return bytes
  }

  private static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var at = 0
    var bits: UInt64 = 0
    while at + 8 <= bytes.count {
      bits |= bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      at += 8
    }
    while at < bytes.count {
      bits |= UInt64(bytes[at])
      at += 1
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }

  /// UTF-8 where the bytes are that, otherwise Latin-1.
  private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    let buffer = UnsafeRawBufferPointer(rebasing: bytes)
    // Almost all are ASCII, which needs no validation, and that is slow.
    if isASCII(buffer) { return String(decoding: buffer, as: UTF8.self) }
    if let text = String(validating: buffer, as: UTF8.self) { return text }
    var text = ""
    for byte in buffer { text.unicodeScalars.append(Unicode.Scalar(byte)) }
    return text
  }
}
