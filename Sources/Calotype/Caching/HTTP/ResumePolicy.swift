/// The rules for going on with a download that was broken off (RFC 9110, sections 13.1.5, 14 and 15.3.7):
/// never a mixture of two versions.
enum ResumePolicy {
  /// Whether what arrives of a response could be gone on with: it has a strong tag, its bytes are stored as
  /// they travel, and the server does not refuse ranges.
  static func isResumable(_ headers: HTTPHeaders, bodyWasDecoded: Bool = false) -> Bool {
    guard !bodyWasDecoded, let tag = headers["ETag"].flatMap({ EntityTag($0) }), tag.isStrong else {
      return false
    }
    return !headers.values("Accept-Ranges").contains { value in
      HTTPFieldSyntax.listMembers(value).contains { $0.equalsIgnoringASCIICase("none") }
    }
  }

  /// The beginning of a body that is there, and what the rest must agree with.
  struct Base: Hashable, Sendable {
    /// The bytes that are there; more than 0.
    var offset: Int
    /// The whole length, where it is known.
    var total: Int?
    /// The strong tag of the version that they are of.
    var tag: EntityTag
    /// The content coding that they are in, or `nil`.
    var contentEncoding: String?

    /// Reads it off a stored response; `nil` where that cannot be gone on with: its beginning is not there,
    /// it has no strong tag, or nothing is missing.
    init?(_ stored: StoredHTTPResponse) {
      let headers = stored.metadata.headers
      guard let held = StoredRange(stored), held.isConsistent, held.bytes.lowerBound == 0,
        !held.bytes.isEmpty,
        ResumePolicy.isResumable(headers), let tag = headers["ETag"].flatMap({ EntityTag($0) })
      else { return nil }
      // Nothing is asked for past the end (a transfer may be broken off behind its last byte).
      if let total = held.total, held.bytes.upperBound >= total { return nil }
      offset = held.bytes.upperBound
      total = held.total
      self.tag = tag
      contentEncoding = headers["Content-Encoding"]
    }

    /// A request's headers with those that ask for the rest, or for the whole if it has changed.
    func headers(addingTo headers: HTTPHeaders) -> HTTPHeaders {
      var result = headers
      result["Range"] = "bytes=\(offset)-"
      result["If-Range"] = tag.text
      return result
    }
  }

  /// What an answer to the question for the rest means.
  enum Answer: Hashable, Sendable {
    /// Its body goes behind the bytes that are there. The whole has `total` bytes where that is known; the
    /// answer promises to reach `end`, which may lie before it.
    case append(end: Int, total: Int?)
    /// Its body is the whole, from the first byte: the bytes that are there are dropped.
    case replace
    /// It fits nothing: drop the bytes that are there and ask for the whole, without a range.
    case askWhole(Mismatch)
    /// The server failed or refused; what is there can be kept, for another try.
    case failed
  }

  /// Why an answer fits nothing.
  enum Mismatch: String, Hashable, Sendable {
    /// A 206 without a usable Content-Range.
    case noContentRange
    /// A 206 that begins at another byte.
    case otherStart
    /// A 206 with another tag, a weak one, or none.
    case otherVersion
    /// A 206 that says another length.
    case otherLength
    /// A 206 in another content coding.
    case otherEncoding
    /// A 416: the range does not exist.
    case rangeNotSatisfiable
    /// A 304 or 412, which nothing asked for.
    case unexpectedStatus
    /// The address has no such picture any more, or has moved.
    case gone
  }

  /// Says what an answer to ``Base/headers(addingTo:)`` means.
  static func answer(_ head: HTTPResponseHead, to base: Base) -> Answer {
    switch head.status {
    case 206: partAnswer(head, to: base)
    case 200..<300: .replace
    case 416: .askWhole(.rangeNotSatisfiable)
    case 304, 412: .askWhole(.unexpectedStatus)
    case 404, 410, 300..<400: .askWhole(.gone)
    default: .failed
    }
  }

  private static func partAnswer(_ head: HTTPResponseHead, to base: Base) -> Answer {
    guard let range = ContentRange(head.headers), let bytes = range.bytes else {
      return .askWhole(.noContentRange)
    }
    if bytes.lowerBound == 0, bytes.upperBound == range.total { return .replace }
    guard bytes.lowerBound == base.offset else { return .askWhole(.otherStart) }
    guard let tag = head.headers["ETag"].flatMap({ EntityTag($0) }), tag.matchesStrongly(base.tag) else {
      return .askWhole(.otherVersion)
    }
    if let known = base.total, let said = range.total, known != said { return .askWhole(.otherLength) }
    let total = range.total ?? base.total
    if let total, bytes.upperBound > total { return .askWhole(.otherLength) }
    if let encoding = head.headers["Content-Encoding"], encoding != base.contentEncoding {
      return .askWhole(.otherEncoding)
    }
    return .append(end: bytes.upperBound, total: total)
  }

  /// What is there once an answer's body has ended.
  enum Progress: Hashable, Sendable {
    /// All of it.
    case complete
    /// Less than the whole: ask for the rest again from here.
    case incomplete(offset: Int)
    /// More bytes than were promised: what is there is no version of anything, and is dropped.
    case broken
  }

  /// Says what is there after an ``Answer/append(end:total:)``.
  ///
  /// - Parameters:
  ///   - received: The bytes that came with the answer.
  ///   - offset: The bytes that were there before.
  ///   - end: Where the answer promised to end.
  ///   - total: The whole length, where it is known.
  static func progress(received: Int, offset: Int, end: Int, total: Int?) -> Progress {
    let (length, overflows) = offset.addingReportingOverflow(received)
    guard !overflows, received >= 0, length <= end else { return .broken }
    // Without a length nothing says that the end has been reached, so that the whole has to be asked for.
    return length == total ? .complete : .incomplete(offset: length)
  }
}
