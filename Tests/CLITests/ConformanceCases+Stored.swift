import Foundation

/// What becomes of a stored response: when it is updated, dropped, joined of parts, used though it is stale, and which of
/// its headers stay.
extension ConformanceCases {
  // MARK: Updates

  static let updates: [ConformanceCase] = {
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

  static let invalidation: [ConformanceCase] = ["POST", "PUT", "DELETE", "M-SEARCH"].flatMap {
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

  static let partial: [ConformanceCase] = {
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

  static let statusCodes: [ConformanceCase] = {
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

  static let stale: [ConformanceCase] = {
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

  static let headers: [ConformanceCase] =
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
