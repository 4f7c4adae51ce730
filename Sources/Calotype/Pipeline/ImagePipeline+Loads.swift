import Foundation

// A print's way: start → look for the print on disk → wait for the original (disk, download) → decode and
// process → deliver → store. Each step takes the lock to look at and change the loads, and does its work
// outside of it.
extension ImagePipeline {
  // MARK: Starting

  func start(_ request: ImageRequest) -> ImageTask {
    let readsStored = request.cachePolicy.readsStored
    var seen = endedLoads.load(ordering: .acquiring)
    if readsStored, let image = cachedImage(for: request) {
      return ImageTask(
        request: request, result: .success(ImageResponse(container: image, source: .memory)))
    }
    if let target = request.targetSize, target.pixelSize == nil {
      let error = Error(
        url: request.url, stage: .request,
        cause: .decoding(.invalidTargetSize(width: target.width, height: target.height)))
      return ImageTask(request: request, result: .failure(error))
    }
    let task = ImageTask(request: request, pipeline: self, startTime: monotonicNanoseconds())
    let key = PrintLoad.Key(print: request.cacheKey, policy: request.cachePolicy)
    while true {
      enum Next { case joined, began(PrintLoad), lookAgain(Int) }
      let next = core.withLock { core -> Next in
        if let load = core.prints[key] {
          load.tasks.append(task)
          load.storage.formUnion(request.storage)
          task.load = load
          if request.priority > load.priority { raise(load, to: request.priority, in: &core) }
          return .joined
        }
        // A load of this print may have ended between the look in the memory cache and here.
        let ended = endedLoads.load(ordering: .relaxed)
        if readsStored, ended != seen { return .lookAgain(ended) }
        let load = PrintLoad(key: key, request: request, priority: request.priority)
        load.tasks.append(task)
        task.load = load
        core.prints[key] = load
        return .began(load)
      }
      switch next {
      case .joined: return task
      case .began(let load):
        begin(load)
        return task
      case .lookAgain(let ended):
        seen = ended
        if let image = cachedImage(for: request) {
          task.finish(.success(ImageResponse(container: image, source: .memory)))
          return task
        }
      }
    }
  }

  private func begin(_ load: PrintLoad) {
    guard configuration.diskCache != nil, load.key.policy.readsStored else { return awaitOriginal(of: load) }
    let priority = load.priority
    let item = workQueue.submit(priority: priority) { [self] in
      if !deliverStoredPrint(load) { awaitOriginal(of: load, isOnWorkThread: true) }
    }
    core.withLock { _ in if !load.hasEnded { load.item = item } }
  }

  /// Makes a print load wait for its original's load, which is begun where there is none.
  private func awaitOriginal(of load: PrintLoad, isOnWorkThread: Bool = false) {
    let begun = core.withLock { core -> OriginalLoad? in
      load.item = nil
      guard !load.hasEnded else { return nil }
      return join(load, request: load.request, in: &core)
    }
    proceed(with: begun, waiter: load, isOnWorkThread: isOnWorkThread)
  }

  func start(_ load: DataLoad, _ continuation: UnsafeContinuation<Result<Original, Error>, Never>) {
    let begun = core.withLock { core -> OriginalLoad?? in
      guard !load.hasEnded else { return .none }
      load.continuation = continuation
      return .some(join(load, request: load.request, in: &core))
    }
    guard let begun else {
      return continuation.resume(
        returning: .failure(Error(url: load.request.url, stage: .request, cause: .cancelled)))
    }
    proceed(with: begun, waiter: load, isOnWorkThread: false)
  }

  /// Attaches a waiter to its original's load. Returns the load where it was made for this.
  private func join(_ waiter: any OriginalWaiter, request: ImageRequest, in core: inout Core) -> OriginalLoad?
  {
    let key = OriginalLoad.Key(address: request.cacheKey.address, policy: request.cachePolicy)
    if let original = core.originals[key] {
      original.waiters.append(waiter)
      waiter.original = original
      if waiter.priority > original.priority { setPriority(waiter.priority, of: original, in: &core) }
      return nil
    }
    let original = OriginalLoad(key: key, request: request, priority: waiter.priority)
    original.waiters.append(waiter)
    waiter.original = original
    core.originals[key] = original
    return original
  }

  private func proceed(with begun: OriginalLoad?, waiter: any OriginalWaiter, isOnWorkThread: Bool) {
    if let begun {
      let reads = configuration.diskCache != nil && begun.key.policy.readsStored
      if !reads {
        enqueueDownload(of: begun)
      } else if isOnWorkThread {
        lookUp(begun)
      } else {
        let item = workQueue.submit(priority: begun.priority) { [self] in lookUp(begun) }
        core.withLock { _ in if case .lookingUp = begun.phase { begun.item = item } }
      }
    } else {
      // It joined a load that was there; where that has its bytes already, go on at once.
      let original = core.withLock { _ -> Original? in
        if case .finished(let original)? = waiter.original?.phase { original } else { nil }
      }
      if let original { use(original, for: waiter) }
    }
  }

