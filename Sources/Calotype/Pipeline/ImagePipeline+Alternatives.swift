import Foundation

extension ImageRequest {
  /// The addresses that a request's picture may be had from, one after the other.
  struct Attempts: Sendable {
    private let request: ImageRequest
    private var rest: ArraySlice<(url: URL, policy: CachePolicy?)>
    /// What has failed so far, the request's own address first.
    private(set) var failures: [ImagePipeline.Error] = []

    init(_ request: ImageRequest, sparesData: Bool) {
      self.request = request
      var list: [(url: URL, policy: CachePolicy?)] = [(request.url, nil)]
      if sparesData, let url = request.lowDataURL,
        request.cachePolicy == .default || request.cachePolicy == .forceCache
      {
        // What is in the caches costs nothing.
        list = [(request.url, .onlyIfCached), (url, nil)]
      }
      rest = (list + request.alternatives.map { ($0, nil) })[...]
    }

    /// Takes the next; `nil` where there is none, or the failure is one that no other address can mend.
    mutating func next(after failure: ImagePipeline.Error?) -> ImageRequest? {
      if let failure {
        failures.append(failure)
        guard failure.mayBeMendedElsewhere else { return nil }
      }
      guard let (url, policy) = rest.popFirst() else { return nil }
      if url == request.url, policy == nil { return request }
      return request.replacing(url: url, cachePolicy: policy)
    }

    /// Whether there is no further one.
    var isAtEnd: Bool { rest.isEmpty }

    /// What to say once everything has failed, or it was cancelled.
    var error: ImagePipeline.Error? {
      guard let first = failures.first, let last = failures.last else { return nil }
      // A cancel is no answer of an address.
      if last.isCancelled { return last }
      return ImagePipeline.Error(
        url: first.url, stage: first.stage, cause: first.cause, alternatives: Array(failures.dropFirst()))
    }
  }
}

extension ImagePipeline.Error {
  /// Whether another address may have the picture.
  var mayBeMendedElsewhere: Bool {
    switch cause {
    case .cancelled, .invalidRequest, .processing: false
    case .decoding(.invalidTargetSize): false
    case .notCached, .transport, .unreadable, .status, .decoding: true
    }
  }
}

extension ImageTask {
  /// A response with the address that it came from.
  func response(_ response: ImageResponse, to request: ImageRequest) -> ImageResponse {
    guard hasAttempts, request.url != self.request.url else { return response }
    var response = response
    response.alternativeURL = request.url
    return response
  }
}

extension ImagePipeline {
  /// Goes on with a task whose load has failed: with another address, else with its fallback.
  func tryAlternative(to error: Error, for task: ImageTask) {
    guard !task.hasEnded, var attempts = task.attempts else { return }
    let next = attempts.next(after: error).map(completed)
    task.attempts = attempts
    if let next {
      let seen = endedLoads.load(ordering: .acquiring)
      let readsStored = next.cachePolicy.readsStored
      if readsStored, let image = answerInMemory(for: next) {
        let response = ImageResponse(
          container: image, source: .memory, metrics: metrics(of: task, nil, image))
        return end(task, with: .success(task.response(response, to: next)))
      }
      attach(task, to: Box(next), seen: seen, readsStored: readsStored)
      // It may have been cancelled while it belonged to no load.
      if task.hasEnded { cancel(task) }
      return
    }
    let error = attempts.error ?? error
    guard let fallback = task.request.fallback, !error.isCancelled else {
      return end(task, with: .failure(error))
    }
    let container = ImageContainer(bitmap: fallback)
    var response = ImageResponse(
      container: container, source: .fallback, metrics: metrics(of: task, nil, container))
    response.failureBox = .init(error)
    end(task, with: .success(response))
  }

  func end(_ task: ImageTask, with result: Result<ImageResponse, Error>) {
    if task.finish(result) {
      currentDelegate?.imagePipeline(self, task: task, didReceive: .finished(result))
    }
  }

  /// The bytes at the first of a request's addresses that has some.
  nonisolated(nonsending) func dataWithAlternatives(
    for request: ImageRequest
  ) async throws(Error) -> DataResponse {
    var attempts = ImageRequest.Attempts(request, sparesData: sparesData)
    var failure: Error?
    while let next = attempts.next(after: failure) {
      do throws(Error) {
        let response = try await ownData(for: completed(next))
        // Elsewhere there may be a picture.
        let isPicture = ImageFormat.detect(response.data) != nil
        if isPicture || attempts.isAtEnd { return response }
        let cause = ImageDecodingError.unrecognized(looksLike: response.data.isEmpty ? "nothing" : "data")
        failure = Error(url: next.url, stage: .decode, cause: .decoding(cause))
      } catch {
        failure = error
      }
    }
    throw attempts.error ?? Error(url: request.url, stage: .request, cause: .cancelled)
  }
}
