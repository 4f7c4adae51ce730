import Testing

@testable import Calotype

@Suite struct CacheControlTests {
  @Test func readsTheDirectives() {
    let control = CacheControl(
      "max-age=60, no-cache, no-store, must-revalidate, must-understand, public, private, immutable, "
        + "stale-while-revalidate=7, stale-if-error=8, only-if-cached, max-stale=3, min-fresh=4")
    #expect(
      control.flags == [
        .noCache, .noStore, .mustRevalidate, .mustUnderstand, .isPublic, .isPrivate, .immutable,
        .onlyIfCached,
      ])
    #expect(control.maxAge == .value(60))
    #expect(control.staleWhileRevalidate == .value(7))
    #expect(control.staleIfError == .value(8))
    #expect(control.maxStale == .value(3))
    #expect(control.minFresh == .value(4))
  }

  @Test func saysNothingWhereNothingIsSaid() {
    for text in [
      "", ",", " , ,", "foo", "s-maxage=3, proxy-revalidate, no-transform", "max-agee=3", "=", "=,=",
    ] {
      #expect(CacheControl(text) == CacheControl(), "\(text)")
    }
  }

  @Test func namesAreReadInAnyCase() {
    #expect(CacheControl("No-StOrE, MaX-aGe=3") == CacheControl("no-store,max-age=3"))
  }

  @Test(arguments: [
    ("max-age=3600", CacheControl.Seconds.value(3600)),
    ("max-age=003600", .value(3600)),
    ("max-age=0", .value(0)),
    ("max-age=\"3600\"", .value(3600)),
    ("max-age=3600 ", .value(3600)),
    ("max-age=2147483647", .value(2_147_483_647)),
    ("max-age=2147483648", .value(2_147_483_648)),
    ("max-age=2147483649", .value(2_147_483_648)),
    ("max-age=99999999999", .value(2_147_483_648)),
    ("max-age=999999999999999999999999999999999999999", .value(2_147_483_648)),
    ("max-age=60, max-age=60", .value(60)),
    ("extension=\"max-age=3600\", max-age=1", .value(1)),
    ("max-age=1, extension=\"max-age=3600\"", .value(1)),
    ("a=\"\\\", max-age=9\", max-age=1", .value(1)),
    ("s-maxage=3600, max-age=1", .value(1)),
    // What cannot be read leaves the response stale (RFC 9111, section 4.2.1).
    ("max-age", .malformed),
    ("max-age=", .malformed),
    ("max-age=\"\"", .malformed),
    ("max-age=-1", .malformed),
    ("max-age=+1", .malformed),
    ("max-age=3600.0", .malformed),
    ("max-age=3600.5", .malformed),
    ("max-age=a3600", .malformed),
    ("max-age=3600a", .malformed),
    ("max-age='3600'", .malformed),
    ("max-age =3600", .malformed),
    ("max-age= 3600", .malformed),
    ("max-age=3600;x", .malformed),
    ("max-age=36 00", .malformed),
    ("max-age=\"3600", .malformed),
    ("max-age=\"3600\"0", .malformed),
    ("max-age=\u{661}", .malformed),
    ("max-age=1800, max-age=1", .malformed),
    ("max-age=1, max-age=1800", .malformed),
    ("max-age=x, max-age=1800", .malformed),
  ])
  func readsSeconds(text: String, seconds: CacheControl.Seconds) {
    #expect(CacheControl(text).maxAge == seconds)
  }

  @Test func linesAreReadTogether() {
    #expect(
      CacheControl(["Cache-Control": "max-age=3", "X": "no-cache", "cache-control": "no-store"]).flags
        == .noStore)
    #expect(CacheControl(["Cache-Control": "max-age=3", "Cache-Control": "max-age=4"]).maxAge == .malformed)
    #expect(CacheControl(["CDN-Cache-Control": "max-age=3"]) == CacheControl())
  }

  @Test func noStoreIsSeenWhereverItStands() {
    for text in [
      "no-store=1", "no-store=\"x\"", "no-store =", "a=\"b, no-store", "\"x, no-store",
      "no-cache=\"a, no-store",
      "max-age=\"3, no-store", "no-store\"", "x=a\"b, no-store",
    ] {
      #expect(CacheControl(text).flags.contains(.noStore), "\(text)")
    }
    #expect(!CacheControl("a=\"no-store\"").flags.contains(.noStore))
    #expect(!CacheControl("a=\"b, no-store, c\"").flags.contains(.noStore))
  }

  @Test func noCacheMayNameFields() {
    #expect(CacheControl("no-cache=\"A, b\"").noCacheFields == ["a", "b"])
    #expect(CacheControl("no-cache=\"a\", no-cache=b").noCacheFields == ["a", "b"])
    #expect(CacheControl("no-cache=\"a\"").flags.isEmpty)
    for text in [
      "no-cache", "no-cache=\"\"", "no-cache=", "no-cache=\"a", "no-cache=\"a b\"", "no-cache =\"a\"",
    ] {
      #expect(CacheControl(text).flags == .noCache, "\(text)")
    }
    #expect(CacheControl("private=\"set-cookie\"").flags == .isPrivate)
  }

  @Test func ofTwoLimitsTheStricterHolds() {
    let control = CacheControl(
      "max-stale=5, max-stale=2, max-stale, min-fresh=1, min-fresh=9, stale-while-revalidate=6, "
        + "stale-while-revalidate=2, stale-if-error=x, stale-if-error=9")
    #expect(control.maxStale == .value(2))
    #expect(!control.flags.contains(.maxStaleWithoutLimit))
    #expect(control.minFresh == .value(9))
    #expect(control.staleWhileRevalidate == .value(2))
    #expect(control.staleIfError == .malformed)
  }

  @Test func maxStaleMayHaveNoLimit() {
    #expect(CacheControl("max-stale").flags == .maxStaleWithoutLimit)
    #expect(CacheControl("max-stale, max-stale=4").flags == [])
    #expect(CacheControl("max-stale=").maxStale == .malformed)
  }
}