  // MARK: The disk cache

  /// Looks for the finished print on disk. Returns whether it was there.
  private func deliverStoredPrint(_ load: PrintLoad) -> Bool {
    guard !load.key.print.variant.isEmpty,
      let entry = configuration.diskCache?.entry(for: load.key.print.text),
      let container = restorePrint(from: entry)
    else { return false }
    finish(load, with: .success((container, nil)), source: .disk)
    return true
  }

  /// Looks for the original on disk, and goes on to the download where it is not there.
  private func lookUp(_ load: OriginalLoad) {
    if let entry = configuration.diskCache?.entry(for: load.key.address), entry.metadata.kind == .original {
      let original = Original(data: entry.body, metadata: entry.metadata, source: .disk)
      return finish(load, with: .success(original))
    }
    enqueueDownload(of: load)
  }

  // MARK: Downloading

  private func enqueueDownload(of load: OriginalLoad) {
    if load.key.policy == .onlyIfCached {
      return finish(load, with: .failure(Error(url: load.request.url, stage: .cache, cause: .notCached)))
    }
    let admitted = core.withLock { core -> [OriginalLoad] in
      load.item = nil
      guard case .lookingUp = load.phase else { return [] }
      core.enqueue(load)
      return core.admitDownloads()
    }
    start(admitted)
  }

  /// Starts downloads that have been given a place.
  func start(_ admitted: [OriginalLoad]) {
    for load in admitted { startDownload(of: load) }
  }

  private func startDownload(of load: OriginalLoad) {
    let request = httpRequest(for: load)
    guard let delegate = currentDelegate else { return send(request, for: load) }
    let hook = Task { [self] in
      do {
        send(try await delegate.imagePipeline(self, willSend: request, for: load.request), for: load)
      } catch {
        downloadEnded(
          load, .failure(Error(url: load.request.url, stage: .request, cause: .invalidRequest("\(error)"))))
      }
    }
    core.withLock { _ in if case .downloading = load.phase { load.hook = hook } }
  }

  private func httpRequest(for load: OriginalLoad) -> HTTPRequest {
    var headers = load.request.headers
    for field in configuration.headers.fields where headers[field.name] == nil {
      headers.append(name: field.name, value: field.value)
    }
    return HTTPRequest(
      url: load.request.url, headers: headers, priority: load.priority,
      maximumResponseSize: configuration.maximumOriginalSize)
  }

  private func send(_ request: HTTPRequest, for load: OriginalLoad) {
    let download = OriginalDownload(url: request.url) { [self] received, total in
      report(ImageTask.Progress(completed: received, total: total), of: load)
    } onCompletion: { [self] result in
      downloadCompleted(load, result)
    }
    let isWanted = core.withLock { _ in
      load.hook = nil
      guard case .downloading = load.phase else { return false }
      load.download = download
      return true
    }
    if isWanted { download.start(request, on: configuration.transport) }
  }

  private func report(_ progress: ImageTask.Progress, of load: OriginalLoad) {
    let tasks = core.withLock { _ in load.waiters.flatMap { ($0 as? PrintLoad)?.tasks ?? [] } }
    let delegate = currentDelegate
    for task in tasks {
      task.report(progress)
      delegate?.imagePipeline(self, task: task, didReceive: .progress(progress))
    }
  }

  private func downloadCompleted(
    _ load: OriginalLoad, _ result: Result<OriginalDownload.Downloaded, HTTPTransportError>
  ) {
    let url = load.request.url
    switch result {
    case .failure(let error):
      let cause: Error.Cause = error.code == .cancelled ? .cancelled : .transport(error)
      downloadEnded(load, .failure(Error(url: url, stage: .download, cause: cause)))
    case .success(let downloaded):
      guard (200..<300).contains(downloaded.head.status) else {
        let error = Error(url: url, stage: .download, cause: .status(downloaded.head.status))
        return downloadEnded(load, .failure(error))
      }
      let metadata = DataCacheMetadata(
        kind: .original, url: load.request.url.absoluteString, status: downloaded.head.status,
        headers: downloaded.head.headers, requestTime: downloaded.requestTime,
        responseTime: downloaded.responseTime)
      let original = Original(
        data: downloaded.data, metadata: metadata, source: .network, tries: 1, transfer: downloaded.metrics)
      downloadEnded(load, .success(original))
    }
  }

  private func downloadEnded(_ load: OriginalLoad, _ result: Result<Original, Error>) {
    let admitted = core.withLock { core -> [OriginalLoad]? in
      guard case .downloading = load.phase else { return nil }
      core.downloadEnded(load)
      load.download = nil
      load.hook = nil
      load.phase = .lookingUp
      return core.admitDownloads()
    }
    guard let admitted else { return }
    start(admitted)
    finish(load, with: result)
  }

  // MARK: Using the original

