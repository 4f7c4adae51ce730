import Foundation

/// What ``ConformanceTests`` tries, by subject.
enum ConformanceCases {
  typealias Fields = [(String, String)]

  static let groups: [String: [ConformanceCase]] = [
    "freshness": freshness, "request directives": requestDirectives,
    "response directives": responseDirectives,
    "Vary": vary, "conditional": conditional, "updates": updates, "invalidation": invalidation,
    "partial": partial, "status codes": statusCodes, "stale": stale, "headers": headers,
  ]

  static let hour = ("Cache-Control", "max-age=3600")

  /// A response, and the same request again after a while.
  static func pair(
    _ name: String, _ answer: Fields, _ from: Step.Origin, pause: Double = 3, status: Int = 200,
    body: String? = nil
  ) -> ConformanceCase {
    ConformanceCase(
      name: name,
      steps: [
        Step(status: status, answer: answer, body: body, pause: pause),
        Step(status: status, answer: answer, body: body, from: from),
      ])
  }

  // MARK: Freshness

  private static let madeAt = When.in(-10)

  private static let freshness: [ConformanceCase] =
    freshnessRows.map { pair($0.0, $0.1, $0.2 ? .cached : .network) } + freshnessSequences

  private static let freshnessRows: [(String, Fields, Bool)] =
    [
      ("none", [], false), ("max-age", [hour], true),
      ("max-age-0", [("Cache-Control", "max-age=0")], false),
      ("max-age-past", [("Cache-Control", "max-age=2")], false),
      ("max-age-quoted-elsewhere", [("Cache-Control", "x=\"max-age=3600\", max-age=1")], false),
      ("max-age-single-quoted", [("Cache-Control", "max-age='3600'")], false),
      ("max-age-negative", [("Cache-Control", "max-age=-3600")], false),
      ("max-age-letters", [("Cache-Control", "max-age=36a00")], false),
      ("max-age-zeros", [("Cache-Control", "max-age=003600")], true),
      ("max-age-largest", [("Cache-Control", "max-age=2147483648")], true),
      ("max-age-larger", [("Cache-Control", "max-age=99999999999")], true),
      ("max-age-case", [("Cache-Control", "MaX-aGe=3600")], true),
      ("max-age-extension", [("Cache-Control", "something, max-age=3600")], true),
      ("max-age-aged", [("Cache-Control", "max-age=3600"), ("Age", "7200")], false),
      ("max-age-over-past-expires", [hour, ("Expires", When.in(-10_000)), ("Date", When.in(0))], true),
      ("max-age-over-bad-expires", [hour, ("Expires", "0"), ("Date", When.in(0))], true),
      (
        "max-age-0-over-expires",
        [("Cache-Control", "max-age=0"), ("Expires", When.in(10_000)), ("Date", When.in(0))], false
      ),
      ("s-maxage-alone", [("Cache-Control", "s-maxage=3600")], false),
      ("s-maxage-longer", [("Cache-Control", "s-maxage=3600, max-age=1")], false),
      ("s-maxage-lines", [("Cache-Control", "s-maxage=3600"), ("Cache-Control", "max-age=1")], false),
      ("s-maxage-shorter", [("Cache-Control", "max-age=3600, s-maxage=1")], true),
      ("cdn-ignored", [("CDN-Cache-Control", "max-age=3600")], false),
      ("cdn-no-store-ignored", [("CDN-Cache-Control", "no-store"), hour], true),
      ("expires", [("Expires", When.in(10_000)), ("Date", When.in(0))], true),
      ("expires-past", [("Expires", When.in(-10_000)), ("Date", When.in(0))], false),
      ("expires-now", [("Expires", When.in(0)), ("Date", When.in(0))], false),
      ("expires-before-fast-date", [("Expires", When.in(300)), ("Date", When.in(400))], false),
      ("expires-zero", [("Expires", "0"), ("Date", When.in(0))], false),
      ("expires-bad-date", [("Date", "yesterday"), ("Expires", When.in(100))], true),
      ("expires-aged", [("Date", When.in(-10)), ("Expires", When.in(10)), ("Age", "25")], false),
      ("heuristic", [("Last-Modified", When.in(-100_000)), ("Date", When.in(0))], true),
      ("heuristic-pragma", [("Last-Modified", When.in(-100_000)), ("Pragma", "no-cache")], false),
      ("pragma-with-max-age", [hour, ("Pragma", "no-cache")], true),
      ("set-cookie", [hour, ("Set-Cookie", "a=b")], true),
      ("attachment", [hour, ("Content-Disposition", "attachment; filename=a.txt")], true),
    ]

