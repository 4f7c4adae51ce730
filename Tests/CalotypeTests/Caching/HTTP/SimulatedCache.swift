import Foundation

@testable import Calotype

/// A cache in memory that does what ``HTTPCachePolicy`` says, in front of a server that answers from a list, on
/// a clock that only the test moves. What a whole exchange comes to can be looked at with it.
struct SimulatedCache {
  /// What the server does with one request.
  enum Origin {
    /// It answers.
    case answer(status: Int = 200, HTTPHeaders, body: String = "origin")
    /// It answers 304 where the request's If-None-Match or If-Modified-Since has this text, else 200.
    case validating(HTTPHeaders, notModified: HTTPHeaders, body: String = "changed")
    /// It answers only the first bytes of the body, and closes.
    case broken(HTTPHeaders, body: String, after: Int)
    /// It cannot be reached.
    case unreachable
  }

  /// What the program got.
  struct Result {
    var status: Int
    var headers: HTTPHeaders
    var body: String
    /// The request that the server got, or `nil` where it was not asked.
    var sent: HTTPHeaders?
    /// Whether the server is to be asked behind the answer.
    var asksBehind = false

    var isFromCache: Bool { sent == nil }
  }

  struct Entry {
    var response: StoredHTTPResponse
    var body: [UInt8]
  }

  var policy = HTTPCachePolicy()
  var now: Double = 1_800_000_000
  /// How long each answer takes.
  var delay: Double = 0
  var entries: [String: [Entry]] = [:]

  /// The date so many seconds from now, as a field's value.
  func date(_ seconds: Double) -> String { HTTPDate.format(now + seconds) }

  mutating func fetch(
    _ headers: HTTPHeaders = [], url: String = "http://example.test/a", method: String = "GET",
    mode: ImageRequest.CachePolicy = .default, origin: Origin
  ) -> Result {
    let request = HTTPRequest(method: method, url: URL(string: url)!, headers: headers)
    let key = ImageRequest.normalizedAddress(url)
    let stored = entries[key, default: []]
    let decision = policy.decision(for: request, stored: stored.map(\.response), mode: mode, now: now)
    switch decision {
    case .fresh(let use), .stale(let use, .maxStale), .stale(let use, .forced), .stale(let use, .immutable):
      return reply(request, stored[use.index], age: use.age, sent: nil)
    case .stale(let use, .whileRevalidating):
      var result = reply(request, stored[use.index], age: use.age, sent: nil)
      result.asksBehind = true
      return result
    case .unsatisfiable:
      return Result(status: 504, headers: [], body: "", sent: nil)
    case .miss(let sent):
      return ask(request, key, mode, sent: sent, origin, revalidation: nil)
    case .revalidate(let revalidation):
      return ask(request, key, mode, sent: revalidation.headers, origin, revalidation: revalidation)
    case .resume(let index, let base, let sent):
      return resume(request, key, mode, index: index, base: base, sent: sent, origin)
    }
  }

  // MARK: The exchange

  private func reply(_ request: HTTPRequest, _ entry: Entry, age: Double?, sent: HTTPHeaders?) -> Result {
    let reply = policy.reply(to: request, from: entry.response, age: age, now: now)
    return Result(
      status: reply.head.status, headers: reply.head.headers,
      body: String(decoding: entry.body[reply.body], as: UTF8.self), sent: sent)
  }

  private struct Answer {
    var head: HTTPResponseHead
    var body: [UInt8]
    var isComplete = true
  }

  private func answer(_ origin: Origin, _ request: HTTPRequest, sent: HTTPHeaders) -> Answer? {
    func head(_ status: Int, _ headers: HTTPHeaders) -> HTTPResponseHead {
      HTTPResponseHead(url: request.url, status: status, headers: headers)
    }
    switch origin {
    case .unreachable: return nil
    case .answer(let status, let headers, let body):
      return Answer(head: head(status, headers), body: Array(body.utf8))
    case .broken(let headers, let body, let count):
      return Answer(head: head(200, headers), body: Array(body.utf8.prefix(count)), isComplete: false)
    case .validating(let headers, let notModified, let body):
      let matches =
        sent["If-None-Match"].map { $0.contains(headers["ETag"] ?? "\u{0}") }
        ?? (sent["If-Modified-Since"] != nil && sent["If-Modified-Since"] == headers["Last-Modified"])
      return matches
        ? Answer(head: head(304, notModified), body: [])
        : Answer(head: head(200, headers), body: Array(body.utf8))
    }
  }

