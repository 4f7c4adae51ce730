import Calotype
import Foundation

/// Sends one request through HTTP's caching: no queue, no pictures.
struct SingleRequest: Sendable {
  struct Response: Sendable {
    var head: HTTPResponseHead
    var body: Data
    var source: ImageResponse.Source
  }

  var transport: CurlTransport
  var cache: DiskCache?
  var mode: ImageRequest.CachePolicy
  var followsRedirects: Bool
  var retries: Int

  /// The longest wait before another try, in seconds.
  private static let longestWait = 20.0

  /// The response, from the cache or the server.
  func send(_ request: HTTPRequest) async throws -> Response {
    var options = HTTPClient.Options()
    options.followsRedirects = followsRedirects
    let exchange = CachedExchange(request: request, mode: mode, cache: cache, options: options)
    var step = exchange.begin()
    var tries = 0
    while true {
      switch step {
      case .ask(let request): step = try await ask(request, exchange, &tries)
      case .finished(let outcome):
        if let storable = outcome.storable { exchange.store(storable) }
        if outcome.wantsRevalidation { try await revalidate(exchange) }
        return Response(head: outcome.head, body: outcome.body, source: outcome.source)
      case .unsatisfiable:
        // What a cache answers where it may not ask (RFC 9111, section 5.2.1.7).
        throw Failure("\(request.url.absoluteString): not in the cache, and the network was not to be asked")
      case .failed(let error): throw error
      }
    }
  }

  /// Asks the server behind an answer that has been given already.
  private func revalidate(_ exchange: CachedExchange) async throws {
    var step = exchange.revalidate(), tries = 0
    while case .ask(let request) = step { step = try await ask(request, exchange, &tries) }
    if case .finished(let outcome) = step, let storable = outcome.storable { exchange.store(storable) }
  }

  private func ask(
    _ request: HTTPRequest, _ exchange: CachedExchange, _ tries: inout Int
  ) async throws -> CachedExchange.Step {
    var hop = HTTPClient.Options()
    hop.followsRedirects = false
    while true {
      let start = Date().timeIntervalSince1970
      do throws(HTTPTransportError) {
        let answer = try await HTTPClient(transport: transport).data(for: request, options: hop)
        tries += 1
        if tries <= retries, [408, 429, 500, 502, 503, 504].contains(answer.head.status) {
          try? await wait(tries)
          continue
        }
        return exchange.received(
          CachedExchange.Received(
            head: answer.head, body: answer.data, requestTime: start,
            responseTime: Date().timeIntervalSince1970))
      } catch {
        tries += 1
        let mayPass: [HTTPTransportError.Code] = [
          .timedOut, .connectionLost, .connectionFailed, .nameNotFound,
        ]
        guard tries <= retries, mayPass.contains(error.code), !Task.isCancelled else {
          return exchange.failed(error)
        }
        try? await wait(tries)
      }
    }
  }

  private func wait(_ tries: Int) async throws {
    let longest = min(0.5 * Double(1 << min(tries - 1, 10)), Self.longestWait)
    try await Task.sleep(for: .seconds(Double.random(in: 0...longest)))
  }
}
