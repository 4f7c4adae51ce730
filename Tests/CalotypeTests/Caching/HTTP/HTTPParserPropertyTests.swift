import Foundation
import Testing

@testable import Calotype

/// What must hold for any bytes that a server sends.
@Suite struct HTTPParserPropertyTests {
  private static let now: Double = 1_800_000_000

  /// Words that lead a parser far, and bytes that lead it astray.
  private static let words = [
    "max-age", "no-cache", "no-store", "stale-while-revalidate", "stale-if-error", "max-stale", "min-fresh",
    "public",
    "private", "immutable", "must-revalidate", "only-if-cached", "=", "\"", "\\", ",", ";", " ", "\t", "-",
    "*", "/", ":",
    "0", "1", "3600", "99999999999999999999", "bytes", "bytes ", "bytes=", "W/",
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "GMT", "Nov", "q=0.5", "en", "é", "\u{0}",
    "\u{FFFD}",
  ]

  private static func text(_ generator: inout SeededGenerator) -> String {
    var text = ""
    for _ in 0..<Int.random(in: 0...8, using: &generator) {
      if Int.random(in: 0..<3, using: &generator) == 0 {
        let bytes = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
          UInt8.random(in: 0...255, using: &generator)
        }
        text += String(decoding: bytes, as: UTF8.self)
      } else {
        text += words.randomElement(using: &generator) ?? ""
      }
    }
    return text
  }

  private static let names = [
    "Cache-Control", "Date", "Expires", "Age", "ETag", "Last-Modified", "Vary", "Pragma", "Content-Range",
    "Connection",
    "Content-Length", "Range", "If-None-Match", "If-Modified-Since", "If-Range", "Retry-After",
    "Accept-Language", "X",
  ]

  private static func headers(_ generator: inout SeededGenerator) -> HTTPHeaders {
    HTTPHeaders(
      (0..<Int.random(in: 0...8, using: &generator)).map { _ in
        .init(name: names.randomElement(using: &generator) ?? "X", value: text(&generator))
      })
  }

  @Test func noTextStopsAParser() {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<4000 {
      let text = Self.text(&generator)
      if let seconds = HTTPDate.parse(text, now: Self.now) {
        #expect(HTTPDate.parse(HTTPDate.format(seconds), now: Self.now) == seconds)
      }
      for tag in EntityTag.list([text]) ?? [] { #expect(tag.matchesWeakly(tag)) }
      if let range = ContentRange(text) { #expect(ContentRange(range.text) == range) }
      if case .single(let range) = ByteRange.request(text), let bytes = range.resolve(length: 100) {
        #expect(bytes.lowerBound >= 0 && bytes.upperBound <= 100 && !bytes.isEmpty)
      }
      if let seconds = CacheControl(text).maxAge.seconds { #expect((0...2_147_483_648).contains(seconds)) }
      for name in ["accept", "accept-language", "x"] {
        let normal = HTTPVary.normalizedValue(of: name, in: HTTPHeaders([.init(name: name, value: text)]))
        let again = HTTPVary.normalizedValue(
          of: name, in: HTTPHeaders([.init(name: name, value: normal ?? "")]))
        #expect(normal == again, "\(text)")
      }
    }
  }

  @Test func noDateStopsAParserWhateverTheClock() {
    for now in [Double.nan, .infinity, -.infinity, 1e300, -1e300, 0, -1] {
      #expect(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: now) != nil)
    }
  }

  @Test func nothingAddedMakesALifetimeLonger() {
    var generator = SeededGenerator(seed: 12)
    for _ in 0..<2000 {
      var lines = [HTTPHeaders.Field(name: "Cache-Control", value: "max-age=60")]
      lines.insert(
        .init(name: "Cache-Control", value: Self.text(&generator)),
        at: Int.random(in: 0...1, using: &generator))
      let lifetime = HTTPCachingFields(HTTPHeaders(lines)).lifetime(
        status: 200, responseTime: Self.now, now: Self.now, heuristicFraction: 0.1,
        maximumHeuristicLifetime: 1e9)
      #expect(lifetime.seconds <= 60)
    }
  }

  @Test func nothingAddedLetsAForbiddenResponseBeStored() throws {
    var generator = SeededGenerator(seed: 13)
    let url = try #require(URL(string: "http://example.test/"))
    for _ in 0..<2000 {
      var headers = Self.headers(&generator)
      headers.fields.insert(
        .init(name: "cache-control", value: "no-store"),
        at: Int.random(in: 0...headers.fields.count, using: &generator))
      let storage = HTTPCachePolicy().storage(
        of: HTTPResponseHead(url: url, status: 200, headers: headers), for: HTTPRequest(url: url),
        requestTime: Self.now, responseTime: Self.now, body: .init(length: 3))
      #expect(storage.metadata == nil)
    }
  }

  @Test func whateverIsStoredAndAskedTheAnswerKeepsToTheRules() throws {
    var generator = SeededGenerator(seed: 14)
    let url = try #require(URL(string: "http://example.test/"))
    var policy = HTTPCachePolicy()
    for _ in 0..<4000 {
      let length = Int.random(in: 0...20, using: &generator)
      let metadata = DataCacheMetadata(
        kind: Bool.random(using: &generator) ? .original : .partial, url: url.absoluteString,
        status: [200, 206, 404, 301].randomElement(using: &generator) ?? 200,
        headers: Self.headers(&generator),
        requestHeaders: [:], requestTime: Self.now, responseTime: Self.now)
      let stored = StoredHTTPResponse(metadata: metadata, bodyLength: length)
      let request = HTTPRequest(url: url, headers: Self.headers(&generator))
      let mode = ImageRequest.CachePolicy.allCases.randomElement(using: &generator) ?? .default
      policy.freshness = FreshnessPolicy.allCases.randomElement(using: &generator) ?? .http
      let now = Self.now + Double.random(in: -10...5000, using: &generator)
      switch policy.decision(for: request, stored: [stored], mode: mode, now: now) {
      case .fresh(let use):
        #expect(policy.freshness(of: metadata, now: now).isFresh)
        #expect(mode != .reload && mode != .noStore)
        check(policy.reply(to: request, from: stored, age: use.age, now: now), stored)
      case .stale(let use, _): check(policy.reply(to: request, from: stored, age: use.age, now: now), stored)
      case .revalidate(let revalidation):
        #expect(mode != .onlyIfCached)
        let answer = HTTPResponseHead(url: url, status: 304, headers: Self.headers(&generator))
        let result = policy.answer(
          answer, to: revalidation, for: request, mode: mode, stored: [stored], requestTime: now,
          responseTime: now)
        if case .holds(_, let updated) = result {
          #expect(updated.headers["Content-Range"] == metadata.headers["Content-Range"])
        }
      case .resume(_, let base, _): #expect(base.offset == length && metadata.kind == .partial)
      case .miss: #expect(mode != .onlyIfCached)
      case .unsatisfiable: #expect(mode == .onlyIfCached || !CacheControl(request.headers).flags.isEmpty)
      }
      _ = policy.combination(
        of: HTTPResponseHead(url: url, status: 206, headers: Self.headers(&generator)), receivedLength: 5,
        with: stored,
        requestTime: now, responseTime: now)
    }
  }

  private func check(_ reply: HTTPCachePolicy.Reply, _ stored: StoredHTTPResponse) {
    #expect(reply.body.lowerBound >= 0 && reply.body.upperBound <= stored.bodyLength)
    #expect(reply.head.headers.values("Age").count == 1)
    if reply.head.status == 206, stored.metadata.status == 200 {
      #expect(reply.head.headers["Content-Length"] == String(reply.body.count))
    }
    if reply.head.status == 304 { #expect(reply.body.isEmpty) }
  }
}
