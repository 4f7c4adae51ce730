import Foundation
import Testing

@testable import Calotype

/// Whole exchanges between a program, the cache and a server: what is asked for, and what comes of it. The
/// kinds are those that a suite of cache tests looks at.
@Suite struct CachingSequenceTests {
  /// Stores one response, waits, and asks again: whether the answer comes from the cache.
  private func reuses(
    _ headers: HTTPHeaders, status: Int = 200, after seconds: Double = 3, dated: Bool = true,
    request: HTTPHeaders = [], first: HTTPHeaders = [], mode: ImageRequest.CachePolicy = .default
  ) -> Bool {
    var cache = SimulatedCache()
    var headers = headers
    if dated { headers.append(name: "Date", value: cache.date(0)) }
    _ = cache.fetch(first, origin: .answer(status: status, headers))
    cache.now += seconds
    return cache.fetch(request, mode: mode, origin: .unreachableButCounted).isFromCache
  }

  // MARK: Freshness

  @Test(arguments: [
    ("max-age=3600", true), ("max-age=2", false), ("max-age=0", false), ("max-age=2147483647", true),
    ("max-age=2147483648", true), ("max-age=2147483649", true), ("max-age=99999999999", true),
    ("foobar, max-age=3600", true), ("MaX-aGe=3600", true), ("max-age=-3600", false),
    ("s-maxage=3600, max-age=1", false), ("s-maxage=3600", false), ("private, max-age=3600", true),
    ("max-age=1800, max-age=1", false), ("max-age=1, max-age=1800", false), ("max-age=003600", true),
    ("max-age='3600'", false), ("extension=\"max-age=3600\", max-age=1", false),
    ("max-age=1, extension=\"max-age=3600\"", false), ("max-age=3600, no-store", false),
    ("No-StOrE, max-age=3600", false), ("max-age=3600, no-cache", false), ("max-age=3600, No-CaChE", false),
    ("max-age=3600, no-cache=\"a\"", true), ("max-age=3600, must-revalidate", true),
    ("max-age=3600, no-store, must-understand", true), ("no-transform", false), ("", false),
  ])
  func cacheControlDecides(value: String, isReused: Bool) {
    #expect(reuses(["Cache-Control": value]) == isReused)
  }

  @Test func aResponseWithoutAWordAboutFreshnessIsAskedFor() {
    #expect(!reuses([]))
    #expect(!reuses(["ETag": "\"a\""]))
    #expect(!reuses(["CDN-Cache-Control": "max-age=3600"]))
    #expect(!reuses(["Surrogate-Control": "max-age=3600"]))
  }

