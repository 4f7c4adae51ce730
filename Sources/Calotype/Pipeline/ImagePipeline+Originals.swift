import Foundation

// An original's way: look in the disk cache → wait for a place → the delegate's hook → the transfer → the
// answer, which may be a redirect, a failure worth another try, or the bytes → all who wait. What HTTP's
// caching has to say is in CachedExchange; here is when and where its steps are taken.
extension ImagePipeline {
  // MARK: Joining

  /// What joining an original's load comes to.
  enum Joining {
    /// The load was made for this, and is to be begun.
    case began(OriginalLoad)
    /// The bytes are there.
    case answered(Original)
    /// The load hands out the bytes once it has them.
    case waits
  }

  /// Attaches a waiter to its original's load.
  func join(_ waiter: any OriginalWaiter, _ box: Box<ImageRequest>, in core: inout Core) -> Joining {
    let request = box.value
    let key = OriginalLoad.Key(
      address: request.cacheKey.address, policy: request.cachePolicy, freshness: freshness(of: request))
    let hash = request.cacheKey.addressHash
    if let original = core.original(key, addressHash: hash) {
      original.waiters.append(waiter)
      waiter.original = original
      if waiter.priority > original.priority { setPriority(waiter.priority, of: original, in: &core) }
      return original.answer.map { .answered($0) } ?? .waits
    }
    let exchange = CachedExchange(
      request: httpRequest(for: request), mode: request.cachePolicy,
      rules: exchangeRules[key.freshness])
    exchange.keepsParts = request.storage.contains(.diskOriginal)
    let original = OriginalLoad(
      box, freshness: key.freshness, addressHash: hash, exchange: exchange, priority: waiter.priority)
    original.waiters.append(waiter)
    waiter.original = original
    core.add(original)
    return .began(original)
  }

  func proceed(_ joining: Joining, waiter: any OriginalWaiter, isOnWorkThread: Bool) {
    switch joining {
    case .waits: break
    case .answered(let original): use(original, for: waiter, isOnWorkThread: isOnWorkThread)
    case .began(let begun):
      if let source = begun.request.localSource {
        if case .file = source, begun.request.addressPolicy?.scope == .publicOnly {
          let error = HTTPTransportError(
            .addressRefused, url: begun.request.url,
            message: "it is a file of this machine, and only public addresses may be reached")
          return finish(begun, with: Error(url: error.url, stage: .request, cause: .transport(error)))
        }
        return read(source, for: begun, isOnWorkThread: isOnWorkThread)
      }
      let readsDisk = configuration.diskCache != nil && begun.key.policy != .noStore
      guard readsDisk, !isOnWorkThread else {
        return take(begun.exchange.begin(), in: begun, isOnWorkThread: isOnWorkThread)
      }
      submit(begun) { [self] in take(begun.exchange.begin(), in: begun, isOnWorkThread: true) }
    }
  }

  func submit(_ load: OriginalLoad, _ work: @escaping @Sendable () -> Void) {
    let item = workQueue.submit(priority: core.withLock { _ in load.priority }, work)
    core.withLock { _ in if case .working = load.phase { load.item = item } }
  }

  private func httpRequest(for request: ImageRequest) -> HTTPRequest {
    var headers = configuration.headers
    if !request.headers.isEmpty {
      headers = request.headers
      for field in configuration.headers.fields where headers[field.name] == nil {
        headers.append(name: field.name, value: field.value)
      }
    }
    var httpRequest = HTTPRequest(
      url: request.url, headers: headers, priority: request.priority,
      maximumResponseSize: configuration.maximumOriginalSize)
    httpRequest.addressPolicy = request.addressPolicy ?? configuration.addressPolicy
    return httpRequest
  }

  func httpPolicy(freshness: FreshnessPolicy) -> HTTPCachePolicy { exchangeRules[freshness].policy }

  /// The rules that exchanges keep to, made once for all of a pipeline's.
  struct ExchangeRules: Sendable {
    private let http, immutable, staleWhileRevalidate: CachedExchange.Rules

    init(_ configuration: Configuration) {
      var options = HTTPClient.Options()
      options.maximumRedirectCount = configuration.maximumRedirects
      options.allowsInsecureRedirects = configuration.allowsInsecureRedirects
      options.secretHeaderNames = configuration.secretHeaders
      func rules(_ freshness: FreshnessPolicy) -> CachedExchange.Rules {
        var policy = HTTPCachePolicy()
        policy.freshness = freshness
        policy.minimumHeuristicLifetime = configuration.unspecifiedLifetime
        return .init(policy: policy, cache: configuration.diskCache, options: options)
      }
      http = rules(.http)
      immutable = rules(.immutable)
      staleWhileRevalidate = rules(.staleWhileRevalidate)
    }

