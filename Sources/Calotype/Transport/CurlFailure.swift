import CCurl
import Foundation

/// What libcurl says of a failed transfer, to be put in our own words.
struct CurlFailure {
  var code: CURLcode
  /// The last `errno` of the connection.
  var systemError: Int32
  var host: String
  var libraryText: String
  /// Whether this machine has a network; asked only where the answer matters.
  var hasNetwork: () -> Bool = CurlFailure.machineHasNetwork

  func error(url: URL) -> HTTPTransportError {
    let (code, message) = describe()
    return HTTPTransportError(code, url: url, message: message)
  }

  private func describe() -> (HTTPTransportError.Code, String) {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      if !hasNetwork() { return (.offline, "no network: \(host) could not be looked up") }
      if code == CURLE_COULDNT_RESOLVE_PROXY { return (.nameNotFound, "the proxy's name was not found") }
      return (.nameNotFound, "the host \(host) was not found")
    case CURLE_COULDNT_CONNECT: return connectFailure()
    case CURLE_OPERATION_TIMEDOUT: return (.timedOut, "\(host): \(libraryText)")
    case CURLE_PARTIAL_FILE:
      return (.connectionLost, "\(host) closed the connection before the response was whole: \(libraryText)")
    case CURLE_GOT_NOTHING: return (.connectionLost, "\(host) closed the connection without a response")
    case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
      return (.connectionLost, "the connection to \(host) broke: \(reason)")
    case CURLE_URL_MALFORMAT: return (.invalidAddress, "the address cannot be used: \(libraryText)")
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
      return (.badResponse, "\(host) sent a response that is not right: \(libraryText)")
    case CURLE_OUT_OF_MEMORY:
      // This libcurl's answer to a header line over its own limit of 100 KB; true want of memory does not
      // get as far as an answer.
      return (.badResponse, "\(host) sent a header that is too long")
    case CURLE_PROXY: return (.connectionFailed, "the proxy refused: \(libraryText)")
    default:
      if Self.secureConnectionCodes.contains(code.rawValue) {
        return (.secureConnectionFailed, "no secure connection to \(host): \(libraryText)")
      }
      return (.other, "\(host): \(libraryText)")
    }
  }

  private func connectFailure() -> (HTTPTransportError.Code, String) {
    switch systemError {
    case ECONNREFUSED: return (.connectionFailed, "\(host) refused the connection")
    case ENETUNREACH, ENETDOWN, EHOSTUNREACH, EADDRNOTAVAIL:
      if !hasNetwork() { return (.offline, "no network: \(host) cannot be reached") }
      return (.connectionFailed, "\(host) cannot be reached: \(String(cString: strerror(systemError)))")
    default: return (.connectionFailed, "no connection to \(host): \(reason)")
    }
  }

  private var reason: String { systemError == 0 ? libraryText : String(cString: strerror(systemError)) }

  private static let secureConnectionCodes: Set<UInt32> = Set(
    [
      CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION, CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_INITFAILED,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT,
    ].map(\.rawValue))

  /// Whether an interface other than loopback is up and has an address.
  static func machineHasNetwork() -> Bool {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return true }
    defer { freeifaddrs(first) }
    for interface in sequence(first: first, next: { $0?.pointee.ifa_next }) {
      guard let interface else { break }
      let flags = Int(interface.pointee.ifa_flags)
      guard let address = interface.pointee.ifa_addr, flags & IFF_UP != 0,
        flags & IFF_LOOPBACK == 0
      else { continue }
      let family = Int32(address.pointee.sa_family)
      if family == AF_INET || family == AF_INET6 { return true }
    }
    return false
  }
}
