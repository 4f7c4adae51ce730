import Foundation

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
    /// Neither: a file, or what the program gave itself.
    case local
    /// The request's ``ImageRequest/placeholder``, until the picture is here.
    case placeholder
    /// The request's ``ImageRequest/fallback``, as the picture cannot be had.
    case fallback
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
  /// How many seconds ago the server sent or confirmed it last (RFC 9111, section 4.2.3), where the disk
  /// cache answered; `nil` where the server did just now, or where it is not known.
  public var age: Double?
  /// What it took.
  public var metrics: ImageTaskMetrics
  /// The address that it came from, where that is not the request's own: one of its
  /// ``ImageRequest/alternatives``, or its ``ImageRequest/lowDataURL``.
  public var alternativeURL: URL?
  /// Why the picture could not be had, where this is the request's ``ImageRequest/fallback``.
  public var failure: ImagePipeline.Error? { failureBox?.value }
  var failureBox: FailureBox?

  /// A failure behind a reference, so that responses stay small.
  final class FailureBox: Sendable {
    let value: ImagePipeline.Error
    init(_ value: ImagePipeline.Error) { self.value = value }
  }

  /// Creates a response.
  public init(
    container: ImageContainer, source: Source, isStale: Bool = false, age: Double? = nil,
    metrics: ImageTaskMetrics = .init()
  ) {
    self.container = container
    self.source = source
    self.isStale = isStale
    self.age = age
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
  /// Bytes that travelled, headers included, of all transfers that went to their end.
  public var wireByteCount = 0
  /// Bytes of the finished picture's pixels.
  public var decodedByteCount = 0
  /// The last transfer's timing, `nil` where a cache answered.
  public var transfer: HTTPTransferMetrics?
  /// When each stage began and ended, in order. Those that were not needed are missing. Storing, which comes
  /// after the task's end, is told of by ``ImagePipeline/DownloadEvent/stored(seconds:)``.
  public var stages: [StageTime] = []

  /// A part of a task's way.
  public enum Stage: String, Hashable, Sendable, CaseIterable {
    /// Waiting for a free place among the downloads, and for the delegate.
    case queue
    /// Looking the host's name up.
    case name
    /// Connecting.
    case connect
    /// Agreeing on TLS.
    case secureConnect = "tls"
    /// Waiting for the response's first byte.
    case firstByte = "first_byte"
    /// Receiving it to its last byte.
    case lastByte = "last_byte"
    /// Decoding at the target size.
    case decode
    /// The processors.
    case process
  }

  /// When a stage was, in seconds from the task's start; below 0 for what went on before, where the task came
  /// to a load under way.
  public struct StageTime: Hashable, Sendable {
    /// Which stage.
    public var stage: Stage
    /// When it began.
    public var start: Double
    /// When it ended.
    public var end: Double
  }

  /// Creates metrics with nothing measured.
  public init() {}
}
