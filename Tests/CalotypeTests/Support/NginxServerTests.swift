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
    let plain = try await curl(server.url("a%20b.txt"))
    #expect(plain.hasSuffix("hello, hello, hello, hello"))
    #expect(plain.contains("ETag: "))
    #expect(plain.contains("Last-Modified: "))
    #expect(try await curl(server.url("fresh/a%20b.txt")).contains("Cache-Control: max-age=3600"))
    #expect(try await curl(server.url("stale/a%20b.txt")).contains("Cache-Control: max-age=0"))
    #expect(
      try await curl(server.url("immutable/a%20b.txt")).contains("Cache-Control: max-age=31536000, immutable")
    )
    #expect(try await curl(server.url("no-store/a%20b.txt")).contains("Cache-Control: no-store"))
    let bare = try await curl(server.url("bare/a%20b.txt"))
    #expect(bare.contains("200 OK") && !bare.contains("ETag") && !bare.contains("Last-Modified"))
    #expect(try await curl(server.url("redirect/a%20b.txt")).contains("302"))
    #expect(try await curl(server.url("status/503")).contains("503"))
    let zipped = try await curl(server.url("gzip/a%20b.txt"), "--compressed")
    #expect(zipped.contains("Content-Encoding: gzip") && zipped.hasSuffix("hello, hello"))
  }

  @Test func logsRequests() async throws {
    let folder = try TestSupport.TemporaryFolder()
    try folder.write("0123456789", to: "digits")
    let server = try NginxServer(serving: folder.url)
    #expect(try await curl(server.url("digits?q=1"), "--range", "2-4").hasSuffix("234"))
    _ = try await curl(server.url("missing"), "--header", "If-None-Match: \"x\"")
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
    let answer = try await curl(
      server.secureURL.appendingPathComponent("s"), "--http2", "--cacert", server.certificateFile.path)
    #expect(answer.hasPrefix("HTTP/2 200") && answer.hasSuffix("secret"))
    #expect(try await server.requests(atLeast: 1).map(\.version) == ["HTTP/2.0"])
  }

  @Test func stopsAndLeavesNothingBehind() async throws {
    let folder = try TestSupport.TemporaryFolder()
    let server = try NginxServer(serving: folder.url)
    let prefix = server.certificateFile.deletingLastPathComponent()
    #expect(FileManager.default.fileExists(atPath: prefix.path))
    server.stop()
    server.stop()
    #expect(!FileManager.default.fileExists(atPath: prefix.path))
    #expect(try await runProcess("curl", ["--silent", server.url.absoluteString]).status == 7)
  }

  private func curl(_ url: URL, _ options: String...) async throws -> String {
    let result = try await runProcess(
      "curl", ["--silent", "--show-error", "--include"] + options + [url.absoluteString])
    try #require(result.status == 0, "\(result.errorText)")
    return result.text
  }
}
