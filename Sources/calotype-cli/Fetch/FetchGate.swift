import Calotype

/// Bounds what is under way: a row is read only once there is a place for it.
final class FetchGate: Sendable {
  private struct State {
    var loads = 0
    var waitingRows = 0
    var isClosed = false
    var waiter: UnsafeContinuation<Void, Never>?
  }

  private let state = Lock(State())
  private let maximumLoads: Int
  private let maximumWaitingRows: Int

  init(maximumLoads: Int, maximumWaitingRows: Int = 10_000) {
    self.maximumLoads = maximumLoads
    self.maximumWaitingRows = maximumWaitingRows
  }

  /// Waits for a place, or until the gate is closed. One task at a time may wait.
  func waitForPlace() async {
    await withUnsafeContinuation { continuation in
      let isFree = state.withLock { state in
        if hasPlace(state) { return true }
        state.waiter = continuation
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  /// Counts a load that begins.
  func beginLoad() { state.withLock { $0.loads += 1 } }
  /// Counts a row that waits for a load of its address that is under way.
  func beginWaitingRow() { state.withLock { $0.waitingRows += 1 } }

  /// Counts a load that has ended, with the rows that waited for it.
  func endLoad(waitingRows: Int) {
    change { state in
      state.loads -= 1
      state.waitingRows -= waitingRows
    }
  }

  /// Lets whoever waits go on, now and in future.
  func close() { change { $0.isClosed = true } }

  private func hasPlace(_ state: State) -> Bool {
    state.isClosed || (state.loads < maximumLoads && state.waitingRows < maximumWaitingRows)
  }

  private func change(_ body: (inout State) -> Void) {
    let waiter = state.withLock { state -> UnsafeContinuation<Void, Never>? in
      body(&state)
      guard hasPlace(state), let waiter = state.waiter else { return nil }
      state.waiter = nil
      return waiter
    }
    waiter?.resume()
  }
}
