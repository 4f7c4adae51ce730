/// HTTP's rules of caching (RFC 9111) for a private cache, with no cache in it: what may be stored, whether
/// a stored response answers a request, what to ask the server, and what its answer does to what is stored.
///
/// All functions are pure: the same values give the same result, and time comes from outside.
struct HTTPCachePolicy: Hashable, Sendable {
  /// The part of the time since Last-Modified that a response without a lifetime is fresh for; 0.1 is what
  /// RFC 9111, section 4.2.2, names as typical. 0 turns it off.
  var heuristicFraction = 0.1
  /// The longest lifetime, in seconds, that is guessed so: a week.
  var maximumHeuristicLifetime: Double = 7 * 86_400
  /// The least lifetime, in seconds, that is guessed for a 200 whose server says nothing of one: 0. HTTP
  /// leaves the guess to the cache.
  var minimumHeuristicLifetime: Double = 0
  /// Whether a stale response is used when the server cannot be reached, unless it forbids it (RFC 9111,
  /// section 4.2.4).
  var servesStaleWhenDisconnected = true
  /// Whether a stale response is also used in place of a 500, 502, 503 or 504 where neither side has said
  /// so with `stale-if-error`.
  var servesStaleOnServerFailure = false
  /// What counts as fresh.
  var freshness = FreshnessPolicy.http

  /// How old a stored response is and how long it is fresh.
  func freshness(of metadata: DataCacheMetadata, now: Double) -> HTTPFreshness {
    freshness(of: metadata, fields: HTTPCachingFields(metadata.headers), now: now)
  }

  /// Until when a stored response may be used without asking, in seconds since 1970; `now` where it is stale.
  func freshUntil(_ metadata: DataCacheMetadata, now: Double) -> Double {
    if freshness == .immutable { return .infinity }
    let fields = HTTPCachingFields(metadata.headers)
    if !fields.cacheControl.flags.isDisjoint(with: [.noCache, .noStore]) { return now }
    let freshness = freshness(of: metadata, fields: fields, now: now)
    return freshness.isFresh ? now + freshness.lifetime - freshness.age : now
  }

  /// How many seconds ago a response was sent or confirmed; `nil` where that is not known.
  func age(of metadata: DataCacheMetadata, now: Double) -> Double? {
    let age = freshness(of: metadata, now: now).age
    return age.isFinite ? age : nil
  }

  func freshness(of metadata: DataCacheMetadata, fields: HTTPCachingFields, now: Double) -> HTTPFreshness {
    let lifetime = fields.lifetime(
      status: metadata.status, responseTime: metadata.responseTime, now: now,
      heuristicFraction: heuristicFraction, maximumHeuristicLifetime: maximumHeuristicLifetime)
    let age = fields.currentAge(
      requestTime: metadata.requestTime, responseTime: metadata.responseTime, now: now)
    if lifetime.source != .explicit, metadata.status == 200, lifetime.seconds < minimumHeuristicLifetime {
      return HTTPFreshness(lifetime: minimumHeuristicLifetime, source: .heuristic, age: age)
    }
    return HTTPFreshness(lifetime: lifetime.seconds, source: lifetime.source, age: age)
  }
}

/// What counts as fresh in the caches.
public enum FreshnessPolicy: String, Hashable, Sendable, CaseIterable {
  /// What HTTP's own rules say (RFC 9111): the default.
  case http
  /// An address never changes what it shows: what is stored is used for ever.
  case immutable
  /// What is stored is shown at once; where it is stale, the server is asked behind that, and what changed
  /// is shown after it.
  case staleWhileRevalidate
}

/// A response that a cache holds, as the policy sees it.
struct StoredHTTPResponse: Hashable, Sendable {
  /// What is known of it. ``DataCacheMetadata/Kind/original`` is whole, ``DataCacheMetadata/Kind/partial`` a
  /// part: of a 206 the part that it names, of another status the beginning.
  var metadata: DataCacheMetadata
  /// The number of bytes that are there.
  var bodyLength: Int

  /// Creates a stored response.
  init(metadata: DataCacheMetadata, bodyLength: Int) {
    self.metadata = metadata
    self.bodyLength = bodyLength
  }

  /// Whether all of the response is there.
  var isComplete: Bool { metadata.kind != .partial }
}
