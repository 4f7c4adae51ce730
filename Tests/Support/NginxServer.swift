import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A real nginx that serves a folder on free loopback ports, with a configuration, logs and temporary files
/// of its own. It ends when it is stopped or dropped, and when the process that started it dies.
///
/// What the folder holds is served at several places, which differ only in headers:
///
/// | Path | Answers with |
/// |---|---|
/// | `/…` | `ETag` and `Last-Modified`; conditional and range requests work |
/// | `/gzip/…` | `Content-Encoding: gzip` where it is accepted |
/// | `/fresh/…` | `Cache-Control: max-age=3600` and `Expires` |
/// | `/stale/…` | `Cache-Control: max-age=0` |
/// | `/immutable/…` | `Cache-Control: max-age=31536000, immutable` |
/// | `/no-store/…` | `Cache-Control: no-store` |
/// | `/bare/…` | neither `ETag`, `Last-Modified` nor `Accept-Ranges` |
/// | `/slow/…` | 64 KB a second after the first 16 KB |
/// | `/status/NNN` | that status, without a body of the folder's (404, 410, 500, 503) |
/// | `/redirect/…` | 302 to `/…` |
///
/// All of it is there over TLS with HTTP/2 as well, at ``secureURL``.
public final class NginxServer: Sendable {
  /// The root over HTTP/1.1, such as `http://127.0.0.1:40123/`.
  public let url: URL
  /// The root over TLS, where HTTP/2 is spoken too, such as `https://127.0.0.1:40124/`. The certificate is
  /// signed by itself: trust ``certificateFile`` as an authority.
  public let secureURL: URL
  /// The server's certificate as PEM, for `127.0.0.1` and `localhost`.
  public let certificateFile: URL

  private let process: SpawnedProgram
  private let lifeline: Lifeline
  private let prefix: URL

