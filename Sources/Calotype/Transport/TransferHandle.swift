/// Holds a transfer that may be cancelled before it is known.
struct TransferHandle: Sendable {
  private let state = Lock<(transfer: (any HTTPTransfer)?, isCancelled: Bool)>((nil, false))

  /// Takes the transfer, and cancels it where it is no longer wanted.
  func set(_ transfer: any HTTPTransfer) {
    let isCancelled = state.withLock { state in
      state.transfer = transfer
      return state.isCancelled
    }
    if isCancelled { transfer.cancel() }
  }

  func cancel() {
    let transfer = state.withLock { state in
      state.isCancelled = true
      return state.transfer
    }
    transfer?.cancel()
  }

  func setPriority(_ priority: ImageRequest.Priority) {
    state.withLock { $0.transfer }?.setPriority(priority)
  }

  /// Lets go of a transfer that has ended.
  func clear() {
    state.withLock { $0.transfer = nil }
  }
}
