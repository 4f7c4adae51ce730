import Foundation

extension HTTPCachePolicy {
  /// The addresses whose stored responses a response ends (RFC 9111, section 4.4), normalised as stored ones
  /// are: the request's own after a method that may change something, and those of the same origin that
  /// Location and Content-Location name.
  ///
  /// - Returns: None for a safe method or a response that is an error.
  static func invalidatedAddresses(by head: HTTPResponseHead, to request: HTTPRequest) -> [String] {
    guard !isSafe(request.method), (200..<400).contains(head.status) else { return [] }
    let target = ImageRequest.normalizedAddress(request.url.absoluteString)
    var addresses = [target]
    for name in ["Location", "Content-Location"] {
      for value in head.headers.values(name) {
        guard let url = URL(string: value, relativeTo: request.url), isSameOrigin(url, request.url) else {
          continue
        }
        let address = ImageRequest.normalizedAddress(url.absoluteString)
        if !addresses.contains(address) { addresses.append(address) }
      }
    }
    return addresses
  }

  /// Whether a method changes nothing, of those that are registered as such. Names are told apart by case
  /// (RFC 9110, section 9.1), and one that is not known counts as unsafe.
  static func isSafe(_ method: String) -> Bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY"].contains(method)
  }

  /// Whether two addresses have the same scheme, host and port.
  static func isSameOrigin(_ left: URL, _ right: URL) -> Bool {
    origin(left) == origin(right)
  }

  private static func origin(_ url: URL) -> [String] {
    let scheme = (url.scheme ?? "").lowercasedASCII()
    let port = url.port ?? (scheme == "https" ? 443 : scheme == "http" ? 80 : 0)
    return [scheme, (url.host ?? "").lowercasedASCII(), String(port)]
  }
}
