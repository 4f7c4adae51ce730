import Foundation
import TestSupport
import Testing

@Suite struct GetTests {
  @Test func showsTheResponseBare() async throws {
    let body: [UInt8] = [0, 1, 2, 0xFF]
    let server = try ScriptedServer(routes: [
      "/x": [.status(418, headers: [("X-A", "1"), ("X-A", "2 é")], body: body)]
    ])
    let tool = try Tool()
    let result = try await tool("get", "--json", server.url("/x").absoluteString)
    #expect(result.status == 0, "\(result.errorText)")
    #expect(result.text.hasPrefix("{\"status\":418,\"headers\":[["))
    #expect(result.text.contains(",\"body_base64\":\"AAEC/w==\",\"source\":\"network\","))
    let json = try #require(try jsonLines(result.output).first)
    #expect(Set(json.keys) == ["status", "headers", "body_base64", "source", "requests", "transfer"])
    let headers = try #require(json["headers"] as? [[String]])
    #expect(headers.filter { $0[0] == "X-A" } == [["X-A", "1"], ["X-A", "2 é"]])
    let request = try #require(server.requests.first)
    #expect(request.method == "GET")
    #expect(request.header("Accept-Encoding") == nil)
    #expect(request.header("User-Agent") == nil)
    let raw = try await tool("get", server.url("/x").absoluteString)
    #expect(raw.output == Data(body))
    let file = try await tool("get", "-o", "body", "-i", server.url("/x").absoluteString)
    #expect(try tool.data("body") == Data(body))
    #expect(file.text.hasPrefix("418 (network)\n"))
  }

  /// A pipe, a device and what a link leads to are written into; nothing takes their place.
  @Test func theOutputStaysWhatItIs() async throws {
    let server = try ScriptedServer(routes: ["/x": [.ok(Array("body".utf8))]])
    let tool = try Tool()
    let (pipe, link) = (tool.folder.file("pipe").path, tool.folder.file("link").path)
    #expect(mkfifo(pipe, 0o600) == 0)
    // Opened for both, so that neither side waits for the other.
    let reader = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    defer { close(reader) }
    #expect(try await tool("get", "-o", "pipe", server.url("/x").absoluteString).status == 0)
    var bytes = [UInt8](repeating: 0, count: 16)
    #expect(read(reader, &bytes, 16) == 4)
    #expect(bytes.prefix(4) == Array("body".utf8)[...])

    try tool.folder.write("old", to: "real")
    #expect(symlink("real", link) == 0)
    #expect(try await tool("get", "-o", "link", server.url("/x").absoluteString).status == 0)
    #expect(try tool.data("real") == Data("body".utf8))
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "real")
  }

  @Test func cacheModesAndRedirects() async throws {
    let server = try ScriptedServer(routes: [
      "/x": [.ok(Array("one".utf8), headers: [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")])],
      "/r": [.redirect("/x")],
      "/flaky": [.status(503), .ok(Array("well".utf8))],
    ])
    let tool = try Tool()
    func source(_ arguments: String...) async throws -> String? {
      let result = try await tool.run(["get", "--json", "--cache-dir", "cache"] + arguments)
      return try jsonLines(result.output).first?["source"] as? String
    }
    let url = server.url("/x").absoluteString
    #expect(try await source(url, "--cache-mode", "only-if-cached") == nil)
    #expect(try await source(url) == "network")
    #expect(try await source(url) == "disk")
    #expect(server.requests.count == 1)
    #expect(try await source(url, "--cache-mode", "reload") == "network")
    let redirect = try await tool("get", "--json", "--no-follow", server.url("/r").absoluteString)
    #expect(try jsonLines(redirect.output).first?["status"] as? Int == 302)
    #expect(try await tool("get", server.url("/r").absoluteString, "--no-cache").text == "one")
    let once = try await tool("get", "-i", "--no-cache", server.url("/flaky").absoluteString)
    #expect(once.text.hasPrefix("503"))
    let again = try ScriptedServer(routes: ["/flaky": [.status(503), .ok(Array("well".utf8))]])
    #expect(
      try await tool("get", "--retries", "1", "--no-cache", again.url("/flaky").absoluteString).text == "well"
    )
  }

  /// What may be a secret stays with its origin; what says how to answer goes along.
  @Test func headersThatMayBeSecretStayWithTheirOrigin() async throws {
    let other = try ScriptedServer { _ in .ok([1]) }
    let first = try ScriptedServer { _ in .redirect(other.url("/").absoluteString) }
    let result = try await Tool()(
      "get", "--no-cache", "-H", "X-Api-Key: k", "-H", "Authorization: a", "-H", "Range: bytes=0-9",
      first.url("/").absoluteString)
    #expect(result.status == 0, "\(result.errorText)")
    for (server, key) in [(first, "k"), (other, nil)] {
      let request = try #require(server.requests.first)
      #expect(request.header("X-Api-Key") == key)
      #expect((request.header("Authorization") == nil) == (key == nil))
      #expect(request.header("Range") == "bytes=0-9")
    }
  }

  @Test func methodHeadersAndBody() async throws {
    let server = try ScriptedServer { request in .ok(request.body) }
    let tool = try Tool()
    let url = server.url("/x").absoluteString
    let posted = try await tool(
      "get", url, "--body", "-", "-H", "X-A: 1", "-H", "X-A: 2", input: Data("hello".utf8))
    #expect(posted.text == "hello")
    #expect(server.requests.last?.method == "POST")
    #expect(server.requests.last?.values("X-A") == ["1", "2"])
    try tool.folder.write("file", to: "f")
    #expect(try await tool("get", url, "--body", "f", "--method", "PUT").text == "file")
    #expect(server.requests.last?.method == "PUT")
    #expect(try await tool("get", url, "-X", "HEAD").status == 0)
    #expect(server.requests.last?.method == "HEAD")
  }

  @Test func aFailureWithoutAResponseIsAFailure() async throws {
    let server = try ScriptedServer(routes: ["/x": [[.close]]])
    let result = try await Tool()("get", server.url("/x").absoluteString, "--timeout", "10")
    #expect(result.status == 1)
    #expect(result.errorText.contains("calotype get: http://127.0.0.1:"))
    #expect(server.requests.count == 1)
  }
}