  private static let freshnessSequences: [ConformanceCase] =
    [
      ConformanceCase(
        name: "age-counts",
        steps: [
          Step(answer: [("Cache-Control", "max-age=600"), ("Age", "30"), ("Date", When.in(0))], pause: 3),
          Step(from: .cached, age: 33),
        ]),
      ConformanceCase(
        name: "age-made-and-date-kept",
        steps: [
          Step(answer: [("Expires", When.in(10_000)), ("Date", madeAt)]),
          Step(from: .cached, shows: [("Date", madeAt)], age: 10),
        ]),
      ConformanceCase(
        name: "query-tells-apart",
        steps: [
          Step(path: "?a", answer: [hour]), Step(path: "?b", answer: [hour]), Step(path: "?a", from: .cached),
        ]),
      ConformanceCase(
        name: "cookie-does-not",
        steps: [
          Step(answer: [hour]), Step(send: [("Cookie", "a=b")], from: .cached),
        ]),
      ConformanceCase(
        name: "authorization-does",
        steps: [
          Step(send: [("Authorization", "X")], answer: [hour]), Step(answer: [hour]),
          Step(send: [("Authorization", "X")], from: .cached),
          Step(send: [("Authorization", "Y")], answer: [hour]),
        ]),
      ConformanceCase(
        name: "authorization-public",
        steps: [
          Step(send: [("Authorization", "X")], answer: [("Cache-Control", "max-age=3600, public")]),
          Step(from: .cached),
        ]),
      ConformanceCase(
        name: "post-with-own-location",
        steps: [
          Step(
            method: "POST", payload: "12345",
            answer: [
              ("Expires", When.in(10_000)), ("Date", When.in(0)), ("Content-Location", ""),
            ]),
          Step(from: .cached),
        ]),
      ConformanceCase(
        name: "interim-102", steps: [Step(answer: [hour], interim: [102]), Step(from: .cached)]),
      ConformanceCase(
        name: "interim-103", steps: [Step(answer: [hour], interim: [103, 103]), Step(from: .cached)]),
    ]

  // MARK: Directives

  private static func asks(_ name: String, _ answer: Fields, _ directive: String, _ from: Step.Origin)
    -> ConformanceCase
  {
    ConformanceCase(
      name: name,
      steps: [
        Step(answer: answer, pause: 3),
        Step(send: [("Cache-Control", directive)], answer: answer, from: from),
      ])
  }

