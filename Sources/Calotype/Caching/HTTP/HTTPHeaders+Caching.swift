extension HTTPHeaders {
  /// The fields without those that are meant for one connection alone (RFC 9110, section 7.6.1) or for a
  /// proxy: what may be stored (RFC 9111, section 3.1).
  func endToEnd() -> HTTPHeaders {
    let listed = Set(connectionOptions().map { $0.lowercasedASCII() })
    return HTTPHeaders(
      fields.filter { field in
        !Self.isHopByHop(field.name)
          && (listed.isEmpty || !listed.contains(field.name.lowercasedASCII()))
      })
  }

  /// The names that Connection fields list.
  func connectionOptions() -> [String] {
    var names: [String] = []
    for field in fields where field.name.equalsIgnoringASCIICase("connection") {
      names += HTTPFieldSyntax.listMembers(field.value)
    }
    return names
  }

  /// Whether Connection lists a field that caching stands on. No sender may do so (RFC 9110, section 7.6.1),
  /// and without the field the response would be taken for what it is not.
  var connectionListsCachingFields: Bool {
    connectionOptions().contains { name in
      ["cache-control", "vary", "expires", "pragma", "age", "date", "authorization"].contains {
        name.equalsIgnoringASCIICase($0)
      }
    }
  }

  private static func isHopByHop(_ name: String) -> Bool {
    switch name.utf8.count {
    case 2: name.equalsIgnoringASCIICase("te")
    case 7: name.equalsIgnoringASCIICase("upgrade") || name.equalsIgnoringASCIICase("trailer")
    case 10: name.equalsIgnoringASCIICase("connection") || name.equalsIgnoringASCIICase("keep-alive")
    case 16: name.equalsIgnoringASCIICase("proxy-connection")
    case 17: name.equalsIgnoringASCIICase("transfer-encoding")
    case 18: name.equalsIgnoringASCIICase("proxy-authenticate")
    case 19: name.equalsIgnoringASCIICase("proxy-authorization")
    case 25: name.equalsIgnoringASCIICase("proxy-authentication-info")
    default: false
    }
  }

  /// Whether there is a field of a name.
  func contains(_ name: String) -> Bool { fields.contains { $0.name.equalsIgnoringASCIICase(name) } }

  /// The stored fields after a newer response's fields have taken the place of those of the same name (RFC
  /// 9111, section 3.2). Kept as they are: those that describe the bytes that are stored, since these do not
  /// change.
  func updated(with newer: HTTPHeaders) -> HTTPHeaders {
    let incoming = newer.endToEnd().fields.filter { !Self.describesStoredBytes($0.name) }
    let names = Set(incoming.map { $0.name.lowercasedASCII() })
    var result = fields.filter { field in
      // Age belongs to the message that brought it, not to what is stored.
      !field.name.equalsIgnoringASCIICase("age") && !names.contains(field.name.lowercasedASCII())
    }
    result += incoming
    return HTTPHeaders(result)
  }

  private static func describesStoredBytes(_ name: String) -> Bool {
    name.equalsIgnoringASCIICase("content-length") || name.equalsIgnoringASCIICase("content-encoding")
      || name.equalsIgnoringASCIICase("content-range")
  }
}
