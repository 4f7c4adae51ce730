import Foundation
import Testing

@testable import Calotype

/// Whole exchanges: variants, parts, stale responses, cache modes, and what is sent with what is stored.
@Suite struct ServingSequenceTests {
  private static let fresh: HTTPHeaders.Field = .init(name: "Cache-Control", value: "max-age=5000")

  // MARK: Variants

  @Test(
    arguments: [
      (["Foo": "1"], ["Foo": "1"], "Foo", true), (["Foo": "1"], ["Foo": "2"], "Foo", false),
      ([:], ["Foo": "1"], "Foo", false), (["Foo": "1"], [:], "Foo", false), ([:], [:], "Foo", true),
      (["Foo": ""], [:], "Foo", false),
      (["Foo": "1", "Other": "2"], ["Foo": "1", "Other": "3"], "foo", true),
      (["Foo": "1", "Bar": "a"], ["Foo": "1", "Bar": "a"], "Foo, Bar", true),
      (["Foo": "1", "Bar": "a"], ["Foo": "2", "Bar": "a"], "Foo, Bar", false),
      (["Foo": "1", "Bar": "a"], ["Foo": "1", "Bar": "b"], "Foo, Bar", false),
      (["Foo": "1", "Baz": "7"], ["Foo": "1", "Baz": "7"], "Foo, Bar, Baz", true),
      (
        ["Foo": "1", "Bar": "a", "Baz": "7"], ["Foo": "1", "Baz": "7", "Bar": "abc"], "Foo, Bar, Baz", false
      ),
      (["Foo": "1"], ["Foo": "1"], "*", false), (["Foo": "1"], ["Foo": "1"], "*, *", false),
      (["Foo": "1"], ["Foo": "1"], ", *", false), (["Foo": "1"], ["Foo": "1"], "*, Foo", false),
      (["Foo": "1"], ["Foo": "1"], "Foo, *", false), (["Foo": "1"], ["Foo": "1"], "Foo,", true),
      (["Foo": "1"], ["Foo": "1"], "", true), (["Foo": "1"], ["Foo": "1"], "F oo", false),
      (["Foo": "1, 2"], ["Foo": "1", "foo": "2"], "Foo", true),
      (["Foo": "1,2"], ["Foo": " 1, 2 "], "Foo", true),
      (["Foo": "a b"], ["Foo": "a  b"], "Foo", false), (["Foo": "A"], ["Foo": "a"], "Foo", false),
      (["Foo": "\"a, b\""], ["Foo": "\"a,b\""], "Foo", false),
      (["Accept-Language": "en, de"], ["Accept-Language": "de, en"], "Accept-Language", true),
      (["Accept-Language": "en, de"], ["Accept-Language": "eN, De"], "Accept-Language", true),
      (["Accept-Language": "en, de"], ["Accept-Language": " en ,   de"], "Accept-Language", true),
      (
        ["Accept-Language": "en;q=1, de;q=0.50"], ["Accept-Language": "de; q=0.5 , en"], "Accept-Language",
        true
      ),
      (["Accept-Language": "en, de;q=0.5"], ["Accept-Language": "en;q=0.5, de"], "Accept-Language", false),
      (["Accept-Language": "en"], ["Accept-Language": "fr"], "Accept-Language", false),
      (["Accept-Language": "de;q=0.5"], ["Accept-Language": "de;q=500"], "Accept-Language", false),
      (["Accept": "image/WebP, */*;q=0.1"], ["Accept": "*/*; q=0.10,image/webp"], "Accept", true),
      (["Accept": "a/b;x=Y"], ["Accept": "a/b;x=y"], "Accept", false),
      (["Accept-Encoding": "gzip, br"], ["Accept-Encoding": "BR,gzip;q=1.000"], "Accept-Encoding", true),
      (["Accept-Encoding": "gzip;q=0"], ["Accept-Encoding": "gzip"], "Accept-Encoding", false),
    ] as [(HTTPHeaders, HTTPHeaders, String, Bool)])
  func varyChooses(first: HTTPHeaders, second: HTTPHeaders, vary: String, isReused: Bool) {
    var cache = SimulatedCache()
    _ = cache.fetch(first, origin: .answer(HTTPHeaders([Self.fresh, .init(name: "Vary", value: vary)])))
    #expect(cache.fetch(second, origin: .unreachableButCounted).isFromCache == isReused)
  }