  /// Starts a server and returns when it answers.
  ///
  /// - Parameters:
  ///   - folder: What to serve.
  ///   - workers: How many worker processes serve; 1 by default.
  ///   - extraConfiguration: Directives to put into both server blocks, such as more locations.
  /// - Throws: ``NginxServerError`` where nginx or openssl is missing or does not start; its message holds
  ///   nginx's own words.
  public init(serving folder: URL, workers: Int = 1, extraConfiguration: String = "") throws {
    let prefix = FileManager.default.temporaryDirectory
      .appendingPathComponent("calotype-nginx-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(
      at: prefix, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    do {
      certificateFile = try SelfSignedCertificate.files(in: prefix).certificate
      let token = UUID().uuidString
      let started = try Self.start(prefix: prefix, token: token) { port, securePort in
        NginxConfiguration(
          prefix: prefix, folder: folder, port: port, securePort: securePort, workers: workers, token: token,
          extra: extraConfiguration
        ).text
      }
      (process, lifeline) = (started.process, started.lifeline)
      guard let url = URL(string: "http://127.0.0.1:\(started.port)/"),
        let secureURL = URL(string: "https://127.0.0.1:\(started.securePort)/")
      else { throw NginxServerError(message: "ports \(started.port), \(started.securePort)") }
      (self.url, self.secureURL) = (url, secureURL)
      self.prefix = prefix
    } catch {
      try? FileManager.default.removeItem(at: prefix)
      throw error
    }
  }

  deinit { stop() }

  /// The address of a path, such as `icons/a.png`, over HTTP/1.1.
  public func url(_ path: String) -> URL {
    URL(string: path, relativeTo: url)?.absoluteURL ?? url
  }

  /// Ends the server and removes its files. A second call does nothing.
  public func stop() {
    guard lifeline.cut() else { return }
    process.wait()
    try? FileManager.default.removeItem(at: prefix)
  }

  /// The requests answered so far, in the order their answers ended.
  ///
  /// nginx writes a line after the last byte is sent, so a client may be ahead of the log: to see all of a
  /// known number, use ``requests(atLeast:within:)``.
  public func requests() throws -> [LoggedRequest] {
    let data = try Data(contentsOf: prefix.appendingPathComponent("access.log"))
    return try data.split(separator: UInt8(ascii: "\n"))
      .map { try JSONDecoder().decode(LoggedRequest.self, from: Data($0)) }
      .filter { $0.path != NginxConfiguration.tokenPath }
  }

  /// The requests answered so far, once there are a number of them or a time has passed.
  public func requests(atLeast count: Int, within limit: Duration = .seconds(5)) async throws
    -> [LoggedRequest]
  {
    let end = ContinuousClock.now + limit
    while true {
      let requests = try requests()
      if requests.count >= count || ContinuousClock.now > end { return requests }
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  /// nginx's error log.
  public func errorLog() -> String {
    (try? String(contentsOf: prefix.appendingPathComponent("error.log"), encoding: .utf8)) ?? ""
  }

  /// One line of the access log.
  public struct LoggedRequest: Decodable, Hashable, Sendable {
    /// The method.
    public var method: String
    /// The path and query as they came.
    public var path: String
    /// The status answered with; 499 where the client closed first.
    public var status: Int
    /// The body's bytes sent.
    public var bytes: Int
    /// The protocol, `HTTP/1.1` or `HTTP/2.0`.
    public var version: String
    /// The connection's number: equal where a connection was used again.
    public var connection: Int
    /// The request's `Range`, empty without one.
    public var range: String
    /// The request's `If-None-Match`, empty without one.
    public var ifNoneMatch: String
    /// The request's `If-Modified-Since`, empty without one.
    public var ifModifiedSince: String
    /// The request's `If-Range`, empty without one.
    public var ifRange: String
    /// The request's `Accept-Encoding`, empty without one.
    public var acceptEncoding: String
    /// The request's `User-Agent`, empty without one.
    public var userAgent: String
    /// The request's `Authorization`, empty without one.
    public var authorization: String
  }
}

/// Why a server did not start.
public struct NginxServerError: Error, CustomStringConvertible, Sendable {
  /// What went wrong, with nginx's own words where it has said any.
  public var message: String
  /// The message.
  public var description: String { "nginx: \(message)" }
}

extension NginxServer {
  private struct Started {
    var process: SpawnedProgram
    var lifeline: Lifeline
    var port: UInt16
    var securePort: UInt16
  }

  /// Starts nginx on free ports. Between the search for a port and nginx's bind another process may take
  /// it, so others are tried then.
  private static func start(
    prefix: URL, token: String, configuration: (UInt16, UInt16) -> String
  ) throws -> Started {
    let file = prefix.appendingPathComponent("nginx.conf")
    let errorLog = prefix.appendingPathComponent("error.log")
    func log() -> String { (try? String(contentsOf: errorLog, encoding: .utf8)) ?? "" }
    for _ in 0..<5 {
      let ports = try Loopback.freePorts(2)
      try configuration(ports[0], ports[1]).write(to: file, atomically: false, encoding: .utf8)
      let lifeline = try Lifeline()
      // A reader beside nginx ends it when the lifeline is cut: by stop(), or by this process's death.
      let process = try SpawnedProgram(
        "/bin/sh",
        [
          "-c", #"exec 3<&0 </dev/null; (read -r _ <&3; kill $$) 2>/dev/null & exec "$@" 3<&-"#,
          "sh", try Self.executable(), "-p", prefix.path, "-c", file.path, "-e", errorLog.path,
        ], input: lifeline.readEnd.fileDescriptor)
      lifeline.closeReadEnd()
      let answers = Loopback.waitForAnswer(
        port: ports[0], path: NginxConfiguration.tokenPath, body: token,
        while: { !log().contains("[emerg]") })
      if answers {
        return Started(process: process, lifeline: lifeline, port: ports[0], securePort: ports[1])
      }
      _ = lifeline.cut()
      process.wait()
      guard log().contains("Address already in use") else { break }
      try? FileManager.default.removeItem(at: errorLog)
    }
    throw NginxServerError(message: log().isEmpty ? "it did not answer, and said nothing" : log())
  }

  private static func executable() throws -> String {
    // Debian puts it where an ordinary user's PATH does not look.
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    let candidates = (folders + ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"]).map { "\($0)/nginx" }
    guard let found = candidates.first(where: FileManager.default.isExecutableFile(atPath:)) else {
      throw NginxServerError(message: "not installed: run scripts/setup")
    }
    return found
  }
}
