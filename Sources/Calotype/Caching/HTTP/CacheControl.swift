/// The directives of a request's or a response's Cache-Control fields (RFC 9111, section 5.2), all lines
/// together, read for a private cache: `s-maxage`, `proxy-revalidate` and what is unknown say nothing here.
///
/// What is doubled, in conflict or malformed is taken the safe way, the one that asks the server once more.
struct CacheControl: Hashable, Sendable {
  /// A number of seconds as it was given.
  enum Seconds: Hashable, Sendable {
    /// The directive is not there.
    case absent
    /// The directive has this value.
    case value(Int)
    /// The directive is there, and its value is missing, no number, or in conflict with another.
    case malformed

    /// The number, where there is one.
    var seconds: Int? { if case .value(let seconds) = self { seconds } else { nil } }
    /// Whether the directive is there, in whatever form.
    var isPresent: Bool { self != .absent }
  }

  /// Directives without a value.
  struct Flags: OptionSet, Hashable, Sendable {
    let rawValue: UInt16
    /// Nothing may be stored.
    static let noStore = Flags(rawValue: 1)
    /// Nothing may be used without asking; for all of the response.
    static let noCache = Flags(rawValue: 2)
    /// Once stale, nothing may be used without asking.
    static let mustRevalidate = Flags(rawValue: 4)
    /// Only who knows the status code's rules may store.
    static let mustUnderstand = Flags(rawValue: 8)
    /// The response may be stored, also where its status alone would not allow it.
    static let isPublic = Flags(rawValue: 16)
    /// The response is for one user; may be stored here, also where its status alone would not allow it.
    static let isPrivate = Flags(rawValue: 32)
    /// The response does not change while it is fresh (RFC 8246).
    static let immutable = Flags(rawValue: 64)
    /// The request is to be answered from the cache or not at all.
    static let onlyIfCached = Flags(rawValue: 128)
    /// The request takes a stale response however old.
    static let maxStaleWithoutLimit = Flags(rawValue: 256)
  }

  /// Directives without a value.
  var flags: Flags = []
  /// How long the response is fresh, or the largest age that the request takes.
  var maxAge = Seconds.absent
  /// How long past its freshness the request takes a response.
  var maxStale = Seconds.absent
  /// For how long yet the request wants the response to be fresh.
  var minFresh = Seconds.absent
  /// How long past its freshness the response may be used while it is asked for (RFC 5861, section 3).
  var staleWhileRevalidate = Seconds.absent
  /// How long past its freshness the response may be used when the server fails (RFC 5861, section 4).
  var staleIfError = Seconds.absent
  /// The fields, in lower case, that may not be used without asking (`no-cache="…"`).
  var noCacheFields: [String] = []

  /// No directives.
  init() {}

  /// Reads all Cache-Control lines of a message.
  init(_ headers: HTTPHeaders) {
    for field in headers.fields where field.name.equalsIgnoringASCIICase("cache-control") { add(field.value) }
  }

  /// Reads one line.
  init(_ value: String) { add(value) }

  /// Takes in one more line's value.
  mutating func add(_ value: String) {
    var value = value
    value.withUTF8 { add($0) }
  }

  private enum Argument {
    case none
    case text(UnsafeBufferPointer<UInt8>)
    case malformed
  }