  private static let requestDirectives: [ConformanceCase] = [
    asks("request-max-age-0", [hour], "max-age=0", .network),
    asks("request-max-age-1", [hour], "max-age=1", .network),
    asks("request-max-age-large", [hour], "max-age=1000", .cached),
    asks("request-max-age-aged", [hour, ("Age", "1800")], "max-age=600", .network),
    asks("request-max-stale", [("Cache-Control", "max-age=1")], "max-stale=1000", .cached),
    asks("request-max-stale-small", [("Cache-Control", "max-age=1")], "max-stale=1", .network),
    asks("request-min-fresh", [("Cache-Control", "max-age=1500")], "min-fresh=2000", .network),
    asks("request-min-fresh-met", [("Cache-Control", "max-age=1500")], "min-fresh=1000", .cached),
    asks("request-no-cache", [hour], "no-cache", .network),
    asks("request-no-cache-validated", [hour, ("ETag", "\"1\"")], "no-cache", .confirmed),
    asks("request-no-store", [hour], "no-store", .network),
    asks("request-only-if-cached", [hour], "only-if-cached", .cached),
    ConformanceCase(
      name: "request-only-if-cached-missing",
      steps: [
        Step(send: [("Cache-Control", "only-if-cached")], from: .any, showsStatus: 504, text: "")
      ]),
    ConformanceCase(
      name: "request-no-store-stores-nothing",
      steps: [
        Step(send: [("Cache-Control", "no-store")], answer: [hour]), Step(answer: [hour]),
      ]),
    ConformanceCase(
      name: "request-pragma",
      steps: [
        Step(answer: [hour]), Step(send: [("Pragma", "no-cache")], answer: [hour]),
      ]),
    ConformanceCase(
      name: "mode-reload",
      steps: [
        Step(answer: [hour]), Step(arguments: ["--cache-mode", "reload"], answer: [hour]),
        Step(from: .cached),
      ]),
    ConformanceCase(
      name: "mode-no-cache",
      steps: [
        Step(answer: [hour, ("ETag", "\"1\"")]),
        Step(
          arguments: ["--cache-mode", "no-cache"], from: .confirmed, asked: [("Cache-Control", "max-age=0")]),
      ]),
    ConformanceCase(
      name: "mode-no-cache-immutable",
      steps: [
        Step(answer: [("Cache-Control", "max-age=3600, immutable"), ("ETag", "\"1\"")]),
        Step(arguments: ["--cache-mode", "no-cache"], from: .cached),
      ]),
    ConformanceCase(
      name: "mode-force-cache",
      steps: [
        Step(answer: [("Cache-Control", "max-age=0")], pause: 100),
        Step(arguments: ["--cache-mode", "force-cache"], from: .cached),
        Step(arguments: ["--cache-mode", "only-if-cached"], from: .cached, age: 100),
      ]),
    ConformanceCase(
      name: "mode-no-store",
      steps: [
        Step(arguments: ["--cache-mode", "no-store"], answer: [hour]), Step(answer: [hour]),
        Step(arguments: ["--cache-mode", "no-store"], answer: [hour]), Step(from: .cached),
      ]),
  ]

  private static let responseDirectives: [ConformanceCase] = [
    pair("no-store", [("Cache-Control", "no-store")], .network),
    pair("no-store-case", [("Cache-Control", "No-StOrE")], .network),
    pair("no-store-fresh", [("Cache-Control", "max-age=10000, no-store")], .network),
    pair("no-cache", [("Cache-Control", "max-age=10000, no-cache")], .network),
    pair("no-cache-confirmed", [("Cache-Control", "no-cache"), ("ETag", "\"1\"")], .confirmed),
    pair("private", [("Cache-Control", "private, max-age=3600")], .cached),
    pair(
      "must-revalidate-fresh", [("Cache-Control", "max-age=10000, must-revalidate"), ("ETag", "\"1\"")],
      .cached),
    pair(
      "must-revalidate-stale", [("Cache-Control", "max-age=2, must-revalidate"), ("ETag", "\"1\"")],
      .confirmed),
    pair("immutable-stale", [("Cache-Control", "max-age=2, immutable"), ("ETag", "\"1\"")], .confirmed),
    ConformanceCase(
      name: "no-store-keeps-the-older",
      steps: [
        Step(answer: [("Cache-Control", "max-age=1"), ("A", "1")], pause: 3),
        Step(answer: [("Cache-Control", "no-store"), ("A", "2")]),
        Step(answer: [("A", "3")], shows: [("A", "3")]),
      ]),
    ConformanceCase(
      name: "no-cache-of-a-field",
      steps: [
        Step(answer: [("Cache-Control", "no-cache=\"a\""), ("a", "1"), ("b", "2"), hour]),
        Step(from: .cached, shows: [("b", "2")], lacks: ["a"]),
      ]),
  ]

