import Foundation

// A print's way: start → look for the print on disk → wait for the original (ImagePipeline+Originals) →
// decode and process → deliver → store. Each step takes the lock to look at and change the loads, and does
// its work outside of it.
extension ImagePipeline {
  // MARK: Starting

  /// - Parameter looksInMemory: Whether a print in the memory cache answers. It does not where the print is
  ///   wanted on disk.
  func start(_ request: ImageRequest, looksInMemory: Bool = true) -> ImageTask {
    let request = completed(request)
    let readsStored = request.cachePolicy.readsStored && looksInMemory
    let seen = endedLoads.load(ordering: .acquiring)
    if readsStored, let image = answerInMemory(for: request) {
      let result = Result<ImageResponse, Error>.success(ImageResponse(container: image, source: .memory))
      let task = ImageTask(request: request, result: result)
      currentDelegate?.imagePipeline(self, task: task, didReceive: .finished(result))
      return task
    }
    if let target = request.targetSize, target.pixelSize == nil {
      let error = Error(
        url: request.url, stage: .request,
        cause: .decoding(.invalidTargetSize(width: target.width, height: target.height)))
      let task = ImageTask(request: request, result: .failure(error))
      currentDelegate?.imagePipeline(self, task: task, didReceive: .finished(.failure(error)))
      return task
    }
    watchMemory()
    let box = Box(request)
    let task = ImageTask(request: box, pipeline: self, startTime: monotonicNanoseconds())
    guard request.extrasBox == nil else {
      var attempts = ImageRequest.Attempts(request, sparesData: sparesData)
      let first = attempts.next(after: nil).map(completed) ?? request
      task.attempts = attempts
      attach(task, to: Box(first), seen: seen, readsStored: readsStored)
      return task
    }
    attach(task, to: box, seen: seen, readsStored: readsStored)
    return task
  }

  /// Makes a task wait for a print's load, which is begun where there is none.
  ///
  /// - Parameters:
  ///   - request: What the task's request has come to: it may have another address by now.
  ///   - seen: How many loads had ended when the memory cache was looked into.
  ///   - readsStored: Whether a print in the memory cache answers.
  func attach(_ task: ImageTask, to box: Box<ImageRequest>, seen: Int, readsStored: Bool) {
    var seen = seen
    let request = box.value
    let key = PrintLoad.Key(
      print: request.cacheKey, policy: request.cachePolicy, freshness: freshness(of: request))
    while true {
      enum Next { case joined, began(PrintLoad), lookAgain(Int) }
      let next = core.withLock { core -> Next in
        if let load = core.print(key) {
          load.tasks.append(task)
          load.storage.formUnion(request.storage)
          task.load = load
          let priority = task.priority
          if priority > load.priority { setPriority(priority, of: load, in: &core) }
          return .joined
        }
        // A load of this print may have ended between the look in the memory cache and here.
        let ended = endedLoads.load(ordering: .relaxed)
        if readsStored, ended != seen { return .lookAgain(ended) }
        let load = PrintLoad(box, freshness: key.freshness, priority: task.priority)
        load.tasks.append(task)
        task.load = load
        core.add(load)
        return .began(load)
      }
      switch next {
      case .joined: return
      case .began(let load): return begin(load)
      case .lookAgain(let ended):
        seen = ended
        if let image = answerInMemory(for: request) {
          let response = ImageResponse(container: image, source: .memory)
          return end(task, with: .success(task.response(response, to: request)))
        }
      }
    }
  }

  func freshness(of request: ImageRequest) -> FreshnessPolicy {
    request.freshness ?? configuration.freshness
  }

  private func begin(_ load: PrintLoad) {
    if let (larger, derivation) = largerPrintInMemory(for: load) {
      let item = workQueue.submit(priority: core.withLock { _ in load.priority }) { [self] in
        if !deliver(load, from: larger, derivation, source: .memory) { beginWithoutMemory(load) }
      }
      return core.withLock { _ in if !load.hasEnded, load.original == nil { load.item = item } }
    }
    beginWithoutMemory(load)
  }

  private func beginWithoutMemory(_ load: PrintLoad) {
    guard configuration.diskCache != nil, load.key.policy != .reload, load.key.policy != .noStore,
      !load.key.print.variant.isEmpty, load.key.print.isLasting
    else { return awaitOriginal(of: load) }
    let item = workQueue.submit(priority: core.withLock { _ in load.priority }) { [self] in
      if deliverStoredPrint(load) || deliverFromLargerStoredPrint(load) { return }
      awaitOriginal(of: load, isOnWorkThread: true)
    }
    core.withLock { _ in if !load.hasEnded, load.original == nil { load.item = item } }
  }

