import Calotype
import Foundation

/// Sends one request through HTTP's caching: no queue, no pictures.
struct SingleRequest: Sendable {
  struct Response: Sendable {
    var head: HTTPResponseHead
    var body: Data
    var source: ImageResponse.Source
    var isStale = false
    var effort = CachedExchange.Effort()
    /// Asks the server behind an answer that is stale: to be called once the answer has been given.
    var revalidate: (@Sendable () async -> Void)?
  }

  var transport: any HTTPTransport
  var cache: DiskCache?
  var mode: ImageRequest.CachePolicy
  var followsRedirects: Bool
  var retries: Int

  /// What the cache says of a request, before anything is asked.
  struct Begun: Sendable {
    var request: HTTPRequest
    var exchange: CachedExchange
    var step: CachedExchange.Step

    /// The answer, where the cache has it and nobody need be asked.
    var response: Response? {
      guard case .finished(let outcome) = step, !outcome.wantsRevalidation else { return nil }
      return Response(
        head: outcome.head, body: outcome.body, source: outcome.source, isStale: outcome.isStale)
    }
  }

  /// Looks in the cache.
  func begin(_ request: HTTPRequest) -> Begun {
    var options = HTTPClient.Options()
    options.followsRedirects = followsRedirects
    options.secretHeaderNames = request.headers.namesOfPossibleSecrets
    let exchange = CachedExchange(request: request, mode: mode, cache: cache, options: options)
    return Begun(request: request, exchange: exchange, step: exchange.begin())
  }

  /// The response, from the cache or the server.
  func finish(_ begun: Begun) async throws -> Response {
    let (request, exchange) = (begun.request, begun.exchange)
    var effort = CachedExchange.Effort()
    let outcome = try await exchange.run(
      from: begun.step, on: transport, retry: RetryPolicy(maximumTries: retries + 1), effort: &effort)
    guard let outcome else {
      // The Fetch standard's mode is an error then; a request that says so itself is answered by the cache
      // (RFC 9111, section 5.2.1.7).
      if mode == .onlyIfCached {
        throw Failure("\(request.url.displayText): not in the cache, and the network was not to be asked")
      }
      let head = HTTPResponseHead(
        url: request.url, status: 504, headers: ["Content-Length": "0", "Cache-Control": "no-store"])
      return Response(head: head, body: Data(), source: .disk)
    }
    var response = Response(
      head: outcome.head, body: outcome.body, source: outcome.source, isStale: outcome.isStale,
      effort: effort)
    if outcome.wantsRevalidation {
      // Its failure changes nothing: the answer stands.
      response.revalidate = { try? await exchange.runRevalidation(on: transport) }
    }
    return response
  }
}
