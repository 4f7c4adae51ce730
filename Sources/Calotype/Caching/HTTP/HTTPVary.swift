/// What a response varies on (RFC 9110, section 12.5.5), and whether a request's fields are those it was
/// chosen by (RFC 9111, section 4.1).
enum HTTPVary: Hashable, Sendable {
  /// Something that no request shows: it matches none.
  case anything
  /// These request fields, in lower case, sorted, each once; none for a response that does not vary.
  case fields([String])

  /// Reads a response's Vary fields, all lines together.
  init(_ headers: HTTPHeaders) {
    var names: [String] = []
    for field in headers.fields where field.name.equalsIgnoringASCIICase("vary") {
      if field.value != "*", HTTPFieldSyntax.isToken(field.value) {
        names.append(field.value.lowercasedASCII())
        continue
      }
      for member in HTTPFieldSyntax.listMembers(field.value) {
        // What is no field's name cannot be compared, and so matches nothing.
        guard member != "*", HTTPFieldSyntax.isToken(member) else {
          self = .anything
          return
        }
        names.append(member.lowercasedASCII())
      }
    }
    self = .fields(names.count < 2 ? names : Array(Set(names)).sorted())
  }

  /// The request's fields that the response varies on: what is kept with a stored response. Those that may hold
  /// a secret are kept as a digest, since a server chooses what is kept.
  func selectingHeaders(of request: HTTPHeaders) -> HTTPHeaders {
    guard case .fields(let names) = self, !names.isEmpty else { return [] }
    var kept = request.fields.filter { field in
      !HTTPHeaders.mayBeSecret(field.name.lowercasedASCII())
        && names.contains { $0.equalsIgnoringASCIICase(field.name) }
    }
    for name in names where HTTPHeaders.mayBeSecret(name) {
      if let value = Self.keptValue(of: name, in: request) { kept.append(.init(name: name, value: value)) }
    }
    return HTTPHeaders(kept)
  }

  /// Whether a request has the fields that were kept with a stored response, or lacks those that it lacked.
  ///
  /// - Parameters:
  ///   - request: The request's fields.
  ///   - stored: What ``selectingHeaders(of:)`` gave for the request that was answered.
  func matches(_ request: HTTPHeaders, stored: HTTPHeaders) -> Bool {
    guard case .fields(let names) = self else { return false }
    return names.allSatisfy { name in
      // One program's requests mostly say the same to the letter.
      Self.hasSameSingleValue(name, request, stored)
        || Self.keptValue(of: name, in: request) == Self.keptValue(of: name, in: stored)
    }
  }

  private static func hasSameSingleValue(_ name: String, _ left: HTTPHeaders, _ right: HTTPHeaders) -> Bool {
    guard let first = singleValue(name, left), let second = singleValue(name, right) else { return false }
    return first == second
  }

  private static func singleValue(_ name: String, _ headers: HTTPHeaders) -> String? {
    var value: String?
    for field in headers.fields where field.name.equalsIgnoringASCIICase(name) {
      if value != nil { return nil }
      value = field.value
    }
    return value
  }

  /// A text that is the same for requests that the response does not tell apart, and for no others: to keep
  /// several variants of one address side by side. Empty for a response that does not vary. It is the same for
  /// a request and for what ``selectingHeaders(of:)`` keeps of it.
  func variantKey(for request: HTTPHeaders) -> String {
    guard case .fields(let names) = self else { return "*" }
    return names.map { name in
      // A line break can stand in no field, and so divides them.
      Self.keptValue(of: name, in: request).map { "\(name):\($0)" } ?? "\(name)"
    }.joined(separator: "\n")
  }

  /// What stands before a digest, and in no value that can be sent.
  private static let digestMark = "\u{1}"

  /// A field's value in the form that is compared and kept, of a request or of what was kept of one.
  private static func keptValue(of name: String, in headers: HTTPHeaders) -> String? {
    guard let value = normalizedValue(of: name, in: headers) else { return nil }
    guard HTTPHeaders.mayBeSecret(name), !value.hasPrefix(digestMark) else { return value }
    return digestMark + EntryName(key: value).path
  }

  /// A field's value with all its lines together and all that makes no difference taken out; `nil` where
  /// there is none.
  static func normalizedValue(of name: String, in headers: HTTPHeaders) -> String? {
    var value: String?
    for field in headers.fields where field.name.equalsIgnoringASCIICase(name) {
      value = value.map { $0 + "," + field.value } ?? field.value
    }
    guard let value else { return nil }
    switch name {
    case "accept", "accept-language", "accept-encoding", "accept-charset":
      return normalizedPreferences(value, isMediaType: name == "accept") ?? normalizedList(value)
    default:
      return normalizedList(value)
    }
  }

  /// Without white space at the ends and beside commas. That much is allowed in every field that is a list,
  /// and a field that is none has its commas in every request alike.
  private static func normalizedList(_ value: String) -> String {
    HTTPFieldSyntax.listMembers(value).joined(separator: ",")
  }

  /// The preferences sorted, since their order means nothing (RFC 9110, section 12.5), names in lower case,
  /// weights in their shortest form; `nil` where something is not as the grammar says.
  private static func normalizedPreferences(_ value: String, isMediaType: Bool) -> String? {
    var members: [String] = []
    for member in HTTPFieldSyntax.listMembers(value) {
      let parts = member.split(separator: ";", omittingEmptySubsequences: false).map {
        String($0).trimmingOptionalWhitespace()
      }
      guard let first = parts.first, !first.isEmpty, !member.utf8.contains(UInt8(ascii: "\"")) else {
        return nil
      }
      var text = first.lowercasedASCII()
      var weight = 1000
      for part in parts.dropFirst() {
        let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2, !sides[0].isEmpty else { return nil }
        if String(sides[0]).equalsIgnoringASCIICase("q") {
          guard let thousandths = thousandths(sides[1]) else { return nil }
          weight = thousandths
        } else {
          guard isMediaType else { return nil }
          text += ";" + String(sides[0]).lowercasedASCII() + "=" + sides[1]
        }
      }
      if weight != 1000 { text += ";q=" + shortest(weight) }
      members.append(text)
    }
    return members.sorted().joined(separator: ",")
  }

  /// Thousandths, less than a thousand, as a weight without needless digits.
  private static func shortest(_ thousandths: Int) -> String {
    var digits = String(1000 + thousandths).dropFirst()
    while digits.last == "0" { digits.removeLast() }
    return digits.isEmpty ? "0" : "0." + digits
  }

  /// A weight such as `0.8` in thousandths (RFC 9110, section 12.4.2).
  private static func thousandths(_ text: Substring) -> Int? {
    let bytes = Array(text.utf8)
    guard let first = bytes.first, first == UInt8(ascii: "0") || first == UInt8(ascii: "1"), bytes.count <= 5
    else { return nil }
    var value = Int(first - 0x30) * 1000
    if bytes.count > 1 {
      guard bytes[1] == UInt8(ascii: ".") else { return nil }
      var unit = 100
      for byte in bytes[2...] {
        guard (0x30...0x39).contains(byte) else { return nil }
        value += Int(byte - 0x30) * unit
        unit /= 10
      }
    }
    return value <= 1000 ? value : nil
  }
}
