import Foundation

/// What a redirect leads to: a value from values, after the Fetch standard's "HTTP-redirect fetch" and
/// RFC 9110, section 15.4.
enum HTTPRedirect {
  /// The request that a response redirects to; `nil` where the response is no redirect.
  ///
  /// - Throws: ``HTTPTransportError/Code/redirectRefused`` where it leads where it may not.
  static func next(
    after request: HTTPRequest, response: HTTPResponseHead, options: HTTPClient.Options
  ) throws(HTTPTransportError) -> HTTPRequest? {
    guard [301, 302, 303, 307, 308].contains(response.status) else { return nil }
    // Without a place to go the response is shown as it is.
    guard let location = response.headers["Location"] else { return nil }
    let url = try resolve(location, from: request.url)
    let isSecure = try target(url, from: request.url).isSecure
    if !isSecure, !options.allowsInsecureRedirects, isHTTPS(request.url) {
      throw refused(request.url, "a redirect from https to \(url.displayText) would not be secure")
    }
    var next = request
    next.url = url
    next.redirectHop += 1
    changeMethod(of: &next, status: response.status)
    if origin(url) != origin(request.url) {
      next.headers.fields.removeAll { options.isSecret($0.name) }
    }
    return next
  }

  /// The absolute address that a Location header stands for, with the fragment of the address before
  /// where it has none of its own (RFC 9110, section 10.2.2).
  private static func resolve(_ location: String, from base: URL) throws(HTTPTransportError) -> URL {
    let text = location.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !text.isEmpty, let url = URL(string: text, relativeTo: base)?.absoluteURL else {
      throw refused(base, "a redirect leads to no address")
    }
    guard let fragment = base.fragment, url.fragment == nil,
      var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
    else { return url }
    components.fragment = fragment
    return components.url ?? url
  }

  private static func target(_ url: URL, from base: URL) throws(HTTPTransportError) -> HTTPTarget {
    switch HTTPTarget.parse(url) {
    case .success(let target): return target
    case .failure(let error):
      throw refused(base, "a redirect leads to \(url.displayText): \(error.message)")
    }
  }

  private static func changeMethod(of request: inout HTTPRequest, status: Int) {
    let becomesGet =
      switch status {
      case 301, 302: request.method == "POST"
      case 303: request.method != "GET" && request.method != "HEAD"
      default: false
      }
    guard becomesGet else { return }
    request.method = "GET"
    request.body = nil
    let bodyHeaders = ["content-encoding", "content-language", "content-location", "content-type"]
    request.headers.fields.removeAll { bodyHeaders.contains($0.name.lowercased()) }
  }

  /// Scheme, host and port, the port always written.
  static func origin(_ url: URL) -> String {
    guard case .success(let target) = HTTPTarget.parse(url) else { return url.absoluteString }
    let scheme = target.isSecure ? "https" : "http"
    let host = target.host
    let port = target.authority.dropFirst(host.count).drop { $0 == ":" }
    return "\(scheme)://\(host):\(port.isEmpty ? (target.isSecure ? "443" : "80") : port)"
  }

  private static func isHTTPS(_ url: URL) -> Bool {
    if case .success(let target) = HTTPTarget.parse(url) { target.isSecure } else { false }
  }

  private static func refused(_ url: URL, _ message: String) -> HTTPTransportError {
    HTTPTransportError(.redirectRefused, url: url, message: message)
  }
}
