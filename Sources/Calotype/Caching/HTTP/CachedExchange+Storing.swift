import Foundation

// Where responses are filed. An address's first response is filed under the address itself. Where that one
// varies (RFC 9111, section 4.1) and was chosen by other request headers, further ones are filed under the
// address and the values of the headers that the first one varies on. So a look-up costs one read where
// nothing varies, and two where something does. Parts have a key of their own, so that the beginning of a new
// version does not take the place of the whole of an old one. What was answered to a request with credentials
// is filed apart for each of them, and so is what was asked of another host than the address names.
extension CachedExchange {
  /// A broken-off download is kept from this many bytes on; less is fetched as fast again.
  static let smallestPartWorthKeeping = 16 << 10

  /// An entry with the key that it was found under.
  struct Stored {
    var key: String
    var entry: DataCacheEntry
    /// The keys of the pieces that a part is read from.
    var pieces: [String] = []

    var response: StoredHTTPResponse {
      StoredHTTPResponse(metadata: entry.metadata, bodyLength: entry.body.count)
    }
  }

  /// The key of an address's first response.
  private func key(for request: HTTPRequest) -> String {
    let address = sharedKey(for: request)
    let credentials = request.headers.values("Authorization")
    guard !credentials.isEmpty else { return address }
    // The credentials themselves are not to be found on the disk.
    return "\(address)\nfor \(EntryName(key: credentials.joined(separator: "\n")).path)"
  }

  /// The same for what may be shown to all.
  private func sharedKey(for request: HTTPRequest) -> String {
    let key =
      ImageRequest.normalizedAddress(request.url.absoluteString)
      + (request.addressPolicy?.cachePartition ?? "")
    // A Host field names another resource than the address does (RFC 9110, section 7.1).
    guard let host = request.headers["Host"] else { return key }
    return "\(key)\nhost \(host.lowercasedASCII())"
  }

  /// Whether what was answered to a request with credentials may be used for others (RFC 9111, section 3.5).
  private static func isForAll(_ metadata: DataCacheMetadata) -> Bool {
    !CacheControl(metadata.headers).flags.isDisjoint(with: [.isPublic, .mustRevalidate])
  }

  func storedResponses(for request: HTTPRequest) -> [Stored] {
    guard cache != nil else { return [] }
    let key = key(for: request)
    let found = storedResponses(for: request, under: key)
    guard found.isEmpty, request.headers.contains("Authorization") else { return found }
    return storedResponses(for: request, under: sharedKey(for: request)).filter {
      Self.isForAll($0.entry.metadata)
    }
  }

  private func storedResponses(for request: HTTPRequest, under key: String) -> [Stored] {
    guard let cache, let first = cache.entry(for: key) else { return [] }
    var found = [Stored(key: key, entry: first)]
    let vary = HTTPVary(first.metadata.headers)
    if vary != .fields([]), !vary.matches(request.headers, stored: first.metadata.requestHeaders) {
      let variant = Self.variantKey(key, vary, request.headers)
      if let entry = cache.entry(for: variant) { found.append(Stored(key: variant, entry: entry)) }
    }
    return found
  }

  /// The part of a response that is kept for a request. One over the limit, which it may have come to under a larger
  /// one, is dropped.
  func storedPart(for request: HTTPRequest) -> Stored? {
    guard let cache else { return nil }
    let key = partKey(key(for: request))
    guard let part = PartPieces.read(key, from: cache) else { return nil }
    guard part.entry.body.count <= request.maximumResponseSize else {
      for key in part.keys { cache.remove(key) }
      return nil
    }
    return Stored(key: key, entry: part.entry, pieces: part.keys)
  }

  fileprivate static func variantKey(_ key: String, _ vary: HTTPVary, _ headers: HTTPHeaders) -> String {
    // A line break can stand in no address.
    key + "\n" + vary.variantKey(for: headers)
  }

  private func partKey(_ key: String) -> String { key + "\npart" }

  /// A new entry with what decides where it belongs.
  func storable(_ entry: DataCacheEntry) -> Storable {
    var key = key(for: request)
    if entry.metadata.kind == .partial { return Storable(key: partKey(key), entry: entry) }
    if request.headers.contains("Authorization"), Self.isForAll(entry.metadata) {
      key = sharedKey(for: request)
    }
    return Storable(key: key, entry: entry, requestHeaders: request.headers, replaced: partKeys)
  }

  /// A part that came, joined to one that is stored.
  func joined(_ received: Received, to index: Int) -> DataCacheEntry? {
    let held = stored[index]
    guard
      let combination = policy.combination(
        of: received.head, receivedLength: received.body.count, with: held.response,
        requestTime: received.requestTime, responseTime: received.responseTime)
    else { return nil }
    var body = Data(capacity: held.entry.body.count + received.body.count)
    for piece in combination.pieces {
      switch piece {
      case .stored(let range): body.append(slice(held.entry.body, range))
      case .received(let range): body.append(slice(received.body, range))
      }
    }
    return DataCacheEntry(metadata: combination.metadata, body: body)
  }

  private func slice(_ data: Data, _ range: Range<Int>) -> Data {
    data[data.startIndex + range.lowerBound..<data.startIndex + range.upperBound]
  }

