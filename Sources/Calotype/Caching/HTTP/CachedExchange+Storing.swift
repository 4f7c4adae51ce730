import Foundation

// Where responses are filed. An address's first response is filed under the address itself. Where that one
// varies (RFC 9111, section 4.1) and was chosen by other request headers, further ones are filed under the
// address and the values of the headers that the first one varies on. So a look-up costs one read where
// nothing varies, and two where something does. Parts have a key of their own, so that the beginning of a new
// version does not take the place of the whole of an old one. What was answered to a request with credentials
// is filed apart for each of them.
extension CachedExchange {
  /// A broken-off download is kept from this many bytes on; less is fetched as fast again.
  static let smallestPartWorthKeeping = 16 << 10

  /// An entry with the key that it was found under.
  struct Stored {
    var key: String
    var entry: DataCacheEntry

    var response: StoredHTTPResponse {
      StoredHTTPResponse(metadata: entry.metadata, bodyLength: entry.body.count)
    }
  }

  /// The key of an address's first response.
  private func key(for request: HTTPRequest) -> String {
    let address = ImageRequest.normalizedAddress(request.url.absoluteString)
    let credentials = request.headers.fields.filter { field in
      ["authorization", "cookie"].contains { field.name.equalsIgnoringASCIICase($0) }
    }
    guard !credentials.isEmpty else { return address }
    // The credentials themselves are not to be found on the disk.
    let digest = EntryName(
      key: credentials.map { "\($0.name.lowercased()):\($0.value)" }.joined(separator: "\n"))
    return "\(address)\nfor \(digest.path)"
  }

  func storedResponses(for request: HTTPRequest) -> [Stored] {
    let key = key(for: request)
    guard let cache, let first = cache.entry(for: key) else { return [] }
    var found = [Stored(key: key, entry: first)]
    let vary = HTTPVary(first.metadata.headers)
    if vary != .fields([]), !vary.matches(request.headers, stored: first.metadata.requestHeaders) {
      let variant = variantKey(key, vary, request)
      if let entry = cache.entry(for: variant) { found.append(Stored(key: variant, entry: entry)) }
    }
    return found
  }

  /// The part of a response that is kept for a request.
  func storedPart(for request: HTTPRequest) -> Stored? {
    let key = partKey(key(for: request))
    return cache?.entry(for: key).map { Stored(key: key, entry: $0) }
  }

  private func partKey(_ key: String) -> String { key + "\npart" }

  private func variantKey(_ key: String, _ vary: HTTPVary, _ request: HTTPRequest) -> String {
    // A line break can stand in no address.
    key + "\n" + vary.variantKey(for: request.headers)
  }

  /// A new entry with the key that it belongs under.
  func storable(_ entry: DataCacheEntry) -> Storable {
    let key = key(for: request)
    if entry.metadata.kind == .partial { return Storable(key: partKey(key), entry: entry) }
    guard let first = stored.first(where: { $0.key == key })?.entry ?? cache?.entry(for: key) else {
      return Storable(key: key, entry: entry)
    }
    let vary = HTTPVary(first.metadata.headers)
    let isForOthers =
      vary != .fields([]) && !vary.matches(request.headers, stored: first.metadata.requestHeaders)
    return Storable(key: isForOthers ? variantKey(key, vary, request) : key, entry: entry)
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

  /// Keeps what came of a download that was broken off, joined to what was there before.
  func keepPart(_ received: Received) {
    guard mode != .noStore else { return }
    if received.head.status == 206,
      let index = stored.firstIndex(where: { $0.entry.metadata.kind == .partial })
    {
      if let joined = joined(received, to: index) { cache?.store(joined, for: stored[index].key) }
      return
    }
    let wasDecoded =
      received.head.headers["Content-Encoding"] != nil && received.head.decodedLength(for: request) == nil
    let storage = policy.storage(
      of: received.head, for: request, mode: mode, requestTime: received.requestTime,
      responseTime: received.responseTime,
      body: .init(length: received.body.count, isComplete: false, wasDecoded: wasDecoded))
    guard let metadata = storage.metadata, metadata.kind == .partial else { return }
    store(storable(DataCacheEntry(metadata: metadata, body: received.body)))
  }

  /// Drops what a response to an unsafe method ends.
  func forgetWhatItEnds(_ head: HTTPResponseHead) {
    guard let cache else { return }
    let own = key(for: request)
    for address in HTTPCachePolicy.invalidatedAddresses(by: head, to: request) {
      for key in Set([address, own.hasPrefix(address + "\n") ? own : address]) {
        cache.remove(key)
        cache.remove(partKey(key))
      }
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
