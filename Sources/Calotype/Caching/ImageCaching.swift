/// Keeps finished pictures in memory. ``MemoryCache`` is the default. Called from any thread, also the
/// main thread: an answer must take well under a microsecond.
public protocol ImageCaching: AnyObject, Sendable {
  /// The picture for a key, or `nil`.
  func image(for key: ImageCacheKey) -> ImageContainer?
  /// Keeps a picture, in place of any that the key had.
  func store(_ image: ImageContainer, for key: ImageCacheKey)
  /// Drops a key's picture.
  func remove(_ key: ImageCacheKey)
  /// Drops every picture.
  func removeAll()
}
