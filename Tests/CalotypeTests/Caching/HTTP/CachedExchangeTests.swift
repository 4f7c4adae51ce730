import Foundation
import TestSupport
import Testing

@testable import Calotype

/// Drives an exchange by hand: what would be sent, and what its answers do.
@Suite struct CachedExchangeTests {
  private final class Time: Sendable {
    private let seconds = Lock(1_000_000.0)
    var now: Double {
      get { seconds.withLock { $0 } }
      set { seconds.withLock { $0 = newValue } }
    }
  }

  private let cache = StubDataCache()
  private let time = Time()

  private func exchange(
    _ path: String = "/a", headers: HTTPHeaders = [], method: String = "GET",
    mode: ImageRequest.CachePolicy = .default, policy: HTTPCachePolicy = .init(),
    limit: Int = HTTPRequest.defaultMaximumResponseSize
  ) -> CachedExchange {
    CachedExchange(
      request: HTTPRequest(method: method, url: url(path), headers: headers, maximumResponseSize: limit),
      mode: mode,
      rules: .init(policy: policy, cache: cache, clock: { [time] in time.now }))
  }

  /// An answer that comes now.
  private func answer(
    _ status: Int, _ headers: HTTPHeaders, _ body: String = "", at path: String = "/a"
  ) -> CachedExchange.Received {
    CachedExchange.Received(
      head: HTTPResponseHead(url: url(path), status: status, headers: headers), body: Data(body.utf8),
      requestTime: time.now, responseTime: time.now)
  }

