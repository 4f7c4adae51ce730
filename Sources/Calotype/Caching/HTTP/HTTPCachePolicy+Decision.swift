/// What to do about a request, given what is stored for its address.
enum HTTPCacheDecision: Hashable, Sendable {
  /// A stored response answers it; nobody need be asked.
  case fresh(Use)
  /// A stored response that is stale answers it, for a reason that allows that.
  case stale(Use, StaleReason)
  /// The server is to be asked first, whether a stored response still holds.
  case revalidate(Revalidation)
  /// The beginning of the response is there: the server is to be asked for the rest.
  case resume(index: Int, ResumePolicy.Base, headers: HTTPHeaders)
  /// Nothing stored can answer it: it is to be sent with these headers.
  case miss(headers: HTTPHeaders)
  /// It must not be sent, and nothing stored answers it: a 504 (RFC 9111, section 5.2.1.7).
  case unsatisfiable

  /// A stored response that is used.
  struct Use: Hashable, Sendable {
    /// Which of the stored responses.
    var index: Int
    /// Its age in seconds; infinity where it is not known.
    var age: Double
  }

  /// Why a stale response may be used.
  enum StaleReason: Hashable, Sendable {
    /// The request takes it (`max-stale`).
    case maxStale
    /// It may be used while the server is asked behind it (`stale-while-revalidate`).
    case whileRevalidating(Revalidation)
    /// The request's cache mode takes what is stored however old it is.
    case forced
    /// The address never changes what it shows (``FreshnessPolicy/immutable``).
    case immutable
  }

  /// A question to the server about a stored response.
  struct Revalidation: Hashable, Sendable {
    /// Which of the stored responses.
    var index: Int
    /// All headers to send.
    var headers: HTTPHeaders
    /// Whether the stored response's own validators are among them. Without, only a whole new response can
    /// come.
    var sendsStoredValidator: Bool
    /// Whether the request had conditions of its own.
    var hasClientConditions: Bool
  }
}

extension HTTPCachePolicy {
  /// Says what to do about a request (RFC 9111, section 4, and the Fetch standard's cache modes).
  ///
  /// - Parameters:
  ///   - request: The request as the program made it. Of its headers, conditions and ranges are heeded.
  ///   - stored: What is stored for its address, in any order.
  ///   - mode: How the request uses the caches.
  ///   - now: The present in seconds since 1970.
  func decision(
    for request: HTTPRequest, stored: [StoredHTTPResponse], mode: ImageRequest.CachePolicy = .default,
    now: Double
  ) -> HTTPCacheDecision {
    let facts = RequestFacts(request, mode: mode)
    guard facts.mayReadCache else { return without(facts, request) }
    let whole = bestCandidate(stored, facts, request, now, isPart: false)
    if let whole {
      let decision = decision(on: whole, stored[whole.index].metadata, facts, request, now)
      guard case .revalidate = decision, stored.count > 1 else { return decision }
      // A newer version's download was broken off: it is gone on with, rather than asking about the older.
      guard let part = bestCandidate(stored, facts, request, now, isPart: true),
        part.date(now: now) > whole.date(now: now),
        let resume = resume(part, stored[part.index], facts, request)
      else { return decision }
      return resume
    }
    guard let part = bestCandidate(stored, facts, request, now, isPart: true) else {
      return without(facts, request)
    }
    return resume(part, stored[part.index], facts, request) ?? without(facts, request)
  }

  private func resume(
    _ part: Candidate, _ stored: StoredHTTPResponse, _ facts: RequestFacts, _ request: HTTPRequest
  ) -> HTTPCacheDecision? {
    guard facts.mayAsk, facts.mode == .default || facts.mode == .forceCache, !facts.hasClientConditions,
      let base = ResumePolicy.Base(stored)
    else { return nil }
    return .resume(index: part.index, base, headers: base.headers(addingTo: request.headers))
  }

  // MARK: The request

  /// What a request says about caching.
  struct RequestFacts {
    var mode: ImageRequest.CachePolicy
    var cacheControl = CacheControl()
    var isHead: Bool
    var mayReadCache: Bool
    var hasNoCache = false
    var hasClientConditions = false
    var range = ByteRange.Request.none

    /// Whether the server may be asked.
    var mayAsk: Bool { mode != .onlyIfCached && !cacheControl.flags.contains(.onlyIfCached) }

