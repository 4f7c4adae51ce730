import Foundation
import Testing

@testable import Calotype

/// RFC 9111, section 4.2, by its formulas.
@Suite struct HTTPFreshnessTests {
  private static let now: Double = 1_800_000_000

  private func freshness(
    _ headers: HTTPHeaders, status: Int = 200, asked: Double = 0, came: Double = 0, now: Double = 0
  ) -> HTTPFreshness {
    HTTPCachePolicy().freshness(
      of: DataCacheMetadata(
        kind: .original, url: "http://example.test/", status: status, headers: headers,
        requestTime: Self.now + asked, responseTime: Self.now + came),
      now: Self.now + now)
  }

  private static func date(_ seconds: Double) -> String { HTTPDate.format(now + seconds) }

  @Test(arguments: [
    // Age, Date's distance from the response, when it was asked for, when it came, now: the age.
    ("0", 0.0, 0.0, 0.0, 0.0, 0.0), ("30", 0, 0, 0, 0, 30), ("0", -30, 0, 0, 0, 30), ("40", -30, 0, 0, 0, 40),
    ("30", -40, 0, 0, 0, 40), ("0", 30, 0, 0, 0, 0), ("0", 0, 0, 5, 5, 5), ("10", 0, 0, 5, 5, 15),
    ("10", 0, 0, 5, 25, 35), ("0", -100, 0, 5, 25, 125), ("0", 0, 0, 0.25, 0.5, 0.5), ("x", 0, 0, 0, 7, 7),
    // A clock that was set back between the request and the response.
    ("0", 0, 10, 0, 1, 1),
  ])
  func ageIsTheFormulas(age: String, date: Double, asked: Double, came: Double, now: Double, result: Double) {
    let headers: HTTPHeaders = ["Age": age, "Date": Self.date(date)]
    #expect(freshness(headers, asked: asked, came: came, now: now).age == result)
  }

  @Test func withoutADateTheResponsesTimeCounts() {
    #expect(freshness(["Age": "3"], now: 4).age == 7)
    #expect(freshness(["Date": "nonsense"], now: 4).age == 4)
  }

  @Test func thePartOfASecondThatADateLeavesOutIsNoAge() {
    #expect(freshness(["Date": Self.date(0)], asked: 0.9, came: 0.9, now: 0.9).age == 0)
    #expect(freshness(["Date": Self.date(0)], asked: 1.1, came: 1.1, now: 1.1).age == 1)
  }

  @Test func aResponseFromTheFutureOrOfUnknownTimeHasNoKnownAge() {
    #expect(freshness(["Cache-Control": "max-age=9999999"], came: 1, now: 0).age == .infinity)
    #expect(!freshness(["Cache-Control": "max-age=9999999"], came: 1, now: 0).isFresh)
    let unknown = DataCacheMetadata(
      kind: .original, url: "", headers: ["Cache-Control": "max-age=9999999999"])
    #expect(!HTTPCachePolicy().freshness(of: unknown, now: Self.now).isFresh)
  }

  @Test(
    arguments: [
      (["Cache-Control": "max-age=60"], 60.0), (["Cache-Control": "max-age=60", "Expires": date(600)], 60),
      (["Cache-Control": "max-age=x", "Expires": date(600)], 0), (["Expires": date(600)], 600),
      (["Expires": date(600), "Date": date(100)], 500), (["Expires": date(600), "Date": date(700)], 0),
      (["Expires": "0"], 0), (["Cache-Control": "s-maxage=60"], 0), (["Cache-Control": "no-transform"], 0),
      (["Last-Modified": date(-1000)], 100), (["Last-Modified": date(-1000), "Date": date(-500)], 50),
      (["Last-Modified": date(1000)], 0), (["Last-Modified": "x"], 0),
      (["Last-Modified": date(-1e9)], 604_800),
      (["Last-Modified": date(-1000), "Cache-Control": "max-age=0"], 0),
      (["Last-Modified": date(-1000), "Expires": "0"], 0),
    ] as [(HTTPHeaders, Double)])
  func lifetimeIsTheFirstThatIsThere(headers: HTTPHeaders, seconds: Double) {
    #expect(freshness(headers).lifetime == seconds)
  }

  @Test func aResponseIsFreshWhileItsLifetimeIsMoreThanItsAge() {
    #expect(freshness(["Cache-Control": "max-age=3"], now: 2.9).isFresh)
    #expect(!freshness(["Cache-Control": "max-age=3"], now: 3).isFresh)
    #expect(freshness(["Cache-Control": "max-age=3"], now: 5).staleness == 2)
  }

  @Test func theGuessCanBeTurnedOff() {
    var policy = HTTPCachePolicy()
    policy.heuristicFraction = 0
    let metadata = DataCacheMetadata(
      kind: .original, url: "", headers: ["Last-Modified": Self.date(-1e6)], requestTime: Self.now,
      responseTime: Self.now)
    #expect(HTTPCachePolicy().freshness(of: metadata, now: Self.now).isFresh)
    #expect(!policy.freshness(of: metadata, now: Self.now).isFresh)
  }
}
