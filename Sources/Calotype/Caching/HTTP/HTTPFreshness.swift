/// How long a stored response stays fresh and how old it is (RFC 9111, section 4.2), from its headers and
/// the times at which it was asked for and came.
struct HTTPFreshness: Hashable, Sendable {
  /// Where a lifetime comes from.
  enum Source: Hashable, Sendable {
    /// `max-age` or `Expires`.
    case explicit
    /// A part of the time since Last-Modified.
    case heuristic
    /// Nothing says: the response is stale from the beginning.
    case none
  }

  /// How long the response is fresh, in seconds.
  var lifetime: Double
  /// Where ``lifetime`` comes from.
  var source: Source
  /// How old the response is now, in seconds; infinity where it cannot be told.
  var age: Double

  /// Whether the response is fresh.
  var isFresh: Bool { lifetime > age }
  /// For how long the response has been stale, in seconds; negative while it is fresh.
  var staleness: Double { age - lifetime }
}

/// A response's header fields that caching looks at, gathered in one pass.
struct HTTPCachingFields: Sendable {
  /// The Cache-Control directives.
  var cacheControl = CacheControl()
  /// Whether there is a Cache-Control field.
  var hasCacheControl = false
  /// The first Age field.
  var age: String?
  /// The first Date field.
  var date: String?
  /// The first Expires field.
  var expires: String?
  /// Whether there are Expires fields that do not agree.
  var hasConflictingExpires = false
  /// The first Last-Modified field.
  var lastModified: String?
  /// The first ETag field.
  var etag: String?
  /// Whether there is a Vary field.
  var hasVary = false
  /// Whether there is `Pragma: no-cache`.
  var hasPragmaNoCache = false

  /// Gathers the fields.
  init(_ headers: HTTPHeaders) {
    for field in headers.fields {
      // Almost all fields are others, and their names' lengths tell most of them apart at once.
      switch field.name.utf8.count {
      case 3: if age == nil, field.name.equalsIgnoringASCIICase("age") { age = field.value }
      case 4:
        if field.name.equalsIgnoringASCIICase("date") {
          if date == nil { date = field.value }
        } else if field.name.equalsIgnoringASCIICase("etag") {
          if etag == nil { etag = field.value }
        } else if field.name.equalsIgnoringASCIICase("vary") {
          hasVary = true
        }
      case 6:
        if field.name.equalsIgnoringASCIICase("pragma") {
          if HTTPFieldSyntax.listMembers(field.value).contains(where: {
            $0.equalsIgnoringASCIICase("no-cache")
          }) {
            hasPragmaNoCache = true
          }
        }
      case 7:
        if field.name.equalsIgnoringASCIICase("expires") {
          if let expires, expires != field.value { hasConflictingExpires = true }
          if expires == nil { expires = field.value }
        }
      case 13:
        if field.name.equalsIgnoringASCIICase("cache-control") {
          hasCacheControl = true
          cacheControl.add(field.value)
        } else if lastModified == nil, field.name.equalsIgnoringASCIICase("last-modified") {
          lastModified = field.value
        }
      default: break
      }
    }
  }

  /// The Age field in seconds: the first member of a list, and 0 where it is no number (RFC 9111, section
  /// 5.1).
  var ageSeconds: Int {
    guard let age else { return 0 }
    if let seconds = HTTPFieldSyntax.deltaSeconds(age) { return seconds }
    return HTTPFieldSyntax.listMembers(age).first.flatMap(HTTPFieldSyntax.deltaSeconds) ?? 0
  }

  /// How long the response is fresh, and where that comes from (RFC 9111, section 4.2.1).
  func lifetime(
    status: Int, responseTime: Double, now: Double, heuristicFraction: Double,
    maximumHeuristicLifetime: Double
  ) -> (seconds: Double, source: HTTPFreshness.Source) {
    switch cacheControl.maxAge {
    case .value(let seconds): return (Double(seconds), .explicit)
    case .malformed: return (0, .explicit)
    case .absent: break
    }
    if let expires {
      guard !hasConflictingExpires, let end = HTTPDate.parse(expires, now: now) else { return (0, .explicit) }
      let date = date.flatMap { HTTPDate.parse($0, now: now) } ?? responseTime
      return (min(max(0, end - date), Double(HTTPFieldSyntax.largestDeltaSeconds)), .explicit)
    }
    guard
      HTTPStatus.isHeuristicallyCacheable(status) || cacheControl.flags.contains(.isPublic),
      hasCacheControl || !hasPragmaNoCache,
      let lastModified, let modified = HTTPDate.parse(lastModified, now: now)
    else { return (0, .none) }
    let date = date.flatMap { HTTPDate.parse($0, now: now) } ?? responseTime
    return (max(0, min((date - modified) * heuristicFraction, maximumHeuristicLifetime)), .heuristic)
  }

  /// How old the response is (RFC 9111, section 4.2.3); infinity where the clock says that it has not come
  /// yet, or where it is not known when it came.
  func currentAge(requestTime: Double, responseTime: Double, now: Double) -> Double {
    guard responseTime > 0, now >= responseTime else { return .infinity }
    // Date counts whole seconds: the part of a second that the clock has beyond it is no age.
    let date = date.flatMap { HTTPDate.parse($0, now: now) } ?? responseTime
    let apparentAge = max(0, responseTime.rounded(.down) - date)
    let responseDelay = requestTime > 0 ? max(0, responseTime - requestTime) : 0
    let correctedAge = Double(ageSeconds) + responseDelay
    return max(apparentAge, correctedAge) + (now - responseTime)
  }
}

/// What caching knows of status codes.
enum HTTPStatus {
  /// Whether a response may be stored and reused with no word from the server (RFC 9110, section 15.1).
  static func isHeuristicallyCacheable(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
    default: false
    }
  }

  /// Whether the rules of the status are known here (`must-understand`; RFC 9111, section 5.2.2.3).
  static func isUnderstood(_ status: Int) -> Bool {
    switch status {
    case 200...206, 300...305, 307, 308, 400...417, 421, 422, 426, 428, 429, 431, 451, 500...505, 511: true
    default: false
    }
  }

  /// The failures in whose place a stale response may be used (RFC 5861, section 4).
  static func isServerFailure(_ status: Int) -> Bool { [500, 502, 503, 504].contains(status) }
}