  // MARK: Vary

  private static let vary: [ConformanceCase] = {
    func varies(_ name: String, _ vary: Fields, _ first: Fields, _ second: Fields, _ isSame: Bool)
      -> ConformanceCase
    {
      ConformanceCase(
        name: name,
        steps: [
          Step(send: first, answer: [hour] + vary),
          Step(send: second, answer: [hour] + vary, from: isSame ? .cached : .network),
        ])
    }
    let foo = [("Vary", "Foo")]
    let three = [("Vary", "Foo, Bar"), ("Vary", "Baz")]
    return [
      varies("vary-match", foo, [("Foo", "1")], [("Foo", "1")], true),
      varies("vary-other", foo, [("Foo", "1")], [("Foo", "2")], false),
      varies("vary-omitted", foo, [("Foo", "1")], [], false),
      varies("vary-unlisted", foo, [("Foo", "1"), ("X", "1")], [("Foo", "1"), ("X", "2")], true),
      varies("vary-case", [("Vary", "FOO")], [("Foo", "1")], [("foo", "1")], true),
      varies(
        "vary-three", three, [("Foo", "1"), ("Bar", "2"), ("Baz", "3")],
        [("Baz", "3"), ("Foo", "1"), ("Bar", "2")], true),
      varies(
        "vary-three-other", three, [("Foo", "1"), ("Bar", "2"), ("Baz", "3")],
        [("Foo", "1"), ("Bar", "2"), ("Baz", "4")], false),
      varies("vary-three-omitted", three, [("Foo", "1"), ("Baz", "3")], [("Foo", "1"), ("Baz", "3")], true),
      varies("vary-star", [("Vary", "*")], [("Foo", "1")], [("Foo", "1")], false),
      varies("vary-star-in-list", [("Vary", "Foo, *")], [("Foo", "1")], [("Foo", "1")], false),
      varies("vary-star-line", [("Vary", ""), ("Vary", "*")], [("Foo", "1")], [("Foo", "1")], false),
      varies("vary-space", foo, [("Foo", "1,2")], [("Foo", " 1, 2 ")], true),
      varies("vary-lines", foo, [("Foo", "1, 2")], [("Foo", "1"), ("Foo", "2")], true),
      varies(
        "vary-language-order", [("Vary", "Accept-Language")], [("Accept-Language", "en, de")],
        [("Accept-Language", "de, en")], true),
      varies(
        "vary-language-case", [("Vary", "Accept-Language")], [("Accept-Language", "en, de")],
        [("Accept-Language", "eN, De")], true),
      varies(
        "vary-language-subset", [("Vary", "Accept-Language")], [("Accept-Language", "en, de")],
        [("Accept-Language", "de")], false),
      ConformanceCase(
        name: "vary-keeps-both",
        steps: [
          Step(send: [("Foo", "1")], answer: [hour] + foo, body: "one"),
          Step(send: [("Foo", "2")], answer: [hour] + foo, body: "two"),
          Step(send: [("Foo", "1")], from: .cached, text: "one"),
          Step(send: [("Foo", "2")], from: .cached, text: "two"),
        ]),
    ]
  }()

  // MARK: Conditional requests

