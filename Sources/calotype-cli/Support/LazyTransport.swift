import Calotype

/// A transport that is made when something is first sent: what the cache answers starts no HTTP library and
/// no thread.
final class LazyTransport: HTTPTransport {
  private let configuration: CurlTransport.Configuration
  private let transport = Lock<CurlTransport?>(nil)

  init(configuration: CurlTransport.Configuration) { self.configuration = configuration }

  func send(_ request: HTTPRequest, to receiver: any HTTPReceiver) -> any HTTPTransfer {
    let made = transport.withLock { transport in
      if let transport { return transport }
      let made = CurlTransport(configuration: configuration)
      transport = made
      return made
    }
    return made.send(request, to: receiver)
  }
}
