import Foundation

/// Whether and when a request that failed is sent again.
///
/// Only requests that may safely be repeated are, after failures that may pass. The wait grows with each
/// try and is drawn at random from nothing to its whole, so that many clients do not come back together; what
/// the server asks for with Retry-After (RFC 9110, section 10.2.3) goes before.
public struct RetryPolicy: Hashable, Sendable {
  /// The most times that a request is sent, the first included: 3. 1 turns retrying off.
  public var maximumTries: Int
  /// The longest wait before the second try, in seconds: 0.5. It doubles with each try after it.
  public var baseDelay: Double
  /// The longest wait between tries, in seconds: 20.
  public var maximumDelay: Double
  /// The longest wait that a server may ask for, in seconds: 60. What asks for more is not tried again.
  public var maximumRetryAfter: Double

  /// Creates a policy.
  public init(
    maximumTries: Int = 3, baseDelay: Double = 0.5, maximumDelay: Double = 20, maximumRetryAfter: Double = 60
  ) {
    self.maximumTries = maximumTries
    self.baseDelay = baseDelay
    self.maximumDelay = maximumDelay
    self.maximumRetryAfter = maximumRetryAfter
  }

  /// Nothing is tried again.
  public static let never = RetryPolicy(maximumTries: 1)

  /// How a try ended.
  enum Outcome: Hashable, Sendable {
    /// No whole response came.
    case failure(HTTPTransportError.Code)
    /// A response came.
    case response(status: Int, headers: HTTPHeaders)
  }

  /// What to do after a try.
  enum Decision: Hashable, Sendable {
    /// Send the request again after so many seconds.
    case retry(after: Double)
    /// Leave it at that.
    case stop(Reason)
  }

  /// Why a request is not sent again.
  enum Reason: String, Hashable, Sendable {
    /// It went well, or it failed in a way that another try does not change.
    case final
    /// Its method may change something each time.
    case notIdempotent
    /// It was sent as often as is allowed.
    case triesUsedUp
    /// The server asks for a longer wait than is allowed.
    case waitTooLong
  }

  /// Says what to do after a try.
  ///
  /// - Parameters:
  ///   - outcome: How it ended.
  ///   - method: The request's method.
  ///   - tries: How often the request has been sent by now; 1 after the first.
  ///   - now: The present in seconds since 1970, for a Retry-After that is a date.
  ///   - generator: Where the random wait comes from.
  func decision(
    after outcome: Outcome, method: String, tries: Int, now: Double,
    using generator: inout some RandomNumberGenerator
  ) -> Decision {
    guard Self.mayPass(outcome) else { return .stop(.final) }
    guard Self.isIdempotent(method) else { return .stop(.notIdempotent) }
    guard tries < maximumTries else { return .stop(.triesUsedUp) }
    if case .response(_, let headers) = outcome, let wait = Self.retryAfter(headers, now: now), wait > 0 {
      return wait <= maximumRetryAfter ? .retry(after: wait) : .stop(.waitTooLong)
    }
    let ceiling = longestDelay(tries: tries)
    return .retry(after: ceiling > 0 ? Double.random(in: 0...ceiling, using: &generator) : 0)
  }

  /// The longest wait after so many tries.
  func longestDelay(tries: Int) -> Double {
    guard baseDelay > 0, maximumDelay > 0 else { return 0 }
    let doublings = Double(min(max(tries - 1, 0), 64))
    return min(baseDelay * pow(2, doublings), maximumDelay)
  }

  /// Whether another try may go better.
  static func mayPass(_ outcome: Outcome) -> Bool {
    switch outcome {
    case .failure(let code):
      switch code {
      case .timedOut, .connectionLost, .connectionFailed, .nameNotFound: true
      case .invalidAddress, .invalidHeader, .offline, .secureConnectionFailed, .badResponse,
        .responseTooLarge,
        .tooManyRedirects, .redirectRefused, .addressRefused, .tooManyOpenFiles, .cancelled, .other:
        false
      }
    case .response(let status, _): [408, 429, 500, 502, 503, 504].contains(status)
    }
  }

  /// Whether a request with this method does the same sent twice as sent once (RFC 9110, section 9.2.2).
  static func isIdempotent(_ method: String) -> Bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
  }

  /// The wait in seconds that a response asks for, as a number or as a date; `nil` where it says nothing
  /// that can be read.
  static func retryAfter(_ headers: HTTPHeaders, now: Double) -> Double? {
    guard let value = headers["Retry-After"]?.trimmingOptionalWhitespace() else { return nil }
    if let seconds = HTTPFieldSyntax.deltaSeconds(value) { return Double(seconds) }
    return HTTPDate.parse(value, now: now).map { max(0, $0 - now) }
  }
}

/// How many tries again a host is worth: a bucket of tokens of which each costs one, that fills with what
/// goes well and, slowly, with time. A host that only fails soon gets first tries alone.
struct HostRetryBudget: Hashable, Sendable {
  /// The most tokens that there can be.
  let capacity: Double
  /// The tokens that a response that went well gives back.
  let refillPerSuccess: Double
  /// The tokens that a second gives back.
  let refillPerSecond: Double

  private var tokens: Double
  private var updated: Double

  /// Creates a full budget.
  init(capacity: Double = 10, refillPerSuccess: Double = 0.1, refillPerSecond: Double = 0.1, now: Double) {
    self.capacity = capacity
    self.refillPerSuccess = refillPerSuccess
    self.refillPerSecond = refillPerSecond
    tokens = capacity
    updated = now
  }

  /// Takes a token for another try, where there is one.
  mutating func takeRetry(now: Double) -> Bool {
    refill(now: now)
    guard tokens >= 1 else { return false }
    tokens -= 1
    return true
  }

  /// Notes that the host answered well.
  mutating func recordSuccess(now: Double) {
    refill(now: now)
    tokens = min(capacity, tokens + refillPerSuccess)
  }

  private mutating func refill(now: Double) {
    // A clock that went backwards gives nothing, and counts from where it is now.
    if now > updated { tokens = min(capacity, tokens + (now - updated) * refillPerSecond) }
    updated = now
  }
}

/// The system's random numbers, from a value that takes memory: the thread sanitizer fails on the address of
/// `SystemRandomNumberGenerator`, which has none.
struct JitterGenerator: RandomNumberGenerator {
  private var count: UInt64 = 0

  mutating func next() -> UInt64 {
    count &+= 1
    return UInt64.random(in: .min ... .max)
  }
}