@Suite struct UnclosedQuoteTests {
  /// That no closing quote follows is remembered and not looked for again: with the same result.
  @Test func listsAreSplitAsIfEachQuoteWereLookedFor() {
    /// As the rule is written: each quote is looked for to the end.
    func split(_ text: String) -> [String] {
      let bytes = Array(text.utf8)
      var members: [String] = [], start = 0, at = 0
      while at <= bytes.count {
        if at == bytes.count || bytes[at] == UInt8(ascii: ",") {
          let member = String(decoding: bytes[start..<at], as: UTF8.self).trimmingOptionalWhitespace()
          if !member.isEmpty { members.append(member) }
          start = at + 1
          at += 1
        } else if bytes[at] == UInt8(ascii: "\""),
          let end = bytes.withUnsafeBufferPointer({ HTTPFieldSyntax.endOfQuotedString($0, from: at) })
        {
          at = end
        } else {
          at += 1
        }
      }
      return members
    }
    let signs = ["\"", "\\", ",", "a", " "]
    var count = 1
    for length in 0...6 {
      defer { count *= 5 }
      for number in 0..<count {
        var (text, rest) = ("", number)
        for _ in 0..<length {
          text += signs[rest % 5]
          rest /= 5
        }
        #expect(HTTPFieldSyntax.listMembers(text) == split(text), "\(text)")
      }
    }
  }

  /// A hundred thousand quotes: done at once, where each is not looked for to the end.
  @Test(.timeLimit(.minutes(1))) func manyUnclosedQuotesHideNothing() {
    let quotes = String(repeating: "\"\\", count: 200_000)
    #expect(HTTPFieldSyntax.listMembers(quotes + ",no-store").last == "no-store")
    for text in ["a=\(quotes),no-store", "\(quotes),no-store", "max-age=1,\(quotes), no-store"] {
      #expect(CacheControl(["Cache-Control": text]).flags.contains(.noStore))
    }
  }
}
