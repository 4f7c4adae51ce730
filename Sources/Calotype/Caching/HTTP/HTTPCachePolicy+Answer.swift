extension HTTPCachePolicy {
  /// What the server's answer to a ``HTTPCacheDecision/Revalidation`` does.
  enum Answer: Hashable, Sendable {
    /// What is stored still holds: it answers the request, with this metadata, which takes the place of the
    /// stored. Others may be updated alongside.
    case holds(index: Int, DataCacheMetadata)
    /// What is stored is used although it is stale, since the server failed.
    case stale(index: Int)
    /// The answer says that nothing changed, but not since what is stored: ask again with the request's own
    /// headers and without conditions.
    case askAgain
    /// The answer is the response: it goes to the program, and to the cache where
    /// ``HTTPCachePolicy/storage(of:for:mode:requestTime:responseTime:body:)`` says so.
    case pass
  }

  /// Says what an answer to a revalidation does (RFC 9111, section 4.3.3).
  ///
  /// - Parameters:
  ///   - head: The answer.
  ///   - revalidation: The question.
  ///   - request: The request as the program made it.
  ///   - mode: How the request uses the caches.
  ///   - stored: What was stored when the question was made, in the same order.
  ///   - requestTime: When the question was sent, in seconds since 1970.
  ///   - responseTime: When the answer's head came, in seconds since 1970.
  func answer(
    _ head: HTTPResponseHead, to revalidation: HTTPCacheDecision.Revalidation, for request: HTTPRequest,
    mode: ImageRequest.CachePolicy = .default, stored: [StoredHTTPResponse], requestTime: Double,
    responseTime: Double
  ) -> Answer {
    guard stored.indices.contains(revalidation.index) else { return .pass }
    let selected = stored[revalidation.index].metadata
    if head.status == 304 {
      if let answer = notModified(head, revalidation, stored, requestTime, responseTime) { return answer }
      return revalidation.hasClientConditions ? .pass : .askAgain
    }
    if HTTPStatus.isServerFailure(head.status),
      mayUseStale(selected, for: request, mode: mode, after: .status(head.status), now: responseTime)
    {
      return .stale(index: revalidation.index)
    }
    return .pass
  }

  /// What a 304 updates (RFC 9111, section 4.3.4); `nil` where it speaks of nothing that is stored.
  private func notModified(
    _ head: HTTPResponseHead, _ revalidation: HTTPCacheDecision.Revalidation, _ stored: [StoredHTTPResponse],
    _ requestTime: Double, _ responseTime: Double
  ) -> Answer? {
    let selected = stored[revalidation.index].metadata
    let tag = head.headers["ETag"].flatMap { EntityTag($0) }
    let storedTag = selected.headers["ETag"].flatMap { EntityTag($0) }
    if let tag {
      if tag.isStrong {
        if let storedTag, tag.matchesStrongly(storedTag) {
          return .holds(
            index: revalidation.index, updated(selected, with: head.headers, requestTime, responseTime))
        }
        // A strong tag selects only what has the same strong tag. Where it is the tag that was asked about
        // but for its strength (a server that weakens tags of compressed responses alone), what is stored
        // has been confirmed, and is used as it is.
        if revalidation.sendsStoredValidator, let storedTag, tag.matchesWeakly(storedTag) {
          return .holds(index: revalidation.index, selected)
        }
        return nil
      }
      guard let storedTag, tag.matchesWeakly(storedTag) else { return nil }
    } else if let modified = head.headers["Last-Modified"] {
      guard modified == selected.headers["Last-Modified"] else { return nil }
    } else if revalidation.hasClientConditions || !revalidation.sendsStoredValidator {
      // Without a validator it may be about what the program has.
      return nil
    }
    return .holds(index: revalidation.index, updated(selected, with: head.headers, requestTime, responseTime))
  }

  /// A stored response's metadata after a response that says that it still holds (RFC 9111, section 3.2).
  func updated(
    _ metadata: DataCacheMetadata, with headers: HTTPHeaders, _ requestTime: Double, _ responseTime: Double
  ) -> DataCacheMetadata {
    var result = metadata
    result.headers = metadata.headers.updated(with: headers)
    if let age = headers["Age"] { result.headers["Age"] = age }
    if headers["Date"].flatMap({ HTTPDate.parse($0, now: responseTime) }) == nil {
      result.headers["Date"] = HTTPDate.format(responseTime)
    }
    result.requestTime = requestTime
    result.responseTime = responseTime
    return result
  }

  // MARK: Failures

  /// How asking the server failed.
  enum Failure: Hashable, Sendable {
    /// No response came.
    case disconnected
    /// A response with this status came.
    case status(Int)
  }

  /// Whether a stored response may be used because asking the server failed (RFC 9111, section 4.2.4; RFC
  /// 5861, section 4).
  func mayUseStale(
    _ metadata: DataCacheMetadata, for request: HTTPRequest, mode: ImageRequest.CachePolicy = .default,
    after failure: Failure, now: Double
  ) -> Bool {
    if case .status(let status) = failure, !HTTPStatus.isServerFailure(status) { return false }
    let facts = RequestFacts(request, mode: mode)
    let fields = HTTPCachingFields(metadata.headers)
    let response = fields.cacheControl
    guard facts.mayReadCache, facts.mode != .noCache, !facts.hasNoCache, metadata.kind == .original,
      metadata.status < 400, response.flags.isDisjoint(with: [.noCache, .mustRevalidate])
    else { return false }
    if failure == .disconnected ? servesStaleWhenDisconnected : servesStaleOnServerFailure { return true }
    let staleness = freshness(of: metadata, fields: fields, now: now).staleness
    return [response.staleIfError, facts.cacheControl.staleIfError].contains { limit in
      limit.seconds.map { staleness <= Double($0) } ?? false
    }
  }

  // MARK: HEAD

  /// What a response to HEAD does to a stored response (RFC 9111, section 4.3.5).
  enum HeadEffect: Hashable, Sendable {
    /// Nothing.
    case none
    /// This metadata takes the place of the stored.
    case update(DataCacheMetadata)
    /// What is stored no longer holds: this metadata, by which it is stale, takes the place of the stored.
    case makeStale(DataCacheMetadata)
  }

  /// Says what a response to HEAD does to a stored response that the same request by GET would select.
  func headEffect(
    _ head: HTTPResponseHead, on stored: StoredHTTPResponse, for request: HTTPRequest, requestTime: Double,
    responseTime: Double
  ) -> HeadEffect {
    let metadata = stored.metadata
    guard request.method == "HEAD", head.status == 200, metadata.status == 200,
      HTTPVary(metadata.headers).matches(request.headers, stored: metadata.requestHeaders)
    else { return .none }
    let agrees = ["ETag", "Last-Modified"].allSatisfy { name in
      head.headers[name] == nil || head.headers[name] == metadata.headers[name]
    }
    let length = stored.isComplete ? metadata.headers["Content-Length"] ?? String(stored.bodyLength) : nil
    guard agrees,
      head.headers["Content-Length"] == nil || length == nil || head.headers["Content-Length"] == length
    else { return .makeStale(Self.madeStale(metadata)) }
    if CacheControl(head.headers).flags.contains(.noStore) { return .none }
    return .update(updated(metadata, with: head.headers, requestTime, responseTime))
  }

  /// Metadata by which a response is stale, whatever its headers say, until the server has confirmed it.
  static func madeStale(_ metadata: DataCacheMetadata) -> DataCacheMetadata {
    var result = metadata
    // A response that came at no known time has no known age, and so is never fresh.
    result.requestTime = 0
    result.responseTime = 0
    return result
  }
}