  /// Sends a request that nothing stored answers, and stores what comes.
  private func fetch(
    _ headers: HTTPHeaders, _ body: String, at path: String = "/a", request: HTTPHeaders = []
  ) throws {
    let exchange = exchange(path, headers: request)
    _ = try #require(exchange.begin().asked)
    let outcome = try #require(exchange.received(answer(200, headers, body, at: path)).outcome)
    exchange.store(try #require(outcome.storable))
  }

  @Test func aFreshResponseAnswersWithItsAge() throws {
    try fetch(["Cache-Control": "max-age=60"], "picture")
    time.now += 20
    let outcome = try #require(exchange().begin().outcome)
    #expect(outcome.source == .disk)
    #expect(outcome.body == Data("picture".utf8))
    #expect(outcome.head.headers["Age"] == "20")
    #expect(outcome.freshUntil == time.now + 40)
  }

  @Test func whatWasAnsweredToCredentialsIsKeptApart() throws {
    try fetch(["Cache-Control": "max-age=60"], "mine", request: ["Authorization": "me"])
    #expect(
      try #require(exchange(headers: ["Authorization": "me"]).begin().outcome).body == Data("mine".utf8))
    #expect(exchange(headers: ["Authorization": "you"]).begin().asked != nil)
    #expect(exchange().begin().asked != nil)
    // What the server has for everybody.
    for (path, directive) in [("/b", "public"), ("/c", "must-revalidate")] {
      try fetch(
        ["Cache-Control": "max-age=60, \(directive)"], "all", at: path, request: ["Authorization": "me"])
      for headers: HTTPHeaders in [[], ["Authorization": "you"]] {
        #expect(try #require(exchange(path, headers: headers).begin().outcome).body == Data("all".utf8))
      }
    }
  }

  /// RFC 9111, section 4.4: all that is stored for the address ends, whatever requests it was answered to.
  @Test func anUnsafeMethodEndsEveryVariant() throws {
    let folder = try TestSupport.TemporaryFolder()
    let cache = DiskCache(directory: folder.url)
    let asked: [(path: String, headers: HTTPHeaders)] = [
      ("/a", ["Foo": "1"]), ("/a", ["Foo": "2"]), ("/a", []), ("/a", ["Authorization": "me"]),
      ("/a", ["Host": "other.test"]), ("/a2", ["Foo": "1"]),
    ]
    func exchange(_ path: String, _ headers: HTTPHeaders, method: String = "GET") -> CachedExchange {
      CachedExchange(
        request: HTTPRequest(method: method, url: url(path), headers: headers), mode: .default,
        rules: .init(policy: .init(), cache: cache, clock: { [time] in time.now }))
    }
    for (path, headers) in asked {
      let exchange = exchange(path, headers)
      _ = try #require(exchange.begin().asked)
      let answer = answer(200, ["Cache-Control": "max-age=60", "Vary": "Foo"], "old", at: path)
      exchange.store(try #require(exchange.received(answer).outcome?.storable))
    }
    for (path, headers) in asked { #expect(exchange(path, headers).begin().outcome != nil, "\(headers)") }
    let change = exchange("/a", ["Foo": "9"], method: "DELETE")
    _ = try #require(change.begin().asked)
    _ = change.received(answer(204, [:]))
    for (path, headers) in asked {
      #expect((exchange(path, headers).begin().asked != nil) == (path == "/a"), "\(headers)")
    }
  }

  /// A Host field and a body say what is asked for, as the address does.
  @Test func whatTheAddressDoesNotNameIsToldApart() throws {
    try fetch(["Cache-Control": "max-age=60"], "one", request: ["Host": "One.test"])
    #expect(try #require(exchange(headers: ["host": "one.test"]).begin().outcome).body == Data("one".utf8))
    #expect(exchange(headers: ["Host": "two.test"]).begin().asked != nil)
    #expect(exchange().begin().asked != nil)
    var request = HTTPRequest(url: url("/b"))
    for body in ["question", "another"] {
      request.body = Data(body.utf8)
      let exchange = CachedExchange(
        request: request, mode: .default,
        rules: .init(policy: .init(), cache: cache, clock: { [time] in time.now }))
      #expect(exchange.begin().asked != nil)
      let outcome = exchange.received(answer(200, ["Cache-Control": "max-age=60"], body, at: "/b")).outcome
      #expect(try #require(outcome).storable == nil)
    }
  }

  @Test func aStaleOneIsAskedAboutAndConfirmed() throws {
    try fetch(["Cache-Control": "max-age=1", "ETag": "\"1\"", "X-Kept": "yes"], "picture")
    for _ in 0..<2 {
      time.now += 10
      let exchange = exchange()
      #expect(try #require(exchange.begin().asked).headers["If-None-Match"] == "\"1\"")
      let outcome = try #require(exchange.received(answer(304, ["ETag": "\"1\"", "X-New": "yes"])).outcome)
      #expect(outcome.source == .revalidated)
      #expect(outcome.head.status == 200)
      #expect(outcome.body == Data("picture".utf8))
      #expect(outcome.head.headers["X-Kept"] == "yes")
      #expect(outcome.head.headers["X-New"] == "yes")
    }
    #expect(try #require(exchange().begin().outcome).source == .disk)
  }

  @Test func aChangedOneTakesThePlace() throws {
    try fetch(["Cache-Control": "max-age=0", "ETag": "\"1\""], "old")
    let first = exchange()
    _ = first.begin()
    let outcome = try #require(
      first.received(answer(200, ["Cache-Control": "max-age=60", "ETag": "\"2\""], "new")).outcome)
    #expect(outcome.source == .network)
    first.store(try #require(outcome.storable))
    #expect(try #require(exchange().begin().outcome).body == Data("new".utf8))
  }

  @Test func variantsStandSideBySide() throws {
    let headers: HTTPHeaders = ["Vary": "Accept-Language", "Cache-Control": "max-age=60"]
    try fetch(headers, "english", request: ["Accept-Language": "en"])
    try fetch(headers, "french", request: ["Accept-Language": "fr"])
    for (language, body) in [("en", "english"), ("fr", "french")] {
      let outcome = try #require(exchange(headers: ["Accept-Language": language]).begin().outcome)
      #expect(outcome.body == Data(body.utf8))
    }
    #expect(exchange(headers: ["Accept-Language": "de"]).begin().asked != nil)
  }

  @Test func eachHopHasItsOwnCaching() throws {
    let first = exchange("/now")
    _ = first.begin()
    let next = try #require(
      first.received(answer(302, ["Location": "/v1", "Cache-Control": "no-store"], at: "/now")).asked)
    #expect(next.url == url("/v1"))
    let outcome = try #require(
      first.received(answer(200, ["Cache-Control": "max-age=60"], "one", at: "/v1")).outcome)
    #expect(outcome.wasRedirected)
    #expect(outcome.freshUntil == time.now)
    first.store(try #require(outcome.storable))
    // The redirect was not stored, what it led to was.
    let second = exchange("/now")
    #expect(try #require(second.begin().asked).url == url("/now"))
    let again = try #require(
      second.received(answer(302, ["Location": "/v1", "Cache-Control": "max-age=60"], at: "/now")).outcome)
    #expect(again.source == .disk)
    #expect(again.body == Data("one".utf8))
    // Now it is, and nobody is asked.
    #expect(try #require(exchange("/now").begin().outcome).body == Data("one".utf8))
  }

  @Test func redirectsEndSomewhere() throws {
    let exchange = exchange("/0")
    var step = exchange.begin()
    for hop in 0...10 {
      guard step.asked != nil else { break }
      step = exchange.received(answer(302, ["Location": "/\(hop + 1)"], at: "/\(hop)"))
    }
    guard case .failed(let error) = step else { return #expect(Bool(false), "it went on") }
    #expect(error.code == .tooManyRedirects)
  }

  @Test func aBrokenOffDownloadIsGoneOnWith() throws {
    let whole = String(repeating: "0123456789abcdef", count: 4096)
    let half = String(whole.prefix(40_000))
    let rest = String(whole.dropFirst(40_000))
    let first = exchange()
    _ = first.begin()
    let head: HTTPHeaders = ["ETag": "\"1\"", "Content-Length": "65536", "Cache-Control": "max-age=60"]
    let lost = HTTPTransportError(.connectionLost, url: url("/a"), message: "lost")
    _ = first.failed(lost, partial: answer(200, head, half))
    let second = exchange()
    let asked = try #require(second.begin().asked)
    #expect(asked.headers["Range"] == "bytes=40000-")
    #expect(asked.headers["If-Range"] == "\"1\"")
    #expect(second.resumeOffset == 40_000)
    #expect(second.resumeTotal == 65_536)
    let part: HTTPHeaders = [
      "ETag": "\"1\"", "Content-Range": "bytes 40000-65535/65536", "Content-Length": "25536",
    ]
    let outcome = try #require(second.received(answer(206, part, rest)).outcome)
    #expect(outcome.head.status == 200)
    #expect(outcome.body == Data(whole.utf8))
    second.store(try #require(outcome.storable))
    #expect(try #require(exchange().begin().outcome).body == Data(whole.utf8))
  }

  @Test(arguments: [
    (206, "\"2\"", "bytes 40000-65535/65536"), (206, "\"1\"", "bytes 39999-65535/65536"),
    (416, "\"1\"", "bytes */65536"),
  ])
  func whatDoesNotFitIsAskedForWhole(status: Int, tag: String, range: String) throws {
    let headers: HTTPHeaders = ["ETag": tag, "Content-Range": range]
    let first = exchange()
    _ = first.begin()
    let head: HTTPHeaders = ["ETag": "\"1\"", "Content-Length": "65536"]
    let lost = HTTPTransportError(.connectionLost, url: url("/a"), message: "lost")
    _ = first.failed(lost, partial: answer(200, head, String(repeating: "x", count: 40_000)))
    let second = exchange()
    _ = second.begin()
    let asked = try #require(second.received(answer(status, headers, "rest")).asked)
    #expect(asked.headers["Range"] == nil)
    #expect(asked.headers["If-Range"] == nil)
    let outcome = try #require(second.received(answer(200, ["ETag": "\"2\""], "whole")).outcome)
    #expect(outcome.body == Data("whole".utf8))
  }

  /// Keeps the first 40,000 bytes of a picture whose length nobody has told.
  private func keepBeginning() {
    let exchange = exchange()
    _ = exchange.begin()
    let lost = HTTPTransportError(.connectionLost, url: url("/a"), message: "lost")
    _ = exchange.failed(
      lost, partial: answer(200, ["ETag": "\"1\""], String(repeating: "x", count: 40_000)))
  }

  /// Bytes of that picture behind others.
  private func portion(_ start: Int, _ count: Int, of total: String = "*") -> CachedExchange.Received {
    answer(
      206, ["ETag": "\"1\"", "Content-Range": "bytes \(start)-\(start + count - 1)/\(total)"],
      String(repeating: "y", count: count))
  }

  @Test func whatIsGoneOnWithIsHeldToTheLimit() throws {
    keepBeginning()
    let exchange = exchange(limit: 50_000)
    #expect(try #require(exchange.begin().asked).headers["Range"] == "bytes=40000-")
    guard case .failed(let error) = exchange.received(portion(40_000, 10_001)) else {
      return #expect(Bool(false), "it went on")
    }
    #expect(error.code == .responseTooLarge)
    #expect(cache.keys == [])
  }

  @Test func portionsThatCannotBeKeptAreNotAskedForAgain() throws {
    keepBeginning()
    cache.isFull.withLock { $0 = true }
    let exchange = exchange()
    _ = exchange.begin()
    let asked = try #require(exchange.received(portion(40_000, 100, of: "65536")).asked)
    #expect(asked.headers["Range"] == nil)
  }

  @Test func portionsWithoutEndEnd() throws {
    keepBeginning()
    let exchange = exchange()
    var asked = try #require(exchange.begin().asked)
    var count = 0
    while asked.headers["Range"] == "bytes=\(40_000 + count)-", count < 1000 {
      asked = try #require(exchange.received(portion(40_000 + count, 1)).asked)
      count += 1
    }
    #expect(count == 257)
    #expect(asked.headers["Range"] == nil)
  }

  /// A server that sends all of it although the rest was asked for, and is cut off.
  @Test func aWholeThatIsCutIsNoPicture() throws {
    for (length, isWhole) in [(65_536, true), (100, false)] {
      keepBeginning()
      let exchange = exchange()
      _ = exchange.begin()
      let headers: HTTPHeaders = ["ETag": "\"1\"", "Content-Range": "bytes 0-65535/65536"]
      let step = exchange.received(answer(206, headers, String(repeating: "z", count: length)))
      if isWhole {
        #expect(try #require(step.outcome).body.count == length)
      } else {
        #expect(try #require(step.asked).headers["Range"] == nil)
        #expect(cache.keys == [])
      }
    }
  }

  /// A server may say of the rest that it is as long as a number can be.
  @Test func aLengthThatCannotBeIsNotBelieved() throws {
    keepBeginning()
    let exchange = exchange()
    let request = try #require(exchange.begin().asked)
    let progress = Lock<[ImageTask.Progress]>([])
    let download = OriginalDownload(
      request, of: exchange, onProgress: { news in progress.withLock { $0.append(news) } },
      onCompletion: { _ in })
    for coding in ["identity", ""] {
      download.didReceive(
        HTTPResponseHead(
          url: url("/a"), status: 206,
          headers: [
            "ETag": "\"1\"", "Content-Encoding": coding, "Content-Length": "\(Int.max)",
            "Content-Range": "bytes 40000-40099/*",
          ]))
    }
    #expect(
      progress.withLock { $0 }
        == Array(repeating: ImageTask.Progress(completed: 40_000, total: nil), count: 2))
  }

  @Test func aNewVersionInPlaceOfTheRestIsTheWhole() throws {
    let first = exchange()
    _ = first.begin()
    let lost = HTTPTransportError(.connectionLost, url: url("/a"), message: "lost")
    let head: HTTPHeaders = ["ETag": "\"1\"", "Content-Length": "65536"]
    _ = first.failed(lost, partial: answer(200, head, String(repeating: "x", count: 40_000)))
    let second = exchange()
    _ = second.begin()
    let outcome = try #require(second.received(answer(200, ["ETag": "\"2\""], "new")).outcome)
    #expect(outcome.body == Data("new".utf8))
  }

  @Test func whatIsStoredIsUsedWhenTheServerCannotBeReached() throws {
    try fetch(["Cache-Control": "max-age=1"], "picture")
    time.now += 100
    let exchange = exchange()
    #expect(exchange.begin().asked != nil)
    let outcome = try #require(
      exchange.failed(HTTPTransportError(.offline, url: url("/a"), message: "no network")).outcome)
    #expect(outcome.isStale)
    #expect(outcome.head.headers["Age"] == "100")
    #expect(outcome.body == Data("picture".utf8))
  }

  @Test func modes() throws {
    try fetch(["Cache-Control": "max-age=1", "ETag": "\"1\""], "picture")
    #expect(exchange(mode: .noStore).begin().asked?.headers["If-None-Match"] == nil)
    #expect(exchange(mode: .reload).begin().asked?.headers["If-None-Match"] == nil)
    #expect(exchange(mode: .noCache).begin().asked?.headers["If-None-Match"] == "\"1\"")
    time.now += 100
    #expect(exchange(mode: .forceCache).begin().outcome?.isStale == true)
    #expect(exchange(mode: .onlyIfCached).begin().outcome?.isStale == true)
    guard case .unsatisfiable = exchange("/other", mode: .onlyIfCached).begin() else {
      return #expect(Bool(false), "something was asked")
    }
  }

  @Test func anUnsafeMethodEndsWhatIsStored() throws {
    try fetch(["Cache-Control": "max-age=60"], "picture")
    let post = exchange(method: "POST")
    _ = try #require(post.begin().asked)
    _ = post.received(answer(204, []))
    #expect(exchange().begin().asked != nil)
  }

  @Test func aPartIsAnsweredFromTheWhole() throws {
    try fetch(["Cache-Control": "max-age=60"], "0123456789")
    let outcome = try #require(exchange(headers: ["Range": "bytes=2-4"]).begin().outcome)
    #expect(outcome.head.status == 206)
    #expect(outcome.body == Data("234".utf8))
  }

  @Test func staleWhileRevalidateAsksBehindItsAnswer() throws {
    try fetch(["Cache-Control": "max-age=1", "ETag": "\"1\""], "old")
    time.now += 100
    var policy = HTTPCachePolicy()
    policy.freshness = .staleWhileRevalidate
    let exchange = exchange(policy: policy)
    let stale = try #require(exchange.begin().outcome)
    #expect(stale.isStale && stale.wantsRevalidation)
    #expect(try #require(exchange.revalidate().asked).headers["If-None-Match"] == "\"1\"")
    let new = try #require(exchange.received(answer(200, ["ETag": "\"2\""], "new")).outcome)
    #expect(new.source == .network)
    #expect(new.body == Data("new".utf8))
  }
}

extension CachedExchange.Step {
  fileprivate var asked: HTTPRequest? { if case .ask(let request) = self { request } else { nil } }
  fileprivate var outcome: CachedExchange.Outcome? {
    if case .finished(let outcome) = self { outcome } else { nil }
  }
}
