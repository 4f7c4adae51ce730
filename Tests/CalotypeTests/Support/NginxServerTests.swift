import Foundation
import TestSupport
import Testing

/// What the other tests rely on when they look at the server's log and headers. Asked with the `curl`
/// command, so that nothing of Calotype is needed.
@Suite struct NginxServerTests {
  @Test func servesAFolderWithTheHeadersOfEachPlace() async throws {
    let folder = try TestSupport.TemporaryFolder()
    try folder.write("hello, hello, hello, hello", to: "a b.txt")
    let server = try NginxServer(serving: folder.url)
    let plain = try curl(server.url("a%20b.txt"))
    #expect(plain.hasSuffix("hello, hello, hello, hello"))
    #expect(plain.contains("ETag: "))
    #expect(plain.contains("Last-Modified: "))
    #expect(try curl(server.url("fresh/a%20b.txt")).contains("Cache-Control: max-age=3600"))
    #expect(try curl(server.url("stale/a%20b.txt")).contains("Cache-Control: max-age=0"))
    #expect(
      try curl(server.url("immutable/a%20b.txt")).contains("Cache-Control: max-age=31536000, immutable"))
    #expect(try curl(server.url("no-store/a%20b.txt")).contains("Cache-Control: no-store"))
    let bare = try curl(server.url("bare/a%20b.txt"))
    #expect(bare.contains("200 OK") && !bare.contains("ETag") && !bare.contains("Last-Modified"))
    #expect(try curl(server.url("redirect/a%20b.txt")).contains("302"))
    #expect(try curl(server.url("status/503")).contains("503"))
    let zipped = try curl(server.url("gzip/a%20b.txt"), "--compressed")
    #expect(zipped.contains("Content-Encoding: gzip") && zipped.hasSuffix("hello, hello"))
  }

  @Test func logsRequests() async throws {
    let folder = try TestSupport.TemporaryFolder()
    try folder.write("0123456789", to: "digits")
    let server = try NginxServer(serving: folder.url)
    #expect(try curl(server.url("digits?q=1"), "--range", "2-4").hasSuffix("234"))
    _ = try curl(server.url("missing"), "--header", "If-None-Match: \"x\"")
    let requests = try await server.requests(atLeast: 2)
    #expect(requests.map(\.path) == ["/digits?q=1", "/missing"])
    #expect(requests.map(\.status) == [206, 404])
    #expect(requests[0].range == "bytes=2-4" && requests[0].bytes == 3)
    #expect(requests[1].ifNoneMatch == "\"x\"")
  }

  @Test func speaksHTTP2OverTLS() async throws {
    let folder = try TestSupport.TemporaryFolder()
    try folder.write("secret", to: "s")
    let server = try NginxServer(serving: folder.url)
    let answer = try curl(
      server.secureURL.appendingPathComponent("s"), "--http2", "--cacert", server.certificateFile.path)
    #expect(answer.hasPrefix("HTTP/2 200") && answer.hasSuffix("secret"))
    #expect(try await server.requests(atLeast: 1).map(\.version) == ["HTTP/2.0"])
  }

  @Test func stopsAndLeavesNothingBehind() throws {
    let folder = try TestSupport.TemporaryFolder()
    let server = try NginxServer(serving: folder.url)
    let prefix = server.certificateFile.deletingLastPathComponent()
    #expect(FileManager.default.fileExists(atPath: prefix.path))
    server.stop()
    server.stop()
    #expect(!FileManager.default.fileExists(atPath: prefix.path))
    #expect(try runProcess("curl", ["--silent", server.url.absoluteString]).status == 7)
  }

  private func curl(_ url: URL, _ options: String...) throws -> String {
    let result = try runProcess(
      "curl", ["--silent", "--show-error", "--include"] + options + [url.absoluteString])
    try #require(result.status == 0, "\(result.errorText)")
    return result.text
  }
}
