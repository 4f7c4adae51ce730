import Foundation

/// One logical load by HTTP's rules of caching: what is stored answers where it may, the server is asked
/// where it must be, redirects are followed with each hop's own caching, and what comes is stored.
///
/// It reads and writes the cache, but sends nothing: each step says what to do next, and whoever drives it
/// sends the request (when there is a place for it) and reports back. So the same rules serve the pipeline,
/// which schedules, and a single request from the command line, which does not.
// Sound as Sendable: its driver takes one step after the other, never two at once.
package final class CachedExchange: @unchecked Sendable {
  /// What to do next.
  package enum Step: Sendable {
    /// Send this request, then call ``CachedExchange/received(_:)`` or ``CachedExchange/failed(_:partial:)``.
    case ask(HTTPRequest)
    /// The response is here.
    case finished(Outcome)
    /// Nothing stored can answer, and the request forbids asking.
    case unsatisfiable
    /// It cannot be had.
    case failed(HTTPTransportError)
  }

  /// A response as it came from the server.
  package struct Received: Sendable {
    package var head: HTTPResponseHead
    package var body: Data
    /// When the request was sent, in seconds since 1970.
    package var requestTime: Double
    /// When the head came, in seconds since 1970.
    package var responseTime: Double
    /// What has kept the body while it came.
    var parts: PartKeeper?

    package init(head: HTTPResponseHead, body: Data, requestTime: Double, responseTime: Double) {
      self.head = head
      self.body = body
      self.requestTime = requestTime
      self.responseTime = responseTime
    }
  }

  /// A response for the program.
  package struct Outcome: Sendable {
    /// Status and headers; `Age` is among them where a stored response was not confirmed just now.
    package var head: HTTPResponseHead
    package var body: Data
    /// What is known of the response that it was made from.
    package var metadata: DataCacheMetadata
    package var source: ImageResponse.Source
    /// Whether a stored response was used although it is stale.
    package var isStale = false
    /// How many seconds ago the server sent or confirmed what is stored; `nil` where it did just now.
    package var age: Double?
    /// What is to be stored, once the body is found good: see ``CachedExchange/store(_:)``.
    package var storable: Storable?
    /// Whether the server is to be asked behind this answer: see ``CachedExchange/revalidate()``.
    package var wantsRevalidation = false
    /// Until when it is fresh, with every redirect on its way, in seconds since 1970.
    package var freshUntil: Double
    /// Whether any redirect was followed on the way.
    package var wasRedirected = false
    /// Whether a file has changed since its key was made: then nothing is stored under that key.
    var isOfAnotherVersion = false
  }

  /// What the server was asked.
  private enum Question {
    case plain
    indirect case whether(HTTPCacheDecision.Revalidation)
    indirect case rest(index: Int, ResumePolicy.Base)
  }

  /// What the exchanges of a pipeline have in common: one for all, since there may be many that wait.
  final class Rules: Sendable {
    let policy: HTTPCachePolicy
    let cache: (any DataCaching)?
    let options: HTTPClient.Options
    let clock: @Sendable () -> Double

    init(
      policy: HTTPCachePolicy, cache: (any DataCaching)?, options: HTTPClient.Options = .init(),
      clock: @escaping @Sendable () -> Double = wallClockSeconds
    ) {
      self.policy = policy
      self.cache = cache
      self.options = options
      self.clock = clock
    }
  }

  private let rules: Rules
  var policy: HTTPCachePolicy { rules.policy }
  var cache: (any DataCaching)? { rules.cache }
  private var options: HTTPClient.Options { rules.options }
  private(set) var mode: ImageRequest.CachePolicy
  /// Whether the beginning of a download that is broken off is kept, to be gone on with.
  package var keepsParts = true
  /// The request of the hop that the exchange is at, as the program would make it.
  private(set) var request: HTTPRequest
  /// The request of the first hop, once there is another.
  private var firstRequest: Box<HTTPRequest>?
  /// What is stored for that hop.
  var stored: [Stored] = []
  private var question = Question.plain
  private var redirects = 0
  /// Until when the hops so far are fresh, in seconds since 1970.
  private var freshUntil = Double.infinity
  /// Answers that fitted nothing; bounded, so that a confused server is not asked for ever.
  private var rejections = 0
  /// Portions of one body that came; bounded, since for each of them all that is there is written again.
  private var portions = 0
  private static let mostPortions = 256
  /// Where the pieces are of what is whole now.
  private var pieces: [String] = []

  /// Creates an exchange by HTTP's rules alone.
  package convenience init(
    request: HTTPRequest, mode: ImageRequest.CachePolicy, cache: (any DataCaching)?,
    options: HTTPClient.Options = .init()
  ) {
    self.init(
      request: request, mode: mode, rules: Rules(policy: HTTPCachePolicy(), cache: cache, options: options))
  }

  init(request: HTTPRequest, mode: ImageRequest.CachePolicy, rules: Rules) {
    var request = request
    if request.redirectChain == nil { request.redirectChain = RedirectChain() }
    self.request = request
    self.mode = mode
    self.rules = rules
  }

  private func clock() -> Double { rules.clock() }

  /// How many bytes are there already of what the last request asks for; 0 unless it asks for the rest of a
  /// download. An answer of 206 continues behind them.
  package var resumeOffset: Int {
    if case .rest(_, let base) = question { base.offset } else { 0 }
  }

  /// The part whose rest was asked for.
  var restAskedFor: (held: Stored, base: ResumePolicy.Base)? {
    guard case .rest(let index, let base) = question, stored.indices.contains(index) else { return nil }
    return (stored[index], base)
  }

  /// The whole length of a download that is gone on with, where it is known.
  package var resumeTotal: Int? {
    if case .rest(_, let base) = question { base.total } else { nil }
  }

  // MARK: Steps

  /// Looks in the cache. Reads the disk.
  package func begin() -> Step {
    stored = mode == .noStore ? [] : storedResponses(for: request)
    let now = clock()
    var decision = policy.decision(for: request, stored: stored.map(\.response), mode: mode, now: now)
    if decision.asks, mode != .noStore, let part = storedPart(for: request) {
      stored.append(part)
      decision = policy.decision(for: request, stored: stored.map(\.response), mode: mode, now: now)
    }
    switch decision {
    case .fresh(let use): return answer(from: use.index, age: use.age, source: .disk, now: now)
    case .stale(let use, .whileRevalidating(let revalidation)):
      question = .whether(revalidation)
      return answer(from: use.index, age: use.age, source: .disk, isStale: true, revalidates: true, now: now)
    case .stale(let use, _):
      return answer(from: use.index, age: use.age, source: .disk, isStale: true, now: now)
    case .revalidate(let revalidation):
      question = .whether(revalidation)
      return ask(with: revalidation.headers)
    case .resume(let index, let base, let headers):
      question = .rest(index: index, base)
      return ask(with: headers)
    case .miss(let headers):
      question = .plain
      return ask(with: headers)
    case .unsatisfiable: return .unsatisfiable
    }
  }

  /// Asks behind an outcome that wants it.
  package func revalidate() -> Step {
    guard case .whether(let revalidation) = question else { return .unsatisfiable }
    return ask(with: revalidation.headers)
  }

  /// Takes the server's answer. May write the disk.
  package func received(_ received: Received) -> Step {
    if let parts = received.parts { pieces += parts.wait() }
    switch question {
    case .plain: return accept(received)
    case .whether(let revalidation): return received304(received, revalidation)
    case .rest(let index, let base): return receivedRest(received, index, base)
    }
  }

  /// Takes the failure to get an answer, with what came of it. May write the disk.
  package func failed(_ error: HTTPTransportError, partial: Received? = nil) -> Step {
    if error.code == .addressRefused, redirects > 0, request.redirectChain?.beginning == .unknown {
      return beginAgainWithoutStored()
    }
    if case .whether(let revalidation) = question, error.code != .cancelled,
      stored.indices.contains(revalidation.index),
      policy.mayUseStale(
        stored[revalidation.index].entry.metadata, for: request, mode: mode, after: .disconnected,
        now: clock())
    {
      return answerStale(from: revalidation.index)
    }
    if let partial, partial.body.count >= Self.smallestPartWorthKeeping {
      if let parts = partial.parts { pieces += parts.wait() }
      if let end = endIfTooLarge(partial.body.count, behind: resumeOffset) { return end }
      keepPart(partial)
    }
    return .failed(error)
  }

  /// Ends a download that comes to more than the limit with what was there before, all of which is dropped: the
  /// transport holds each response to the limit, not their sum.
  private func endIfTooLarge(_ byteCount: Int, behind offset: Int) -> Step? {
    guard offset > request.maximumResponseSize - byteCount else { return nil }
    dropPart()
    return .failed(
      HTTPTransportError(
        .responseTooLarge, url: request.url,
        message: "the response is larger than \(request.maximumResponseSize) bytes"))
  }

  /// Goes the whole way again, asking for each hop: a redirect that came from the cache does not tell whether it
  /// was a public address that gave it.
  private func beginAgainWithoutStored() -> Step {
    if let firstRequest { request = firstRequest.value }
    redirects = 0
    freshUntil = .infinity
    mode = .reload
    return begin()
  }

  /// Stores what an outcome said is to be stored. Writes the disk.
  package func store(_ storable: Storable) {
    storable.store(in: cache)
  }

  /// The keys of the part that is kept for the request, with all of its pieces.
  var partKeys: [String] {
    let kept = stored.filter { $0.entry.metadata.kind == .partial }.flatMap { $0.pieces + [$0.key] }
    return Array(Set(kept + pieces))
  }

  /// Drops the part that is kept for the request.
  private func dropPart() {
    for key in partKeys { cache?.remove(key) }
    pieces = []
  }

  // MARK: Asking

  private func ask(with headers: HTTPHeaders) -> Step {
    var request = request
    request.headers = headers
    return .ask(request)
  }

  /// Asks for the whole, with the program's own headers.
  private func askWhole(_ received: Received) -> Step {
    rejections += 1
    guard rejections <= 2 else { return accept(received) }
    question = .plain
    return ask(with: request.headers)
  }

  // MARK: Answers

  private func received304(_ received: Received, _ revalidation: HTTPCacheDecision.Revalidation) -> Step {
    let answer = policy.answer(
      received.head, to: revalidation, for: request, mode: mode, stored: stored.map(\.response),
      requestTime: received.requestTime, responseTime: received.responseTime)
    switch answer {
    case .holds(let index, let metadata):
      let confirmed = stored[index].entry.metadata
      stored[index].entry.metadata = metadata
      cache?.updateMetadata(metadata, for: stored[index].key, replacing: confirmed)
      return self.answer(from: index, age: nil, source: .revalidated, now: clock())
    case .stale(let index): return answerStale(from: index)
    case .askAgain: return askWhole(received)
    case .pass: return accept(received)
    }
  }

  private func receivedRest(_ received: Received, _ index: Int, _ base: ResumePolicy.Base) -> Step {
    switch ResumePolicy.answer(received.head, to: base) {
    case .replace where received.head.status == 206:
      // All of it, although the rest was asked for.
      guard received.body.count == ContentRange(received.head.headers)?.total else {
        dropPart()
        return askWhole(received)
      }
      var whole = received
      whole.head.status = 200
      whole.head.headers["Content-Range"] = nil
      return accept(whole)
    case .replace, .failed: return accept(received)
    case .askWhole:
      dropPart()
      return askWhole(received)
    case .append(let end, let total):
      let joined = joined(received, to: index)
      if let end = endIfTooLarge(received.body.count, behind: base.offset) { return end }
      switch ResumePolicy.progress(
        received: received.body.count, offset: base.offset, end: end, total: total)
      {
      case .complete:
        guard let joined, joined.metadata.kind == .original else { return askWhole(received) }
        return finish(
          joined, head: HTTPResponseHead(url: request.url, status: 200, headers: joined.metadata.headers))
      case .incomplete where joined.map { $0.body.count > base.offset } ?? false:
        // A server that sends ranges in portions: keep what there is and ask for what comes behind it.
        if let joined { cache?.store(joined, for: stored[index].key) }
        pieces = stored[index].pieces + pieces
        portions += 1
        guard portions <= Self.mostPortions else {
          dropPart()
          return askWhole(received)
        }
        let step = begin()
        // Where it could not be kept the same bytes would be asked for again, and again.
        if case .rest(_, let next) = question, next.offset <= base.offset {
          dropPart()
          return askWhole(received)
        }
        return step
      case .incomplete, .broken:
        dropPart()
        return askWhole(received)
      }
    }
  }

  /// Takes a response as what the program gets.
  private func accept(_ received: Received) -> Step {
    let head = received.head
    if mode != .noStore { forgetWhatItEnds(head) }
    if request.method == "HEAD" { applyHead(received) }
    var entry = cache == nil ? nil : entry(for: received)
    if head.status == 206 {
      for index in stored.indices {
        guard let joined = joined(received, to: index) else { continue }
        entry = joined
        break
      }
    }
    let metadata =
      entry?.metadata
      ?? DataCacheMetadata(
        kind: .original, url: ImageRequest.normalizedAddress(request.url.absoluteString), status: head.status,
        headers: head.headers, requestTime: received.requestTime, responseTime: received.responseTime)
    let outcome = Outcome(
      head: head, body: received.body, metadata: metadata, source: .network,
      storable: entry.map(storable), freshUntil: 0, wasRedirected: redirects > 0)
    return follow(outcome)
  }

  /// The response as an entry, where it may be stored.
  private func entry(for received: Received) -> DataCacheEntry? {
    let head = received.head
    let body = HTTPCachePolicy.ReceivedBody(
      length: received.body.count,
      wasDecoded: request.decodesContentEncoding && head.decodedLength(for: request) == nil
        && head.headers["Content-Encoding"] != nil)
    let storage = policy.storage(
      of: head, for: request, mode: mode, requestTime: received.requestTime,
      responseTime: received.responseTime, body: body)
    return storage.metadata.map { DataCacheEntry(metadata: $0, body: received.body) }
  }

  private func finish(_ entry: DataCacheEntry, head: HTTPResponseHead) -> Step {
    follow(
      Outcome(
        head: head, body: entry.body, metadata: entry.metadata, source: .network, storable: storable(entry),
        freshUntil: 0, wasRedirected: redirects > 0))
  }

  private func answerStale(from index: Int) -> Step {
    let now = clock()
    let age = policy.freshness(of: stored[index].entry.metadata, now: now).age
    return answer(from: index, age: age, source: .disk, isStale: true, now: now)
  }

  /// Answers with what is stored.
  private func answer(
    from index: Int, age: Double?, source: ImageResponse.Source, isStale: Bool = false,
    revalidates: Bool = false,
    now: Double
  ) -> Step {
    let entry = stored[index].entry
    let reply = policy.reply(to: request, from: stored[index].response, age: age, now: now)
    // The whole body is passed on as it is; only a part of it is cut out.
    let body =
      reply.body == 0..<entry.body.count
      ? entry.body : entry.body.subdata(in: offset(reply.body, in: entry.body))
    return follow(
      Outcome(
        head: reply.head, body: body, metadata: entry.metadata, source: source, isStale: isStale,
        age: age.flatMap { $0.isFinite ? $0 : nil },
        wantsRevalidation: revalidates, freshUntil: 0, wasRedirected: redirects > 0))
  }

  private func offset(_ range: Range<Int>, in data: Data) -> Range<Int> {
    range.lowerBound + data.startIndex..<range.upperBound + data.startIndex
  }

  /// Goes on to where a redirect leads; what is none is the outcome.
  private func follow(_ outcome: Outcome) -> Step {
    var outcome = outcome
    freshUntil = min(freshUntil, policy.freshUntil(outcome.metadata, now: clock()))
    outcome.freshUntil = freshUntil
    guard options.followsRedirects else { return .finished(outcome) }
    do throws(HTTPTransportError) {
      guard let next = try HTTPRedirect.next(after: request, response: outcome.head, options: options) else {
        return .finished(outcome)
      }
      guard redirects < options.maximumRedirectCount else {
        throw HTTPTransportError(
          .tooManyRedirects, url: request.url,
          message:
            "more than \(options.maximumRedirectCount) redirects, the last to \(next.url.displayText)")
      }
      // A redirect has no picture that would have to be looked at first.
      if let storable = outcome.storable { store(storable) }
      redirects += 1
      if firstRequest == nil { firstRequest = Box(request) }
      request = next
      if isAsNamed { request.redirectHop = 0 }
      return begin()
    } catch {
      return .failed(error)
    }
  }

  /// Whether the cache has answered all hops so far, and the next leads to the host that was named: whoever gave
  /// the redirect gains nothing by that, and the hop may go where the first one might.
  private var isAsNamed: Bool {
    guard request.redirectChain?.beginning == .unknown, let named = firstRequest?.value.url.host else {
      return false
    }
    return request.url.host?.equalsIgnoringASCIICase(named) ?? false
  }
}

extension HTTPCacheDecision {
  /// Whether the server has to be asked.
  fileprivate var asks: Bool {
    switch self {
    case .fresh, .stale: false
    case .revalidate, .resume, .miss, .unsatisfiable: true
    }
  }
}