  private mutating func ask(
    _ request: HTTPRequest, _ key: String, _ mode: ImageRequest.CachePolicy, sent: HTTPHeaders,
    _ origin: Origin,
    revalidation: HTTPCacheDecision.Revalidation?
  ) -> Result {
    let requestTime = now
    now += delay
    let stored = entries[key, default: []]
    guard let answer = answer(origin, request, sent: sent) else {
      if let revalidation,
        policy.mayUseStale(
          stored[revalidation.index].response.metadata, for: request, mode: mode, after: .disconnected,
          now: now)
      {
        let entry = stored[revalidation.index]
        let age = policy.freshness(of: entry.response.metadata, now: now).age
        return reply(request, entry, age: age, sent: nil)
      }
      return Result(status: 0, headers: [], body: "", sent: sent)
    }
    if let revalidation {
      switch policy.answer(
        answer.head, to: revalidation, for: request, mode: mode, stored: stored.map(\.response),
        requestTime: requestTime, responseTime: now)
      {
      case .holds(let index, let metadata):
        entries[key]?[index].response.metadata = metadata
        return reply(request, entries[key]![index], age: nil, sent: sent)
      case .stale(let index):
        let age = policy.freshness(of: stored[index].response.metadata, now: now).age
        return reply(request, stored[index], age: age, sent: nil)
      case .askAgain:
        return ask(request, key, mode, sent: request.headers, origin, revalidation: nil)
      case .pass: break
      }
    }
    return pass(answer, request, key, mode, sent: sent, requestTime: requestTime)
  }

  private mutating func pass(
    _ answer: Answer, _ request: HTTPRequest, _ key: String, _ mode: ImageRequest.CachePolicy,
    sent: HTTPHeaders,
    requestTime: Double
  ) -> Result {
    for address in HTTPCachePolicy.invalidatedAddresses(by: answer.head, to: request) {
      entries[address] = nil
    }
    if request.method == "HEAD" {
      for index in entries[key, default: []].indices {
        let effect = policy.headEffect(
          answer.head, on: entries[key]![index].response, for: request, requestTime: requestTime,
          responseTime: now)
        switch effect {
        case .none: break
        case .update(let metadata), .makeStale(let metadata):
          entries[key]![index].response.metadata = metadata
        }
      }
    }
    let storage = policy.storage(
      of: answer.head, for: request, mode: mode, requestTime: requestTime, responseTime: now,
      body: .init(length: answer.body.count, isComplete: answer.isComplete))
    if let metadata = storage.metadata {
      let entry = Entry(
        response: StoredHTTPResponse(metadata: metadata, bodyLength: answer.body.count), body: answer.body)
      let variant = HTTPVary(metadata.headers).variantKey(for: metadata.requestHeaders)
      entries[key, default: []].removeAll { other in
        // A beginning does not take the place of a whole.
        if metadata.kind == .partial, other.response.isComplete { return false }
        let otherMetadata = other.response.metadata
        return HTTPVary(otherMetadata.headers).variantKey(for: otherMetadata.requestHeaders) == variant
      }
      entries[key, default: []].append(entry)
    }
    return Result(
      status: answer.head.status, headers: answer.head.headers,
      body: String(decoding: answer.body, as: UTF8.self), sent: sent)
  }

  private mutating func resume(
    _ request: HTTPRequest, _ key: String, _ mode: ImageRequest.CachePolicy, index: Int,
    base: ResumePolicy.Base,
    sent: HTTPHeaders, _ origin: Origin
  ) -> Result {
    let requestTime = now
    now += delay
    guard let answer = answer(origin, request, sent: sent) else {
      return Result(status: 0, headers: [], body: "", sent: sent)
    }
    switch ResumePolicy.answer(answer.head, to: base) {
    case .append:
      let entry = entries[key]![index]
      guard
        let combination = policy.combination(
          of: answer.head, receivedLength: answer.body.count, with: entry.response, requestTime: requestTime,
          responseTime: now)
      else { return Result(status: 0, headers: [], body: "", sent: sent) }
      var body: [UInt8] = []
      for piece in combination.pieces {
        switch piece {
        case .stored(let range): body += entry.body[range]
        case .received(let range): body += answer.body[range]
        }
      }
      let whole = Entry(
        response: StoredHTTPResponse(metadata: combination.metadata, bodyLength: body.count), body: body)
      entries[key]![index] = whole
      return reply(request, whole, age: nil, sent: sent)
    case .replace, .failed: return pass(answer, request, key, mode, sent: sent, requestTime: requestTime)
    case .askWhole:
      entries[key]!.remove(at: index)
      return Result(status: 0, headers: [], body: "", sent: sent)
    }
  }
}
