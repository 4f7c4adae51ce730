import Calotype
import Foundation
import Synchronization

/// A transport without a network, for what a real server cannot show: answers come at once, or when the
/// test says so, and every request is on record.
package final class StubTransport: HTTPTransport {
  /// What happens to a request.
  package enum Answer: Sendable {
    case respond(status: Int = 200, headers: HTTPHeaders = [], body: Data)
    case fail(HTTPTransportError.Code)
    /// Nothing, until ``StubTransport/release(_:)`` names its path.
    case hold
  }

  private struct State {
    var requests: [HTTPRequest] = []
    var held: [(path: String, transfer: StubTransfer)] = []
    var cancelled = 0
    var waiters: [(isMet: @Sendable (Int, Int) -> Bool, continuation: UnsafeContinuation<Void, Never>)] = []
  }

  private let state = Lock(State())
  private let answer: @Sendable (HTTPRequest) -> Answer

  package init(_ answer: @escaping @Sendable (HTTPRequest) -> Answer) { self.answer = answer }

  /// Answers every request with the same bytes.
  package convenience init(body: Data) { self.init { _ in .respond(body: body) } }

  /// All requests so far, in order.
  package var requests: [HTTPRequest] { state.withLock { $0.requests } }
  /// The paths of all requests so far, in order.
  package var paths: [String] { requests.map(\.url.path) }
  /// How many transfers were cancelled before they ended.
  package var cancelledCount: Int { state.withLock { $0.cancelled } }

  /// Returns once so many requests have been made in all.
  package func waitForRequests(_ count: Int) async { await wait { requests, _ in requests >= count } }

  /// Returns once so many transfers have been cancelled in all.
  package func waitForCancellations(_ count: Int) async { await wait { _, cancelled in cancelled >= count } }

  private func wait(_ isMet: @escaping @Sendable (Int, Int) -> Bool) async {
    await withUnsafeContinuation { continuation in
      let done = state.withLock { state in
        if isMet(state.requests.count, state.cancelled) { return true }
        state.waiters.append((isMet, continuation))
        return false
      }
      if done { continuation.resume() }
    }
  }

  /// Lets the held requests for a path, or all of them, be answered.
  package func release(_ path: String? = nil, with answer: Answer = .respond(body: Data("x".utf8))) {
    let transfers = state.withLock { state in
      let (released, kept) = state.held.reduce(into: ([StubTransfer](), [(String, StubTransfer)]())) {
        parts, held in
        if path == nil || held.path == path { parts.0.append(held.transfer) } else { parts.1.append(held) }
      }
      state.held = kept.map { (path: $0.0, transfer: $0.1) }
      return released
    }
    for transfer in transfers { transfer.complete(with: answer) }
  }

  package func send(_ request: HTTPRequest, to receiver: any HTTPReceiver) -> any HTTPTransfer {
    let transfer = StubTransfer(url: request.url, receiver: receiver) { [weak self] in
      self?.record { $0.cancelled += 1 }
    }
    let answer = answer(request)
    record { state in
      state.requests.append(request)
      if case .hold = answer { state.held.append((request.url.path, transfer)) }
    }
    if case .hold = answer { return transfer }
    transfer.complete(with: answer)
    return transfer
  }

  private func record(_ change: (inout State) -> Void) {
    let met = state.withLock { state in
      change(&state)
      let (requests, cancelled) = (state.requests.count, state.cancelled)
      let met = state.waiters.filter { $0.isMet(requests, cancelled) }.map(\.continuation)
      state.waiters.removeAll { $0.isMet(requests, cancelled) }
      return met
    }
    for continuation in met { continuation.resume() }
  }
}

/// A transfer of a ``StubTransport``; it completes once.
package final class StubTransfer: HTTPTransfer {
  private let url: URL
  private let receiver: Lock<(any HTTPReceiver)?>
  private let onCancel: @Sendable () -> Void

  init(url: URL, receiver: any HTTPReceiver, onCancel: @escaping @Sendable () -> Void) {
    self.url = url
    self.receiver = Lock(receiver)
    self.onCancel = onCancel
  }

  private func take() -> (any HTTPReceiver)? {
    receiver.withLock { receiver in
      defer { receiver = nil }
      return receiver
    }
  }

  func complete(with answer: StubTransport.Answer) {
    guard let receiver = take() else { return }
    switch answer {
    case .hold: break
    case .fail(let code):
      receiver.didComplete(.failure(HTTPTransportError(code, url: url, message: code.rawValue)))
    case .respond(let status, var headers, let body):
      if headers["Content-Length"] == nil { headers["Content-Length"] = String(body.count) }
      receiver.didReceive(HTTPResponseHead(url: url, status: status, headers: headers))
      body.withUnsafeBytes { receiver.didReceive($0) }
      receiver.didComplete(.success(HTTPTransferMetrics()))
    }
  }

  package func cancel() {
    guard let receiver = take() else { return }
    onCancel()
    receiver.didComplete(.failure(HTTPTransportError(.cancelled, url: url, message: "cancelled")))
  }

  package func setPriority(_ priority: ImageRequest.Priority) {}
}
