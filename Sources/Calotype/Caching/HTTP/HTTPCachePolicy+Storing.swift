import Foundation

extension HTTPCachePolicy {
  /// Whether a response may be stored, and as what.
  enum Storage: Hashable, Sendable {
    /// It may, with this metadata.
    case store(DataCacheMetadata)
    /// It may not.
    case refuse(Refusal)

    /// The metadata to store, where it may.
    var metadata: DataCacheMetadata? { if case .store(let metadata) = self { metadata } else { nil } }
  }

  /// Why a response is not stored.
  enum Refusal: String, Hashable, Sendable {
    /// Responses to this method are not stored.
    case method
    /// The status is no final one, or has rules that are not known here.
    case status
    /// The request forbids it.
    case requestForbids
    /// The response forbids it.
    case responseForbids
    /// Nothing says that it may be stored: neither the status nor a header.
    case noPermission
    /// It varies on something that no request shows, so that it would never be used.
    case variesOnAnything
    /// It is an error that is stale from the beginning: it would never be used.
    case staleError
    /// It is a part that cannot be told, or could never be completed.
    case unusablePart
    /// Its Connection field lists a field that caching stands on.
    case connectionListsCachingFields
  }

  /// The body that came with a response.
  struct ReceivedBody: Hashable, Sendable {
    /// The bytes that there are to store.
    var length: Int
    /// Whether the response came to its end.
    var isComplete = true
    /// Whether a content coding was undone, so that the bytes are not those that were sent.
    var wasDecoded = false
  }

  /// Says whether a response may be stored (RFC 9111, section 3), and with what.
  ///
  /// - Parameters:
  ///   - head: The response.
  ///   - request: The request as the program made it, before this policy added to it.
  ///   - mode: How the request uses the caches.
  ///   - requestTime: When it was sent, in seconds since 1970.
  ///   - responseTime: When the response's head came, in seconds since 1970.
  ///   - body: What came of the body.
  func storage(
    of head: HTTPResponseHead, for request: HTTPRequest, mode: ImageRequest.CachePolicy = .default,
    requestTime: Double, responseTime: Double, body: ReceivedBody
  ) -> Storage {
    let fields = HTTPCachingFields(head.headers)
    if let refusal = refusal(of: head, fields: fields, for: request, mode: mode, responseTime: responseTime) {
      return .refuse(refusal)
    }
    guard let kind = kind(of: head, body: body, method: request.method, responseTime: responseTime) else {
      return .refuse(.unusablePart)
    }
    return .store(
      DataCacheMetadata(
        kind: kind, url: ImageRequest.normalizedAddress(request.url.absoluteString), status: head.status,
        headers: storedHeaders(of: head, body: body, responseTime: responseTime),
        requestHeaders: HTTPVary(head.headers).selectingHeaders(of: request.headers),
        requestTime: requestTime, responseTime: responseTime))
  }

  /// Why a response may not be stored, by its head alone; `nil` where it may.
  func refusal(
    of head: HTTPResponseHead, for request: HTTPRequest, mode: ImageRequest.CachePolicy = .default,
    responseTime: Double
  ) -> Refusal? {
    refusal(
      of: head, fields: HTTPCachingFields(head.headers), for: request, mode: mode, responseTime: responseTime)
  }

  private func refusal(
    of head: HTTPResponseHead, fields: HTTPCachingFields, for request: HTTPRequest,
    mode: ImageRequest.CachePolicy, responseTime: Double
  ) -> Refusal? {
    let flags = fields.cacheControl.flags
    let lifetime = fields.lifetime(
      status: head.status, responseTime: responseTime, now: responseTime,
      heuristicFraction: heuristicFraction, maximumHeuristicLifetime: maximumHeuristicLifetime)
    switch request.method {
    case "GET" where request.body?.isEmpty ?? true: break
    case "POST" where lifetime.source == .explicit && lifetime.seconds > 0 && isItsOwnContent(head, request):
      break
    default: return .method
    }
    guard (200...999).contains(head.status), head.status != 304, head.status != 206 || request.method == "GET"
    else { return .status }
    if mode == .noStore || CacheControl(request.headers).flags.contains(.noStore) { return .requestForbids }
    if flags.contains(.mustUnderstand) {
      // Who knows the status' rules leaves `no-store` out of account (RFC 9111, section 5.2.2.3).
      guard HTTPStatus.isUnderstood(head.status) else { return .status }
    } else if flags.contains(.noStore) {
      return .responseForbids
    }
    if head.headers.connectionListsCachingFields { return .connectionListsCachingFields }
    guard
      fields.cacheControl.maxAge.isPresent || fields.expires != nil
        || !flags.isDisjoint(with: [.isPublic, .isPrivate])
        || HTTPStatus.isHeuristicallyCacheable(head.status)
    else { return .noPermission }
    if fields.hasVary, HTTPVary(head.headers) == .anything { return .variesOnAnything }
    // A stale error is never preferred to asking, and has nothing to be revalidated.
    if head.status >= 400, lifetime.seconds <= 0 { return .staleError }
    return nil
  }

  /// Whether a response to POST says that it is what GET of the same address would give (RFC 9110, section
  /// 9.3.3).
  private func isItsOwnContent(_ head: HTTPResponseHead, _ request: HTTPRequest) -> Bool {
    guard head.status == 200, let location = head.headers["Content-Location"],
      let url = location.isEmpty ? request.url : URL(string: location, relativeTo: request.url)
    else { return false }
    return ImageRequest.normalizedAddress(url.absoluteString)
      == ImageRequest.normalizedAddress(request.url.absoluteString)
  }

  private func kind(
    of head: HTTPResponseHead, body: ReceivedBody, method: String, responseTime: Double
  ) -> DataCacheMetadata.Kind? {
    if head.status == 206 {
      // Several parts in one body, and parts whose place is not told, cannot be used again.
      guard !body.wasDecoded, body.length > 0, ContentRange(head.headers)?.bytes != nil else { return nil }
      return .partial
    }
    if body.isComplete { return .original }
    guard head.status == 200, method == "GET", body.length > 0 else { return nil }
    return ResumePolicy.isResumable(head.headers, bodyWasDecoded: body.wasDecoded) ? .partial : nil
  }

  private func storedHeaders(
    of head: HTTPResponseHead, body: ReceivedBody, responseTime: Double
  ) -> HTTPHeaders {
    var stored = head.headers.endToEnd()
    if head.status == 206, body.isComplete, !stored.contains("Content-Length") {
      // Tells a part that is all there from one that was cut short.
      stored["Content-Length"] = String(body.length)
    }
    if stored["Date"].flatMap({ HTTPDate.parse($0, now: responseTime) }) == nil {
      // RFC 9110, section 6.6.1: who stores a message without a date gives it the one at which it came.
      stored["Date"] = HTTPDate.format(responseTime)
    }
    if body.wasDecoded {
      // These describe bytes that are not there any more.
      stored["Content-Encoding"] = nil
      stored["Content-Length"] = body.isComplete ? String(body.length) : nil
      stored["Content-MD5"] = nil
    }
    return stored
  }
}
