import Foundation
import Synchronization

/// Sends requests with libcurl, all of them on one thread of its own.
///
/// HTTP/1.1, and HTTP/2 over TLS where the server offers it. Connections are used again. How many transfers
/// run at once, and which goes first, is decided here and not by libcurl: see ``Configuration``. Proxies are
/// taken from the environment as libcurl does by default (`http_proxy`, `https_proxy`, `all_proxy`,
/// `no_proxy`), unless the ``AddressPolicy`` says otherwise. Cookies, `.netrc` and authentication dialogues are
/// off.
///
/// The thread starts with the first request. When the last reference to the transport is gone, what is
/// under way or waiting is finished first, and then the thread ends.
public final class CurlTransport: HTTPTransport {
  /// What a transport keeps to. Times are in seconds.
  public struct Configuration: Hashable, Sendable {
    /// The most transfers that run at once, 16 by default.
    public var maximumConcurrentTransfers = 16
    /// The most transfers that run at once for one host and port, 6 by default.
    public var maximumTransfersPerHost = 6
    /// The order among waiting transfers of one priority, oldest first by default.
    public var order = TransferOrder.oldestFirst
    /// The most transfers that start in a second for one host and port; `nil`, the default, for no limit.
    public var maximumStartsPerSecondPerHost: Double?
    /// How long finding the host, connecting and agreeing on TLS may take together, 15 s by default.
    public var connectTimeout = 15.0
    /// How long a connected transfer may go without a byte in either direction, 30 s by default.
    public var stallTimeout = 30.0
    /// How long a transfer may take from its start, queueing not counted; 5 minutes by default, `nil` for
    /// no limit.
    public var totalTimeout: Double? = 300
    /// The most bytes that the headers of a response may have together, 256 KB by default.
    public var maximumHeaderSize = 256 << 10
    /// A file of certificates (PEM) to trust in place of the system's.
    public var certificateAuthoritiesPath: String?
    /// Which network addresses requests may reach that do not say so themselves
    /// (``HTTPRequest/addressPolicy``), ``AddressPolicy/default`` by default.
    public var addressPolicy = AddressPolicy.default

    /// Creates a configuration with the defaults.
    public init() {}
  }

  /// A transport with the default configuration for the whole program.
  public static let shared = CurlTransport()

  /// What the transport keeps to.
  public let configuration: Configuration

  private let engine: CurlEngine

  /// Creates a transport.
  public convenience init(configuration: Configuration = .init()) {
    self.init(configuration: configuration, lookup: nil)
  }

  /// Says where a name leads: numeric addresses, or `nil` to ask the system. Called for every transfer, on the
  /// transport's thread.
  package typealias Lookup = @Sendable (_ host: String) -> [String]?

  /// Creates a transport for which names lead elsewhere than the system says.
  package init(configuration: Configuration, lookup: Lookup?) {
    self.configuration = configuration
    engine = CurlEngine(configuration: configuration, lookup: lookup)
  }

  deinit { engine.submit(.stop) }

  /// Queues a request; see ``HTTPTransport/send(_:to:)``.
  public func send(_ request: HTTPRequest, to receiver: any HTTPReceiver) -> any HTTPTransfer {
    let transfer = CurlTransfer(request: request, receiver: receiver, engine: engine)
    engine.submit(.start(transfer))
    return transfer
  }
}

/// One request on its way through a ``CurlTransport``.
final class CurlTransfer: HTTPTransfer {
  let request: HTTPRequest
  /// The address as text and the host it waits for.
  let target: Result<HTTPTarget, HTTPTransportError>
  let engine: CurlEngine
  private let cancelled = Atomic<Bool>(false)

  // Sound without a lock: set before the transfer is handed to the engine, and from then on touched on
  // the engine's thread alone. The receiver is dropped when it has been told of completion.
  nonisolated(unsafe) var receiver: (any HTTPReceiver)?
  nonisolated(unsafe) var place: Place = .new

  /// Where a transfer is.
  enum Place {
    case new
    case waiting(TransferScheduler<CurlTransfer>.Slot, since: UInt64)
    case running(TransferScheduler<CurlTransfer>.Slot, CurlHandle)
    case ended
  }

  init(request: HTTPRequest, receiver: any HTTPReceiver, engine: CurlEngine) {
    self.request = request
    self.receiver = receiver
    self.engine = engine
    target = HTTPTarget.parse(request.url)
  }

  var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

  func cancel() {
    guard !cancelled.exchange(true, ordering: .relaxed) else { return }
    engine.submit(.cancel(self))
  }

  func setPriority(_ priority: ImageRequest.Priority) { engine.submit(.prioritize(self, priority)) }

  /// Tells the receiver of the end; called once.
  func complete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    place = .ended
    let receiver = receiver
    self.receiver = nil
    receiver?.didComplete(isCancelled ? .failure(.cancelled(request.url)) : result)
  }
}

extension HTTPTransportError {
  static func cancelled(_ url: URL) -> HTTPTransportError {
    HTTPTransportError(.cancelled, url: url, message: "cancelled")
  }
}

/// What of an address the transport needs.
struct HTTPTarget: Sendable {
  /// The whole address.
  var address: String
  /// Host and port in lower case, as written: what limits are counted by.
  var authority: String
  var isSecure: Bool

  /// The host alone, for messages.
  var host: String {
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") { return String(authority[...end]) }
    return String(authority.prefix { $0 != ":" })
  }

  /// The port, the scheme's own where none is written; `nil` where it is not a number.
  var port: Int? {
    let text = authority.dropFirst(host.count)
    guard text.count > 1 else { return isSecure ? 443 : 80 }
    return text.hasPrefix(":") ? Int(text.dropFirst()) : nil
  }

  /// Takes an absolute http or https address apart.
  static func parse(_ url: URL) -> Result<HTTPTarget, HTTPTransportError> {
    let address = url.absoluteString
    func invalid(_ reason: String) -> Result<HTTPTarget, HTTPTransportError> {
      .failure(HTTPTransportError(.invalidAddress, url: url, message: reason))
    }
    guard let colon = address.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      return invalid("the address is not absolute: it has no scheme")
    }
    let scheme = address[..<colon]
    let isSecure = String(scheme).equalsIgnoringASCIICase("https")
    guard isSecure || String(scheme).equalsIgnoringASCIICase("http") else {
      return invalid("only http and https addresses can be fetched")
    }
    let rest = address.utf8[address.utf8.index(after: colon)...]
    guard rest.starts(with: "//".utf8) else { return invalid("the address has no host") }
    var authority = rest.dropFirst(2).prefix {
      $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
    }
    if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
      authority = authority[authority.index(after: at)...]
    }
    guard let first = authority.first, first != UInt8(ascii: ":") else {
      return invalid("the address has no host")
    }
    var name = String(Substring(authority))
    if name.utf8.contains(where: { (0x41...0x5A).contains($0) }) { name = name.lowercased() }
    return .success(HTTPTarget(address: address, authority: name, isSecure: isSecure))
  }
}