  @Test func linesOfVaryCountTogether() {
    for lines in [["*", "*"], ["", "*"], ["Foo", "*"]] {
      var cache = SimulatedCache()
      let headers = HTTPHeaders([Self.fresh] + lines.map { .init(name: "Vary", value: $0) })
      _ = cache.fetch(["Foo": "1"], origin: .answer(headers))
      #expect(!cache.fetch(["Foo": "1"], origin: .unreachableButCounted).isFromCache)
    }
    var cache = SimulatedCache()
    _ = cache.fetch(
      ["Foo": "1", "Bar": "1"], origin: .answer(["Cache-Control": "max-age=9", "Vary": "Foo", "Vary": "Bar"]))
    #expect(cache.fetch(["Foo": "1", "Bar": "1"], origin: .unreachable).isFromCache)
    #expect(!cache.fetch(["Foo": "1", "Bar": "2"], origin: .unreachableButCounted).isFromCache)
  }

  @Test func variantsAreKeptSideBySide() {
    var cache = SimulatedCache()
    for value in ["1", "2", "3"] {
      let result = cache.fetch(
        ["Foo": value],
        origin: .answer(HTTPHeaders([Self.fresh, .init(name: "Vary", value: "Foo")]), body: value))
      #expect(result.sent == ["Foo": value])
    }
    for value in ["2", "1", "3"] { #expect(cache.fetch(["Foo": value], origin: .unreachable).body == value) }
  }

  @Test func anotherVariantsTagIsNotSent() {
    var cache = SimulatedCache()
    _ = cache.fetch(
      ["Foo": "1"], origin: .answer(["Cache-Control": "max-age=0", "Vary": "Foo", "ETag": "\"a\""]))
    #expect(cache.fetch(["Foo": "2"], origin: .unreachable).sent == ["Foo": "2"])
    let sent = cache.fetch(["Foo": "1"], origin: .unreachableButCounted).sent
    #expect(sent?["If-None-Match"] == "\"a\"")
    #expect(sent?["Foo"] == "1")
  }

  @Test func ofSeveralThatFitTheMostRecentAnswers() {
    var cache = SimulatedCache()
    let old = cache.date(-20)
    let new = cache.date(-10)
    _ = cache.fetch(
      ["A": "1"], origin: .answer(["Cache-Control": "max-age=99", "Vary": "A", "Date": new], body: "new"))
    _ = cache.fetch(
      ["A": "2"], origin: .answer(["Cache-Control": "max-age=99", "Vary": "A", "Date": new], body: "x"))
    _ = cache.fetch(
      ["A": "1", "B": "1"], mode: .reload,
      origin: .answer(["Cache-Control": "max-age=99", "Vary": "B", "Date": old], body: "old"))
    #expect(cache.fetch(["A": "1", "B": "1"], origin: .unreachable).body == "new")
    #expect(cache.fetch(["A": "3", "B": "1"], origin: .unreachable).body == "old")
  }

  @Test func addressesAreToldApartByTheirQuery() {
    var cache = SimulatedCache()
    _ = cache.fetch(url: "http://example.test/?a=1", origin: .answer(["Cache-Control": "max-age=99"]))
    #expect(cache.fetch(url: "http://example.test/?a=1", origin: .unreachable).isFromCache)
    #expect(!cache.fetch(url: "http://example.test/?a=2", origin: .unreachableButCounted).isFromCache)
  }

  // MARK: Parts

  @Test(arguments: [
    ("bytes=0-1", 206, "01", "bytes 0-1/11"), ("bytes=1-", 206, "1234567890", "bytes 1-10/11"),
    ("bytes=-1", 206, "0", "bytes 10-10/11"), ("bytes=-99", 206, "01234567890", "bytes 0-10/11"),
    ("bytes=9-99", 206, "90", "bytes 9-10/11"), ("bytes=11-", 416, "", "bytes */11"),
    ("bytes=-0", 416, "", "bytes */11"), ("BYTES=0-0", 206, "0", "bytes 0-0/11"),
    ("lines=0-1", 200, "01234567890", nil), ("bytes=2-1", 200, "01234567890", nil),
    ("bytes=x", 200, "01234567890", nil), ("bytes=", 200, "01234567890", nil),
    ("bytes=0-99999999999999999999", 200, "01234567890", nil),
  ])
  func aPartOfAStoredWholeIsServed(range: String, status: Int, body: String, contentRange: String?) {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "max-age=3600", "A": "1", "ETag": "\"a\""], body: "01234567890"))
    let result = cache.fetch(["Range": range], origin: .unreachable)
    #expect(result.isFromCache)
    #expect(result.status == status)
    #expect(result.body == body)
    #expect(result.headers["Content-Range"] == contentRange)
    #expect(result.headers["A"] == "1")
    if status == 206 { #expect(result.headers["Content-Length"] == String(body.utf8.count)) }
  }

  @Test func severalRangesPassThrough() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=3600"], body: "01234567890"))
    #expect(cache.fetch(["Range": "bytes=0-1,4-5"], origin: .unreachable).sent == ["Range": "bytes=0-1,4-5"])
  }

  @Test func aRangeIsServedOnlyOfTheVersionThatIsMeant() {
    for (condition, status) in [
      ("\"a\"", 206), ("\"b\"", 200), ("W/\"a\"", 200), ("Wed, 01 Jan 2020 00:00:00 GMT", 206),
      ("Wed, 01 Jan 2020 00:00:01 GMT", 200), ("nonsense", 200),
    ] {
      var cache = SimulatedCache()
      _ = cache.fetch(
        origin: .answer(
          [
            "Cache-Control": "max-age=3600", "ETag": "\"a\"",
            "Last-Modified": "Wed, 01 Jan 2020 00:00:00 GMT",
          ], body: "0123"))
      #expect(
        cache.fetch(["Range": "bytes=0-1", "If-Range": condition], origin: .unreachable).status == status)
    }
  }

  @Test(arguments: [
    ("bytes=4-8", "01234"), ("bytes=6-8", "234"), ("bytes=-1", nil), ("bytes=4-", nil), ("bytes=3-5", nil),
    ("bytes=8-9", nil),
  ])
  func aStoredPartServesWhatLiesInIt(range: String, body: String?) {
    var cache = SimulatedCache()
    _ = cache.fetch(
      ["Range": "bytes=4-8"],
      origin: .answer(
        status: 206, ["Cache-Control": "max-age=3600", "Content-Range": "bytes 4-8/10"], body: "01234"))
    let result = cache.fetch(["Range": range], origin: .unreachable)
    #expect(result.isFromCache == (body != nil))
    if let body {
      #expect(result.status == 206)
      #expect(result.body == body)
    }
  }

  @Test(arguments: [("bytes=-5", "01234"), ("bytes=6-8", "234"), ("bytes=6-", "234"), ("bytes=-1", "4")])
  func aPartWhoseNumbersAreWrongServesItsBytes(range: String, body: String) {
    // The message is whole and claims to reach the end, but its numbers count one byte more than there is.
    var cache = SimulatedCache()
    _ = cache.fetch(
      ["Range": "bytes=-5"],
      origin: .answer(
        status: 206,
        ["Cache-Control": "max-age=3600", "Content-Range": "bytes 4-9/10"],
        body: "01234"))
    let result = cache.fetch(["Range": range], origin: .unreachable)
    #expect(result.isFromCache)
    #expect(result.status == 206)
    #expect(result.body == body)
  }

  @Test func aPartThatWasCutShortServesOnlyItsBytes() {
    var cache = SimulatedCache()
    let url = "http://example.test/a"
    _ = cache.fetch(
      ["Range": "bytes=4-9"],
      origin: .answer(
        status: 206,
        ["Cache-Control": "max-age=3600", "Content-Range": "bytes 4-9/10", "Content-Length": "6"],
        body: "01234"))
    #expect(cache.entries[url]?.first?.response.bodyLength == 5)
    #expect(cache.fetch(["Range": "bytes=6-8"], origin: .unreachable).body == "234")
    #expect(!cache.fetch(["Range": "bytes=6-"], origin: .unreachableButCounted).isFromCache)
    #expect(!cache.fetch(["Range": "bytes=-1"], origin: .unreachableButCounted).isFromCache)
  }

  @Test func aStoredPartDoesNotAnswerForTheWhole() {
    var cache = SimulatedCache()
    _ = cache.fetch(
      ["Range": "bytes=4-8"],
      origin: .answer(
        status: 206, ["Cache-Control": "max-age=3600", "Content-Range": "bytes 4-8/10", "ETag": "\"a\""],
        body: "01234"))
    #expect(cache.fetch(origin: .unreachable).sent == [])
    #expect(cache.fetch(method: "HEAD", origin: .unreachable).sent == [])
    #expect(cache.fetch(mode: .onlyIfCached, origin: .unreachable).status == 504)
  }

  @Test func aBeginningIsCompleted() {
    var cache = SimulatedCache()
    _ = cache.fetch(
      ["Range": "bytes=0-4"],
      origin: .answer(
        status: 206,
        [
          "Cache-Control": "max-age=3600", "Content-Range": "bytes 0-4/10", "ETag": "\"a\"", "A": "1",
          "B": "1",
        ],
        body: "01234"))
    let result = cache.fetch(
      origin: .answer(
        status: 206, ["Content-Range": "bytes 5-9/10", "ETag": "\"a\"", "A": "2"], body: "56789"))
    #expect(result.sent == ["Range": "bytes=5-", "If-Range": "\"a\""])
    #expect(result.status == 200)
    #expect(result.body == "0123456789")
    #expect(result.headers["A"] == "2")
    #expect(result.headers["B"] == "1")
    #expect(result.headers["Content-Range"] == nil)
    #expect(cache.fetch(origin: .unreachable).body == "0123456789")
  }

  @Test func aBrokenDownloadIsGoneOnWith() {
    var cache = SimulatedCache()
    let headers: HTTPHeaders = ["Cache-Control": "max-age=3600", "Content-Length": "10", "ETag": "\"a\""]
    _ = cache.fetch(origin: .broken(headers, body: "0123456789", after: 4))
    #expect(cache.fetch(mode: .onlyIfCached, origin: .unreachable).status == 504)
    let result = cache.fetch(
      origin: .answer(status: 206, ["Content-Range": "bytes 4-9/10", "ETag": "\"a\""], body: "456789"))
    #expect(result.sent == ["Range": "bytes=4-", "If-Range": "\"a\""])
    #expect(result.body == "0123456789")
    #expect(result.headers["Content-Length"] == "10")
  }

  @Test func aBrokenDownloadOfAnotherVersionIsBegunAnew() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .broken(["Content-Length": "10", "ETag": "\"a\""], body: "0123456789", after: 4))
    let result = cache.fetch(
      origin: .answer(["ETag": "\"b\"", "Cache-Control": "max-age=9"], body: "abcdef"))
    #expect(result.body == "abcdef")
    #expect(cache.fetch(origin: .unreachable).body == "abcdef")
    #expect(cache.entries.values.first?.count == 1)
  }

  @Test func aBrokenDownloadOfANewerVersionIsGoneOnWith() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=5", "ETag": "\"a\""], body: "old"))
    cache.now += 10
    _ = cache.fetch(origin: .broken(["Content-Length": "6", "ETag": "\"b\""], body: "abcdef", after: 4))
    // The older version is still there for who cannot wait.
    #expect(cache.fetch(mode: .onlyIfCached, origin: .unreachable).body == "old")
    let result = cache.fetch(
      origin: .answer(
        status: 206, ["Content-Range": "bytes 4-5/6", "ETag": "\"b\"", "Cache-Control": "max-age=5"],
        body: "ef"))
    #expect(result.sent == ["Range": "bytes=4-", "If-Range": "\"b\""])
    #expect(result.body == "abcdef")
    #expect(cache.fetch(origin: .unreachable).body == "abcdef")
  }

  @Test func aBeginningOfAnOlderVersionIsLeft() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .broken(["Content-Length": "6", "ETag": "\"b\""], body: "abcdef", after: 4))
    cache.now += 10
    // Another Vary keeps both side by side.
    _ = cache.fetch(
      mode: .reload,
      origin: .answer(["Cache-Control": "max-age=5", "ETag": "\"a\"", "Vary": "X"], body: "new"))
    cache.now += 10
    #expect(cache.entries.values.first?.count == 2)
    #expect(cache.fetch(origin: .unreachableButCounted).sent == ["If-None-Match": "\"a\""])
  }

  // MARK: Stale

  @Test(arguments: [
    ("max-age=2", true), ("max-age=2, must-revalidate", false), ("max-age=2, proxy-revalidate", true),
    ("max-age=2, no-cache", false), ("max-age=2, s-maxage=2", true),
  ])
  func aStaleResponseIsServedWhenTheServerIsOutOfReach(value: String, isServed: Bool) {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": value]))
    cache.now += 3
    let result = cache.fetch(origin: .unreachable)
    #expect((result.status == 200) == isServed)
    if isServed { #expect(result.headers["Age"] == "3") }
    // Not where the request wants the server's word.
    #expect(cache.fetch(["Cache-Control": "no-cache"], origin: .unreachable).status == 0)
    #expect(cache.fetch(mode: .noCache, origin: .unreachable).status == 0)
    #expect(cache.fetch(mode: .reload, origin: .unreachable).status == 0)
    cache.policy.servesStaleWhenDisconnected = false
    #expect(cache.fetch(origin: .unreachable).status == 0)
  }

  @Test func staleIfErrorIsHeeded() {
    for (value, request, status, isServed) in [
      ("max-age=2, stale-if-error=60", "", 503, true), ("max-age=2, stale-if-error=60", "", 500, true),
      ("max-age=2, stale-if-error=60", "", 404, false), ("max-age=2, stale-if-error=60", "", 501, false),
      ("max-age=2, stale-if-error=60, must-revalidate", "", 503, false),
      ("max-age=2, stale-if-error=0", "", 503, false),
      ("max-age=2", "", 503, false), ("max-age=2", "stale-if-error=60", 503, true),
      ("max-age=2", "stale-if-error=0", 503, false), ("max-age=2", "stale-if-error=x", 503, false),
    ] {
      var cache = SimulatedCache()
      _ = cache.fetch(origin: .answer(["Cache-Control": value], body: "stored"))
      cache.now += 3
      let headers: HTTPHeaders = request.isEmpty ? [] : ["Cache-Control": request]
      let result = cache.fetch(headers, origin: .answer(status: status, [:], body: "failure"))
      #expect(result.body == (isServed ? "stored" : "failure"), "\(value) \(request) \(status)")
      #expect(result.status == (isServed ? 200 : status))
    }
  }

  @Test func staleWhileRevalidateIsHeeded() {
    for (value, seconds, isServed) in [
      ("max-age=1, stale-while-revalidate=3600", 3.0, true),
      ("max-age=1, stale-while-revalidate=4", 6, false),
      ("max-age=1, stale-while-revalidate=3600, must-revalidate", 3, false),
      ("max-age=1, stale-while-revalidate=3600, no-cache", 3, false),
      ("max-age=1, stale-while-revalidate=x", 3, false),
      ("max-age=1", 3, false),
    ] {
      var cache = SimulatedCache()
      _ = cache.fetch(origin: .answer(["Cache-Control": value, "ETag": "\"a\""]))
      #expect(!cache.fetch(origin: .unreachable).asksBehind)
      cache.now += seconds
      let result = cache.fetch(origin: .unreachableButCounted)
      #expect(result.asksBehind == isServed, "\(value)")
      #expect(result.isFromCache == isServed, "\(value)")
      #expect(!cache.fetch(["Cache-Control": "no-cache"], origin: .unreachableButCounted).asksBehind)
    }
  }

  @Test func aClockThatGoesBackwardsMakesNothingFresh() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=3600", "ETag": "\"a\""]))
    cache.now -= 1
    #expect(cache.fetch(origin: .unreachableButCounted).sent?["If-None-Match"] == "\"a\"")
    cache.now -= 1e9
    #expect(!cache.fetch(origin: .unreachableButCounted).isFromCache)
    // Nor is anything thrown away.
    cache.now += 1e9 + 2
    #expect(cache.fetch(origin: .unreachable).isFromCache)
  }

  // MARK: Cache modes

  @Test func theModesMeanWhatFetchSays() {
    typealias Mode = ImageRequest.CachePolicy
    func cache(stale: Bool, _ control: String = "max-age=10") -> SimulatedCache {
      var cache = SimulatedCache()
      _ = cache.fetch(origin: .answer(["Cache-Control": control, "ETag": "\"a\""], body: "one"))
      if stale { cache.now += 100 }
      return cache
    }
    for (mode, stale, isFromCache) in [
      (Mode.default, false, true), (.default, true, false), (.noStore, false, false), (.reload, false, false),
      (.noCache, false, false), (.forceCache, false, true), (.forceCache, true, true),
      (.onlyIfCached, true, true),
    ] {
      var cache = cache(stale: stale)
      let result = cache.fetch(mode: mode, origin: .answer(["Cache-Control": "max-age=10"], body: "two"))
      #expect(result.isFromCache == isFromCache, "\(mode) \(stale)")
      #expect(result.status == 200)
    }
    // What is sent along.
    var first = cache(stale: false)
    #expect(
      first.fetch(mode: .noStore, origin: .unreachable).sent == [
        "Pragma": "no-cache", "Cache-Control": "no-cache",
      ])
    #expect(
      first.fetch(mode: .reload, origin: .unreachable).sent == [
        "Pragma": "no-cache", "Cache-Control": "no-cache",
      ])
    #expect(
      first.fetch(mode: .noCache, origin: .unreachable).sent == [
        "Cache-Control": "max-age=0", "If-None-Match": "\"a\"",
      ])
    #expect(
      first.fetch(["Cache-Control": "x"], mode: .noCache, origin: .unreachable).sent?["Cache-Control"] == "x")
    // What is stored.
    _ = first.fetch(mode: .noStore, origin: .answer(["Cache-Control": "max-age=10"], body: "two"))
    #expect(first.fetch(origin: .unreachable).body == "one")
    _ = first.fetch(mode: .reload, origin: .answer(["Cache-Control": "max-age=10"], body: "two"))
    #expect(first.fetch(origin: .unreachable).body == "two")
    var empty = SimulatedCache()
    #expect(empty.fetch(mode: .onlyIfCached, origin: .unreachable).status == 504)
    #expect(empty.fetch(mode: .forceCache, origin: .answer([:], body: "two")).body == "two")
  }

  @Test func aReloadDoesNotAskAboutWhatIsImmutable() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=10, immutable", "ETag": "\"a\""]))
    #expect(cache.fetch(mode: .noCache, origin: .unreachable).isFromCache)
    #expect(!cache.fetch(["Cache-Control": "no-cache"], origin: .unreachableButCounted).isFromCache)
    #expect(!cache.fetch(mode: .reload, origin: .unreachableButCounted).isFromCache)
    cache.now += 11
    let sent = cache.fetch(mode: .noCache, origin: .unreachable).sent
    #expect(sent == ["Cache-Control": "max-age=0", "If-None-Match": "\"a\""])
  }

  @Test func thePoliciesForPicturesGoBeforeHTTP() {
    var cache = SimulatedCache()
    cache.policy.freshness = .immutable
    _ = cache.fetch(origin: .answer(["Cache-Control": "no-cache"]))
    cache.now += 1e8
    #expect(cache.fetch(origin: .unreachable).isFromCache)
    #expect(!cache.fetch(mode: .noCache, origin: .unreachableButCounted).isFromCache)
    cache.policy.freshness = .staleWhileRevalidate
    #expect(cache.fetch(origin: .unreachable).asksBehind)
    #expect(!cache.fetch(mode: .noCache, origin: .unreachableButCounted).isFromCache)
    _ = cache.fetch(mode: .reload, origin: .answer(["Cache-Control": "max-age=5"]))
    #expect(cache.fetch(origin: .unreachable).isFromCache)
    #expect(!cache.fetch(origin: .unreachable).asksBehind)
  }

  // MARK: What is sent with what is stored

  @Test func ageIsWorkedOut() {
    var cache = SimulatedCache()
    let date = cache.date(0)
    let expires = cache.date(86_400)
    _ = cache.fetch(origin: .answer(["Expires": expires, "Date": date, "Age": "30"]))
    cache.now += 3
    let result = cache.fetch(origin: .unreachable)
    #expect(result.headers.values("Age") == ["33"])
    #expect(result.headers["Date"] == date)
    #expect(result.headers["Expires"] == expires)
  }

  @Test func theTimeAnAnswerTakesCountsAsAge() {
    var cache = SimulatedCache()
    cache.delay = 5
    let result = cache.fetch(origin: .answer(["Cache-Control": "max-age=10", "Age": "2"]))
    #expect(result.headers["Age"] == "2")
    #expect(cache.fetch(origin: .unreachable).headers["Age"] == "7")
  }

  @Test(arguments: [
    "Test-Header", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type", "Set-Cookie",
    "Set-Cookie2",
    "Clear-Site-Data", "X-Frame-Options", "Public-Key-Pins", "Content-Security-Policy", "WWW-Authenticate",
  ])
  func fieldsAreStored(name: String) {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=9", name: "a", name: "b"]))
    #expect(cache.fetch(origin: .unreachable).headers.values(name) == ["a", "b"])
  }

  @Test(arguments: [
    "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
    "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "transfer-encoding",
  ])
  func fieldsForTheConnectionAreNotStored(name: String) {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=9", name: "x"]))
    #expect(cache.fetch(origin: .unreachable).headers[name] == nil)
  }

  @Test func fieldsThatConnectionListsAreNotStored() {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "max-age=9", "Connection": "a, B", "A": "1", "b": "2", "c": "3"]))
    let headers = cache.fetch(origin: .unreachable).headers
    #expect(headers["a"] == nil)
    #expect(headers["b"] == nil)
    #expect(headers["c"] == "3")
    // A list that would take the caching out of a response keeps it out of the cache.
    _ = cache.fetch(
      mode: .reload, origin: .answer(["Cache-Control": "max-age=9", "Connection": "cache-control", "c": "4"]))
    #expect(cache.fetch(origin: .unreachable).headers["c"] == "3")
  }

  @Test func fieldsThatNoCacheNamesAreWithheldUntilTheServerWasAsked() {
    var cache = SimulatedCache()
    let headers: HTTPHeaders = [
      "Cache-Control": "max-age=9, no-cache=\"a, B\"", "A": "1", "b": "2", "c": "3", "ETag": "\"e\"",
    ]
    _ = cache.fetch(origin: .answer(headers))
    let reused = cache.fetch(origin: .unreachable)
    #expect(reused.isFromCache)
    #expect(reused.headers["a"] == nil)
    #expect(reused.headers["b"] == nil)
    #expect(reused.headers["c"] == "3")
    let validated = cache.fetch(
      mode: .noCache, origin: .validating(["ETag": "\"e\""], notModified: ["ETag": "\"e\""]))
    #expect(validated.headers["a"] == "1")
    #expect(validated.headers["b"] == "2")
  }

  @Test func aResponseWithoutADateGetsOne() {
    for value in [nil, "foo"] {
      var cache = SimulatedCache()
      var headers: HTTPHeaders = ["Cache-Control": "max-age=9"]
      headers["Date"] = value
      _ = cache.fetch(origin: .answer(headers))
      #expect(cache.fetch(origin: .unreachable).headers.values("Date") == [cache.date(0)])
    }
  }
}