  /// Makes a print load wait for its original's load, which is begun where there is none.
  private func awaitOriginal(of load: PrintLoad, isOnWorkThread: Bool = false) {
    let joining = core.withLock { core -> Joining in
      load.item = nil
      guard !load.hasEnded else { return .waits }
      return join(load, load.requestBox, in: &core)
    }
    proceed(joining, waiter: load, isOnWorkThread: isOnWorkThread)
  }

  // MARK: Prints on disk

  /// Looks for the finished print on disk. Returns whether it was there and could be delivered; one that is
  /// stale is kept at hand for when the server confirms its original.
  private func deliverStoredPrint(_ load: PrintLoad) -> Bool {
    guard let entry = configuration.diskCache?.entry(for: load.key.print.text) else { return false }
    let policy = httpPolicy(freshness: load.key.freshness)
    let now = wallClockSeconds()
    let freshUntil = policy.freshUntil(entry.metadata, now: now)
    let isBehind = freshUntil <= now && isAskedBehindStoredPrint(load)
    guard load.key.policy != .noCache, freshUntil > now || load.key.policy.takesStale || isBehind else {
      core.withLock { _ in load.unconfirmed = Box(entry) }
      return false
    }
    guard var container = restorePrint(from: entry, isStill: load.request.isStill) else { return false }
    container.freshUntil = freshUntil
    finish(
      load, with: .success((container, nil)), source: .disk, isStale: freshUntil <= now,
      age: policy.age(of: entry.metadata, now: now), askingBehind: isBehind ? entry.metadata : nil)
    return true
  }

  // MARK: Making the print

  /// Hands an original to a waiter.
  func use(_ original: Original, for waiter: any OriginalWaiter, isOnWorkThread: Bool) {
    if let load = waiter.printLoad {
      if isOnWorkThread { return makePrint(load, from: original) }
      let item = workQueue.submit(priority: core.withLock { _ in load.priority }) { [self] in
        makePrint(load, from: original)
      }
      core.withLock { _ in if !load.hasEnded, load.cancellation == nil { load.item = item } }
    } else if let load = waiter as? DataLoad {
      finish(load, with: .success(original))
      if ImageFormat.detect(original.data) != nil {
        storeOriginal(original, for: load.request, storage: load.request.storage)
      }
      leaveOriginal(load)
    }
  }

  func fail(_ waiter: any OriginalWaiter, with error: Error) {
    if let load = waiter.printLoad {
      if deliverUnconfirmed(load, after: error) { return }
      finish(load, with: .failure(error), source: .network)
    } else if let load = waiter as? DataLoad {
      finish(load, with: .failure(error))
    }
  }

  /// Shows a stale print whose original cannot be asked about, as there is no way to the server. Returns
  /// whether there was one that may be.
  private func deliverUnconfirmed(_ load: PrintLoad, after error: Error) -> Bool {
    guard case .transport(let failure) = error.cause, failure.isAboutTheWay,
      let entry = core.withLock({ _ in load.unconfirmed })?.value
    else { return false }
    let policy = httpPolicy(freshness: load.key.freshness)
    let now = wallClockSeconds()
    var metadata = entry.metadata
    metadata.kind = .original
    guard
      policy.mayUseStale(
        metadata, for: HTTPRequest(url: load.request.url, headers: load.request.headers),
        mode: load.key.policy, after: .disconnected, now: now),
      var container = restorePrint(from: entry, isStill: load.request.isStill)
    else { return false }
    container.freshUntil = now
    finish(
      load, with: .success((container, nil)), source: .disk, isStale: true,
      age: policy.age(of: metadata, now: now))
    return true
  }

  private func makePrint(_ load: PrintLoad, from original: Original) {
    let cancellation = CancellationFlag()
    let (isWanted, unconfirmed) = core.withLock { _ -> (Bool, DataCacheEntry?) in
      load.item = nil
      guard !load.hasEnded else { return (false, nil) }
      load.cancellation = cancellation
      defer { load.unconfirmed = nil }
      return (true, load.unconfirmed?.value)
    }
    guard isWanted else { return }
    if let unconfirmed, original.source != .network, original.isSameVersion(as: unconfirmed.metadata),
      let container = restorePrint(from: unconfirmed, isStill: load.request.isStill)
    {
      var metadata = original.metadata
      metadata.kind = unconfirmed.metadata.kind
      metadata.print = unconfirmed.metadata.print
      configuration.diskCache?.updateMetadata(metadata, for: load.key.print.text)
      return finish(load, with: .success((container, original)), source: original.source)
    }
    var timing = PrintTiming()
    do throws(Error) {
      let container = try renderPrint(
        load.request, from: original, cancellation: cancellation, timing: &timing)
      finish(load, with: .success((container, original)), source: original.source, timing: timing)
    } catch {
      finish(load, with: .failure(error), source: original.source)
    }
  }

