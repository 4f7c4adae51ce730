import Foundation
import Testing

@testable import Calotype

@Suite struct RetryPolicyTests {
  private static let now: Double = 1_800_000_000

  private func decide(
    _ outcome: RetryPolicy.Outcome, method: String = "GET", tries: Int = 1,
    policy: RetryPolicy = RetryPolicy()
  ) -> RetryPolicy.Decision {
    var generator = SeededGenerator(seed: 7)
    return policy.decision(after: outcome, method: method, tries: tries, now: Self.now, using: &generator)
  }

  private func isRetry(_ decision: RetryPolicy.Decision) -> Bool {
    if case .retry = decision { true } else { false }
  }

  @Test(arguments: HTTPTransportError.Code.allCases)
  func triesAgainAfterFailuresThatMayPass(code: HTTPTransportError.Code) {
    let passing: [HTTPTransportError.Code] = [.timedOut, .connectionLost, .connectionFailed, .nameNotFound]
    #expect(isRetry(decide(.failure(code))) == passing.contains(code))
  }

  @Test func triesAgainAfterStatusesThatMayPass() {
    for status in 200...599 {
      #expect(
        isRetry(decide(.response(status: status, headers: [:])))
          == [408, 429, 500, 502, 503, 504].contains(status))
    }
  }

  @Test func triesAgainOnlyWhatMayBeRepeated() {
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
      #expect(isRetry(decide(.failure(.timedOut), method: method)))
    }
    for method in ["POST", "PATCH", "CONNECT", "FOO", "get"] {
      #expect(decide(.failure(.timedOut), method: method) == .stop(.notIdempotent))
    }
  }

  @Test func stopsWhenTheTriesAreUsedUp() {
    #expect(isRetry(decide(.failure(.timedOut), tries: 2)))
    #expect(decide(.failure(.timedOut), tries: 3) == .stop(.triesUsedUp))
    #expect(decide(.failure(.timedOut), policy: .never) == .stop(.triesUsedUp))
    #expect(decide(.response(status: 200, headers: [:])) == .stop(.final))
  }

  @Test(arguments: [
    ("2", 2.0), ("60", 60), ("61", nil), ("99999999999999999999", nil), (HTTPDate.format(now + 5), 5),
    (HTTPDate.format(now + 3600), nil),
  ])
  func waitsAsLongAsTheServerAsks(value: String, seconds: Double?) {
    let decision = decide(.response(status: 503, headers: ["Retry-After": value]))
    #expect(decision == seconds.map { .retry(after: $0) } ?? .stop(.waitTooLong))
  }

  @Test(arguments: ["0", "-1", "soon", "", "1.5", "Wed, 01 Jan 2020 00:00:00 GMT"])
  func waitsByItselfWhereTheServerAsksForNothing(value: String) {
    guard case .retry(let seconds) = decide(.response(status: 503, headers: ["Retry-After": value])) else {
      Issue.record("not tried again")
      return
    }
    #expect(seconds > 0)
    #expect(seconds <= 0.5)
  }

  @Test func theWaitGrowsToItsLimitAndIsDrawnFromAllOfIt() {
    let policy = RetryPolicy(maximumTries: 100, baseDelay: 0.5, maximumDelay: 20)
    #expect((1...8).map { policy.longestDelay(tries: $0) } == [0.5, 1, 2, 4, 8, 16, 20, 20])
    #expect(policy.longestDelay(tries: .max) == 20)
    #expect(RetryPolicy(baseDelay: 0).longestDelay(tries: 5) == 0)
    var generator = SeededGenerator(seed: 3)
    var waits: [Double] = []
    for _ in 0..<1000 {
      if case .retry(let seconds) = policy.decision(
        after: .failure(.timedOut), method: "GET", tries: 4, now: Self.now, using: &generator)
      {
        waits.append(seconds)
      }
    }
    #expect(waits.count == 1000)
    #expect(waits.allSatisfy { (0...4).contains($0) })
    // Full jitter: as many in each quarter, within chance.
    for quarter in 0..<4 {
      let count = waits.count { $0 >= Double(quarter) && $0 < Double(quarter) + 1 }
      #expect((180...320).contains(count))
    }
  }

  @Test func aHostThatOnlyFailsIsLeftAlone() {
    var budget = HostRetryBudget(capacity: 3, refillPerSuccess: 0.5, refillPerSecond: 0.1, now: 0)
    func taken(_ times: Int, at now: Double) -> [Bool] {
      var results: [Bool] = []
      for _ in 0..<times { results.append(budget.takeRetry(now: now)) }
      return results
    }
    #expect(taken(5, at: 0) == [true, true, true, false, false])
    budget.recordSuccess(now: 0)
    #expect(taken(1, at: 0) == [false])
    budget.recordSuccess(now: 0)
    #expect(taken(1, at: 0) == [true])
    #expect(taken(1, at: 9) == [false])
    #expect(taken(1, at: 11) == [true])
    // A clock that goes backwards gives nothing, and is followed.
    #expect(taken(1, at: 1) == [false])
    #expect(taken(1, at: 12) == [true])
    // Never more than the capacity.
    for _ in 0..<100 { budget.recordSuccess(now: 1e6) }
    #expect(taken(5, at: 1e6) == [true, true, true, false, false])
  }
}
