import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct HTTPClientTests {
  let client = HTTPClient(transport: CurlTransport.forTests())

  @Test func followsRedirectsToTheEnd() async throws {
    let server = try ScriptedServer(routes: [
      "/a": [.redirect("/b?x=1", status: 301)], "/b": [.redirect("c/d", status: 302)],
      "/c/d": [.redirect("../e", status: 303)], "/e": [.redirect("//127.0.0.1", status: 307)],
    ])
    server.route("/e", .redirect(server.url("/f").absoluteString, status: 308))
    server.route("/f", .ok([9]))
    let (head, data, metrics) = try await client.data(for: HTTPRequest(url: server.url("/a#part")))
    #expect(head.status == 200)
    #expect(head.url == server.url("/f#part"))
    #expect(Array(data) == [9])
    #expect(metrics.redirectCount == 4)
    #expect(server.requests.map(\.target) == ["/a", "/b?x=1", "/c/d", "/e", "/f"])
    #expect(server.connections.count == 1)
  }

  @Test func eachHopIsLookedUpAnew() async throws {
    let server = try ScriptedServer(routes: [
      "/now": [.redirect("/v1"), .redirect("/v2")], "/v1": [.ok([1])], "/v2": [.ok([2])],
    ])
    #expect(try await client.data(for: HTTPRequest(url: server.url("/now"))).data == Data([1]))
    #expect(try await client.data(for: HTTPRequest(url: server.url("/now"))).data == Data([2]))
  }

  @Test func redirectsWithoutEndAreAnErrorThatSaysSo() async throws {
    let server = try ScriptedServer { request in .redirect("/\(request.index + 1)") }
    let error = await #expect(throws: HTTPTransportError.self) {
      _ = try await client.data(for: HTTPRequest(url: server.url("/0")))
    }
    #expect(error?.code == .tooManyRedirects)
    #expect(error?.message.contains("more than 10 redirects") == true)
    #expect(server.requests.count == 11)
  }

  @Test func tenRedirectsAreAllowed() async throws {
    let server = try ScriptedServer { $0.index < 10 ? .redirect("/\($0.index + 1)") : .ok([1]) }
    #expect(try await client.data(for: HTTPRequest(url: server.url("/0"))).data == Data([1]))
  }

  @Test func credentialsStayWithTheirOrigin() async throws {
    let other = try ScriptedServer { _ in .ok([1]) }
    let server = try ScriptedServer { [url = other.url("/end")] request in
      request.path == "/a" ? .redirect("/b") : .redirect(url.absoluteString)
    }
    var options = HTTPClient.Options()
    options.secretHeaderNames = ["x-api-key"]
    let headers: HTTPHeaders = [
      "Authorization": "Bearer s", "Cookie": "c=1", "proxy-authorization": "p", "X-API-Key": "k",
      "Accept": "image/*",
    ]
    _ = try await client.data(for: HTTPRequest(url: server.url("/a"), headers: headers), options: options)
    for request in server.requests {
      #expect(request.header("Authorization") == "Bearer s")
      #expect(request.header("X-API-Key") == "k")
    }
    let names = other.requests[0].headers.map { $0.name.lowercased() }
    #expect(names.contains("accept"))
    #expect(!names.contains { ["authorization", "cookie", "proxy-authorization", "x-api-key"].contains($0) })
    #expect(other.requests[0].values("Host") == ["127.0.0.1:\(other.port)"])
  }

  @Test func aRedirectIsTheResponseWhereItIsNotToBeFollowed() async throws {
    let server = try ScriptedServer { _ in .redirect("/b") }
    var options = HTTPClient.Options()
    options.followsRedirects = false
    let (head, _, _) = try await client.data(for: HTTPRequest(url: server.url("/a")), options: options)
    #expect(head.status == 302)
    #expect(server.requests.count == 1)
  }

  @Test func aRedirectThatLeadsNowhereIsRefusedOrShown() async throws {
    let server = try ScriptedServer(routes: [
      "/ftp": [.redirect("ftp://127.0.0.1/x")], "/file": [.redirect("file:///etc/passwd")],
      "/empty": [[.raw("HTTP/1.1 302 Found\r\nLocation:\r\nContent-Length: 0\r\n\r\n")]],
      "/none": [.status(302)], "/multiple": [.status(300, headers: [("Location", "/x")])],
    ])
    for path in ["/ftp", "/file", "/empty"] {
      let error = await #expect(throws: HTTPTransportError.self) {
        _ = try await client.data(for: HTTPRequest(url: server.url(path)))
      }
      #expect(error?.code == .redirectRefused)
      #expect(error?.url == server.url(path))
    }
    #expect(try await client.data(for: HTTPRequest(url: server.url("/none"))).head.status == 302)
    #expect(try await client.data(for: HTTPRequest(url: server.url("/multiple"))).head.status == 300)
  }

  @Test func aRedirectsOwnBodyIsNoPartOfTheResponse() async throws {
    for size in [10, 200_000] {
      let server = try ScriptedServer(routes: [
        "/a": [.status(302, headers: [("Location", "/b")], body: [UInt8](repeating: 1, count: size))],
        "/c": [[.head(302, [("Location", "/b")]), .endless([UInt8](repeating: 2, count: 1000)), .close]],
        "/b": [.ok([7])],
      ])
      let receiver = RecordingReceiver()
      client.load(HTTPRequest(url: server.url("/a")), receiver: receiver)
      _ = try await receiver.end().get()
      #expect(receiver.now.heads.map(\.status) == [200])
      #expect(receiver.now.bytes == [7])
      #expect(try await client.data(for: HTTPRequest(url: server.url("/c"))).data == Data([7]))
    }
  }

  @Test func cancellingReachesTheHopUnderWay() async throws {
    let server = try ScriptedServer(routes: ["/a": [.redirect("/b")], "/b": [.hang]])
    let receiver = RecordingReceiver()
    let load = client.load(HTTPRequest(url: server.url("/a")), receiver: receiver)
    try await server.waitForRequests(2)
    load.cancel()
    #expect(try await receiver.failure().code == .cancelled)
    try await server.waitForAllClosed()
    #expect(receiver.now.results.count == 1)
  }

  @Test func cancellingAtAnyMomentEndsOnce() async throws {
    let server = try ScriptedServer { request in request.path == "/end" ? .ok([1]) : .redirect("/end") }
    for round in 0..<300 {
      let receiver = RecordingReceiver()
      let load = client.load(HTTPRequest(url: server.url("/a")), receiver: receiver)
      for _ in 0..<(round % 30) { await Task.yield() }
      if round % 3 == 0 { try await Task.sleep(for: .microseconds(round * 3)) }
      load.cancel()
      if case .failure(let error) = await receiver.end() { #expect(error.code == .cancelled) }
      #expect(receiver.now.results.count == 1)
    }
  }

  // MARK: The rules, without a network

  private func next(
    _ method: String = "GET", from: String, to location: String?, status: Int = 302,
    headers: HTTPHeaders = [], allowsInsecure: Bool = false
  ) throws -> HTTPRequest? {
    let url = try #require(URL(string: from))
    var responseHeaders = HTTPHeaders()
    responseHeaders["Location"] = location
    var options = HTTPClient.Options()
    options.allowsInsecureRedirects = allowsInsecure
    return try HTTPRedirect.next(
      after: HTTPRequest(method: method, url: url, headers: headers, body: Data("b".utf8)),
      response: HTTPResponseHead(url: url, status: status, headers: responseHeaders), options: options)
  }

  @Test(arguments: [
    // RFC 3986, section 5.4.1
    ("http://a/b/c/d;p?q", "g", "http://a/b/c/g"), ("http://a/b/c/d;p?q", "./g", "http://a/b/c/g"),
    ("http://a/b/c/d;p?q", "/g", "http://a/g"), ("http://a/b/c/d;p?q", "//g", "http://g"),
    ("http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"), ("http://a/b/c/d;p?q", "../g", "http://a/b/g"),
    ("http://a/b/c/d;p?q", "../../../g", "http://a/g"), ("http://a/b/c/d;p?q", "g?y#s", "http://a/b/c/g?y#s"),
    // fragments
    ("http://a/b#f", "/c", "http://a/c#f"), ("http://a/b#f", "/c#g", "http://a/c#g"),
    // what is not quite an address
    ("http://a/b", " /c ", "http://a/c"), ("http://a/b", "/ü b", "http://a/%C3%BC%20b"),
  ])
  func resolvesLocations(from: String, location: String, expected: String) throws {
    #expect(try next(from: from, to: location)?.url.absoluteString == expected)
  }

  @Test(arguments: [
    ("GET", 301, "GET"), ("GET", 303, "GET"), ("HEAD", 302, "HEAD"), ("HEAD", 303, "HEAD"),
    ("POST", 301, "GET"), ("POST", 302, "GET"), ("POST", 303, "GET"), ("POST", 307, "POST"),
    ("POST", 308, "POST"), ("PUT", 301, "PUT"), ("PUT", 302, "PUT"), ("PUT", 303, "GET"), ("PUT", 307, "PUT"),
  ])
  func changesTheMethodAsFetchDoes(method: String, status: Int, expected: String) throws {
    let headers: HTTPHeaders = ["Content-Type": "text/plain", "Accept": "*/*"]
    let next = try #require(try next(method, from: "http://a/", to: "/b", status: status, headers: headers))
    #expect(next.method == expected)
    let keepsBody = method == expected
    #expect((next.body != nil) == keepsBody)
    #expect((next.headers["Content-Type"] != nil) == keepsBody)
    #expect(next.headers["Accept"] == "*/*")
  }

  @Test(arguments: [
    ("http://a/", "http://a:80/x", true), ("http://A/", "http://a/x", true),
    ("http://a/", "http://a:81/", false),
    ("http://a/", "https://a/", false), ("http://a/", "http://b/", false),
    ("http://a/", "http://a.b/", false),
    ("http://u@a/", "http://a/", true), ("http://[::1]:80/", "http://[::1]/", true),
    ("https://a/", "https://a:443/", true),
  ])
  func knowsAnOrigin(from: String, to: String, isSame: Bool) throws {
    let next = try next(from: from, to: to, headers: ["Authorization": "s"])
    #expect((next?.headers["Authorization"] != nil) == isSame)
  }

  @Test func refusesToGoFromHTTPSToHTTP() throws {
    let error = #expect(throws: HTTPTransportError.self) { _ = try next(from: "https://a/", to: "http://a/") }
    #expect(error?.code == .redirectRefused)
    #expect(error?.message.contains("secure") == true)
    #expect(try next(from: "https://a/", to: "http://a/", allowsInsecure: true) != nil)
    #expect(try next(from: "http://a/", to: "https://a/") != nil)
  }

  // MARK: Collecting

  @Test func aPromiseOfMuchTakesLittleMemory() {
    var buffer = BodyBuffer()
    buffer.reserve(announced: 1 << 45)
    #expect(buffer.capacity == BodyBuffer.trustedLength)
    buffer.reserve(announced: nil)
    buffer.reserve(announced: 0)
    #expect(buffer.takeData().isEmpty)
  }

  @Test func theBodyIsHandedOverAsItCame() {
    var buffer = BodyBuffer()
    var expected: [UInt8] = []
    for count in [0, 1, 5000, 3, 70_000, 2_000_000] {
      let piece = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ count) }
      expected += piece
      let hasRoom = piece.withUnsafeBytes { buffer.append($0) }
      #expect(hasRoom)
    }
    let address = buffer.count
    #expect(address == expected.count)
    let data = buffer.takeData()
    #expect(Array(data) == expected)
    #expect(buffer.count == 0)
    #expect(buffer.takeData().isEmpty)
  }

  @Test func progressHasATotalOnlyWhereItIsKnown() async throws {
    let body = [UInt8](repeating: 5, count: 300_000)
    let server = try ScriptedServer(routes: [
      "/plain": [.ok(body)], "/gzip": [.gzip(body)], "/chunked": [.chunked([body, body])],
    ])
    func progress(_ path: String, decodes: Bool = true) async -> [(Int, Int?)] {
      let seen = Lock<[(Int, Int?)]>([])
      let request = HTTPRequest(url: server.url(path), decodesContentEncoding: decodes)
      await withCheckedContinuation { continuation in
        let receiver = DataReceiver(
          request: request, onProgress: { received, total in seen.withLock { $0.append((received, total)) } },
          onCompletion: { _ in continuation.resume() })
        client.load(request, receiver: receiver)
      }
      return seen.withLock { $0 }
    }
    let plain = await progress("/plain")
    #expect(plain.allSatisfy { $0.1 == 300_000 && $0.0 <= 300_000 })
    #expect(plain.last?.0 == 300_000)
    let gzip = await progress("/gzip")
    #expect(gzip.allSatisfy { $0.1 == nil })
    #expect(gzip.last?.0 == 300_000)
    let raw = await progress("/gzip", decodes: false)
    #expect(raw.allSatisfy { $0.1 == Gzip.wrap(body).count })
    let chunked = await progress("/chunked")
    #expect(chunked.allSatisfy { $0.1 == nil })
    #expect(chunked.last?.0 == 600_000)
  }
}
