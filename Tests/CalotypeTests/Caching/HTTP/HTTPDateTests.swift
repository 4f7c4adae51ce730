import Foundation
import Testing

@testable import Calotype

@Suite struct HTTPDateTests {
  private static let now: Double = 1_800_000_000  // 2027-01-15T08:00:00Z

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Sun Nov 16 08:49:37 1994", 784_975_777),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Tue, 19 Jan 2038 14:14:08 GMT", 2_147_523_248),
    ("Sun, 21 Nov 2286 04:46:39 GMT", 10_000_039_599),
    ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200),
    ("  Sun, 06 Nov 1994 08:49:37 GMT\t", 784_111_777),
    ("SUN, 06 NOV 1994 08:49:37 gMT", 784_111_777),
    // The day's name is not checked against the date.
    ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
  ])
  func readsTheThreeForms(text: String, seconds: Double) {
    #expect(HTTPDate.parse(text, now: Self.now) == seconds)
  }

  @Test(arguments: [
    "", "0", "-1", "now", "Sun", "Sun,", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37",
    "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 AEST", "Sun, 06 Nov 1994 08:49:37 +0000",
    "Sun, 06 Nov 94 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov  1994 08:49:37 GMT",
    "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 1994 08.49.37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
    "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
    "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 30 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 32 Oct 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nox 1994 08:49:37 GMT", "Sux, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT x",
    "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
    "Sun Nov 06 08:49:37 94", "Sun Nov 6 08:49:37 1994", "Sun, 06 \u{0}ov 1994 08:49:37 GMT",
    "Sun, 06 N\u{4F}V 199\u{664} 08:49:37 GMT",
  ])
  func takesNothingElseForADate(text: String) {
    #expect(HTTPDate.parse(text, now: Self.now) == nil)
  }

  @Test func aTwoDigitYearIsTheLatestThatIsAtMostFiftyYearsAhead() {
    // RFC 9110, section 5.6.7.
    let year = { (text: String, now: String) in
      HTTPDate.parse(text, now: HTTPDate.parse(now, now: 0)!).map {
        HTTPDate.format($0).split(separator: " ")[3]
      }
    }
    let now = "Fri, 15 Jan 2027 08:00:00 GMT"
    #expect(year("Friday, 15-Jan-77 08:00:00 GMT", now) == "2077")
    #expect(year("Friday, 15-Jan-77 08:00:01 GMT", now) == "1977")
    #expect(year("Friday, 14-Jan-77 08:00:01 GMT", now) == "2077")
    #expect(year("Friday, 15-Jan-78 08:00:00 GMT", now) == "1978")
    #expect(year("Friday, 15-Jan-27 08:00:00 GMT", now) == "2027")
    #expect(year("Friday, 15-Jan-00 08:00:00 GMT", "Fri, 15 Jan 2099 08:00:00 GMT") == "2100")
  }

  @Test func writesWhatItReads() {
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<2000 {
      let seconds = Double(Int.random(in: -62_135_596_800...253_402_300_799, using: &generator))
      let text = HTTPDate.format(seconds)
      #expect(text.utf8.count == 29)
      #expect(HTTPDate.parse(text, now: Self.now) == seconds)
    }
  }

  @Test func writesTheWeekday() {
    #expect(HTTPDate.format(784_111_777.9) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(HTTPDate.format(-1) == "Wed, 31 Dec 1969 23:59:59 GMT")
  }

  @Test(arguments: [Double.infinity, -.infinity, .nan, 1e300, -1e300])
  func writesADateWhateverTheNumber(seconds: Double) {
    let text = HTTPDate.format(seconds)
    #expect(text.utf8.count == 29)
    #expect(HTTPDate.parse(text, now: seconds) != nil)
  }
}

/// Random numbers that are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
