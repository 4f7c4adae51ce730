import Foundation

/// The text of a configuration for ``NginxServer``.
struct NginxConfiguration {
  var prefix: URL
  var folder: URL
  var port: UInt16
  var securePort: UInt16
  var workers: Int
  var token: String
  var extra: String

  /// Answers with the token: shows that the server that answers is the one that was started.
  static let tokenPath = "/.server-token"

  var text: String {
    """
    daemon off;
    pid \(quoted(prefix.appendingPathComponent("nginx.pid").path));
    \(userDirective)
    worker_processes \(workers);
    error_log \(quoted(prefix.appendingPathComponent("error.log").path)) notice;
    events { worker_connections 1024; }
    http {
      types {
        image/png png; image/jpeg jpg jpeg; image/gif gif; image/webp webp; image/avif avif;
        image/svg+xml svg; text/html html; text/plain txt; application/json json; text/csv csv;
        application/x-plist plist;
      }
      default_type application/octet-stream;
      \(temporaryPaths)
      log_format requests escape=json '{"method":"$request_method","path":"$request_uri","status":$status,'
        '"bytes":$body_bytes_sent,"version":"$server_protocol","connection":$connection,'
        '"range":"$http_range","ifNoneMatch":"$http_if_none_match",'
        '"ifModifiedSince":"$http_if_modified_since","ifRange":"$http_if_range",'
        '"acceptEncoding":"$http_accept_encoding","userAgent":"$http_user_agent",'
        '"authorization":"$http_authorization"}';
      access_log \(quoted(prefix.appendingPathComponent("access.log").path)) requests;
      sendfile on;
      tcp_nodelay on;
      keepalive_requests 1000000;
      gzip_types *;
      gzip_min_length 1;
      gzip_proxied any;
      gzip_vary on;
      server {
        listen 127.0.0.1:\(port) backlog=1024;
        \(locations)
      }
      server {
        listen 127.0.0.1:\(securePort) ssl http2 backlog=1024;
        ssl_certificate \(quoted(prefix.appendingPathComponent("certificate.pem").path));
        ssl_certificate_key \(quoted(prefix.appendingPathComponent("key.pem").path));
        \(locations)
      }
    }
    """
  }

  private var locations: String {
    func location(_ name: String, _ directives: String) -> String {
      // An alias ends in a slash as its location does.
      "location /\(name)/ { alias \(quoted(folder.path + "/")); \(directives) }"
    }
    return """
      root \(quoted(folder.path));
      location = \(Self.tokenPath) { default_type text/plain; return 200 \(quoted(token)); }
      \(location("gzip", "gzip on;"))
      \(location("fresh", "expires 1h;"))
      \(location("stale", "add_header Cache-Control max-age=0;"))
      \(location("immutable", "add_header Cache-Control \"max-age=31536000, immutable\";"))
      \(location("no-store", "add_header Cache-Control no-store;"))
      \(location("bare", "etag off; max_ranges 0; if_modified_since off; add_header Last-Modified \"\";"))
      \(location("slow", "limit_rate 64k; limit_rate_after 16k;"))
      location = /status/404 { return 404; }
      location = /status/410 { return 410; }
      location = /status/500 { return 500; }
      location = /status/503 { return 503; }
      location /redirect/ { rewrite ^/redirect/(.*)$ /$1 redirect; }
      \(extra)
      """
  }

  /// nginx started by root serves as `nobody`, who may not read a test's folder.
  private var userDirective: String {
    geteuid() == 0 ? "user root;" : ""
  }

  private var temporaryPaths: String {
    ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(quoted(prefix.appendingPathComponent("temporary-\($0)").path));" }
      .joined(separator: "\n")
  }

  /// A text as a quoted parameter.
  private func quoted(_ text: String) -> String {
    "\"" + text.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"")
      + "\""
  }
}

/// A certificate for the loopback addresses that is its own authority.
enum SelfSignedCertificate {
  /// Makes `certificate.pem` and `key.pem` in a folder.
  static func files(in folder: URL) throws -> (certificate: URL, key: URL) {
    let certificate = folder.appendingPathComponent("certificate.pem")
    let key = folder.appendingPathComponent("key.pem")
    let status = try SpawnedProgram(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout", key.path, "-out", certificate.path,
      ]
    ).wait()
    guard status == 0 else {
      throw NginxServerError(message: "openssl made no certificate (status \(status))")
    }
    return (certificate, key)
  }
}
