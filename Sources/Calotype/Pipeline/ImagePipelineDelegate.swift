/// Changes what a pipeline does, and sees all that happens in it. Every method has a default.
///
/// The pipeline holds its delegate weakly. Methods are called from the pipeline's threads; where asking or cancelling
/// ends a task at once, its end is told on the thread that does so, before the call returns.
public protocol ImagePipelineDelegate: AnyObject, Sendable {
  /// Called before a request is sent, to sign or change it. It may take its time: the load waits, the
  /// other loads do not. Throwing ends the load with
  /// ``ImagePipeline/Error/Cause/invalidRequest(_:)``; while it runs, cancelling the load's last task
  /// cancels the Swift task it runs in and frees its place.
  ///
  /// What is added here is not known to the caches: where it decides who is shown what, as a person's credentials
  /// do, give each their own caches, or set it as ``ImageRequest/headers`` or
  /// ``ImagePipeline/Configuration/headers``, by which what is stored is filed apart.
  func imagePipeline(
    _ pipeline: ImagePipeline, willSend request: HTTPRequest, for imageRequest: ImageRequest
  ) async throws -> HTTPRequest

  /// Called when a server (401) or a proxy (407) wants credentials, once for each load. It may take its time,
  /// as a person who is asked for a password does.
  ///
  /// - Parameters:
  ///   - request: What was sent.
  ///   - head: The answer, with the challenge in WWW-Authenticate or Proxy-Authenticate.
  /// - Returns: The request to send instead, or `nil` to leave it at that: the load then fails with the
  ///   status.
  func imagePipeline(
    _ pipeline: ImagePipeline, request: HTTPRequest, for imageRequest: ImageRequest,
    didReceiveChallenge head: HTTPResponseHead
  ) async -> HTTPRequest?

  /// Called for a task's progress, previews, end and refreshed picture. Of what the memory cache answers only
  /// tasks are told of, not ``ImagePipeline/image(for:)-(ImageRequest)``, which makes none.
  func imagePipeline(_ pipeline: ImagePipeline, task: ImageTask, didReceive event: ImageTask.Event)

  /// Called for what happens to a download, which any number of tasks may wait for.
  func imagePipeline(
    _ pipeline: ImagePipeline, for imageRequest: ImageRequest,
    didReceive event: ImagePipeline.DownloadEvent)
}

extension ImagePipelineDelegate {
  /// Sends the request as it is.
  public func imagePipeline(
    _ pipeline: ImagePipeline, willSend request: HTTPRequest, for imageRequest: ImageRequest
  ) async throws -> HTTPRequest { request }

  /// Has no credentials.
  public func imagePipeline(
    _ pipeline: ImagePipeline, request: HTTPRequest, for imageRequest: ImageRequest,
    didReceiveChallenge head: HTTPResponseHead
  ) async -> HTTPRequest? { nil }

  /// Does nothing.
  public func imagePipeline(_ pipeline: ImagePipeline, task: ImageTask, didReceive event: ImageTask.Event) {}

  /// Does nothing.
  public func imagePipeline(
    _ pipeline: ImagePipeline, for imageRequest: ImageRequest,
    didReceive event: ImagePipeline.DownloadEvent
  ) {}
}

extension ImagePipeline {
  /// Something that happened to a download.
  public enum DownloadEvent: Sendable {
    /// A request was handed to the transport: the first, a redirect's, or another try.
    case sent(HTTPRequest)
    /// A request has ended: with the head of its response, where one came, and what the transfer took.
    case ended(HTTPResponseHead?, Result<HTTPTransferMetrics, HTTPTransportError>)
    /// It failed in a way that may pass, and is tried again after so many seconds.
    case willTryAgain(after: Double)
    /// The original and the print, as far as they are kept, have been stored. It took so many seconds.
    case stored(seconds: Double)
  }
}
