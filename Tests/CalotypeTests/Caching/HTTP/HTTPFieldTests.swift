import Foundation
import Testing

@testable import Calotype

@Suite struct EntityTagTests {
  @Test(arguments: [
    // RFC 9110, section 8.8.3.2, the table; then what real servers send.
    ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
    ("W/\"1\"", "\"1\"", false, true),
    ("\"1\"", "\"1\"", true, true), ("\"1\"", "\"2\"", false, false), ("1", "1", false, true),
    ("1", "\"1\"", false, false), ("w/\"1\"", "w/\"1\"", false, true), ("\"a", "\"a", false, true),
    ("\"a\"b\"", "\"a\"b\"", false, true), ("\"a b\"", "\"a b\"", false, true), ("\"\"", "\"\"", true, true),
    ("\"é\"", "\"é\"", true, true), (" \"1\" ", "\"1\"", true, true), ("W/", "W/", false, true),
  ])
  func compares(left: String, right: String, strongly: Bool, weakly: Bool) throws {
    let left = try #require(EntityTag(left))
    let right = try #require(EntityTag(right))
    #expect(left.matchesStrongly(right) == strongly)
    #expect(right.matchesStrongly(left) == strongly)
    #expect(left.matchesWeakly(right) == weakly)
  }

  @Test func readsLists() {
    #expect(EntityTag.list(["\"a\", W/\"b\"", "\"c,d\""])?.map(\.text) == ["\"a\"", "W/\"b\"", "\"c,d\""])
    #expect(EntityTag.list(["*"]) == nil)
    #expect(EntityTag.list(["", ", ,"]) == [])
    #expect(EntityTag("") == nil)
    #expect(EntityTag("  ") == nil)
  }
}

@Suite struct ByteRangeTests {
  @Test(arguments: [
    ("bytes=0-499", ByteRange.Request.single(.from(0, through: 499))),
    ("bytes=500-", .single(.from(500, through: nil))), ("bytes=-500", .single(.suffix(500))),
    ("bytes = 1-2", .single(.from(1, through: 2))), ("Bytes=1-2", .single(.from(1, through: 2))),
    ("bytes=,1-2,", .single(.from(1, through: 2))), ("bytes=1 - 2", .single(.from(1, through: 2))),
    ("bytes=0-0,-1", .multiple), ("bytes=0-0,x", .none), ("bytes=2-1", .none), ("bytes=-", .none),
    ("bytes=--1", .none), ("bytes=1", .none), ("bytes=1-x", .none), ("bytes=+1-2", .none), ("bytes", .none),
    ("items=0-1", .none), ("", .none), ("=", .none),
    ("bytes=0-9223372036854775807", .single(.from(0, through: .max))),
    ("bytes=0-9223372036854775808", .none), ("bytes=9223372036854775808-", .none),
  ])
  func readsARequest(text: String, request: ByteRange.Request) {
    #expect(ByteRange.request(text) == request)
  }

  @Test func twoFieldsAskForSeveral() {
    #expect(ByteRange.request(in: ["Range": "bytes=0-1", "range": "bytes=2-3"]) == .multiple)
    #expect(ByteRange.request(in: [:]) == .none)
  }

  @Test(
    arguments: [
      (ByteRange.from(0, through: 499), 1000, 0..<500), (.from(500, through: nil), 1000, 500..<1000),
      (.from(999, through: 5000), 1000, 999..<1000), (.from(1000, through: nil), 1000, nil),
      (.from(0, through: .max), 10, 0..<10), (.suffix(3), 10, 7..<10), (.suffix(30), 10, 0..<10),
      (.suffix(0), 10, nil),
      (.suffix(.max), 10, 0..<10), (.suffix(3), 0, nil), (.from(0, through: nil), 0, nil),
    ] as [(ByteRange, Int, Range<Int>?)])
  func findsTheBytes(range: ByteRange, length: Int, bytes: Range<Int>?) {
    #expect(range.resolve(length: length) == bytes)
  }

  @Test(
    arguments: [
      ("bytes 0-499/1234", 0..<500, 1234), ("bytes 0-499/*", 0..<500, nil),
      ("BYTES 734-1233/1234", 734..<1234, 1234),
      ("bytes */1234", nil, 1234),
    ] as [(String, Range<Int>?, Int?)])
  func readsAContentRange(text: String, bytes: Range<Int>?, total: Int?) {
    #expect(ContentRange(text) == ContentRange(bytes: bytes, total: total))
    #expect(ContentRange(ContentRange(bytes: bytes, total: total).text)?.bytes == bytes)
  }

