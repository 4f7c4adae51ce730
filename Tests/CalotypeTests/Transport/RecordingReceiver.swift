import Foundation
import Testing

@testable import Calotype

/// Keeps all that a transfer tells, and lets a test wait for it.
final class RecordingReceiver: HTTPReceiver {
  struct Record {
    var heads: [HTTPResponseHead] = []
    var bytes: [UInt8] = []
    var pieces = 0
    var results: [Result<HTTPTransferMetrics, HTTPTransportError>] = []
    var endedAt: ContinuousClock.Instant?
    var continuations: [(isSatisfied: @Sendable (Record) -> Bool, CheckedContinuation<Void, Never>)] = []
  }

  private let record = Lock(Record())
  private let keepsBytes: Bool
  private let onHead: (@Sendable () -> Void)?
  private let onEnd: (@Sendable () -> Void)?

  init(
    keepsBytes: Bool = true, onHead: (@Sendable () -> Void)? = nil, onEnd: (@Sendable () -> Void)? = nil
  ) {
    self.keepsBytes = keepsBytes
    self.onHead = onHead
    self.onEnd = onEnd
  }

  var now: Record { record.withLock { $0 } }

  func didReceive(_ head: HTTPResponseHead) {
    onHead?()
    change { $0.heads.append(head) }
  }

  func didReceive(_ bytes: UnsafeRawBufferPointer) {
    change { record in
      record.pieces += 1
      if keepsBytes { record.bytes += bytes }
    }
  }

  func didComplete(_ result: Result<HTTPTransferMetrics, HTTPTransportError>) {
    onEnd?()
    change { record in
      record.results.append(result)
      record.endedAt = .now
    }
  }

  /// Waits for the end, and gives the result.
  @discardableResult
  func end() async -> Result<HTTPTransferMetrics, HTTPTransportError> {
    await wait { !$0.results.isEmpty }
    return now.results[0]
  }

  /// Waits for the end, which has to be a failure.
  func failure(sourceLocation: SourceLocation = #_sourceLocation) async throws -> HTTPTransportError {
    switch await end() {
    case .failure(let error): return error
    case .success:
      Issue.record("the transfer succeeded", sourceLocation: sourceLocation)
      throw CancellationError()
    }
  }

  func wait(_ isSatisfied: @escaping @Sendable (Record) -> Bool) async {
    await withCheckedContinuation { continuation in
      let isReady = record.withLock { record in
        let isReady = isSatisfied(record)
        if !isReady { record.continuations.append((isSatisfied, continuation)) }
        return isReady
      }
      if isReady { continuation.resume() }
    }
  }

  private func change(_ change: (inout Record) -> Void) {
    let ready: [CheckedContinuation<Void, Never>] = record.withLock { record in
      change(&record)
      let waiting = record.continuations
      record.continuations = waiting.filter { !$0.isSatisfied(record) }
      return waiting.filter { $0.isSatisfied(record) }.map { $0.1 }
    }
    for continuation in ready { continuation.resume() }
  }
}

extension CurlTransport {
  /// A transport of the test's own, with changes to the default configuration.
  static func forTests(_ change: (inout Configuration) -> Void = { _ in }) -> CurlTransport {
    var configuration = Configuration()
    change(&configuration)
    return CurlTransport(configuration: configuration)
  }
}
