/// Changes what a pipeline does, and sees all that happens in it. Every method has a default.
///
/// The pipeline holds its delegate weakly. Methods are called from the pipeline's threads.
public protocol ImagePipelineDelegate: AnyObject, Sendable {
  /// Called before a request is sent, to sign or change it. It may take its time: the load waits, the
  /// other loads do not. Throwing ends the load with
  /// ``ImagePipeline/Error/Cause/invalidRequest(_:)``; while it runs, cancelling the load's last task
  /// cancels the Swift task it runs in and frees its place.
  func imagePipeline(
    _ pipeline: ImagePipeline, willSend request: HTTPRequest, for imageRequest: ImageRequest
  ) async throws -> HTTPRequest

  /// Called for a task's progress, previews and end.
  func imagePipeline(_ pipeline: ImagePipeline, task: ImageTask, didReceive event: ImageTask.Event)
}

extension ImagePipelineDelegate {
  /// Sends the request as it is.
  public func imagePipeline(
    _ pipeline: ImagePipeline, willSend request: HTTPRequest, for imageRequest: ImageRequest
  ) async throws -> HTTPRequest { request }

  /// Does nothing.
  public func imagePipeline(_ pipeline: ImagePipeline, task: ImageTask, didReceive event: ImageTask.Event) {}
}