  // MARK: Delivering

  /// Ends a print load: into the memory cache, out of the table, to every task, then to disk.
  ///
  /// - Parameter stored: What is known of a stale print from the disk, where the server is to be asked behind it.
  func finish(
    _ load: PrintLoad, with result: Result<(ImageContainer, Original?), Error>, source: ImageResponse.Source,
    isStale: Bool = false, age: Double? = nil, timing: PrintTiming = .init(),
    askingBehind stored: DataCacheMetadata? = nil
  ) {
    let storage = core.withLock { _ in load.storage }
    let stores = load.key.policy != .noStore
    var result = result
    var isStale = isStale
    var age = age
    var stale: Original?
    if case .success((var container, let original)) = result {
      if let original {
        container.freshUntil = original.outcome.freshUntil
        isStale = original.outcome.isStale
        age = original.outcome.age
        if original.outcome.wantsRevalidation { stale = original }
        result = .success((container, original))
      }
      if stores, storage.contains(.memory), original?.outcome.isOfAnotherVersion != true {
        remember(container, of: load)
      }
    }
    let end = core.withLock { core -> (tasks: ShortList<ImageTask>, following: Following)? in
      guard !load.hasEnded else { return nil }
      load.hasEnded = true
      load.item = nil
      core.remove(load)
      core.storesUnderWay += 1
      endedLoads.add(1, ordering: .releasing)
      let following = stale.map { follow($0, with: load) } ?? .nothing
      defer { load.tasks = .init() }
      return (load.tasks, following)
    }
    guard let (tasks, following) = end else { return }
    deliver(
      result, of: load, source: source, isStale: isStale, age: age, timing,
      isFollowed: following.isComing || stored != nil,
      to: tasks)
    if case .success((let container, let original?)) = result, stores {
      let start = monotonicNanoseconds()
      storeOriginal(
        original, for: load.request, storage: storage,
        isOnlyThere: container.animation != nil || load.request.isDeep)
      storePrint(container, of: load, from: original, storage: storage)
      if let delegate = currentDelegate {
        let seconds = Double(monotonicNanoseconds() - start) / 1e9
        delegate.imagePipeline(self, for: load.request, didReceive: .stored(seconds: seconds))
      }
    }
    if case .arrived(let original) = following {
      refresh(.init(load: load, tasks: tasks), with: original, isChanged: original.source == .network)
    }
    if let stored { ask(behind: stored, for: .init(load: load, tasks: tasks)) }
    leaveOriginal(load, endsStore: true)
  }

  /// Puts a print into the memory cache.
  func remember(_ container: ImageContainer, of load: PrintLoad) {
    guard let memory = configuration.memoryCache else { return }
    memory.store(container, for: load.key.print)
    printIndex.withLock { $0.note(container, load.key.print, PrintShape(load.request)) }
  }

  private func deliver(
    _ result: Result<(ImageContainer, Original?), Error>, of load: PrintLoad, source: ImageResponse.Source,
    isStale: Bool, age: Double?, _ timing: PrintTiming, isFollowed: Bool, to tasks: ShortList<ImageTask>
  ) {
    let delegate = currentDelegate
    for task in tasks {
      if task.hasAttempts, case .failure(let error) = result {
        tryAlternative(to: error, for: task)
        continue
      }
      let outcome: Result<ImageResponse, Error> = result.map { container, original in
        let response = ImageResponse(
          container: container, source: source, isStale: isStale, age: age,
          metrics: metrics(of: task, original, container, print: timing))
        return task.response(response, to: load.request)
      }
      if task.finish(outcome, isFollowed: isFollowed) {
        delegate?.imagePipeline(self, task: task, didReceive: .finished(outcome))
      }
    }
  }

  // MARK: Originals for their own sake

  /// - Parameter completion: Told of the end, once, from any thread.
  func start(_ load: DataLoad, _ completion: @escaping @Sendable (Result<Original, Error>) -> Void) {
    watchMemory()
    let joining = core.withLock { core -> Joining? in
      guard !load.hasEnded else { return nil }
      load.completion = completion
      return join(load, Box(load.request), in: &core)
    }
    guard let joining else {
      return completion(.failure(Error(url: load.request.url, stage: .request, cause: .cancelled)))
    }
    proceed(joining, waiter: load, isOnWorkThread: false)
  }

  private func finish(_ load: DataLoad, with result: Result<Original, Error>) {
    let completion = core.withLock { _ -> (@Sendable (Result<Original, Error>) -> Void)? in
      load.hasEnded = true
      defer { load.completion = nil }
      return load.completion
    }
    completion?(result)
  }
}