    init(_ request: HTTPRequest, mode: ImageRequest.CachePolicy) {
      self.mode = mode
      isHead = request.method == "HEAD"
      // What a body asks for is not in the key.
      mayReadCache = (isHead || request.method == "GET") && request.body?.isEmpty ?? true
      var hasCacheControl = false
      var hasPragmaNoCache = false
      for field in request.headers.fields {
        switch field.name.utf8.count {
        case 5 where field.name.equalsIgnoringASCIICase("range"):
          range = isHead ? .none : ByteRange.request(in: request.headers)
        case 6 where field.name.equalsIgnoringASCIICase("pragma"):
          hasPragmaNoCache =
            hasPragmaNoCache
            || HTTPFieldSyntax.listMembers(field.value).contains { $0.equalsIgnoringASCIICase("no-cache") }
        case 8 where field.name.equalsIgnoringASCIICase("if-match"),
          19 where field.name.equalsIgnoringASCIICase("if-unmodified-since"):
          // These are for the origin server alone (RFC 9111, section 4.3.2).
          mayReadCache = false
        case 13 where field.name.equalsIgnoringASCIICase("cache-control"):
          hasCacheControl = true
          cacheControl.add(field.value)
        case 13 where field.name.equalsIgnoringASCIICase("if-none-match"),
          17 where field.name.equalsIgnoringASCIICase("if-modified-since"):
          hasClientConditions = true
        default: break
        }
      }
      hasNoCache =
        cacheControl.flags.contains(.noCache) || !cacheControl.noCacheFields.isEmpty
        || (hasPragmaNoCache && !hasCacheControl)
      if mode == .noStore || mode == .reload || range == .multiple || cacheControl.flags.contains(.noStore) {
        mayReadCache = false
      }
    }

    /// The headers to send: the request's, with what the Fetch standard adds for its cache mode so that
    /// caches on the way do not answer either.
    func headersToSend(_ headers: HTTPHeaders) -> HTTPHeaders {
      var result = headers
      switch mode {
      case .noCache:
        if !result.contains("Cache-Control") { result.append(name: "Cache-Control", value: "max-age=0") }
      case .reload, .noStore:
        if !result.contains("Pragma") { result.append(name: "Pragma", value: "no-cache") }
        if !result.contains("Cache-Control") { result.append(name: "Cache-Control", value: "no-cache") }
      case .default, .forceCache, .onlyIfCached: break
      }
      return result
    }
  }

  private func without(_ facts: RequestFacts, _ request: HTTPRequest) -> HTTPCacheDecision {
    facts.mayAsk ? .miss(headers: facts.headersToSend(request.headers)) : .unsatisfiable
  }

  // MARK: What is stored

  /// A stored response that fits a request.
  private struct Candidate {
    var index: Int
    /// Whether it is a beginning that has to be completed first.
    var isPart: Bool
    var fields: HTTPCachingFields
    var responseTime: Double

    func date(now: Double) -> Double {
      fields.date.flatMap { HTTPDate.parse($0, now: now) } ?? responseTime
    }
  }

  /// Of several that fit the most recent (RFC 9111, section 4); of those that can be used as they are, or of
  /// beginnings.
  private func bestCandidate(
    _ stored: [StoredHTTPResponse], _ facts: RequestFacts, _ request: HTTPRequest, _ now: Double,
    isPart: Bool
  ) -> Candidate? {
    if stored.count == 1 {
      return candidate(stored, 0, facts, request).flatMap { $0.isPart == isPart ? $0 : nil }
    }
    var best: (candidate: Candidate, rank: (Double, Double))?
    for index in stored.indices {
      guard let candidate = candidate(stored, index, facts, request), candidate.isPart == isPart else {
        continue
      }
      let rank = (candidate.date(now: now), candidate.responseTime)
      if let best, best.rank >= rank { continue }
      best = (candidate, rank)
    }
    return best?.candidate
  }

  private func candidate(
    _ stored: [StoredHTTPResponse], _ index: Int, _ facts: RequestFacts, _ request: HTTPRequest
  ) -> Candidate? {
    let response = stored[index]
    guard response.metadata.kind == .original || response.metadata.kind == .partial else { return nil }
    let fields = HTTPCachingFields(response.metadata.headers)
    if fields.hasVary,
      !HTTPVary(response.metadata.headers).matches(request.headers, stored: response.metadata.requestHeaders)
    {
      return nil
    }
    var isPart = false
    if !response.isComplete {
      switch facts.range {
      case .single(let range):
        // A condition on the range cannot be looked at before what it asks for is known to be there.
        guard StoredRange(response)?.slice(for: range) != nil else { return nil }
      case .none:
        guard !facts.isHead else { return nil }
        isPart = true
      case .multiple: return nil
      }
    }
    return Candidate(
      index: index, isPart: isPart, fields: fields, responseTime: response.metadata.responseTime)
  }

  // MARK: Fresh or not

