import Foundation

// Asking the server behind a stale answer that was given already: what it brings, and who is told of that.
extension ImagePipeline {
  /// Takes the answer to what was asked behind a stale one: where it is another picture, the prints are made
  /// anew and their tasks are told.
  func update(_ load: OriginalLoad, with original: Original) {
    let followers = core.withLock { _ in
      defer { load.followers = [] }
      return load.followers
    }
    if followers.isEmpty, original.source == .network, ImageFormat.detect(original.data) != nil {
      storeOriginal(original, for: load.request, storage: load.request.storage)
    }
    for follower in followers { refresh(follower, with: original, isChanged: original.source == .network) }
    core.withLock { core in dropIfUnused(load, in: &core) }
    resumeIfIdle()
  }

  /// What follows a print that was made from a stale original.
  enum Following {
    case nothing
    /// It is told when the server has answered.
    case later
    /// The server has answered already.
    case arrived(Original)

    var isComing: Bool { if case .nothing = self { false } else { true } }
  }

  /// Puts a print that ends among those who are told what asking behind its stale original brings, where that still
  /// goes on.
  func follow(_ stale: Original, with load: PrintLoad) -> Following {
    guard let original = load.original else { return .nothing }
    if original.isRevalidating {
      original.followers.append(.init(load: load, tasks: load.tasks))
      return .later
    }
    // The server was faster than the print. Where it could not be asked, the stale answer stands.
    guard let answer = original.answer, answer !== stale else { return .nothing }
    return .arrived(answer)
  }

  // MARK: Prints without their originals

  /// Whether a stale print from the disk is shown before the server is asked. Where its original is there too, it is
  /// that which is asked about, once for all of its prints.
  func isAskedBehindStoredPrint(_ load: PrintLoad) -> Bool {
    let request = load.request
    guard load.freshness == .staleWhileRevalidate, request.cachePolicy == .default,
      !request.headers.contains("Cache-Control")
    else { return false }
    let key = ImageRequest.addressKey(for: request.url, headers: [], addressPolicy: request.addressPolicy)
    return configuration.diskCache?.entry(for: key) == nil
  }

  /// Fetches the original of a stale print that is shown already, and tells its tasks what that brings.
  func ask(behind stored: DataCacheMetadata, for follower: OriginalLoad.Follower) {
    var request = follower.load.request
    // What is stored has been shown.
    request.freshness = .http
    start(DataLoad(request: request)) { [self] result in
      switch result {
      case .failure: for task in follower.tasks { task.follow(with: nil) }
      case .success(let original):
        let isChanged = !original.isSameVersion(as: stored)
        if !isChanged {
          var metadata = original.metadata
          metadata.kind = stored.kind
          metadata.print = stored.print
          configuration.diskCache?.updateMetadata(metadata, for: follower.load.key.print.text)
        }
        refresh(follower, with: original, isChanged: isChanged)
      }
    }
  }

  // MARK: Telling

  /// Tells those who have a print of a stale original what asking the server has brought: where that is another
  /// picture, their print is made anew.
  func refresh(_ follower: OriginalLoad.Follower, with original: Original, isChanged: Bool) {
    var response: ImageResponse?
    if isChanged {
      response = remake(follower.load, from: original)
    } else if var container = configuration.memoryCache?.image(for: follower.load.key.print) {
      container.freshUntil = original.outcome.freshUntil
      configuration.memoryCache?.store(container, for: follower.load.key.print)
    }
    let delegate = currentDelegate
    for task in follower.tasks {
      var response = response
      response?.metrics = metrics(of: task, original)
      task.follow(with: response)
      if let response { delegate?.imagePipeline(self, task: task, didReceive: .refreshed(response)) }
    }
  }

  /// Makes and stores a print of what has come in the place of its original; `nil` where that is no picture, as a
  /// network's log-in page is none: then what is stored stays.
  private func remake(_ load: PrintLoad, from original: Original) -> ImageResponse? {
    var timing = PrintTiming()
    let rendered = try? renderPrint(
      load.request, from: original, cancellation: CancellationFlag(), timing: &timing)
    guard var container = rendered else { return nil }
    container.freshUntil = original.outcome.freshUntil
    let storage = core.withLock { _ in load.storage }
    if storage.contains(.memory) { remember(container, of: load) }
    storeOriginal(
      original, for: load.request, storage: storage,
      isOnlyThere: container.animation != nil || load.request.isDeep)
    storePrint(container, of: load, from: original, storage: storage)
    return ImageResponse(container: container, source: original.source)
  }
}