  /// What keeps a response's body while it comes; `nil` where it could not be gone on with. Reads no disk.
  func partKeeper(
    for head: HTTPResponseHead, requestTime: Double, responseTime: Double
  ) -> PartKeeper? {
    guard keepsParts, mode != .noStore, let cache else { return nil }
    if let (held, base) = restAskedFor, head.status == 206 {
      guard case .append = ResumePolicy.answer(head, to: base) else { return nil }
      return PartKeeper(cache: cache, key: held.key, metadata: held.entry.metadata, start: base.offset)
    }
    guard head.status == 200 else { return nil }
    let wasDecoded =
      head.headers["Content-Encoding"] != nil && head.decodedLength(for: request) == nil
    let storage = policy.storage(
      of: head, for: request, mode: mode, requestTime: requestTime, responseTime: responseTime,
      body: .init(length: 1, isComplete: false, wasDecoded: wasDecoded))
    guard let metadata = storage.metadata, metadata.kind == .partial else { return nil }
    return PartKeeper(cache: cache, key: partKey(key(for: request)), metadata: metadata, start: 0)
  }

  /// The bytes that a response which is under way goes on from: none where it is a whole body, `nil` where it
  /// is neither.
  func beginning(of head: HTTPResponseHead) -> Data? {
    guard (200..<300).contains(head.status) else { return nil }
    guard head.status == 206 else { return Data() }
    guard let (held, base) = restAskedFor, case .append = ResumePolicy.answer(head, to: base) else {
      return nil
    }
    return held.entry.body.prefix(base.offset)
  }

  /// Keeps what came of a download that was broken off, behind what was there before.
  func keepPart(_ received: Received) {
    let keeper =
      received.parts
      ?? partKeeper(
        for: received.head, requestTime: received.requestTime, responseTime: received.responseTime)
    _ = keeper?.finish(received.body)
  }

  /// Drops what a response to an unsafe method ends: all that is stored for an address, whatever request headers
  /// and credentials it was answered to.
  func forgetWhatItEnds(_ head: HTTPResponseHead) {
    guard let cache else { return }
    let own = key(for: request)
    for address in HTTPCachePolicy.invalidatedAddresses(by: head, to: request) {
      // These by their keys too: what another process has stored just now may not be in the index yet.
      for key in Set([address, own.hasPrefix(address + "\n") ? own : address]) {
        cache.remove(key)
        cache.remove(partKey(key))
      }
      if let url = URL(string: address) { cache.removeAll(for: url) }
    }
  }

  /// Lets a response to HEAD freshen, or end, what is stored.
  func applyHead(_ received: Received) {
    for held in stored {
      switch policy.headEffect(
        received.head, on: held.response, for: request, requestTime: received.requestTime,
        responseTime: received.responseTime)
      {
      case .none: break
      case .update(let metadata), .makeStale(let metadata): cache?.updateMetadata(metadata, for: held.key)
      }
    }
  }
}

extension DataCaching {
  /// Updates what is stored where it is still the version that the server was asked about: another program may
  /// have stored another one since, which the answer says nothing of.
  func updateMetadata(
    _ metadata: DataCacheMetadata, for key: String, replacing confirmed: DataCacheMetadata
  ) {
    guard let cache = self as? DiskCache else { return updateMetadata(metadata, for: key) }
    cache.updateMetadata(metadata, for: key) { stored in
      stored.responseTime == confirmed.responseTime
        || stored.headers["ETag"] == confirmed.headers["ETag"]
          && stored.headers["Last-Modified"] == confirmed.headers["Last-Modified"]
    }
  }
}

extension CachedExchange {
  /// An entry that is to be stored, with what decides where it belongs.
  package struct Storable: Sendable {
    /// The key of the address's first response, or of a part.
    var key: String
    var entry: DataCacheEntry
    /// The headers of the request that it answers.
    var requestHeaders = HTTPHeaders()
    /// The keys of the part that it was made from, which nobody needs any more.
    var replaced: [String] = []

    /// Of an address with several responses two may come in the same moment: the second is to find the first
    /// and go beside it, not into its place. Addresses share the locks, by their hashes.
    private static let places = (0..<16).map { _ in Lock(()) }

    /// Stores it. Writes the disk.
    func store(in cache: (any DataCaching)?) {
      guard let cache else { return }
      if HTTPVary(entry.metadata.headers) == .fields([]) {
        cache.store(entry, for: place(in: cache))
      } else {
        Self.places[abs(key.hashValue % Self.places.count)].withLock { _ in
          cache.store(entry, for: place(in: cache))
        }
      }
      for key in replaced { cache.remove(key) }
    }

    private func place(in cache: any DataCaching) -> String {
      guard entry.metadata.kind != .partial, let first = cache.entry(for: key)?.metadata else { return key }
      let vary = HTTPVary(first.headers)
      let isForOthers =
        vary != .fields([]) && !vary.matches(requestHeaders, stored: first.requestHeaders)
      return isForOthers ? CachedExchange.variantKey(key, vary, requestHeaders) : key
    }
  }
}