  /// Hands an original, or the failure to get it, to all who wait for it.
  private func finish(_ load: OriginalLoad, with result: Result<Original, Error>) {
    let waiters = core.withLock { core -> [any OriginalWaiter] in
      load.item = nil
      if case .ended = load.phase { return [] }
      switch result {
      case .success(let original):
        load.phase = .finished(original)
        return load.waiters
      case .failure:
        load.phase = .ended
        core.originals[load.key] = nil
        defer { load.waiters = [] }
        return load.waiters
      }
    }
    for waiter in waiters {
      switch result {
      case .success(let original): use(original, for: waiter)
      case .failure(let error): fail(waiter, with: error)
      }
    }
  }

  private func use(_ original: Original, for waiter: any OriginalWaiter) {
    if let load = waiter as? PrintLoad {
      let item = workQueue.submit(priority: load.priority) { [self] in makePrint(load, from: original) }
      core.withLock { _ in if !load.hasEnded, load.cancellation == nil { load.item = item } }
    } else if let load = waiter as? DataLoad {
      finish(load, with: .success(original))
      if ImageFormat.detect(original.data) != nil {
        storeOriginal(original, for: load.request, storage: load.request.storage)
      }
      leaveOriginal(load)
    }
  }

  private func fail(_ waiter: any OriginalWaiter, with error: Error) {
    if let load = waiter as? PrintLoad {
      finish(load, with: .failure(error), source: .network)
    } else if let load = waiter as? DataLoad {
      finish(load, with: .failure(error))
    }
  }

  private func finish(_ load: DataLoad, with result: Result<Original, Error>) {
    let continuation = core.withLock { _ -> UnsafeContinuation<Result<Original, Error>, Never>? in
      load.hasEnded = true
      defer { load.continuation = nil }
      return load.continuation
    }
    continuation?.resume(returning: result)
  }

  private func makePrint(_ load: PrintLoad, from original: Original) {
    let cancellation = CancellationFlag()
    let isWanted = core.withLock { _ in
      load.item = nil
      guard !load.hasEnded else { return false }
      load.cancellation = cancellation
      return true
    }
    guard isWanted else { return }
    do throws(Error) {
      let container = try renderPrint(load.request, from: original, cancellation: cancellation)
      finish(load, with: .success((container, original)), source: original.source)
    } catch {
      finish(load, with: .failure(error), source: original.source)
    }
  }

  /// Ends a print load: into the memory cache, out of the table, to every task, then to disk.
  private func finish(
    _ load: PrintLoad, with result: Result<(ImageContainer, Original?), Error>, source: ImageResponse.Source
  ) {
    let storage = core.withLock { _ in load.storage }
    let stores = load.key.policy != .noStore
    if case .success((let container, _)) = result, stores, storage.contains(.memory) {
      configuration.memoryCache?.store(container, for: load.key.print)
    }
    let tasks = core.withLock { core -> [ImageTask]? in
      guard !load.hasEnded else { return nil }
      load.hasEnded = true
      load.item = nil
      core.prints[load.key] = nil
      core.storesUnderWay += 1
      endedLoads.add(1, ordering: .releasing)
      defer { load.tasks = [] }
      return load.tasks
    }
    guard let tasks else { return }
    deliver(result, source: source, to: tasks)
    if case .success((let container, let original?)) = result, stores {
      storeOriginal(original, for: load.request, storage: storage)
      storePrint(container, of: load, from: original, storage: storage)
    }
    leaveOriginal(load, endsStore: true)
  }

  private func deliver(
    _ result: Result<(ImageContainer, Original?), Error>, source: ImageResponse.Source, to tasks: [ImageTask]
  ) {
    let now = monotonicNanoseconds()
    let delegate = currentDelegate
    for task in tasks {
      let outcome: Result<ImageResponse, Error> = result.map { container, original in
        var metrics = ImageTaskMetrics()
        metrics.duration = Double(now - task.startTime) / 1e9
        metrics.tries = original?.tries ?? 0
        metrics.originalByteCount = original?.data.count ?? 0
        metrics.transfer = original?.transfer
        return ImageResponse(container: container, source: source, metrics: metrics)
      }
      if task.finish(outcome) { delegate?.imagePipeline(self, task: task, didReceive: .finished(outcome)) }
    }
  }

  /// Lets go of the original. It stays in the table until the last waiter has left it, so that whoever
  /// comes while a print is made or stored does not download it again.
  private func leaveOriginal(_ waiter: any OriginalWaiter, endsStore: Bool = false) {
    let idle = core.withLock { core -> [UnsafeContinuation<Void, Never>] in
      if endsStore { core.storesUnderWay -= 1 }
      if let original = waiter.original {
        waiter.original = nil
        original.waiters.removeAll { $0 === waiter }
        if original.waiters.isEmpty, case .finished = original.phase {
          original.phase = .ended
          core.originals[original.key] = nil
        }
      }
      guard core.isIdle else { return [] }
      defer { core.idleWaiters = [] }
      return core.idleWaiters
    }
    for continuation in idle { continuation.resume() }
  }
}
