import Foundation

extension DataCaching {
  /// Drops the entry whose key is the address.
  public func removeAll(for url: URL) { remove(ImageCacheKey(url).text) }

  /// The bytes that are kept for an address, however old they are, or `nil`. For programs that keep their
  /// downloads themselves; an ``ImagePipeline`` also heeds what HTTP says of their age.
  public func data(for url: URL) -> Data? {
    guard let entry = entry(for: ImageCacheKey(url).text),
      entry.metadata.kind == .original, (200..<300).contains(entry.metadata.status)
    else { return nil }
    return entry.body
  }

  /// Keeps an address's bytes: a whole original as it was downloaded. A pipeline that uses the same cache
  /// finds them too, with the age that they have from now on.
  public func store(_ data: Data, for url: URL) {
    let now = wallClockSeconds()
    let metadata = DataCacheMetadata(
      kind: .original, url: url.absoluteString, requestTime: now, responseTime: now)
    store(
      DataCacheEntry(metadata: metadata, body: data), for: ImageCacheKey(url).text)
  }
}
