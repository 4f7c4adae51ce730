import Foundation

/// Sends one request and delivers its response in pieces. It follows no redirects, retries nothing and
/// caches nothing: those are decided above it.
///
/// ``CurlTransport`` is the one to use. A program's own conforms to this to reach pictures another way,
/// or to test without a network.
public protocol HTTPTransport: Sendable {
  /// Starts, or queues, a request.
  ///
  /// - Parameters:
  ///   - request: What to send.
  ///   - receiver: Is told of the response, and in the end, exactly once, of completion. It is held until
  ///     then.
  /// - Returns: A handle to the transfer. Dropping it does not cancel.
  func send(_ request: HTTPRequest, to receiver: any HTTPReceiver) -> any HTTPTransfer
}

/// A request on its way.
public protocol HTTPTransfer: AnyObject, Sendable {
  /// Ends the transfer at once and closes its connection where a response was under way. The receiver is
  /// told of completion with ``HTTPTransportError/Code/cancelled`` unless it was told of completion before.
  func cancel()
  /// Changes which of the waiting transfers goes first; of no effect once it is under way.
  func setPriority(_ priority: ImageRequest.Priority)
}

/// Hears of one transfer. Calls come one after the other, on the transport's own thread: a receiver does
/// no long work in them, and never blocks.
public protocol HTTPReceiver: AnyObject, Sendable {
  /// The final response's head has come (not that of a 1xx response).
  func didReceive(_ head: HTTPResponseHead)
  /// A piece of the body has come, its content decoded. The memory is valid only during the call.
  func didReceive(_ bytes: UnsafeRawBufferPointer)
  /// The transfer has ended; nothing is called after this.
  func didComplete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>)
}

/// What one transfer took. Times are in seconds from its start to the moment named; 0 where the moment
/// did not occur (a reused connection has no name look-up).
public struct HTTPTransferMetrics: Hashable, Sendable {
  /// From the wish to the start, waiting for a free place.
  public var queued: Double = 0
  /// The name was looked up.
  public var nameLookup: Double = 0
  /// The connection stood.
  public var connect: Double = 0
  /// TLS was agreed on.
  public var secureConnect: Double = 0
  /// The first byte of the response came.
  public var firstByte: Double = 0
  /// The last byte came.
  public var total: Double = 0
  /// Bytes of body and headers as they travelled.
  public var bytesReceived: Int = 0
  /// Whether an open connection was used again.
  public var reusedConnection = false
  /// The protocol's version, such as `1.1` or `2`.
  public var protocolVersion = "1.1"
  /// The numeric address that answered, or `nil` where it is not known. With a proxy, the proxy's.
  public var remoteAddress: String?
  /// How many redirects were followed before the response.
  public var redirectCount = 0

  /// Creates metrics with nothing measured.
  public init() {}
}

/// Why a transfer failed.
public struct HTTPTransportError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public enum Code: String, Hashable, Sendable, CaseIterable {
    /// The address is not absolute, or its scheme is neither http nor https.
    case invalidAddress = "invalid_address"
    /// A header name or value cannot be sent (it holds a line break or a NUL).
    case invalidHeader = "invalid_header"
    /// The host's name was not found.
    case nameNotFound = "name_not_found"
    /// The connection was refused or could not be made.
    case connectionFailed = "connection_failed"
    /// There is no network at all.
    case offline
    /// TLS could not be agreed on, or the certificate is not trusted.
    case secureConnectionFailed = "tls_failed"
    /// A time limit ran out: connecting, no bytes for too long, or the whole.
    case timedOut = "timed_out"
    /// The connection closed or was reset before the response was whole.
    case connectionLost = "connection_lost"
    /// The response is not HTTP, or breaks its rules.
    case badResponse = "bad_response"
    /// The body is larger than ``HTTPRequest/maximumResponseSize``.
    case responseTooLarge = "response_too_large"
    /// More redirects than allowed.
    case tooManyRedirects = "too_many_redirects"
    /// A redirect leads where it may not: no address, another scheme, or from https to http.
    case redirectRefused = "redirect_refused"
    /// The host's address is one that this transfer may not reach.
    case addressRefused = "address_refused"
    /// The program has no descriptor left for a connection, and none became free for some seconds.
    case tooManyOpenFiles = "too_many_open_files"
    /// The transfer was cancelled.
    case cancelled
    /// Anything else.
    case other
  }

  /// Whether there was no way to the server, or none that held, rather than an answer that is no good.
  var isAboutTheWay: Bool {
    switch code {
    case .nameNotFound, .connectionFailed, .offline, .timedOut, .connectionLost: true
    default: false
    }
  }

  /// The kind of failure.
  public var code: Code
  /// The address that was asked.
  public var url: URL
  /// What went wrong, in the transport's words.
  public var message: String

  /// Creates an error.
  public init(_ code: Code, url: URL, message: String) {
    self.code = code
    self.url = url
    self.message = message
  }

  /// The address and the message.
  public var description: String { "\(url.displayText): \(message)" }
}