    subscript(freshness: FreshnessPolicy) -> CachedExchange.Rules {
      switch freshness {
      case .http: http
      case .immutable: immutable
      case .staleWhileRevalidate: staleWhileRevalidate
      }
    }
  }

  // MARK: Steps

  /// Does what the exchange says is next.
  private func take(_ step: CachedExchange.Step, in load: OriginalLoad, isOnWorkThread: Bool) {
    switch step {
    case .ask(let request): ask(request.headers, for: load)
    case .finished(let outcome): finish(load, with: outcome, isOnWorkThread: isOnWorkThread)
    case .unsatisfiable:
      finish(load, with: Error(url: load.request.url, stage: .cache, cause: .notCached))
    case .failed(let error):
      if tryAgain(load, after: .failure(error.code)) { return }
      let cause: Error.Cause = error.code == .cancelled ? .cancelled : .transport(error)
      finish(load, with: Error(url: load.request.url, stage: .download, cause: cause))
    }
  }

  /// Sends the exchange's request with some headers when there is a place for it; at once where the load has a
  /// place already.
  func ask(_ headers: HTTPHeaders, for load: OriginalLoad) {
    let now = monotonicNanoseconds()
    let admitted = core.withLock { core -> [OriginalLoad] in
      load.item = nil
      guard case .working = load.phase else { return [] }
      load.askingHeaders = headers
      if load.slot != nil {
        load.phase = .downloading
        return [load]
      }
      core.enqueue(load, now: now)
      if load.timing.enqueued == 0 { load.timing.enqueued = now }
      return core.admitDownloads(now: now)
    }
    start(admitted)
  }

  // MARK: Downloading

  /// Starts downloads that have been given a place.
  func start(_ admitted: [OriginalLoad]) {
    for load in admitted { startDownload(of: load) }
    if configuration.maximumDownloadsPerSecondPerHost != nil { wakeForNextStart() }
  }

  /// Sees to it that a host's next turn is not missed where nothing else happens until then.
  private func wakeForNextStart() {
    let wait = core.withLock { core in core.takeWaitForNextStart(now: monotonicNanoseconds()) }
    guard let wait else { return }
    Timers.shared.after(Double(wait) / 1e9) { [weak self] in
      guard let self else { return }
      let admitted = core.withLock { core in
        core.wakeTime = nil
        return core.admitDownloads(now: monotonicNanoseconds())
      }
      start(admitted)
    }
  }

  private func startDownload(of load: OriginalLoad) {
    let asking = core.withLock { _ in load.askingHeaders.map { ($0, load.priority) } }
    guard let (headers, priority) = asking else { return }
    // Nobody else has a step of the exchange to take until the answer is here.
    var request = load.exchange.request
    request.headers = headers
    request.priority = priority
    if case .closure(let body) = load.request.localSource { return run(body, for: load) }
    guard let delegate = currentDelegate else { return send(request, for: load) }
    let hook = Task { [self, request] in
      do {
        var changed = try await delegate.imagePipeline(self, willSend: request, for: load.request)
        // One that was made anew is still a hop of this chain.
        changed.redirectChain = request.redirectChain
        changed.redirectHop = request.redirectHop
        if changed.addressPolicy == nil { changed.addressPolicy = request.addressPolicy }
        send(changed, for: load)
      } catch {
        guard release(load) else { return }
        finish(
          load, with: Error(url: load.request.url, stage: .request, cause: .invalidRequest("\(error)")))
      }
    }
    keep(hook, for: load)
  }

  /// Keeps the task that the delegate is asked in, so that it is cancelled with the load; at once where the load
  /// has ended meanwhile.
  func keep(_ hook: Task<Void, Never>, for load: OriginalLoad) {
    let isWanted = core.withLock { _ in
      if case .ended = load.phase { return false }
      if case .downloading = load.phase, load.download == nil { load.hook = hook }
      return true
    }
    if !isWanted { hook.cancel() }
  }

  private func send(_ request: HTTPRequest, for load: OriginalLoad) {
    let download = OriginalDownload(
      request, of: load.exchange,
      onProgress: { [self] progress in report(progress, of: load) },
      onCompletion: { [self] ending in downloadEnded(load, ending) })
    let isWanted = core.withLock { _ in
      load.hook = nil
      guard case .downloading = load.phase else { return false }
      load.download = download
      load.tries += 1
      load.timing.sent = monotonicNanoseconds()
      return true
    }
    guard isWanted else { return }
    currentDelegate?.imagePipeline(self, for: load.request, didReceive: .sent(request))
    download.start(on: configuration.transport)
  }

