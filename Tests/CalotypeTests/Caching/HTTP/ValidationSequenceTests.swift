import Foundation
import Testing

@testable import Calotype

/// Whole exchanges in which what is stored is asked about, updated or ended.
@Suite struct ValidationSequenceTests {
  private static let modified = "Wed, 01 Jan 2020 00:00:00 GMT"

  // MARK: Asking

  @Test func aStaleResponseIsAskedAboutByItsTag() {
    for tag in ["\"abc\"", "W/\"abc\"", "\"abcü\"", "abc"] {
      var cache = SimulatedCache()
      _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=2", "ETag": tag], body: "one"))
      cache.now += 3
      let result = cache.fetch(
        origin: .validating(["ETag": tag], notModified: ["ETag": tag, "Cache-Control": "max-age=2"]))
      #expect(result.sent?["If-None-Match"] == tag)
      #expect(result.status == 200)
      #expect(result.body == "one")
      #expect(cache.fetch(origin: .unreachable).isFromCache)
    }
  }

  @Test func aStaleResponseIsAskedAboutByItsDate() {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "max-age=2", "Last-Modified": Self.modified], body: "one"))
    cache.now += 3
    let result = cache.fetch(
      origin: .validating(["Last-Modified": Self.modified], notModified: ["Last-Modified": Self.modified]))
    #expect(result.sent?["If-Modified-Since"] == Self.modified)
    #expect(result.sent?["If-None-Match"] == nil)
    #expect(result.body == "one")
  }

  @Test func aTagAndADateAreBothSent() {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "no-cache", "ETag": "\"a\"", "Last-Modified": Self.modified]))
    let sent = cache.fetch(origin: .unreachable).sent
    #expect(sent?["If-None-Match"] == "\"a\"")
    #expect(sent?["If-Modified-Since"] == Self.modified)
  }

  @Test func whatHasNoValidatorIsAskedForPlainly() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=1", "Last-Modified": "yesterday"]))
    cache.now += 3
    let result = cache.fetch(["X": "1"], origin: .answer(["Cache-Control": "max-age=1"], body: "two"))
    #expect(result.sent == ["X": "1"])
    #expect(result.body == "two")
  }

  @Test func aNewResponseTakesThePlaceOfTheOld() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=1", "ETag": "\"a\""], body: "one"))
    cache.now += 3
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=9", "ETag": "\"b\""], body: "two"))
    #expect(cache.fetch(origin: .unreachable).body == "two")
    #expect(cache.entries.values.first?.count == 1)
  }

  @Test func anAnswerThatMayNotBeStoredLeavesTheOldOne() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=10000"], body: "one"))
    _ = cache.fetch(mode: .reload, origin: .answer(["Cache-Control": "no-store"], body: "two"))
    #expect(cache.fetch(origin: .unreachable).body == "one")
  }

  @Test func mustRevalidateIsObeyedWhenStale() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=2, must-revalidate", "ETag": "\"a\""]))
    #expect(cache.fetch(origin: .unreachable).isFromCache)
    cache.now += 3
    #expect(cache.fetch(origin: .unreachable).status == 0)
    #expect(cache.fetch(origin: .answer([:], body: "x")).sent?["If-None-Match"] == "\"a\"")
  }

  // MARK: What a 304 does

  @Test(arguments: [
    "Test-Header", "X-Test-Header", "Content-Foo", "Content-Type", "Set-Cookie", "Expires",
    "Content-Location",
  ])
  func aNotModifiedResponseUpdatesFields(name: String) {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "max-age=2", "ETag": "\"a\"", name: "old", "Keep": "this"]))
    cache.now += 3
    let result = cache.fetch(
      origin: .validating(
        ["ETag": "\"a\""], notModified: ["ETag": "\"a\"", name.uppercased(): "new", name: "newer"]))
    #expect(result.headers.values(name) == ["new", "newer"])
    #expect(result.headers["Keep"] == "this")
    #expect(result.headers["Cache-Control"] == "max-age=2")
    #expect(cache.fetch(origin: .unreachable).headers.values(name) == ["new", "newer"])
  }

  @Test(arguments: [
    "Content-Length", "Content-Encoding", "Content-Range", "Transfer-Encoding", "Keep-Alive", "X-Hop",
  ])
  func aNotModifiedResponseLeavesWhatDescribesTheBytes(name: String) {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=2", "ETag": "\"a\"", name: "5"]))
    let stored = cache.entries.values.first?.first?.response.metadata.headers[name]
    cache.now += 3
    let result = cache.fetch(
      origin: .validating(
        ["ETag": "\"a\""], notModified: ["ETag": "\"a\"", name: "10", "Connection": "x-hop"]))
    #expect(result.headers[name] == stored)
  }

  @Test func aNotModifiedResponseWithFewerFieldsKeepsTheRest() {
    // H1 of the cases from the field.
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(
        ["Cache-Control": "max-age=0", "ETag": "\"a\"", "Content-Type": "image/png"], body: "one"))
    for _ in 0..<2 {
      cache.now += 1
      let result = cache.fetch(origin: .validating(["ETag": "\"a\""], notModified: [:]))
      #expect(result.sent?["If-None-Match"] == "\"a\"")
      #expect(result.status == 200)
      #expect(result.body == "one")
      #expect(result.headers["Content-Type"] == "image/png")
    }
  }

  @Test func aNotModifiedResponseRenewsTheTimes() {
    var cache = SimulatedCache()
    let start = cache.date(0)
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "max-age=10", "ETag": "\"a\"", "Age": "5", "Date": start]))
    cache.now += 100
    _ = cache.fetch(origin: .validating(["ETag": "\"a\""], notModified: ["ETag": "\"a\""]))
    cache.now += 9
    let result = cache.fetch(origin: .unreachable)
    #expect(result.isFromCache)
    #expect(result.headers["Age"] == "9")
    #expect(result.headers["Date"] == HTTPDate.format(cache.now - 9))
  }

  @Test func aNotModifiedResponseOfAnotherVersionUpdatesNothing() {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "max-age=1", "ETag": "\"a\"", "X": "old"], body: "one"))
    cache.now += 3
    // The server says 304, but of another version: it is asked again without a condition.
    let result = cache.fetch(origin: .answer(status: 304, ["ETag": "\"b\"", "X": "new"], body: ""))
    #expect(result.sent?["If-None-Match"] == nil)
    #expect(cache.entries.values.first?.first?.response.metadata.headers["X"] == "old")
  }

  @Test func aTagThatDiffersInStrengthConfirmsWithoutUpdating() {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "max-age=1", "ETag": "W/\"a\"", "X": "old"], body: "one"))
    cache.now += 3
    let result = cache.fetch(
      origin: .validating(
        ["ETag": "W/\"a\""], notModified: ["ETag": "\"a\"", "Cache-Control": "max-age=99", "X": "new"]))
    #expect(result.body == "one")
    #expect(result.headers["X"] == "old")
    #expect(!cache.fetch(origin: .unreachableButCounted).isFromCache)
  }

  // MARK: The program's own conditions

  @Test(arguments: [
    ("\"abcdef\"", "\"abcdef\"", 304), ("W/\"abcdef\"", "W/\"abcdef\"", 304),
    ("\"abcdef\"", "W/\"abcdef\"", 304),
    ("\"abcdef\", \"1\", \"2\"", "\"abcdef\"", 304), ("\"1\", \"abcdef\", \"2\"", "\"abcdef\"", 304),
    ("\"1\", \"2\", \"abcdef\"", "\"abcdef\"", 304), ("*", "\"abcdef\"", 304), ("\"1\"", "\"abcdef\"", 200),
    ("\"abcdef\"", "\"abc,def\"", 200), ("\"abc,def\"", "\"abc,def\"", 304),
    ("\"abcdefü\"", "\"abcdefü\"", 304),
  ])
  func ifNoneMatchIsAnsweredFromAFreshResponse(condition: String, tag: String, status: Int) {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(
        ["Cache-Control": "max-age=100", "ETag": tag, "Content-Type": "text/plain", "Vary": "X"], body: "one")
    )
    let result = cache.fetch(["If-None-Match": condition], origin: .unreachable)
    #expect(result.isFromCache)
    #expect(result.status == status)
    #expect(result.headers["ETag"] == tag)
    #expect(result.headers["Vary"] == "X")
    #expect(result.headers["Cache-Control"] == "max-age=100")
    #expect((result.headers["Content-Type"] == nil) == (status == 304))
    #expect(result.body == (status == 304 ? "" : "one"))
  }

  @Test func ifNoneMatchGoesBeforeIfModifiedSince() {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "max-age=100", "ETag": "\"a\"", "Last-Modified": cache.date(-5000)]))
    let old = cache.date(-9000)
    #expect(
      cache.fetch(["If-None-Match": "\"a\"", "If-Modified-Since": old], origin: .unreachable).status == 304)
    let new = cache.date(-1)
    #expect(
      cache.fetch(["If-None-Match": "\"b\"", "If-Modified-Since": new], origin: .unreachable).status == 200)
  }

  @Test func ifModifiedSinceIsAnsweredFromAFreshResponse() {
    var cache = SimulatedCache()
    let date = cache.date(0)
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "max-age=100", "Last-Modified": cache.date(-3000), "Date": date]))
    for (seconds, status) in [(-3000.0, 304), (-2000, 304), (-3001, 200)] {
      let condition = cache.date(seconds)
      #expect(cache.fetch(["If-Modified-Since": condition], origin: .unreachable).status == status)
    }
    #expect(cache.fetch(["If-Modified-Since": "never"], origin: .unreachable).status == 200)
    let obsolete = "Friday, 15-Jan-27 07:10:00 GMT"  // 3000 s before
    #expect(HTTPDate.parse(obsolete, now: cache.now) == cache.now - 3000)
    #expect(cache.fetch(["If-Modified-Since": obsolete], origin: .unreachable).status == 304)
  }

  @Test func ifModifiedSinceIsMeasuredByDateWhereThereIsNoLastModified() {
    var cache = SimulatedCache()
    let date = cache.date(-10)
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=100", "Date": date]))
    let later = cache.date(-5)
    let earlier = cache.date(-15)
    #expect(cache.fetch(["If-Modified-Since": later], origin: .unreachable).status == 304)
    #expect(cache.fetch(["If-Modified-Since": earlier], origin: .unreachable).status == 200)
  }

  @Test func aStaleResponseAnswersTheProgramsConditionAfterItsOwnIsMet() {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "max-age=2", "Last-Modified": Self.modified], body: "one"))
    cache.now += 3
    let result = cache.fetch(
      ["If-Modified-Since": Self.modified],
      origin: .validating(["Last-Modified": Self.modified], notModified: ["Last-Modified": Self.modified]))
    #expect(result.sent?["If-Modified-Since"] == Self.modified)
    #expect(result.status == 304)
  }

  @Test func theProgramsTagsAndTheStoredOneAreSentTogether() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=2", "ETag": "\"a\""], body: "one"))
    cache.now += 3
    // The 304 is about the stored one, which the program does not have: it gets the whole.
    let result = cache.fetch(
      ["If-None-Match": "\"b\""], origin: .validating(["ETag": "\"a\""], notModified: ["ETag": "\"a\""]))
    #expect(result.sent?["If-None-Match"] == "\"b\", \"a\"")
    #expect(result.status == 200)
    #expect(result.body == "one")
    // The 304 is about the program's: it is passed on.
    cache.now += 3
    let other = cache.fetch(
      ["If-None-Match": "\"b\""], origin: .validating(["ETag": "\"b\""], notModified: ["ETag": "\"b\""]))
    #expect(other.status == 304)
    // A 304 that does not say what it is about may be about either, and is the program's to judge.
    cache.now += 3
    let vague = cache.fetch(
      ["If-None-Match": "\"b\""], origin: .validating(["ETag": "\"b\""], notModified: [:]))
    #expect(vague.status == 304)
  }

  @Test func conditionsForTheServerAlonePassThrough() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=100", "ETag": "\"a\""]))
    #expect(cache.fetch(["If-Match": "\"a\""], origin: .unreachable).sent == ["If-Match": "\"a\""])
    let unmodified: HTTPHeaders = ["If-Unmodified-Since": Self.modified]
    #expect(cache.fetch(unmodified, origin: .unreachable).sent == unmodified)
  }

  @Test func aConditionPassesThroughWhereNothingIsStored() {
    var cache = SimulatedCache()
    let result = cache.fetch(
      ["If-None-Match": "\"a\""], origin: .answer(status: 304, ["ETag": "\"a\""], body: ""))
    #expect(result.sent == ["If-None-Match": "\"a\""])
    #expect(result.status == 304)
    #expect(cache.entries.isEmpty)
  }

  // MARK: HEAD

  @Test func headIsAnsweredFromAFreshResponse() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=100", "Content-Length": "3"], body: "one"))
    let result = cache.fetch(method: "HEAD", origin: .unreachable)
    #expect(result.isFromCache)
    #expect(result.status == 200)
    #expect(result.body.isEmpty)
    #expect(result.headers["Content-Length"] == "3")
  }

  @Test func headFreshensWhatIsStored() {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(["Cache-Control": "max-age=2", "A": "1", "B": "1", "ETag": "\"a\""], body: "one"))
    cache.now += 3
    let head = cache.fetch(
      method: "HEAD",
      origin: .answer(
        ["Cache-Control": "max-age=1000", "A": "2", "ETag": "\"a\"", "Content-Length": "3"], body: ""))
    #expect(head.sent == [])
    let result = cache.fetch(origin: .unreachable)
    #expect(result.isFromCache)
    #expect(result.headers["A"] == "2")
    #expect(result.headers["B"] == "1")
    #expect(result.body == "one")
  }

  @Test(arguments: [
    ("ETag", "\"b\""), ("Last-Modified", "Thu, 02 Jan 2020 00:00:00 GMT"), ("Content-Length", "4"),
  ])
  func headThatDiffersMakesStale(name: String, value: String) {
    var cache = SimulatedCache()
    _ = cache.fetch(
      origin: .answer(
        ["Cache-Control": "max-age=9000", "ETag": "\"a\"", "Last-Modified": Self.modified], body: "one"))
    // Forced past the cache, since a fresh response would answer it.
    _ = cache.fetch(method: "HEAD", mode: .reload, origin: .answer([name: value], body: ""))
    let result = cache.fetch(origin: .answer([:], body: "two"))
    #expect(result.sent?["If-None-Match"] == "\"a\"")
  }

  @Test func headThatFailsChangesNothing() {
    var cache = SimulatedCache()
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=9000", "A": "1"]))
    _ = cache.fetch(method: "HEAD", mode: .reload, origin: .answer(status: 410, ["A": "2"], body: ""))
    #expect(cache.fetch(origin: .unreachable).headers["A"] == "1")
  }

  // MARK: Methods that change something

  @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "get"])
  func anUnsafeMethodEndsWhatIsStored(method: String) {
    for (status, isKept) in [(200, false), (204, false), (303, false), (404, true), (500, true)] {
      var cache = SimulatedCache()
      _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=9000"]))
      let result = cache.fetch(method: method, origin: .answer(status: status, [:]))
      #expect(result.sent != nil)
      #expect(cache.fetch(origin: .unreachableButCounted).isFromCache == isKept)
    }
  }

  @Test(arguments: ["Location", "Content-Location"])
  func anUnsafeMethodEndsWhatItNames(name: String) {
    for (value, isKept) in [
      ("b", false), ("/b", false), ("http://example.test/b", false), ("HTTP://EXAMPLE.test:80/b#x", false),
      ("https://example.test/b", true), ("http://other.test/b", true), ("http://example.test:81/b", true),
      ("c", true),
    ] {
      var cache = SimulatedCache()
      _ = cache.fetch(url: "http://example.test/b", origin: .answer(["Cache-Control": "max-age=9000"]))
      _ = cache.fetch(method: "POST", origin: .answer([name: value]))
      #expect(
        cache.fetch(url: "http://example.test/b", origin: .unreachableButCounted).isFromCache == isKept,
        "\(value)")
    }
  }

  @Test func safeMethodsEndNothing() {
    for method in ["GET", "HEAD", "OPTIONS", "TRACE"] {
      var cache = SimulatedCache()
      _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=9000"]))
      _ = cache.fetch(method: method, mode: .noStore, origin: .answer([:]))
      #expect(cache.fetch(origin: .unreachable).isFromCache)
    }
  }

  @Test func aResponseToPostThatIsItsOwnContentAnswersGet() {
    var cache = SimulatedCache()
    let expires = cache.date(9000)
    for (location, isStored) in [("", true), ("http://example.test/a", true), ("a", true), ("b", false)] {
      _ = cache.fetch(
        method: "POST", origin: .answer(["Expires": expires, "Content-Location": location], body: "posted"))
      #expect(cache.fetch(origin: .unreachableButCounted).isFromCache == isStored, "\(location)")
    }
    _ = cache.fetch(method: "POST", origin: .answer(["Expires": expires]))
    #expect(!cache.fetch(origin: .unreachableButCounted).isFromCache)
    // Another POST is never answered from what is stored.
    _ = cache.fetch(method: "POST", origin: .answer(["Expires": expires, "Content-Location": ""]))
    #expect(cache.fetch(method: "POST", origin: .unreachable).sent != nil)
  }
}