  private func decision(
    on candidate: Candidate, _ metadata: DataCacheMetadata, _ facts: RequestFacts, _ request: HTTPRequest,
    _ now: Double
  ) -> HTTPCacheDecision {
    let freshness = freshness(of: metadata, fields: candidate.fields, now: now)
    let use = HTTPCacheDecision.Use(index: candidate.index, age: freshness.age)
    let response = candidate.fields.cacheControl
    if facts.mode == .forceCache || facts.mode == .onlyIfCached {
      return freshness.isFresh ? .fresh(use) : .stale(use, .forced)
    }
    let isImmutable = response.flags.contains(.immutable)
    // A reload asks about everything but what is said not to change while it is fresh (RFC 8246, section 2).
    let requestAsks = facts.hasNoCache || (facts.mode == .noCache && !(isImmutable && freshness.isFresh))
    if self.freshness == .immutable, !requestAsks, (200..<300).contains(metadata.status) {
      return freshness.isFresh ? .fresh(use) : .stale(use, .immutable)
    }
    if !requestAsks, !response.flags.contains(.noCache),
      let answer = unasked(use, freshness, response, facts)
    {
      return answer
    }
    guard facts.mayAsk else { return .unsatisfiable }
    let revalidation = revalidation(of: candidate, metadata, facts, request, now)
    if !requestAsks, mayBeUsedWhileAsking(freshness, response, facts.cacheControl) {
      return .stale(use, .whileRevalidating(revalidation))
    }
    return .revalidate(revalidation)
  }

  /// The answer where both sides' limits allow it without asking (RFC 9111, sections 4.2.4 and 5.2.1).
  private func unasked(
    _ use: HTTPCacheDecision.Use, _ freshness: HTTPFreshness, _ response: CacheControl, _ facts: RequestFacts
  ) -> HTTPCacheDecision? {
    let request = facts.cacheControl
    switch request.minFresh {
    case .absent: break
    case .value(let seconds): if freshness.lifetime - freshness.age < Double(seconds) { return nil }
    case .malformed: return nil
    }
    // How far the response is past what either side allows.
    var excess = freshness.isFresh ? 0 : max(freshness.staleness, .leastNonzeroMagnitude)
    switch request.maxAge {
    case .absent: break
    case .value(let seconds): excess = max(excess, freshness.age - Double(seconds))
    case .malformed: return nil
    }
    if excess <= 0 { return .fresh(use) }
    if !freshness.isFresh, response.flags.contains(.mustRevalidate) { return nil }
    if request.flags.contains(.maxStaleWithoutLimit) { return .stale(use, .maxStale) }
    if let limit = request.maxStale.seconds, excess <= Double(limit) { return .stale(use, .maxStale) }
    return nil
  }

  private func mayBeUsedWhileAsking(
    _ freshness: HTTPFreshness, _ response: CacheControl, _ request: CacheControl
  ) -> Bool {
    guard !request.maxAge.isPresent, !request.minFresh.isPresent, !request.maxStale.isPresent else {
      return false
    }
    if self.freshness == .staleWhileRevalidate { return true }
    guard !freshness.isFresh, response.flags.isDisjoint(with: [.noCache, .mustRevalidate]),
      let limit = response.staleWhileRevalidate.seconds
    else { return false }
    return freshness.staleness <= Double(limit)
  }

  // MARK: Asking

  private func revalidation(
    of candidate: Candidate, _ metadata: DataCacheMetadata, _ facts: RequestFacts, _ request: HTTPRequest,
    _ now: Double
  ) -> HTTPCacheDecision.Revalidation {
    var headers = facts.headersToSend(request.headers)
    var sendsValidator = false
    let clientTags = EntityTag.list(request.headers.values("If-None-Match"))
    // A condition holds only for what would be a success (RFC 9110, section 13.2.1); HEAD is asked plainly,
    // since its answer freshens what is stored all the same.
    if (200..<300).contains(metadata.status), !facts.isHead, let clientTags {
      if let tag = candidate.fields.etag.flatMap({ EntityTag($0) }) {
        sendsValidator = true
        let tags = clientTags + (clientTags.contains { $0.text == tag.text } ? [] : [tag])
        headers["If-None-Match"] = tags.map(\.text).joined(separator: ", ")
      }
      if let modified = candidate.fields.lastModified, HTTPDate.parse(modified, now: now) != nil,
        clientTags.isEmpty, facts.range == .none
      {
        sendsValidator = true
        headers["If-Modified-Since"] = modified
      }
    }
    return HTTPCacheDecision.Revalidation(
      index: candidate.index, headers: headers, sendsStoredValidator: sendsValidator,
      hasClientConditions: facts.hasClientConditions)
  }
}
