import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct CurlTransportTests {
  let transport = CurlTransport.forTests()

  @Test func getsABodyWithItsHead() async throws {
    let body = Array("hello, world".utf8)
    let server = try ScriptedServer(routes: [
      "/a": [.ok(body, type: "text/plain", headers: [("X-Two", "1"), ("X-Two", "2")])]
    ])
    let (head, data) = try await transport.data(for: HTTPRequest(url: server.url("/a?b=c#d")))
    #expect(head.status == 200)
    #expect(head.url == server.url("/a?b=c#d"))
    #expect(head.headers["content-type"] == "text/plain")
    #expect(head.headers.values("x-two") == ["1", "2"])
    #expect(head.contentLength == body.count)
    #expect(Array(data) == body)
    let request = server.requests[0]
    #expect(request.method == "GET")
    #expect(request.target == "/a?b=c")
  }

  @Test func sendsNoHeadersOfItsOwnButHostAndAcceptEncoding() async throws {
    let server = try ScriptedServer { _ in .ok([]) }
    _ = try await transport.data(for: HTTPRequest(url: server.url("/"), decodesContentEncoding: false))
    _ = try await transport.data(for: HTTPRequest(url: server.url("/")))
    #expect(server.requests[0].headers.map(\.name) == ["Host"])
    #expect(server.requests[1].headers.map(\.name) == ["Host", "Accept-Encoding"])
    #expect(server.requests[1].header("Accept-Encoding")?.contains("gzip") == true)
  }

  @Test func sendsHeadersInOrderWithRepeatsAndEmptyValues() async throws {
    let server = try ScriptedServer { _ in .ok([]) }
    let headers: HTTPHeaders = [
      "Accept": "image/*", "X-A": "1", "x-b": "", "X-A": "2", "User-Agent": "test", "X-C": "æ",
    ]
    _ = try await transport.data(
      for: HTTPRequest(url: server.url("/"), headers: headers, decodesContentEncoding: false))
    let sent = server.requests[0].headers.filter { $0.name != "Host" }
    #expect(sent.map(\.name) == ["Accept", "X-A", "x-b", "X-A", "User-Agent", "X-C"])
    #expect(sent.map(\.value) == ["image/*", "1", "", "2", "test", "æ"])
  }

  @Test(arguments: ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "M-SEARCH"], [true, false])
  func sendsAnyMethod(method: String, hasBody: Bool) async throws {
    guard !(method == "HEAD" && hasBody) else { return }
    let server = try ScriptedServer { _ in .ok(Array("answer".utf8)) }
    let request = HTTPRequest(
      method: method, url: server.url("/"), body: hasBody ? Data("question".utf8) : nil)
    for _ in 0..<2 {
      let (head, data) = try await transport.data(for: request)
      #expect(head.status == 200)
      #expect(data.count == (method == "HEAD" ? 0 : 6))
    }
    for request in server.requests {
      #expect(request.method == method)
      #expect(request.body == (hasBody ? Array("question".utf8) : []))
      #expect(request.header("Content-Type") == nil)
      #expect(request.header("Expect") == nil)
    }
    #expect(server.requests.count == 2)
    #expect(server.connections.count == 1)
  }

  @Test func aHandleUsedAgainKeepsNothingOfTheRequestBefore() async throws {
    let server = try ScriptedServer { _ in .ok(Array("answer".utf8)) }
    let transport = CurlTransport.forTests { $0.maximumConcurrentTransfers = 1 }
    _ = try await transport.data(
      for: HTTPRequest(
        method: "PUT", url: server.url("/"), headers: ["Authorization": "secret", "Cookie": "c"],
        body: Data([1])))
    _ = try await transport.data(for: HTTPRequest(method: "HEAD", url: server.url("/")))
    let (_, data) = try await transport.data(
      for: HTTPRequest(url: server.url("/"), decodesContentEncoding: false))
    #expect(data == Data("answer".utf8))
    let last = server.requests[2]
    #expect(last.method == "GET")
    #expect(last.headers.map(\.name) == ["Host"])
    #expect(last.body == [])
  }

  @Test(arguments: [
    HTTPHeaders.Field(name: "X-A", value: "a\r\nX-B: b"), .init(name: "X-A", value: "a\nb"),
    .init(name: "X-A", value: "a\0b"), .init(name: "X A", value: "a"), .init(name: "", value: "a"),
    .init(name: "X:A", value: "a"), .init(name: "X\r\nA", value: "a"),
  ])
  func refusesHeadersThatWouldBreakTheRequest(field: HTTPHeaders.Field) async throws {
    let server = try ScriptedServer { _ in .ok([]) }
    let request = HTTPRequest(url: server.url("/"), headers: HTTPHeaders([field]))
    let error = await #expect(throws: HTTPTransportError.self) { _ = try await transport.data(for: request) }
    #expect(error?.code == .invalidHeader)
    #expect(error?.message.contains("\n") == false)
    #expect(server.requests.isEmpty)
  }

  @Test func refusesAMethodThatIsNoToken() async throws {
    let error = await #expect(throws: HTTPTransportError.self) {
      _ = try await transport.data(
        for: HTTPRequest(method: "GET /x HTTP/1.1\r\nA:", url: URL(string: "http://127.0.0.1/")!))
    }
    #expect(error?.code == .invalidHeader)
  }

  @Test(arguments: ["ftp://127.0.0.1/a", "file:///etc/passwd", "/relative", "data:,a", "http:///a", "http:a"])
  func refusesOtherSchemesAndNoHost(address: String) async throws {
    let url = try #require(URL(string: address))
    let error = await #expect(throws: HTTPTransportError.self) {
      _ = try await transport.data(for: HTTPRequest(url: url))
    }
    #expect(error?.code == .invalidAddress)
    #expect(error?.url == url)
  }

  @Test(arguments: [200, 204, 304, 404, 418, 500, 599, 600, 999])
  func passesAnyStatusOn(status: Int) async throws {
    let server = try ScriptedServer { _ in .status(status) }
    let (head, data) = try await transport.data(for: HTTPRequest(url: server.url("/")))
    #expect(head.status == status)
    #expect(data.isEmpty)
  }

  @Test func followsNoRedirect() async throws {
    let server = try ScriptedServer { $0.path == "/a" ? .redirect("/b") : .ok([1]) }
    let (head, _) = try await transport.data(for: HTTPRequest(url: server.url("/a")))
    #expect(head.status == 302)
    #expect(head.headers["Location"] == "/b")
    #expect(server.requests.count == 1)
  }

  @Test func skipsInformationalHeads() async throws {
    let server = try ScriptedServer { _ in
      [
        .raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\nX: 1\r\n\r\n"),
        .response(200, [("X-Final", "yes")], body: [7]),
      ]
    }
    let receiver = RecordingReceiver()
    _ = transport.send(HTTPRequest(url: server.url("/")), to: receiver)
    _ = try await receiver.end().get()
    #expect(receiver.now.heads.map(\.status) == [200])
    #expect(receiver.now.heads.first?.headers["X"] == nil)
    #expect(receiver.now.heads.first?.headers["X-Final"] == "yes")
    #expect(receiver.now.bytes == [7])
  }

  @Test func readsHeaderValuesAsUTF8ElseLatin1AndJoinsFolded() async throws {
    let latin1: [UInt8] = Array("X-Latin: caf".utf8) + [0xE9, 13, 10]
    let server = try ScriptedServer { _ in
      [
        .raw("HTTP/1.1 200\r\nX-UTF: café \u{1F5BC}\r\n"), .raw(latin1),
        .raw("X-Folded: one\r\n  two\r\n\tthree\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n"),
      ]
    }
    let (head, _) = try await transport.data(for: HTTPRequest(url: server.url("/")))
    #expect(head.headers["X-UTF"] == "café \u{1F5BC}")
    #expect(head.headers["X-Latin"] == "café")
    #expect(head.headers["X-Folded"] == "one two three")
    #expect(head.headers["X-Empty"] == "")
  }

  @Test func takesNoTrailersForHeaders() async throws {
    let server = try ScriptedServer { _ in
      [
        .head(200, [("Transfer-Encoding", "chunked"), ("Trailer", "X-After")]), .chunk([1, 2]), .chunk([3]),
        .raw("0\r\nX-After: no\r\n\r\n"),
      ]
    }
    let receiver = RecordingReceiver()
    _ = transport.send(HTTPRequest(url: server.url("/")), to: receiver)
    _ = try await receiver.end().get()
    #expect(receiver.now.heads.count == 1)
    #expect(receiver.now.heads[0].headers["X-After"] == nil)
    #expect(receiver.now.bytes == [1, 2, 3])
  }

  @Test func usesConnectionsAgainAndMeasures() async throws {
    let server = try ScriptedServer { _ in .ok([UInt8](repeating: 1, count: 1000)) }
    let first = RecordingReceiver()
    _ = transport.send(HTTPRequest(url: server.url("/")), to: first)
    let firstMetrics = try await first.end().get()
    let second = RecordingReceiver()
    _ = transport.send(HTTPRequest(url: server.url("/")), to: second)
    let secondMetrics = try await second.end().get()
    #expect(server.connections.count == 1)
    #expect(!firstMetrics.reusedConnection)
    #expect(firstMetrics.connect > 0)
    #expect(firstMetrics.total >= firstMetrics.firstByte)
    #expect(firstMetrics.firstByte >= firstMetrics.connect)
    #expect(firstMetrics.remoteAddress == "127.0.0.1")
    #expect(firstMetrics.protocolVersion == "1.1")
    #expect(firstMetrics.bytesReceived > 1000)
    #expect(secondMetrics.reusedConnection)
    #expect(secondMetrics.connect == 0)
    #expect(secondMetrics.total > 0)
  }
}