  @Test(arguments: [
    "", "bytes", "bytes ", "bytes 0-499", "bytes 499-0/1234", "bytes 0-1234/1234", "bytes */*", "items 0-1/2",
    "bytes 0-1/2/3", "bytes a-b/c", "bytes -1-2/3", "bytes 0-9223372036854775807/*", "bytes=0-1/2",
    "bytes 0-1/-2",
    "bytes 0-1/99999999999999999999",
  ])
  func takesNothingElseForAContentRange(text: String) {
    // RFC 9110, section 14.4: what is not valid must not be joined with anything.
    #expect(ContentRange(text) == nil)
  }

  @Test func twoContentRangesAreNone() {
    #expect(ContentRange(["Content-Range": "bytes 0-1/2", "content-range": "bytes 0-1/2"]) == nil)
  }
}

@Suite struct HTTPVaryTests {
  @Test func readsNames() {
    #expect(HTTPVary([:]) == .fields([]))
    #expect(HTTPVary(["Vary": "Foo, bar", "vary": "FOO,,"]) == .fields(["bar", "foo"]))
    #expect(HTTPVary(["Vary": "Foo, *"]) == .anything)
    #expect(HTTPVary(["Vary": "Foo Bar"]) == .anything)
    #expect(HTTPVary(["Vary": "\"Foo\""]) == .anything)
  }

  @Test func aVariantsKeyIsTheSameForWhatMatchesAndNoOther() {
    let vary = HTTPVary.fields(["accept-language", "foo"])
    let requests: [HTTPHeaders] = [
      [:], ["Foo": ""], ["Foo": "1"], ["Accept-Language": "de"], ["Accept-Language": "de", "Foo": "1"],
      ["Foo": "accept-language:de"], ["Accept-Language": ""], ["Accept-Language": "en, de;q=0.5"],
      ["Accept-Language": "de;q=0.50,EN", "Other": "x"], ["Accept-Language": "de;q=0.5;q=0.4"],
    ]
    for left in requests {
      for right in requests {
        let isSame = vary.variantKey(for: left) == vary.variantKey(for: right)
        #expect(vary.matches(left, stored: vary.selectingHeaders(of: right)) == isSame)
      }
      #expect(vary.variantKey(for: left) == vary.variantKey(for: vary.selectingHeaders(of: left)))
    }
    #expect(vary.variantKey(for: requests[7]) == vary.variantKey(for: requests[8]))
    #expect(HTTPVary.fields([]).variantKey(for: ["Foo": "1"]).isEmpty)
  }

  @Test(arguments: [
    ("accept-language", "en;q=1", "en"), ("accept-language", "en;Q=0.50", "en;q=0.5"),
    ("accept-language", "en;q=0", "en;q=0"),
    ("accept-language", "en;q=0.000", "en;q=0"), ("accept-language", "de, en", "de,en"),
    ("accept-language", "en, de", "de,en"),
    // Not the grammar's: left as it is, but for white space.
    ("accept-language", "EN;q=2", "EN;q=2"), ("accept-language", "EN;q=", "EN;q="),
    ("accept-language", "EN;x=1", "EN;x=1"),
    ("accept-language", "EN;q=0.1234", "EN;q=0.1234"), ("accept-language", "EN;", "EN;"),
    ("accept", "Text/HTML;Level=A;q=0.1 , */*", "*/*,text/html;level=A;q=0.1"),
    ("accept", "a/b;x=\"Y\", c", "a/b;x=\"Y\",c"),
    ("foo", " a ,B;q=1 ", "a,B;q=1"), ("user-agent", "A/1 (K, like G)", "A/1 (K,like G)"),
  ])
  func normalizes(name: String, value: String, normal: String) {
    #expect(HTTPVary.normalizedValue(of: name, in: HTTPHeaders([.init(name: name, value: value)])) == normal)
    #expect(HTTPVary.normalizedValue(of: name, in: HTTPHeaders([.init(name: name, value: normal)])) == normal)
  }
}
