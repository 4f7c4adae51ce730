import Foundation

extension ImageRequest {
  /// What few requests have, behind one reference, so that the others stay small.
  struct Extras: Sendable {
    var placeholder: ImagePlaceholder?
    var alternatives: [URL] = []
    var lowDataURL: URL?
    var fallback: Bitmap?
    var source: LocalSource?
    var previews: PreviewPolicy?
  }

  /// Never changed once it is made, so copies of a request may share it.
  final class ExtrasBox: Sendable {
    let value: Extras
    init(_ value: Extras) { self.value = value }
  }

  private func extra<Value>(_ path: KeyPath<Extras, Value>, _ none: Value) -> Value {
    extrasBox.map { $0.value[keyPath: path] } ?? none
  }

  private mutating func setExtra<Value>(_ path: WritableKeyPath<Extras, Value>, _ value: Value) {
    var extras = extrasBox?.value ?? Extras()
    extras[keyPath: path] = value
    extrasBox = ExtrasBox(extras)
  }

  /// What is shown until the picture is here: the first that a row shows, and a task's first preview.
  public var placeholder: ImagePlaceholder? {
    get { extra(\.placeholder, nil) }
    set { setExtra(\.placeholder, newValue) }
  }

  /// Addresses that are tried in order where the picture cannot be had from ``url``: the server fails, cannot be
  /// reached or has no picture, or what it has cannot be decoded. The error then tells of all of them
  /// (``ImagePipeline/Error/alternatives``). Each is stored under its own name, so the next load begins with
  /// ``url`` again. Headers, size and processors are the request's.
  public var alternatives: [URL] {
    get { extra(\.alternatives, []) }
    set { setExtra(\.alternatives, newValue) }
  }

  /// An address with fewer bytes, which is asked in the place of ``url`` while the pipeline is to spare the
  /// network (``ImagePipeline/sparesData``) and ``url`` is in no cache.
  public var lowDataURL: URL? {
    get { extra(\.lowDataURL, nil) }
    set { setExtra(\.lowDataURL, newValue) }
  }

  /// Whether it is shown while it comes; `nil`, the default, for what the pipeline's configuration says.
  public var previews: PreviewPolicy? {
    get { extra(\.previews, nil) }
    set { setExtra(\.previews, newValue) }
  }

  /// The picture that a task ends with where neither ``url`` nor ``alternatives`` give one. Its response has the
  /// source ``ImageResponse/Source/fallback`` and says why (``ImageResponse/failure``). It is shown as it is, and
  /// never stored.
  public var fallback: Bitmap? {
    get { extra(\.fallback, nil) }
    set { setExtra(\.fallback, newValue) }
  }

  /// The placeholder's pixels, in the target's shape where that is filled; `nil` where there is none or it cannot
  /// be drawn.
  public var placeholderImage: ImageContainer? {
    guard let placeholder = extrasBox?.value.placeholder else { return nil }
    var ratio: Double?
    if let targetSize, targetSize.mode != .fit { ratio = targetSize.width / targetSize.height }
    guard let bitmap = try? placeholder.bitmap(aspectRatio: ratio) else { return nil }
    return ImageContainer(bitmap: bitmap, isPreview: true)
  }

  /// The same request for another address.
  func replacing(url: URL, cachePolicy: CachePolicy? = nil) -> ImageRequest {
    var request = ImageRequest(
      url: url, targetSize: targetSize, processors: processors, isStill: isStill, isDeep: isDeep,
      headers: headers, priority: priority, cachePolicy: cachePolicy ?? self.cachePolicy, storage: storage,
      freshness: freshness, addressPolicy: addressPolicy)
    if let previews { request.previews = previews }
    return request
  }

  // MARK: What the program gives itself

  /// Creates a request for a picture whose bytes the program has.
  ///
  /// - Parameters:
  ///   - data: The bytes of an image file.
  ///   - key: Names the bytes in the caches: other bytes need another key.
  ///   - targetSize: The size wanted, or `nil` for the picture's own.
  ///   - processors: Applied in order to the picture at its target size.
  ///   - priority: Which of the waiting requests goes first.
  public init(
    data: Data, key: String, targetSize: TargetSize? = nil, processors: [any ImageProcessing] = [],
    priority: Priority = .normal
  ) {
    self.init(
      givenAs: LocalSource.url("data", key), .bytes(data), targetSize: targetSize, processors: processors,
      priority: priority)
  }

  /// Creates a request for a picture whose bytes a closure fetches, such as from a database.
  ///
  /// - Parameters:
  ///   - identifier: Names the closure's bytes in the caches: other bytes need another identifier.
  ///   - targetSize: The size wanted, or `nil` for the picture's own.
  ///   - processors: Applied in order to the picture at its target size.
  ///   - priority: Which of the waiting requests goes first.
  ///   - load: Gives the bytes of an image file. It is called once for all who wait for them, counts as a
  ///     download, and its task is cancelled when nobody waits any more.
  public init(
    identifier: String, targetSize: TargetSize? = nil, processors: [any ImageProcessing] = [],
    priority: Priority = .normal, load: @escaping @Sendable () async throws -> Data
  ) {
    self.init(
      givenAs: LocalSource.url("closure", identifier), .closure(load), targetSize: targetSize,
      processors: processors, priority: priority)
  }

  /// Where the original comes from, where that is not the network.
  var localSource: LocalSource? {
    if let source = extrasBox?.value.source { return source }
    return LocalSource(url)
  }
}
