extension HTTPCachePolicy {
  /// A response made from a stored one.
  struct Reply: Hashable, Sendable {
    /// The status and headers.
    var head: HTTPResponseHead
    /// The bytes of the stored body to send; empty for none.
    var body: Range<Int>
  }

  /// Makes the response to a request from a stored one (RFC 9111, section 4): the whole, or a 304 or 206 or
  /// 416 where the request's conditions or its range ask for it.
  ///
  /// - Parameters:
  ///   - request: The request as the program made it.
  ///   - stored: The stored response that was chosen for it.
  ///   - age: Its age in seconds, where the server has not confirmed it for this request; `nil` where it
  ///     has.
  ///   - now: The present in seconds since 1970.
  func reply(to request: HTTPRequest, from stored: StoredHTTPResponse, age: Double?, now: Double) -> Reply {
    let metadata = stored.metadata
    let isHead = request.method == "HEAD"
    var headers = metadata.headers
    if let age {
      headers["Age"] = String(Int(max(0, min(age, Double(HTTPFieldSyntax.largestDeltaSeconds)))))
      let withheld = Set(CacheControl(metadata.headers).noCacheFields.map { $0.lowercasedASCII() })
      if !withheld.isEmpty {
        headers.fields.removeAll { withheld.contains($0.name.lowercasedASCII()) }
      }
    }
    if metadata.status == 200 || metadata.status == 206,
      isNotModified(request.headers, metadata, now: now)
    {
      return Reply(head: head(request, 304, Self.notModifiedHeaders(headers)), body: 0..<0)
    }
    if !isHead, let part = part(of: stored, request, headers, now: now) { return part }
    return Reply(
      head: head(request, metadata.status, headers), body: isHead ? 0..<0 : 0..<stored.bodyLength)
  }

  private func head(_ request: HTTPRequest, _ status: Int, _ headers: HTTPHeaders) -> HTTPResponseHead {
    HTTPResponseHead(url: request.url, status: status, headers: headers)
  }

  /// Whether the request's conditions say that what it has is what is stored (RFC 9110, section 13.2.2).
  private func isNotModified(_ request: HTTPHeaders, _ metadata: DataCacheMetadata, now: Double) -> Bool {
    let conditions = request.values("If-None-Match")
    if !conditions.isEmpty {
      guard let tags = EntityTag.list(conditions) else { return true }
      guard let tag = metadata.headers["ETag"].flatMap({ EntityTag($0) }) else { return false }
      return tags.contains { $0.matchesWeakly(tag) }
    }
    guard let since = request["If-Modified-Since"].flatMap({ HTTPDate.parse($0, now: now) }) else {
      return false
    }
    let modified =
      metadata.headers["Last-Modified"].flatMap { HTTPDate.parse($0, now: now) }
      ?? metadata.headers["Date"].flatMap { HTTPDate.parse($0, now: now) } ?? metadata.responseTime
    return modified <= since
  }

  /// The fields of a 304 (RFC 9110, section 15.4.5): not those that describe a body which is not sent.
  private static func notModifiedHeaders(_ headers: HTTPHeaders) -> HTTPHeaders {
    HTTPHeaders(
      headers.fields.filter { field in
        let isAboutBody = [
          "content-length", "content-type", "content-encoding", "content-language", "content-range",
          "content-md5",
        ].contains { field.name.equalsIgnoringASCIICase($0) }
        return !isAboutBody
      })
  }

  /// The 206 or 416 that the request's range asks for; `nil` where it has none that counts.
  private func part(
    of stored: StoredHTTPResponse, _ request: HTTPRequest, _ headers: HTTPHeaders, now: Double
  ) -> Reply? {
    guard case .single(let range) = ByteRange.request(in: request.headers),
      rangeConditionHolds(request.headers, stored.metadata, now: now), let held = StoredRange(stored)
    else { return nil }
    var headers = headers
    guard let slice = held.slice(for: range) else {
      guard stored.metadata.status == 200, stored.isComplete else { return nil }
      headers["Content-Range"] = ContentRange(bytes: nil, total: stored.bodyLength).text
      headers["Content-Length"] = "0"
      return Reply(head: head(request, 416, headers), body: 0..<0)
    }
    headers["Content-Range"] = ContentRange(bytes: slice.bytes, total: held.total).text
    headers["Content-Length"] = String(slice.bytes.count)
    return Reply(head: head(request, 206, headers), body: slice.inBody)
  }

  /// Whether If-Range allows a part (RFC 9110, section 13.1.5).
  private func rangeConditionHolds(_ request: HTTPHeaders, _ metadata: DataCacheMetadata, now: Double) -> Bool
  {
    guard let condition = request["If-Range"] else { return true }
    if let wanted = HTTPDate.parse(condition, now: now) {
      guard let text = metadata.headers["Last-Modified"], let modified = HTTPDate.parse(text, now: now),
        let date = metadata.headers["Date"].flatMap({ HTTPDate.parse($0, now: now) })
      else { return false }
      // A date is a strong validator only where it lies behind the response's (RFC 9110, section 8.8.2.2).
      return modified == wanted && date - modified >= 60
    }
    guard let wanted = EntityTag(condition), let tag = metadata.headers["ETag"].flatMap({ EntityTag($0) })
    else {
      return false
    }
    return wanted.matchesStrongly(tag)
  }
}

/// The part of a representation that a stored response holds.
struct StoredRange: Hashable, Sendable {
  /// The bytes of the representation that are there.
  var bytes: Range<Int>
  /// The representation's length, where it is known.
  var total: Int?
  /// Whether the numbers that the server gave are those of the bytes that came, so that more may be joined.
  var isConsistent: Bool

  /// Reads it off a stored response; `nil` where that says nothing usable.
  init?(_ stored: StoredHTTPResponse) {
    let metadata = stored.metadata
    let length = stored.bodyLength
    if metadata.status == 206 {
      guard let range = ContentRange(metadata.headers), let bytes = range.bytes else { return nil }
      let isMessageWhole = metadata.headers["Content-Length"] == String(length)
      self.bytes = bytes.lowerBound..<bytes.lowerBound + min(length, bytes.count)
      total = range.total
      isConsistent = length == bytes.count
      if length < bytes.count, isMessageWhole, range.total == bytes.upperBound {
        // The message is whole and is said to reach the end: the end is where its bytes end.
        total = self.bytes.upperBound
      }
    } else if metadata.status == 200 {
      bytes = 0..<length
      total = stored.isComplete ? length : metadata.headers["Content-Length"].flatMap { Int($0) }
      if let total, total < length { return nil }
      isConsistent = true
    } else {
      return nil
    }
  }

  /// Where the bytes that a range asks for lie, where all of them are there.
  func slice(for range: ByteRange) -> (bytes: Range<Int>, inBody: Range<Int>)? {
    let wanted: Range<Int>
    if let total {
      guard let resolved = range.resolve(length: total) else { return nil }
      wanted = resolved
    } else {
      guard case .from(let first, .some(let last)) = range, last < Int.max else { return nil }
      wanted = first..<last + 1
    }
    guard bytes.lowerBound <= wanted.lowerBound, wanted.upperBound <= bytes.upperBound else { return nil }
    return (wanted, wanted.lowerBound - bytes.lowerBound..<wanted.upperBound - bytes.lowerBound)
  }
}
