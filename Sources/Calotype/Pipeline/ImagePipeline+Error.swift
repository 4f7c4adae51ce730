import Foundation

extension ImagePipeline {
  /// Why a load failed: which address, at which stage, and the cause.
  public struct Error: Swift.Error, Sendable, CustomStringConvertible {
    /// The part of the work that failed.
    public enum Stage: String, Hashable, Sendable {
      /// The request itself.
      case request
      /// Looking in the caches.
      case cache
      /// Asking the server.
      case download
      /// Reading a file, or asking the program for what it gives itself.
      case read
      /// Decoding the original.
      case decode
      /// A processor.
      case process
    }

    /// What went wrong.
    public enum Cause: Sendable {
      /// The task was cancelled.
      case cancelled
      /// The request asks for something that cannot be; why.
      case invalidRequest(String)
      /// Nothing is stored and the request's policy forbids the network.
      case notCached
      /// The transfer failed.
      case transport(HTTPTransportError)
      /// A file, or what the program gives itself, could not be read; why.
      case unreadable(String)
      /// The server answered with a status that has no picture.
      case status(Int)
      /// The original is not a picture that can be decoded.
      case decoding(ImageDecodingError)
      /// A processor failed; its identifier and what it said.
      case processing(identifier: String, reason: String)
    }

    /// The address that was asked for.
    public let url: URL
    /// The part of the work that failed.
    public let stage: Stage
    /// What went wrong.
    public let cause: Cause
    /// What went wrong with the request's ``ImageRequest/alternatives``, in the order in which they were tried.
    public let alternatives: [Error]

    /// Creates an error.
    public init(url: URL, stage: Stage, cause: Cause, alternatives: [Error] = []) {
      self.url = url
      self.stage = stage
      self.cause = cause
      self.alternatives = alternatives
    }

    /// Whether the task was cancelled, rather than failed.
    public var isCancelled: Bool { if case .cancelled = cause { true } else { false } }

    /// A short stable name for reports, such as `http_404`, `timed_out` or `truncated`.
    public var code: String {
      switch cause {
      case .cancelled: "cancelled"
      case .invalidRequest: "invalid_request"
      case .notCached: "not_cached"
      case .transport(let error): error.code.rawValue
      case .unreadable: "not_read"
      case .status(let status): "http_\(status)"
      case .decoding(let error): error.code
      case .processing: "processing_failed"
      }
    }

    /// What went wrong in a sentence, without the address; of the alternatives with theirs.
    public var message: String {
      ([ownMessage] + alternatives.map(\.description)).joined(separator: "; then ")
    }

    private var ownMessage: String {
      switch cause {
      case .cancelled: "cancelled"
      case .invalidRequest(let reason): reason
      case .notCached: "not in the cache, and the network was not to be asked"
      case .transport(let error): error.message
      case .unreadable(let reason): reason
      case .status(let status): "the server answered \(status)"
      case .decoding(let error): error.description
      case .processing(let identifier, let reason): "processor \(identifier) failed: \(reason)"
      }
    }

    /// The address, the stage and the message.
    public var description: String { "\(url.displayText): \(stage.rawValue): \(message)" }
  }
}
