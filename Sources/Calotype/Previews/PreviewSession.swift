import Foundation

/// Sees to the previews of one download: one at a time, of the newest that has come, no more often than is
/// wished.
final class PreviewSession: Sendable {
  private struct State {
    /// Bytes of the response that have been read.
    var readCount = 0
    /// Whether what was kept before this response has been read: a part of the response may come later.
    var hasReadBeginning = false
    var isUnderWay = false
    /// Whether more has come since the last look.
    var hasMore = false
    var isTimerSet = false
    /// When the next preview may be made, on the monotonic clock.
    var nextTime: UInt64 = 0
    var isOver = false
  }

  private let state = Lock(State())
  private let maker: Lock<any PreviewMaking>
  let cancellation = CancellationFlag()
  /// What was kept of the body before this response; read with the first preview.
  private let beginning: Data

  /// Pieces that come faster than this, in nanoseconds, are read together.
  private static let leastInterval: UInt64 = 20_000_000

  init(beginning: Data, makingWith makeMaker: (CancellationFlag) -> any PreviewMaking) {
    self.beginning = beginning
    maker = Lock(makeMaker(cancellation))
  }

  /// Called when more has come.
  ///
  /// - Parameters:
  ///   - submit: Puts the work among that of the other threads. It is to call ``run(_:_:)``.
  func hasMore(_ submit: @escaping @Sendable () -> Void) {
    enum Next { case nothing, submit, wait(UInt64) }
    let now = monotonicNanoseconds()
    let next = state.withLock { state -> Next in
      state.hasMore = true
      guard !state.isOver, !state.isUnderWay, !state.isTimerSet else { return .nothing }
      guard state.nextTime <= now else {
        // A download that stalls must not keep what has come from being seen.
        state.isTimerSet = true
        return .wait(state.nextTime - now)
      }
      state.isUnderWay = true
      return .submit
    }
    switch next {
    case .nothing: break
    case .submit: submit()
    case .wait(let nanoseconds):
      Timers.shared.after(Double(nanoseconds) / 1e9) { [weak self] in
        guard let self else { return }
        let isWanted = state.withLock { state in
          state.isTimerSet = false
          return !state.isOver
        }
        if isWanted { hasMore(submit) }
      }
    }
  }

  /// Makes the previews, on a thread for such work.
  ///
  /// - Parameters:
  ///   - download: What has come.
  ///   - targets: Those who want one now, each with the interval that it wishes.
  /// - Returns: A preview for each target, or `nil` where there is nothing new to be seen.
  func run(
    _ download: OriginalDownload, _ targets: [(size: TargetSize?, interval: UInt64)]
  ) -> [PreviewMaker.Preview]? {
    let (start, readsBeginning) = state.withLock { state in
      state.hasMore = false
      return (state.readCount, !state.hasReadBeginning)
    }
    guard !targets.isEmpty else { return nil }
    let began = monotonicNanoseconds()
    let piece = download.copyBody(from: start)
    let (previews, isHopeless) = maker.withLock { maker -> ([PreviewMaker.Preview]?, Bool) in
      let sizes = targets.map(\.size)
      let bytes = readsBeginning && !beginning.isEmpty ? beginning + piece : piece
      return (bytes.isEmpty ? nil : maker.append(bytes, targets: sizes), maker.isHopeless)
    }
    let now = monotonicNanoseconds()
    let interval = targets.map(\.interval).min() ?? 0
    state.withLock { state in
      state.readCount = start + piece.count
      state.hasReadBeginning = true
      if isHopeless { state.isOver = true }
      // However much a picture costs, at least half of the time is left for other things.
      state.nextTime =
        now + max(Self.leastInterval, previews == nil ? 0 : interval, interval == 0 ? 0 : now - began)
    }
    return previews
  }

  /// Called once what ``run(_:_:)`` gave has been shown.
  func goOn(_ submit: @escaping @Sendable () -> Void) {
    let hasMore = state.withLock { state in
      state.isUnderWay = false
      return state.hasMore
    }
    if hasMore { self.hasMore(submit) }
  }

  /// Ends the work: the download has ended, or nobody wants to see any of it.
  func end() {
    cancellation.cancel()
    state.withLock { $0.isOver = true }
  }
}
