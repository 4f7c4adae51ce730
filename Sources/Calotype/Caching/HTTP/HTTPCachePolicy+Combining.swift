extension HTTPCachePolicy {
  /// Two parts of one representation joined (RFC 9111, section 3.4).
  struct Combination: Hashable, Sendable {
    /// A stretch of one of the two bodies.
    enum Piece: Hashable, Sendable {
      /// These bytes of the stored body.
      case stored(Range<Int>)
      /// These bytes of the new body.
      case received(Range<Int>)
    }

    /// What the joined body is made of, in order.
    var pieces: [Piece]
    /// What to store with it: ``DataCacheMetadata/Kind/original`` where nothing is missing any more.
    var metadata: DataCacheMetadata
  }

  /// Joins a 206 to a stored part of the same representation; `nil` where the two may not be joined (they
  /// have no strong tag in common) or leave a gap.
  ///
  /// - Parameters:
  ///   - head: The 206.
  ///   - receivedLength: The number of bytes that came with it.
  ///   - stored: The stored part.
  ///   - requestTime: When it was asked for, in seconds since 1970.
  ///   - responseTime: When it came, in seconds since 1970.
  func combination(
    of head: HTTPResponseHead, receivedLength: Int, with stored: StoredHTTPResponse, requestTime: Double,
    responseTime: Double
  ) -> Combination? {
    guard head.status == 206, receivedLength > 0, let held = StoredRange(stored), held.isConsistent,
      let incoming = ContentRange(head.headers), let promised = incoming.bytes,
      receivedLength <= promised.count,
      let newTag = head.headers["ETag"].flatMap({ EntityTag($0) }),
      let oldTag = stored.metadata.headers["ETag"].flatMap({ EntityTag($0) }), newTag.matchesStrongly(oldTag),
      held.total == nil || incoming.total == nil || held.total == incoming.total
    else { return nil }
    let received = promised.lowerBound..<promised.lowerBound + receivedLength
    guard received.lowerBound <= held.bytes.upperBound, held.bytes.lowerBound <= received.upperBound else {
      return nil
    }
    let whole =
      min(held.bytes.lowerBound, received.lowerBound)..<max(held.bytes.upperBound, received.upperBound)
    let total = incoming.total ?? held.total
    if let total, whole.upperBound > total { return nil }
    return Combination(
      pieces: Self.pieces(held: held.bytes, received: received),
      metadata: combinedMetadata(
        stored.metadata, head, whole: whole, total: total, requestTime, responseTime))
  }

  /// What is stored stays, and what came fills in before and behind it.
  private static func pieces(held: Range<Int>, received: Range<Int>) -> [Combination.Piece] {
    var pieces: [Combination.Piece] = []
    if received.lowerBound < held.lowerBound {
      pieces.append(.received(0..<held.lowerBound - received.lowerBound))
    }
    if !held.isEmpty { pieces.append(.stored(0..<held.count)) }
    if received.upperBound > held.upperBound {
      pieces.append(.received(held.upperBound - received.lowerBound..<received.count))
    }
    return pieces
  }

  private func combinedMetadata(
    _ stored: DataCacheMetadata, _ head: HTTPResponseHead, whole: Range<Int>, total: Int?,
    _ requestTime: Double, _ responseTime: Double
  ) -> DataCacheMetadata {
    var result = updated(stored, with: head.headers, requestTime, responseTime)
    let isComplete = whole.lowerBound == 0 && whole.upperBound == total
    result.kind = isComplete ? .original : .partial
    result.status = isComplete ? 200 : 206
    result.headers["Content-Range"] = isComplete ? nil : ContentRange(bytes: whole, total: total).text
    result.headers["Content-Length"] = String(whole.count)
    return result
  }
}
