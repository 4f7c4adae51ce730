import CCurl
import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct CurlTransportFaultTests {
  private func failure(
    _ script: Script, transport: CurlTransport = .forTests(), maximumSize: Int = 1 << 20,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> (error: HTTPTransportError, received: RecordingReceiver.Record, server: ScriptedServer) {
    let server = try ScriptedServer { _ in script }
    let receiver = RecordingReceiver()
    let request = HTTPRequest(url: server.url("/a"), maximumResponseSize: maximumSize)
    _ = transport.send(request, to: receiver)
    let error = try await receiver.failure(sourceLocation: sourceLocation)
    #expect(error.url == server.url("/a"), sourceLocation: sourceLocation)
    #expect(receiver.now.results.count == 1, sourceLocation: sourceLocation)
    return (error, receiver.now, server)
  }

  @Test func aBodyShorterThanPromisedIsAnError() async throws {
    let (error, received, _) = try await failure(
      .truncated([UInt8](repeating: 7, count: 400), promising: 1000))
    #expect(error.code == .connectionLost)
    #expect(error.message.contains("127.0.0.1"))
    #expect(received.bytes.count == 400)
  }

  @Test func aChunkedBodyWithoutItsEndIsAnError() async throws {
    let (error, _, _) = try await failure([
      .head(200, [("Transfer-Encoding", "chunked")]), .chunk([1, 2, 3]), .close,
    ])
    #expect(error.code == .connectionLost)
  }

  @Test(arguments: [
    Script.reset, Script.close, [.head(200, [("Content-Length", "10")]), .body([1]), .reset],
    [.raw("HTTP/1.1 200 OK\r\nX-A: b\r\n"), .close],
  ])
  func aConnectionThatBreaksIsLost(script: Script) async throws {
    let (error, _, _) = try await failure(script)
    #expect(error.code == .connectionLost)
  }

  @Test(arguments: [
    "hello\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "SSH-2.0-x\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
  ])
  func whatIsNotHTTPIsABadResponse(text: String) async throws {
    let (error, _, _) = try await failure([.raw(text), .close])
    #expect([.badResponse, .connectionLost].contains(error.code))
    #expect(!text.hasPrefix("hello") || error.code == .badResponse)
  }

  /// Nobody knows where such a body ends, and one that was taken for whole might be stored.
  @Test(arguments: [
    ("Content-Length: 2\r\nContent-Length: 3", false), ("Content-Length: 2, 3", false),
    ("Content-Length: 3\r\nContent-Length: 3", true), ("Content-Length: 3, 3", true),
    ("Content-Length: 2\r\nContent-Length: 3\r\nTransfer-Encoding: chunked", true),
  ])
  func lengthsThatDifferAreABadResponse(fields: String, isGood: Bool) async throws {
    let body = fields.contains("chunked") ? "3\r\nabc\r\n0\r\n\r\n" : "abc"
    let server = try ScriptedServer { _ in [.raw("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(body)"), .close] }
    do throws(HTTPTransportError) {
      let response = try await CurlTransport().data(for: HTTPRequest(url: server.url("/")))
      #expect(isGood)
      #expect(response.body == Data("abc".utf8))
    } catch {
      #expect(!isGood)
      #expect(error.code == .badResponse)
    }
  }

  @Test func anAnnouncedLengthOverTheLimitEndsItAtOnce() async throws {
    let (error, received, server) = try await failure(
      [.head(200, [("Content-Length", "2000000")]), .body([1]), .hang])
    #expect(error.code == .responseTooLarge)
    #expect(error.message.contains("1048576"))
    #expect(received.heads.isEmpty)
    try await server.waitForClose()
  }

  @Test func aBodyWithoutEndIsStoppedAtTheLimit() async throws {
    let (error, received, server) = try await failure(.endless(), maximumSize: 100_000)
    #expect(error.code == .responseTooLarge)
    #expect(received.heads.count == 1)
    #expect(received.bytes.count <= 100_000)
    try await server.waitForClose()
    #expect(server.connections[0].wasClosedByPeer)
  }

  @Test func aBodyOfExactlyTheLimitIsWhole() async throws {
    let server = try ScriptedServer { _ in .ok([UInt8](repeating: 1, count: 5000)) }
    let request = HTTPRequest(url: server.url("/"), maximumResponseSize: 5000)
    let (_, data) = try await CurlTransport.forTests().data(for: request)
    #expect(data.count == 5000)
  }

  @Test func aCompressedBombIsStoppedByWhatItBecomes() async throws {
    // 100 MB of nothing in about 100 KB.
    let gzip = try await runProcess("sh", ["-c", "head -c \(100 << 20) /dev/zero | gzip -c"])
    let bomb = [UInt8](gzip.output)
    #expect(bomb.count > 50_000)
    #expect(bomb.count < 200_000)
    let (error, received, _) = try await failure(
      [.response(200, [("Content-Encoding", "gzip")], body: bomb)], maximumSize: 1 << 20)
    #expect(error.code == .responseTooLarge)
    #expect(received.bytes.count <= 1 << 20)
  }

  @Test func compressedBodiesAreUndoneWhereAskedFor() async throws {
    let body = [UInt8]((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
    let server = try ScriptedServer { _ in .gzip(body) }
    let (_, decoded) = try await CurlTransport.forTests().data(for: HTTPRequest(url: server.url("/")))
    #expect(Array(decoded) == body)
    let request = HTTPRequest(url: server.url("/"), decodesContentEncoding: false)
    let (head, raw) = try await CurlTransport.forTests().data(for: request)
    #expect(Array(raw) == Gzip.wrap(body))
    #expect(head.contentLength == raw.count)
  }

  @Test func aDamagedCodingIsABadResponse() async throws {
    let (error, _, _) = try await failure(
      [.response(200, [("Content-Encoding", "gzip")], body: Array("this is not gzip at all".utf8))])
    #expect(error.code == .badResponse)
  }

  @Test(arguments: [1, 2000])
  func headersWithoutEndAreABadResponse(lines: Int) async throws {
    let line = "X-Long: " + String(repeating: "a", count: 300_000 / lines) + "\r\n"
    let (error, _, server) = try await failure([
      .raw("HTTP/1.1 200 OK\r\n" + String(repeating: line, count: lines)), .hang,
    ])
    #expect(error.code == .badResponse)
    try await server.waitForClose()
  }

  @Test func informationalHeadsWithoutEndAreABadResponse() async throws {
    let (error, _, _) = try await failure([
      .endless(Array("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".utf8))
    ])
    #expect(error.code == .badResponse)
  }

  @Test func aRefusedConnectionSaysSo() async throws {
    let port = try Loopback.freePorts(1)[0]
    let url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
    let error = await #expect(throws: HTTPTransportError.self) {
      _ = try await CurlTransport.forTests().data(for: HTTPRequest(url: url))
    }
    #expect(error?.code == .connectionFailed)
    #expect(error?.message == "127.0.0.1 refused the connection")
  }

  @Test func silenceEndsWithATimeOut() async throws {
    let transport = CurlTransport.forTests { $0.stallTimeout = 0.2 }
    for script: Script in [.hang, [.head(200, [("Content-Length", "10")]), .body([1]), .hang]] {
      let (error, _, server) = try await failure(script, transport: transport)
      #expect(error.code == .timedOut)
      #expect(error.message == "127.0.0.1 sent nothing for 0.2 s")
      try await server.waitForClose()
    }
  }

  @Test func aSlowDripIsNoSilence() async throws {
    let transport = CurlTransport.forTests { $0.stallTimeout = 2 }
    let server = try ScriptedServer { _ in
      [.head(200, [("Content-Length", "12")]), .drip([UInt8](repeating: 1, count: 12), milliseconds: 250)]
    }
    let (_, data) = try await transport.data(for: HTTPRequest(url: server.url("/")))
    #expect(data.count == 12)
  }

  @Test func theWholeHasATimeLimitToo() async throws {
    let transport = CurlTransport.forTests { $0.totalTimeout = 0.3 }
    let (error, _, _) = try await failure(
      [.head(200, []), .drip([UInt8](repeating: 1, count: 1000), milliseconds: 20)], transport: transport)
    #expect(error.code == .timedOut)
    #expect(error.message == "127.0.0.1 was not done after 0.3 s")
  }

  @Test func connectingHasATimeLimit() async throws {
    let full = try FullListener()
    let transport = CurlTransport.forTests { $0.connectTimeout = 0.3 }
    let error = await #expect(throws: HTTPTransportError.self) {
      _ = try await transport.data(for: HTTPRequest(url: full.url))
    }
    #expect(error?.code == .timedOut)
    #expect(error?.message.contains("127.0.0.1") == true)
  }

  @Test func noNetworkIsToldApartFromARefusal() {
    func code(_ code: CURLcode, _ systemError: Int32, hasNetwork: Bool) -> HTTPTransportError.Code {
      CurlFailure(
        code: code, systemError: systemError, host: "h", libraryText: "text", hasNetwork: { hasNetwork }
      ).error(url: URL(string: "http://h/")!).code
    }
    #expect(code(CURLE_COULDNT_RESOLVE_HOST, 0, hasNetwork: false) == .offline)
    #expect(code(CURLE_COULDNT_RESOLVE_HOST, 0, hasNetwork: true) == .nameNotFound)
    #expect(code(CURLE_COULDNT_CONNECT, ENETUNREACH, hasNetwork: false) == .offline)
    #expect(code(CURLE_COULDNT_CONNECT, ENETUNREACH, hasNetwork: true) == .connectionFailed)
    #expect(code(CURLE_COULDNT_CONNECT, ECONNREFUSED, hasNetwork: false) == .connectionFailed)
    #expect(code(CURLE_PEER_FAILED_VERIFICATION, 0, hasNetwork: true) == .secureConnectionFailed)
    #expect(code(CURLE_SSL_CONNECT_ERROR, 0, hasNetwork: true) == .secureConnectionFailed)
    #expect(code(CURLE_HTTP2_STREAM, 0, hasNetwork: true) == .connectionLost)
  }

  @Test func speaksHTTP2OverTLSAndTrustsOnlyWhatItShould() async throws {
    let folder = try TestSupport.TemporaryFolder()
    try folder.write("hello", to: "a.txt")
    let nginx = try NginxServer(serving: folder.url)
    let url = nginx.secureURL.appendingPathComponent("a.txt")
    let trusting = CurlTransport.forTests { $0.certificateAuthoritiesPath = nginx.certificateFile.path }
    let receivers = (0..<5).map { _ in RecordingReceiver() }
    for receiver in receivers { _ = trusting.send(HTTPRequest(url: url), to: receiver) }
    var connections = 0
    for receiver in receivers {
      let metrics = try await receiver.end().get()
      #expect(metrics.protocolVersion == "2")
      #expect(receiver.now.bytes == Array("hello".utf8))
      if !metrics.reusedConnection { connections += 1 }
    }
    // All five share one connection.
    #expect(connections == 1)
    let error = await #expect(throws: HTTPTransportError.self) {
      _ = try await CurlTransport.forTests().data(for: HTTPRequest(url: url))
    }
    #expect(error?.code == .secureConnectionFailed)
  }
}

/// A socket that listens but whose queue is full, so that connecting to it takes for ever.
final class FullListener: Sendable {
  let url: URL
  private let descriptors: [Int32]

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    var descriptors = [listener]
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        guard bind(listener, pointer, length) == 0, listen(listener, 0) == 0,
          getsockname(listener, pointer, &length) == 0
        else { return false }
        for _ in 0..<4 {
          let client = socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
          _ = connect(client, pointer, length)
          descriptors.append(client)
        }
        return true
      }
    }
    try #require(isListening)
    self.descriptors = descriptors
    url = try #require(URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/"))
  }

  deinit { for descriptor in descriptors { close(descriptor) } }
}