  private static let conditional: [ConformanceCase] = {
    func answered(_ name: String, _ stored: Fields, _ condition: (String, String), _ status: Int = 304)
      -> ConformanceCase
    {
      ConformanceCase(
        name: name,
        steps: [
          Step(answer: [hour, ("Date", When.in(0))] + stored, pause: 3),
          Step(
            send: [condition], from: .cached, showsStatus: status,
            shows: stored.filter { $0.0 == "ETag" }),
        ])
    }
    func generated(_ name: String, _ stored: Fields, _ asked: [(String, String?)]) -> ConformanceCase {
      let answer = [("Cache-Control", "max-age=2"), ("Date", When.in(0))] + stored
      return ConformanceCase(
        name: name,
        steps: [Step(answer: answer, pause: 3), Step(answer: stored, from: .confirmed, asked: asked)])
    }
    let modified = When.in(-5000)
    return [
      answered("inm-strong", [("ETag", "\"abc\"")], ("If-None-Match", "\"abc\"")),
      answered("inm-weak", [("ETag", "W/\"abc\"")], ("If-None-Match", "W/\"abc\"")),
      answered("inm-weak-and-strong", [("ETag", "W/\"abc\"")], ("If-None-Match", "\"abc\"")),
      answered("inm-first", [("ETag", "\"abc\"")], ("If-None-Match", "\"abc\", \"1\", \"2\"")),
      answered("inm-middle", [("ETag", "\"abc\"")], ("If-None-Match", "\"1\", \"abc\", \"2\"")),
      answered("inm-last", [("ETag", "\"abc\"")], ("If-None-Match", "\"1\", \"2\", \"abc\"")),
      answered("inm-star", [("ETag", "\"abc\"")], ("If-None-Match", "*")),
      answered("inm-other", [("ETag", "\"abc\"")], ("If-None-Match", "\"xyz\""), 200),
      answered("inm-unquoted", [("ETag", "abc")], ("If-None-Match", "abc")),
      answered("inm-comma-within", [("ETag", "\"a,b\"")], ("If-None-Match", "\"x\", \"a,b\"")),
      answered("ims-same", [("Last-Modified", modified)], ("If-Modified-Since", modified)),
      answered("ims-later", [("Last-Modified", modified)], ("If-Modified-Since", When.in(-2000))),
      answered("ims-earlier", [("Last-Modified", modified)], ("If-Modified-Since", When.in(-9000)), 200),
      answered("ims-without-date-of-its-own", [], ("If-Modified-Since", When.in(-3000)), 200),
      ConformanceCase(
        name: "inm-before-ims",
        steps: [
          Step(answer: [hour, ("ETag", "\"abc\""), ("Last-Modified", modified)]),
          Step(
            send: [("If-None-Match", "\"abc\""), ("If-Modified-Since", When.in(-9000))], from: .cached,
            showsStatus: 304),
        ]),
      generated("generates-inm", [("ETag", "\"abc\"")], [("If-None-Match", "\"abc\"")]),
      generated("generates-inm-weak", [("ETag", "W/\"abc\"")], [("If-None-Match", "W/\"abc\"")]),
      generated("generates-inm-unquoted", [("ETag", "abc")], [("If-None-Match", "abc")]),
      generated("generates-ims", [("Last-Modified", modified)], [("If-Modified-Since", modified)]),
      ConformanceCase(
        name: "sends-what-it-varies-on",
        steps: [
          Step(
            send: [("Abc", "123")],
            answer: [("Cache-Control", "max-age=2"), ("ETag", "\"1\""), ("Vary", "Abc")], pause: 3),
          Step(
            send: [("Abc", "123")], answer: [("ETag", "\"1\"")], from: .confirmed, asked: [("Abc", "123")]),
        ]),
      ConformanceCase(
        name: "asks-nothing-of-another-variant",
        steps: [
          Step(send: [("Abc", "123")], answer: [hour, ("ETag", "\"1\""), ("Vary", "Abc")]),
          Step(send: [("Abc", "456")], asked: [("If-None-Match", nil)]),
        ]),
      ConformanceCase(
        name: "forwards-a-condition",
        steps: [
          Step(send: [("If-None-Match", "\"x\"")], asked: [("If-None-Match", "\"x\"")])
        ]),
      ConformanceCase(
        name: "a-condition-on-what-is-stale",
        steps: [
          Step(
            answer: [("Cache-Control", "max-age=2"), ("Last-Modified", modified), ("Date", When.in(0))],
            pause: 3),
          Step(
            send: [("If-Modified-Since", modified)], answer: [("Last-Modified", modified)],
            from: .confirmed, showsStatus: 304),
        ]),
    ]
  }()
}
