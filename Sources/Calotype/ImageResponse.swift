/// A finished load: the picture and where it came from.
public struct ImageResponse: Sendable {
  /// Where a picture came from.
  public enum Source: String, Hashable, Sendable, CaseIterable {
    /// The memory cache.
    case memory
    /// The disk cache, without asking the server.
    case disk
    /// The disk cache, after the server said that it still holds.
    case revalidated
    /// The network.
    case network
  }

  /// The picture's pixels.
  public var image: Bitmap { container.bitmap }
  /// The picture with what is known of it.
  public var container: ImageContainer
  /// Where it came from.
  public var source: Source
  /// Whether it is stale: shown because the request's policy allows that, or because the server could not
  /// be asked.
  public var isStale: Bool
  /// What it took.
  public var metrics: ImageTaskMetrics

  /// Creates a response.
  public init(
    container: ImageContainer, source: Source, isStale: Bool = false, metrics: ImageTaskMetrics = .init()
  ) {
    self.container = container
    self.source = source
    self.isStale = isStale
    self.metrics = metrics
  }
}

/// What a task took.
public struct ImageTaskMetrics: Hashable, Sendable {
  /// How often the network was asked, 0 where a cache answered.
  public var tries = 0
  /// The original's bytes, 0 where it was not needed.
  public var originalByteCount = 0
  /// Seconds from the task's start to its end.
  public var duration = 0.0
  /// The last transfer's timing, `nil` where a cache answered.
  public var transfer: HTTPTransferMetrics?

  /// Creates metrics with nothing measured.
  public init() {}
}