  private mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
    var at = 0
    // Behind a quote that is never closed there is none that is: each would be looked for to the end.
    var mayQuote = true
    while at < bytes.count {
      let start = at
      while at < bytes.count, !Self.endsName(bytes[at]) { at += 1 }
      let written = UnsafeBufferPointer(rebasing: bytes[start..<at])
      let name = written.trimmingOptionalWhitespace()
      var argument = Argument.none
      if at < bytes.count, bytes[at] == UInt8(ascii: "=") {
        at += 1
        argument = Self.argument(bytes, at: &at, mayQuote: &mayQuote)
        // White space beside the sign is no part of the grammar (RFC 9111, section 5.2).
        if let last = written.last, HTTPFieldSyntax.isOptionalWhitespace(last) { argument = .malformed }
      } else if at < bytes.count, bytes[at] == UInt8(ascii: "\"") {
        at = Self.endOfQuotedString(bytes, from: at, mayQuote: &mayQuote) ?? at + 1
        argument = .malformed
      }
      if !name.isEmpty { apply(name, argument) }
      if at < bytes.count, bytes[at] == UInt8(ascii: ",") { at += 1 }
    }
  }

  private static func endOfQuotedString(
    _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, mayQuote: inout Bool
  ) -> Int? {
    let end = mayQuote ? HTTPFieldSyntax.endOfQuotedString(bytes, from: start) : nil
    mayQuote = end != nil
    return end
  }

  private static func endsName(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ",") || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "\"")
  }

  /// Reads what stands behind the sign, and goes on to the next comma or to where a directive may begin.
  private static func argument(
    _ bytes: UnsafeBufferPointer<UInt8>, at: inout Int, mayQuote: inout Bool
  ) -> Argument {
    if at < bytes.count, bytes[at] == UInt8(ascii: "\"") {
      guard let end = endOfQuotedString(bytes, from: at, mayQuote: &mayQuote) else {
        // Never closed: what follows is read as directives, so that no `no-store` hides in it.
        at += 1
        return .malformed
      }
      let inner = UnsafeBufferPointer(rebasing: bytes[at + 1..<end - 1])
      at = end
      while at < bytes.count, HTTPFieldSyntax.isOptionalWhitespace(bytes[at]) { at += 1 }
      return at == bytes.count || bytes[at] == UInt8(ascii: ",") ? .text(inner) : .malformed
    }
    let start = at
    while at < bytes.count, bytes[at] != UInt8(ascii: ","), bytes[at] != UInt8(ascii: "\"") { at += 1 }
    var end = at
    while end > start, HTTPFieldSyntax.isOptionalWhitespace(bytes[end - 1]) { end -= 1 }
    if at < bytes.count, bytes[at] == UInt8(ascii: "\"") { return .malformed }
    return .text(UnsafeBufferPointer(rebasing: bytes[start..<end]))
  }

  private mutating func apply(_ name: UnsafeBufferPointer<UInt8>, _ argument: Argument) {
    switch name.count {
    case 6:
      if name.equalsIgnoringASCIICase("public") { flags.insert(.isPublic) }
    case 7:
      if name.equalsIgnoringASCIICase("max-age") {
        maxAge = Self.agreeing(maxAge, Self.seconds(argument))
      } else if name.equalsIgnoringASCIICase("private") {
        flags.insert(.isPrivate)
      }
    case 8:
      if name.equalsIgnoringASCIICase("no-store") {
        flags.insert(.noStore)
      } else if name.equalsIgnoringASCIICase("no-cache") {
        applyNoCache(argument)
      }
    case 9:
      if name.equalsIgnoringASCIICase("immutable") {
        flags.insert(.immutable)
      } else if name.equalsIgnoringASCIICase("min-fresh") {
        minFresh = Self.largest(minFresh, Self.seconds(argument))
      } else if name.equalsIgnoringASCIICase("max-stale") {
        applyMaxStale(argument)
      }
    default: applyLongName(name, argument)
    }
  }

  private mutating func applyLongName(_ name: UnsafeBufferPointer<UInt8>, _ argument: Argument) {
    if name.equalsIgnoringASCIICase("must-revalidate") {
      flags.insert(.mustRevalidate)
    } else if name.equalsIgnoringASCIICase("must-understand") {
      flags.insert(.mustUnderstand)
    } else if name.equalsIgnoringASCIICase("only-if-cached") {
      flags.insert(.onlyIfCached)
    } else if name.equalsIgnoringASCIICase("stale-while-revalidate") {
      staleWhileRevalidate = Self.smallest(staleWhileRevalidate, Self.seconds(argument))
    } else if name.equalsIgnoringASCIICase("stale-if-error") {
      staleIfError = Self.smallest(staleIfError, Self.seconds(argument))
    }
  }

  private mutating func applyNoCache(_ argument: Argument) {
    guard case .text(let bytes) = argument else {
      flags.insert(.noCache)
      return
    }
    let names = HTTPFieldSyntax.listMembers(String(decoding: bytes, as: UTF8.self))
    // A list that names nothing, or what is no name, is taken for the whole.
    if names.isEmpty || !names.allSatisfy(HTTPFieldSyntax.isToken) {
      flags.insert(.noCache)
    } else {
      noCacheFields += names.map { $0.lowercasedASCII() }
    }
  }

  private mutating func applyMaxStale(_ argument: Argument) {
    if case .none = argument {
      if !maxStale.isPresent { flags.insert(.maxStaleWithoutLimit) }
    } else {
      flags.remove(.maxStaleWithoutLimit)
      maxStale = Self.smallest(maxStale, Self.seconds(argument))
    }
  }

  private static func seconds(_ argument: Argument) -> Seconds {
    guard case .text(let bytes) = argument, let value = HTTPFieldSyntax.deltaSeconds(bytes) else {
      return .malformed
    }
    return .value(value)
  }

  /// Two values of one directive must be the same, or the response counts as stale (RFC 9111, 4.2.1).
  private static func agreeing(_ first: Seconds, _ second: Seconds) -> Seconds {
    first == .absent || first == second ? second : .malformed
  }

  private static func smallest(_ first: Seconds, _ second: Seconds) -> Seconds {
    switch (first, second) {
    case (.absent, _): second
    case (.value(let left), .value(let right)): .value(min(left, right))
    default: .malformed
    }
  }

  private static func largest(_ first: Seconds, _ second: Seconds) -> Seconds {
    switch (first, second) {
    case (.absent, _): second
    case (.value(let left), .value(let right)): .value(max(left, right))
    default: .malformed
    }
  }
}