  @Test func expiresDecides() {
    let cache = SimulatedCache()
    #expect(reuses(["Expires": cache.date(86_400)]))
    #expect(!reuses(["Expires": cache.date(-86_400)]))
    #expect(!reuses(["Expires": cache.date(0)], after: 0))
    #expect(!reuses(["Expires": cache.date(300), "Date": cache.date(400)], dated: false))
    #expect(reuses(["Expires": cache.date(10), "Date": "foo"], dated: false))
    #expect(reuses(["Expires": cache.date(10)], dated: false))
    #expect(
      !reuses(["Expires": cache.date(10), "Date": cache.date(-10), "Age": "25"], after: 0, dated: false))
    #expect(
      !reuses(["Expires": cache.date(20), "Date": cache.date(10), "Age": "15"], after: 0, dated: false))
    #expect(reuses(["Cache-Control": "max-age=3600", "Expires": cache.date(-7200)]))
    #expect(reuses(["Cache-Control": "max-age=3600", "Expires": "0"]))
    #expect(!reuses(["Cache-Control": "max-age=0", "Expires": cache.date(3600)]))
  }

  @Test(arguments: [
    ("Tue, 19 Jan 2038 14:14:08 GMT", true), ("Sun, 21 Nov 2286 04:46:39 GMT", true),
    ("Thursday, 18-Aug-50 02:01:18 GMT", true), ("Thu Aug  8 02:01:18 2050", true),
    ("THU, 18 Aug 2050 02:01:18 GMT", true), ("Thu, 18 AUG 2050 02:01:18 GMT", true),
    ("Thu, 18 Aug 2050 02:01:18 gMT", true), ("Thu, 18 Aug 2050 02:01:18 UTC", false),
    ("Thu, 18 Aug 50 02:01:18 GMT", false), ("Thu 18 Aug 2050 02:01:18 GMT", false),
    ("Thu, 18  Aug  2050 02:01:18 GMT", false), ("Thu, 18-Aug-2050 02:01:18 GMT", false),
    ("Thu, 18 Aug 2050 02.01.18 GMT", false), ("Thu, 18 Aug 2050 2:01:18 GMT", false), ("0", false),
    ("", false), ("-1", false),
  ])
  func expiresIsReadByTheGrammar(value: String, isReused: Bool) {
    #expect(reuses(["Expires": value]) == isReused)
  }

  @Test func twoExpiresThatDisagreeAreStale() {
    let cache = SimulatedCache()
    #expect(!reuses(["Expires": cache.date(3600), "Expires": cache.date(7200)]))
    #expect(reuses(["Expires": cache.date(3600), "Expires": cache.date(3600)]))
  }

  @Test(arguments: [
    (["7200"], false), (["abc"], true), (["-7200"], true), (["7200.0"], true), (["2147483647"], false),
    (["2147483648"], false), (["2147483649"], false), (["99999999999999999999"], false), (["7200, 0"], false),
    (["0, 7200"], true), (["7200", "0"], false), (["0", "7200"], true), (["0, 0"], true), (["0", "0"], true),
    (["1800", "1800"], true), ([""], true),
  ])
  func ageCounts(values: [String], isReused: Bool) {
    var headers: HTTPHeaders = ["Cache-Control": "max-age=3600"]
    for value in values { headers.append(name: "Age", value: value) }
    #expect(reuses(headers) == isReused)
  }

  @Test func aDateInThePastCountsAsAge() {
    let cache = SimulatedCache()
    #expect(!reuses(["Cache-Control": "max-age=3600", "Date": cache.date(-7200)], dated: false))
  }

  @Test(arguments: [
    (200, true), (203, true), (204, true), (404, true), (405, true), (410, true), (414, true), (501, true),
    (300, true), (301, true), (308, true), (201, false), (202, false), (302, false), (307, false),
    (403, false),
    (502, false), (503, false), (504, false), (599, false),
  ])
  func freshnessIsGuessedForSomeStatuses(status: Int, isReused: Bool) {
    let cache = SimulatedCache()
    #expect(reuses(["Last-Modified": cache.date(-86_400)], status: status) == isReused)
    #expect(reuses(["Last-Modified": cache.date(-86_400), "Cache-Control": "public"], status: status))
    #expect(!reuses([], status: status))
  }

  @Test(arguments: [200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599])
  func anyStatusIsStoredWhereTheServerSaysForHowLong(status: Int) {
    let cache = SimulatedCache()
    #expect(reuses(["Cache-Control": "max-age=100000"], status: status))
    #expect(!reuses(["Expires": cache.date(-5000), "Last-Modified": cache.date(-100_000)], status: status))
  }

  @Test func mustUnderstandKeepsOutWhatIsNotUnderstood() {
    #expect(!reuses(["Cache-Control": "max-age=3600, no-store, must-understand"], status: 599))
    #expect(!reuses(["Cache-Control": "max-age=3600, must-understand"], status: 599))
    #expect(reuses(["Cache-Control": "max-age=3600, must-understand"], status: 404))
  }

  @Test func pragmaOfAResponseSaysNothingBesideCacheControl() {
    let cache = SimulatedCache()
    #expect(reuses(["Cache-Control": "max-age=3600", "Pragma": "no-cache"]))
    #expect(!reuses(["Last-Modified": cache.date(-100_000), "Pragma": "no-cache"]))
    #expect(reuses(["Last-Modified": cache.date(-100_000), "Pragma": "foo"]))
  }

  // MARK: The request's wishes

  @Test(arguments: [
    ("max-age=0", false), ("max-age=1", false), ("max-age=10", true), ("min-fresh=2000", false),
    ("min-fresh=1000", true), ("no-cache", false), ("no-store", false), ("max-age=x", false),
    ("min-fresh=x", false),
    ("max-stale=1", true), ("only-if-cached", true), ("foo", true),
  ])
  func theRequestMayAskForMore(value: String, isReused: Bool) {
    #expect(reuses(["Cache-Control": "max-age=1500"], request: ["Cache-Control": value]) == isReused)
  }

  @Test(arguments: [
    ("max-stale=1000", true), ("max-stale", true), ("max-stale=1", false), ("max-stale=x", false),
    ("max-stale=0", false), ("foo", false), ("max-age=1, max-stale=3", true),
    ("max-age=10, max-stale=1", false),
  ])
  func theRequestMayTakeLess(value: String, isReused: Bool) {
    #expect(reuses(["Cache-Control": "max-age=1"], request: ["Cache-Control": value]) == isReused)
    #expect(!reuses(["Cache-Control": "max-age=1, must-revalidate"], request: ["Cache-Control": value]))
    #expect(!reuses(["Cache-Control": "max-age=1, no-cache"], request: ["Cache-Control": value]))
  }

  @Test func agedResponsesAreMeasuredByTheirAge() {
    let headers: HTTPHeaders = ["Cache-Control": "max-age=3600", "Age": "1800"]
    #expect(!reuses(headers, request: ["Cache-Control": "max-age=600"]))
    #expect(reuses(headers, request: ["Cache-Control": "max-age=1900"]))
    #expect(!reuses(headers, request: ["Cache-Control": "min-fresh=2000"]))
    #expect(
      reuses(["Cache-Control": "max-age=1500", "Age": "2000"], request: ["Cache-Control": "max-stale=1000"]))
  }

  @Test func pragmaOfARequestCountsWithoutCacheControl() {
    #expect(!reuses(["Cache-Control": "max-age=3600"], request: ["Pragma": "no-cache"]))
    #expect(reuses(["Cache-Control": "max-age=3600"], request: ["Pragma": "foo"]))
    #expect(
      reuses(
        ["Cache-Control": "max-age=3600"], request: ["Pragma": "no-cache", "Cache-Control": "max-age=100"]))
  }

  @Test func onlyIfCachedGivesA504WhereNothingIsStored() {
    var cache = SimulatedCache()
    let result = cache.fetch(["Cache-Control": "only-if-cached"], origin: .answer(["X": "1"]))
    #expect(result.status == 504)
    #expect(result.sent == nil)
    // Nor is what is stale used by it alone.
    _ = cache.fetch(origin: .answer(["Cache-Control": "max-age=1", "ETag": "\"a\""]))
    cache.now += 3
    #expect(cache.fetch(["Cache-Control": "only-if-cached"], origin: .unreachable).status == 504)
    #expect(cache.fetch(["Cache-Control": "only-if-cached, max-stale"], origin: .unreachable).status == 200)
  }

  @Test func cookiesAndAuthorizationAreNoObstacle() {
    #expect(reuses(["Cache-Control": "max-age=3600", "Set-Cookie": "a=b"]))
    #expect(reuses(["Cache-Control": "max-age=3600"], request: ["Cookie": "a=b"]))
    #expect(
      reuses(
        ["Cache-Control": "max-age=3600"], request: ["Authorization": "x"], first: ["Authorization": "x"]))
  }
}

extension SimulatedCache.Origin {
  /// An answer that cannot be taken for what is stored.
  static let unreachableButCounted = SimulatedCache.Origin.answer(status: 200, ["Cache-Control": "no-store"])
}
