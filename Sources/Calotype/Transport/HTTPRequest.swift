import Foundation

/// One request for the transport: it is sent once, as it is.
public struct HTTPRequest: Sendable {
  /// The method, `GET` by default.
  public var method: String
  /// The absolute address, http or https.
  public var url: URL
  /// The header fields to send. Nothing is added to them but what HTTP itself needs (Host, and a length
  /// where there is a body).
  public var headers: HTTPHeaders
  /// The body to send, none by default.
  public var body: Data?
  /// Which of the waiting requests goes first.
  public var priority: ImageRequest.Priority
  /// The most bytes that the body may have once decoded, 64 MB by default.
  public var maximumResponseSize: Int
  /// Whether compressed transfer is asked for and undone (Accept-Encoding and Content-Encoding); on by
  /// default. Off, the body is passed on as it comes.
  public var decodesContentEncoding: Bool
  /// Which network addresses the request may reach; `nil`, the default, for what the transport's configuration
  /// says.
  public var addressPolicy: AddressPolicy?
  /// Where the chain of redirects began that the request belongs to.
  package var redirectChain: RedirectChain?
  /// Which hop of it the request is, from 0.
  package var redirectHop = 0

  /// The default of ``maximumResponseSize``, 64 MB.
  public static let defaultMaximumResponseSize = 64 << 20

  /// Creates a request.
  public init(
    method: String = "GET", url: URL, headers: HTTPHeaders = [], body: Data? = nil,
    priority: ImageRequest.Priority = .normal,
    maximumResponseSize: Int = HTTPRequest.defaultMaximumResponseSize, decodesContentEncoding: Bool = true
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.priority = priority
    self.maximumResponseSize = maximumResponseSize
    self.decodesContentEncoding = decodesContentEncoding
  }
}

/// The status and the headers of a response, before its body.
public struct HTTPResponseHead: Hashable, Sendable {
  /// The address that answered.
  public var url: URL
  /// The status code (RFC 9110, section 15).
  public var status: Int
  /// The header fields as they came.
  public var headers: HTTPHeaders

  /// Creates a head.
  public init(url: URL, status: Int, headers: HTTPHeaders) {
    self.url = url
    self.status = status
    self.headers = headers
  }

  /// The length in bytes that the body was announced with, as it travels; `nil` where none was given or
  /// it is not a number.
  public var contentLength: Int? {
    guard let text = headers["Content-Length"], let length = Int(text), length >= 0 else { return nil }
    return length
  }

  /// Whether the response names several lengths that differ, so that nobody knows where its body ends (RFC 9112,
  /// section 6.3). A chunked one tells its end itself.
  var hasConflictingLengths: Bool {
    let values = headers.values("Content-Length")
    guard values.count > 1 || values.first?.utf8.contains(UInt8(ascii: ",")) == true,
      !headers.contains("Transfer-Encoding")
    else { return false }
    return Set(values.flatMap(HTTPFieldSyntax.listMembers)).count > 1
  }
}
