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

  private static let hour = ("Cache-Control", "max-age=3600")

  /// A response, and the same request again after a while.
  private static func pair(
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

  // MARK: Updates

  private static let updates: [ConformanceCase] = {
    let changed: [(String, String, String)] = [
      ("Test-Header", "a", "b"), ("X-Test-Header", "a", "b"), ("Content-Foo", "a", "b"),
      ("Content-Type", "text/plain", "text/plain;charset=utf-8"),
      ("Content-Security-Policy", "default-src 'self'", "default-src 'self' cdn.example.com"),
      ("Content-Location", "/foo", "/bar"), ("Content-MD5", "a", "b"),
      ("X-Frame-Options", "deny", "sameorigin"),
      ("Set-Cookie", "a=b", "a=c"), ("Clear-Site-Data", "cache", "cookies"),
    ]
    func cases(_ validator: (String, String)) -> [ConformanceCase] {
      changed.map { name, first, second in
        ConformanceCase(
          name: "304-\(validator.0)-\(name)",
          steps: [
            Step(
              answer: [("Cache-Control", "max-age=1"), ("Date", When.in(0)), validator, (name, first)],
              pause: 3),
            Step(
              answer: [hour, ("Date", When.in(0)), validator, (name, second)], from: .confirmed,
              shows: [(name, second), ("Cache-Control", "max-age=3600")]),
            Step(from: .cached, shows: [(name, second)]),
          ])
      }
    }
    let stale = [("Cache-Control", "max-age=2"), ("Template", "1")]
    let more: [ConformanceCase] = [
      ConformanceCase(
        name: "304-keeps-what-it-omits",
        steps: [
          Step(answer: [("Cache-Control", "max-age=1"), ("ETag", "\"1\""), ("Kept", "yes")], pause: 3),
          Step(answer: [("ETag", "\"1\"")], from: .confirmed, shows: [("Kept", "yes")]),
        ]),
      ConformanceCase(
        name: "304-does-not-change-the-length",
        steps: [
          Step(answer: [("Cache-Control", "max-age=1"), ("ETag", "\"1\"")], body: "12345", pause: 3),
          Step(
            answer: [("ETag", "\"1\""), ("Content-Length", "36")], from: .confirmed,
            shows: [("Content-Length", "5")], text: "12345"),
        ]),
      ConformanceCase(
        name: "head-freshens",
        steps: [
          Step(answer: stale, body: "12345", pause: 3),
          Step(method: "HEAD", answer: [hour, ("Template", "2")], body: "12345"),
          Step(from: .cached, shows: [("Template", "2")], text: "12345"),
        ]),
      ConformanceCase(
        name: "head-ends-what-changed",
        steps: [
          Step(answer: [hour, ("ETag", "\"1\"")], body: "12345"),
          Step(
            method: "HEAD", send: [("Cache-Control", "no-cache")], answer: [hour, ("ETag", "\"2\"")],
            body: "12345"),
          Step(answer: [hour, ("ETag", "\"2\"")], body: "67890", text: "67890"),
        ]),
      ConformanceCase(
        name: "head-from-the-cache",
        steps: [
          Step(answer: [hour], body: "12345"), Step(method: "HEAD", from: .cached, text: ""),
        ]),
    ]
    return cases(("ETag", "\"1\"")) + cases(("Last-Modified", When.in(-86_400))) + more
  }()

  // MARK: Invalidation

  private static let invalidation: [ConformanceCase] = ["POST", "PUT", "DELETE", "M-SEARCH"].flatMap {
    method -> [ConformanceCase] in
    [
      ConformanceCase(
        name: "invalidates-\(method)",
        steps: [
          Step(answer: [hour]), Step(method: method, payload: "abc"), Step(answer: [hour]),
        ]),
      ConformanceCase(
        name: "failed-\(method)",
        steps: [
          Step(answer: [hour]), Step(method: method, payload: "abc", status: 500), Step(from: .cached),
        ]),
      ConformanceCase(
        name: "location-\(method)",
        steps: [
          Step(path: "target", answer: [hour]),
          Step(method: method, payload: "abc", answer: [("Location", "target")]),
          Step(path: "target", answer: [hour]),
        ]),
      ConformanceCase(
        name: "content-location-\(method)",
        steps: [
          Step(path: "target", answer: [hour]),
          Step(method: method, payload: "abc", answer: [("Content-Location", "target")]),
          Step(path: "target", answer: [hour]),
        ]),
    ]
  }

  // MARK: Parts

  private static let partial: [ConformanceCase] = {
    func ofWhole(_ range: String, _ text: String, _ contentRange: String) -> ConformanceCase {
      ConformanceCase(
        name: "part-of-whole-\(contentRange.filter(\.isNumber))",
        steps: [
          Step(answer: [hour], body: "0123456789A"),
          Step(
            send: [("Range", range)], from: .cached, showsStatus: 206,
            shows: [("Content-Range", contentRange)], text: text),
        ])
    }
    func ofPart(_ range: String, _ text: String) -> ConformanceCase {
      ConformanceCase(
        name: "part-of-part-\(range.filter { $0.isNumber || $0 == "-" })",
        steps: [
          Step(
            send: [("Range", "bytes=-5")], status: 206, answer: [hour, ("Content-Range", "bytes 5-9/10")],
            body: "56789", asked: [("Range", "bytes=-5")]),
          Step(send: [("Range", range)], from: .cached, showsStatus: 206, text: text),
        ])
    }
    return [
      ofWhole("bytes=0-1", "01", "bytes 0-1/11"), ofWhole("bytes=1-", "123456789A", "bytes 1-10/11"),
      ofWhole("bytes=-1", "A", "bytes 10-10/11"),
      ofPart("bytes=-5", "56789"), ofPart("bytes=6-8", "678"), ofPart("bytes=6-", "6789"),
      ofPart("bytes=-1", "9"),
      ConformanceCase(
        name: "part-is-not-the-whole",
        steps: [
          Step(
            send: [("Range", "bytes=0-4")], status: 206, answer: [hour, ("Content-Range", "bytes 0-4/10")],
            body: "01234"),
          Step(answer: [hour], body: "0123456789", text: "0123456789"),
        ]),
      ConformanceCase(
        name: "part-is-completed",
        steps: [
          Step(
            send: [("Range", "bytes=0-4")], status: 206,
            answer: [hour, ("Content-Range", "bytes 0-4/10"), ("ETag", "\"1\"")], body: "01234"),
          Step(
            status: 206, answer: [hour, ("Content-Range", "bytes 5-9/10"), ("ETag", "\"1\"")], body: "56789",
            from: .any, showsStatus: 200, text: "0123456789",
            asked: [("Range", "bytes=5-"), ("If-Range", "\"1\"")]),
          Step(from: .cached, text: "0123456789"),
        ]),
    ]
  }()

  // MARK: Status codes

  private static let statusCodes: [ConformanceCase] = {
    let all = [
      200, 203, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599,
    ]
    let fresh = all.map { pair("fresh-\($0)", [hour], .cached, status: $0) }
    let stale = all.map {
      pair("stale-\($0)", [("Expires", When.in(-5000)), ("Date", When.in(0))], .network, status: $0)
    }
    let modified = [("Last-Modified", When.in(-86_400)), ("Date", When.in(0))]
    let guessed = [200, 203, 404, 405, 410, 414, 501].map {
      pair("heuristic-\($0)", modified, .cached, pause: 0, status: $0)
    }
    let notGuessed = [201, 202, 403, 502, 503, 504, 599].map {
      pair("no-heuristic-\($0)", modified, .network, pause: 0, status: $0)
    }
    let more: [ConformanceCase] = [
      pair("fresh-204", [hour], .cached, status: 204, body: ""),
      pair("heuristic-204", modified, .cached, status: 204, body: ""),
      pair("heuristic-599-public", modified + [("Cache-Control", "public")], .cached, pause: 0, status: 599),
    ]
    return fresh + stale + guessed + notGuessed + more
  }()

  // MARK: Stale answers

  private static let stale: [ConformanceCase] = {
    func whenGone(_ name: String, _ control: String, _ isShown: Bool) -> ConformanceCase {
      // Where it may not be shown there is no answer at all, and so no exit status of 0: see the test of that.
      ConformanceCase(
        name: name,
        steps: [
          Step(answer: [("Cache-Control", control)], pause: 3),
          isShown
            ? Step(disconnects: true, from: .any, shows: [("X-Number", "0")], age: 3)
            : Step(status: 503, from: .network),
        ])
    }
    return [
      whenGone("gone-stale", "max-age=2", true),
      whenGone("gone-stale-if-error", "max-age=2, stale-if-error=60", true),
      whenGone("gone-must-revalidate", "max-age=2, must-revalidate", false),
      ConformanceCase(
        name: "stale-if-error",
        steps: [
          Step(answer: [("Cache-Control", "max-age=0, stale-if-error=3600")]),
          Step(status: 500, from: .any, showsStatus: 200, shows: [("X-Number", "0")]),
        ]),
      ConformanceCase(
        name: "stale-if-error-over",
        steps: [
          Step(answer: [("Cache-Control", "max-age=0, stale-if-error=1")], pause: 3), Step(status: 500),
        ]),
      ConformanceCase(
        name: "stale-if-error-asked-for",
        steps: [
          Step(answer: [("Cache-Control", "max-age=0")]),
          Step(
            send: [("Cache-Control", "stale-if-error=3600")], status: 500, from: .any, showsStatus: 200,
            shows: [("X-Number", "0")]),
        ]),
      ConformanceCase(
        name: "stale-if-error-asked-for-over",
        steps: [
          Step(answer: [("Cache-Control", "max-age=0")], pause: 3),
          Step(send: [("Cache-Control", "stale-if-error=1")], status: 500),
        ]),
      ConformanceCase(
        name: "stale-while-revalidate",
        steps: [
          Step(answer: [("Cache-Control", "max-age=0, stale-while-revalidate=3600"), ("ETag", "\"1\"")]),
          Step(
            answer: [hour, ("ETag", "\"2\"")], from: .any,
            shows: [("ETag", "\"1\""), ("X-Number", "0")], asked: [("If-None-Match", "\"1\"")]),
          Step(from: .cached, shows: [("ETag", "\"2\""), ("X-Number", "1")]),
        ]),
      ConformanceCase(
        name: "stale-while-revalidate-over",
        steps: [
          Step(
            answer: [("Cache-Control", "max-age=1, stale-while-revalidate=1"), ("ETag", "\"1\"")], pause: 5),
          Step(answer: [hour, ("ETag", "\"2\"")]),
        ]),
    ]
  }()

  // MARK: Headers

  private static let headers: [ConformanceCase] =
    keptHeaders.map { name, value in
      ConformanceCase(
        name: "keeps-\(name)",
        steps: [
          Step(answer: [hour, (name, value)], shows: [(name, value)]),
          Step(from: .cached, shows: [(name, value)]),
        ])
    } + headerSequences

  private static let keptHeaders: Fields =
    [
      ("Test-Header", "a"), ("X-Test", "b c"), ("Content-Type", "text/x-a"), ("X-Frame-Options", "deny"),
      ("Set-Cookie", "a=b"), ("Strict-Transport-Security", "max-age=1"), ("WWW-Authenticate", "Basic"),
      ("Clear-Site-Data", "cookies"), ("X-Empty", ""), ("X-Latin", "caf\u{E9}"),
      ("X-Long", String(repeating: "x", count: 8000)),
    ]

  private static let headerSequences: [ConformanceCase] =
    [
      ConformanceCase(
        name: "keeps-repeats",
        steps: [
          Step(answer: [hour, ("X-A", "1"), ("X-B", "2"), ("X-A", "3")]),
          Step(from: .cached, shows: [("X-A", "1, 3"), ("X-B", "2")]),
        ]),
      ConformanceCase(
        name: "drops-what-connection-lists",
        steps: [
          Step(answer: [hour, ("Connection", "a, b"), ("a", "1"), ("b", "2"), ("c", "3")]),
          Step(from: .cached, shows: [("c", "3")], lacks: ["Connection", "a", "b"]),
        ]),
    ]
}