  private func report(_ progress: ImageTask.Progress, of load: OriginalLoad) {
    let (tasks, download) = core.withLock { _ -> (ShortList<ImageTask>, OriginalDownload?) in
      if load.waiters.count == 1 { return (load.waiters[0].printLoad?.tasks ?? .init(), load.download) }
      var tasks = ShortList<ImageTask>()
      for waiter in load.waiters { for task in waiter.printLoad?.tasks ?? .init() { tasks.append(task) } }
      return (tasks, load.download)
    }
    if let download { considerPreview(of: load, download, progress, for: tasks) }
    let delegate = currentDelegate
    for task in tasks {
      task.report(progress)
      delegate?.imagePipeline(self, task: task, didReceive: .progress(progress))
    }
  }

  /// Frees a download's place. Returns whether the load is still wanted.
  func release(_ load: OriginalLoad, keepsPlace: Bool = false) -> Bool {
    let now = monotonicNanoseconds()
    let admitted = core.withLock { core -> [OriginalLoad]? in
      guard case .downloading = load.phase else { return nil }
      load.download = nil
      load.hook = nil
      load.phase = .working
      guard !keepsPlace else { return [] }
      core.withdraw(load)
      return core.admitDownloads(now: now)
    }
    guard let admitted else { return false }
    start(admitted)
    return true
  }

  /// Called on the transport's thread: looking at the answer may write the disk, and so is done on another.
  private func downloadEnded(_ load: OriginalLoad, _ ending: OriginalDownload.Ending) {
    if let delegate = currentDelegate {
      delegate.imagePipeline(
        self, for: load.request, didReceive: .ended(ending.received?.head, ending.result))
      if answerChallenge(ending, for: load, delegate) { return }
    }
    goOn(load, ending)
  }

  /// Asks the delegate for credentials where a server or a proxy wants some, once for each load. Returns
  /// whether it is being asked.
  private func answerChallenge(
    _ ending: OriginalDownload.Ending, for load: OriginalLoad, _ delegate: any ImagePipelineDelegate
  ) -> Bool {
    guard case .success = ending.result, let head = ending.received?.head,
      head.status == 401 || head.status == 407
    else { return false }
    let sent = core.withLock { _ -> HTTPRequest? in
      guard case .downloading = load.phase, !load.wasChallenged, let download = load.download else {
        return nil
      }
      load.wasChallenged = true
      load.download = nil
      return download.request
    }
    guard let sent else { return false }
    let hook = Task { [self] in
      let next = await delegate.imagePipeline(
        self, request: sent, for: load.request, didReceiveChallenge: head)
      if var next {
        next.redirectChain = sent.redirectChain
        next.redirectHop = sent.redirectHop
        if next.addressPolicy == nil { next.addressPolicy = sent.addressPolicy }
        send(next, for: load)
      } else {
        goOn(load, ending)
      }
    }
    keep(hook, for: load)
    return true
  }

  private func goOn(_ load: OriginalLoad, _ ending: OriginalDownload.Ending) {
    // Whoever is redirected goes on in the place that it has.
    let isRedirect =
      if case .success = ending.result { ending.received?.head.isRedirect ?? false } else { false }
    guard release(load, keepsPlace: isRedirect) else {
      if case .failure(let error) = ending.result, let partial = ending.received {
        // Nobody waits any more, but what came may serve the next who asks.
        workQueue.submit(priority: .veryLow) { _ = load.exchange.failed(error, partial: partial) }
      }
      return
    }
    // Where neither the disk is written nor a picture made, there is nothing to leave this thread for.
    if configuration.diskCache == nil, core.withLock({ _ in load.waiters.allSatisfy { $0.printLoad == nil } })
    {
      return look(at: ending, of: load, isOnWorkThread: false)
    }
    submit(load) { [self] in look(at: ending, of: load, isOnWorkThread: true) }
  }

  private func look(at ending: OriginalDownload.Ending, of load: OriginalLoad, isOnWorkThread: Bool) {
    switch ending.result {
    case .success(let metrics):
      core.withLock { _ in
        load.transfer = Box(metrics)
        load.timing.ended = monotonicNanoseconds()
        load.timing.wireByteCount += metrics.bytesReceived
      }
      guard let received = ending.received else { return }
      take(load.exchange.received(received), in: load, isOnWorkThread: isOnWorkThread)
    case .failure(let error):
      take(load.exchange.failed(error, partial: ending.received), in: load, isOnWorkThread: isOnWorkThread)
    }
  }

  // MARK: Trying again

