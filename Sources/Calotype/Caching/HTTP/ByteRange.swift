/// One range of a Range field (RFC 9110, section 14.1.2).
enum ByteRange: Hashable, Sendable {
  /// From a position to another, both within, or to the end.
  case from(Int, through: Int?)
  /// The last so many bytes.
  case suffix(Int)

  /// What a Range field asks for.
  enum Request: Hashable, Sendable {
    /// There is none, or it is to be left out of account: another unit, or no range by the grammar.
    case none
    /// One range.
    case single(ByteRange)
    /// More ranges than one.
    case multiple
  }

  /// Reads a message's Range fields.
  static func request(in headers: HTTPHeaders) -> Request {
    var value: String?
    for field in headers.fields where field.name.equalsIgnoringASCIICase("range") {
      if value != nil { return .multiple }
      value = field.value
    }
    guard let value else { return .none }
    return request(value)
  }

  /// Reads a Range field's value.
  static func request(_ value: String) -> Request {
    guard let sign = value.utf8.firstIndex(of: UInt8(ascii: "=")),
      String(value[..<sign]).trimmingOptionalWhitespace().equalsIgnoringASCIICase("bytes")
    else { return .none }
    let members = HTTPFieldSyntax.listMembers(String(value[value.utf8.index(after: sign)...]))
    let ranges = members.map(ByteRange.init)
    guard !ranges.isEmpty, !ranges.contains(nil) else { return .none }
    if ranges.count > 1 { return .multiple }
    return ranges[0].map(Request.single) ?? .none
  }

  /// Reads `0-499`, `500-` or `-500`.
  init?(_ text: String) {
    var text = text
    let range: ByteRange? = text.withUTF8 { bytes in
      guard let dash = bytes.firstIndex(of: UInt8(ascii: "-")) else { return nil }
      let first = UnsafeBufferPointer(rebasing: bytes[..<dash]).trimmingOptionalWhitespace()
      let last = UnsafeBufferPointer(rebasing: bytes[(dash + 1)...]).trimmingOptionalWhitespace()
      if first.isEmpty { return HTTPFieldSyntax.length(last).map(ByteRange.suffix) }
      guard let start = HTTPFieldSyntax.length(first) else { return nil }
      if last.isEmpty { return .from(start, through: nil) }
      guard let end = HTTPFieldSyntax.length(last), end >= start else { return nil }
      return .from(start, through: end)
    }
    guard let range else { return nil }
    self = range
  }

  /// The bytes meant in a representation of so many bytes, or `nil` where it has none of them.
  func resolve(length: Int) -> Range<Int>? {
    switch self {
    case .from(let first, let last):
      guard first < length else { return nil }
      return first..<min(last.map { $0 < Int.max ? $0 + 1 : $0 } ?? length, length)
    case .suffix(let count):
      guard count > 0, length > 0 else { return nil }
      return max(0, length - count)..<length
    }
  }
}

/// A Content-Range field (RFC 9110, section 14.4) that is valid.
struct ContentRange: Hashable, Sendable {
  /// The bytes that are there; `nil` in an answer that says that none of those asked for exist.
  var bytes: Range<Int>?
  /// The whole representation's length; `nil` where it is not known.
  var total: Int?

  /// Creates a content range.
  init(bytes: Range<Int>?, total: Int?) {
    self.bytes = bytes
    self.total = total
  }

  /// Reads a message's field; `nil` where there is none, more than one, or one that is not valid.
  init?(_ headers: HTTPHeaders) {
    let values = headers.values("Content-Range")
    guard values.count == 1 else { return nil }
    self.init(values[0])
  }

  /// Reads `bytes 0-499/1234`, `bytes 0-499/*` or `bytes */1234`.
  init?(_ value: String) {
    let parts = value.trimmingOptionalWhitespace().split(separator: " ", maxSplits: 1)
    guard parts.count == 2, String(parts[0]).equalsIgnoringASCIICase("bytes") else { return nil }
    let sides = parts[1].split(separator: "/", omittingEmptySubsequences: false).map {
      String($0).trimmingOptionalWhitespace()
    }
    guard sides.count == 2 else { return nil }
    if sides[1] != "*" {
      guard let length = Self.length(sides[1]) else { return nil }
      total = length
    }
    if sides[0] == "*" {
      guard total != nil else { return nil }
      return
    }
    let ends = sides[0].split(separator: "-", omittingEmptySubsequences: false).map {
      String($0).trimmingOptionalWhitespace()
    }
    guard ends.count == 2, let first = Self.length(ends[0]), let last = Self.length(ends[1]), last >= first,
      last < Int.max
    else { return nil }
    if let total, last >= total { return nil }
    bytes = first..<last + 1
  }

  private static func length(_ text: String) -> Int? {
    var text = text
    return text.withUTF8 { HTTPFieldSyntax.length($0) }
  }

  /// The field's value.
  var text: String {
    let length = total.map(String.init) ?? "*"
    guard let bytes else { return "bytes */\(length)" }
    return "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(length)"
  }
}