  /// Arranges for another try where there is reason to; whether there is.
  private func tryAgain(_ load: OriginalLoad, after outcome: RetryPolicy.Outcome) -> Bool {
    let now = monotonicNanoseconds()
    var generator = JitterGenerator()
    let delay = core.withLock { core -> Double? in
      guard case .working = load.phase, !load.isRevalidating else { return nil }
      let decision = configuration.retry.decision(
        after: outcome, method: "GET", tries: load.failures + 1, now: wallClockSeconds(), using: &generator)
      guard case .retry(let delay) = decision, core.mayRetry(load.host, now: Double(now) / 1e9) else {
        return nil
      }
      core.withdraw(load)
      load.failures += 1
      load.phase = .backingOff
      return delay
    }
    guard let delay else { return false }
    currentDelegate?.imagePipeline(self, for: load.request, didReceive: .willTryAgain(after: delay))
    Timers.shared.after(delay) { [self] in
      let goesOn = core.withLock { _ in
        guard case .backingOff = load.phase else { return false }
        load.phase = .working
        return true
      }
      guard goesOn else { return }
      submit(load) { [self] in take(load.exchange.begin(), in: load, isOnWorkThread: true) }
    }
    return true
  }

  // MARK: Ending

  func finish(_ load: OriginalLoad, with outcome: CachedExchange.Outcome, isOnWorkThread: Bool) {
    let status = outcome.head.status
    if outcome.source == .network,
      tryAgain(load, after: .response(status: status, headers: outcome.head.headers))
    {
      return
    }
    guard (200..<300).contains(status), status != 206 else {
      // A failure of the server is never remembered, whatever it says of it.
      if let storable = outcome.storable, status < 500 { load.exchange.store(storable) }
      return finish(load, with: Error(url: load.request.url, stage: .download, cause: .status(status)))
    }
    let now = monotonicNanoseconds()
    let (waiters, original, isUpdate, admitted) = core.withLock {
      core -> (ShortList<any OriginalWaiter>, Original, Bool, [OriginalLoad]) in
      load.item = nil
      core.withdraw(load)
      if outcome.source == .network { core.recordSuccess(load.host, now: Double(now) / 1e9) }
      let original = Original(
        outcome, tries: load.tries, transfer: load.transfer, timing: load.timing)
      let admitted = core.admitDownloads(now: now)
      if case .ended = load.phase { return (.init(), original, false, admitted) }
      let isUpdate = load.isRevalidating
      load.isRevalidating = outcome.wantsRevalidation
      load.phase = outcome.wantsRevalidation ? .working : .done
      load.answer = original
      return (isUpdate ? .init() : load.waiters, original, isUpdate, admitted)
    }
    start(admitted)
    if isUpdate { return update(load, with: original) }
    // The first is made here, where the bytes are at hand; the others by whichever threads are free.
    for waiter in waiters.dropFirst() { use(original, for: waiter, isOnWorkThread: false) }
    if let first = waiters.first { use(original, for: first, isOnWorkThread: isOnWorkThread) }
    if outcome.wantsRevalidation { take(load.exchange.revalidate(), in: load, isOnWorkThread: true) }
  }

  /// Hands the failure to get an original to all who wait for it.
  func finish(_ load: OriginalLoad, with error: Error) {
    let now = monotonicNanoseconds()
    let (waiters, followers, admitted) = core.withLock {
      core -> (ShortList<any OriginalWaiter>, [OriginalLoad.Follower], [OriginalLoad]) in
      load.item = nil
      core.withdraw(load)
      let admitted = core.admitDownloads(now: now)
      if case .ended = load.phase { return (.init(), [], admitted) }
      defer { load.followers = [] }
      guard load.answer == nil else {
        // The server could not be asked behind an answer: that answer stands.
        load.isRevalidating = false
        load.phase = .done
        dropIfUnused(load, in: &core)
        return (.init(), load.followers, admitted)
      }
      load.phase = .ended
      core.remove(load)
      defer { load.waiters = .init() }
      return (load.waiters, load.followers, admitted)
    }
    start(admitted)
    for follower in followers { for task in follower.tasks { task.follow(with: nil) } }
    for waiter in waiters { fail(waiter, with: error) }
    resumeIfIdle()
  }

  // MARK: Leaving

  /// Lets go of the original. It stays in the table until the last waiter has left it, so that whoever
  /// comes while a print is made or stored does not download it again.
  func leaveOriginal(_ waiter: any OriginalWaiter, endsStore: Bool = false) {
    core.withLock { core in
      if endsStore { core.storesUnderWay -= 1 }
      if let original = waiter.original {
        waiter.original = nil
        original.waiters.removeAll { $0 === waiter }
        dropIfUnused(original, in: &core)
      }
    }
    resumeIfIdle()
  }

  func dropIfUnused(_ load: OriginalLoad, in core: inout Core) {
    guard load.waiters.isEmpty, !load.isRevalidating, case .done = load.phase else { return }
    load.phase = .ended
    core.remove(load)
  }

  func resumeIfIdle() {
    let idle = core.withLock { core -> [UnsafeContinuation<Void, Never>] in
      guard core.isIdle else { return [] }
      defer { core.idleWaiters = [] }
      return core.idleWaiters
    }
    for continuation in idle { continuation.resume() }
  }
}

extension HTTPResponseHead {
  /// Whether the status is one that leads elsewhere.
  var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) }
}
