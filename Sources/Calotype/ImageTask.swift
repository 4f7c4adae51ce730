import Foundation
import Synchronization

/// One caller's wait for a print. Any number of tasks may share one load; each is cancelled on its own.
///
/// A task is started when it is made, with ``ImagePipeline/task(for:)``, and ends exactly once.
public final class ImageTask: Sendable {
  /// How much of an original has come.
  public struct Progress: Hashable, Sendable {
    /// Bytes received.
    public var completed: Int
    /// Bytes in all, or `nil` while that is unknown.
    public var total: Int?

    /// Creates a progress.
    public init(completed: Int, total: Int?) {
      self.completed = completed
      self.total = total
    }

    /// 0 to 1, or `nil` while the total is unknown.
    public var fraction: Double? {
      guard let total, total > 0 else { return nil }
      return min(1, Double(completed) / Double(total))
    }
  }

  /// Something that happened to a task.
  public enum Event: Sendable {
    /// More of the original has come.
    case progress(Progress)
    /// A picture to show until the final one comes.
    case preview(ImageResponse)
    /// The task has ended. Nothing follows, unless the answer was stale and the server is asked behind it
    /// (``FreshnessPolicy/staleWhileRevalidate``).
    case finished(Result<ImageResponse, ImagePipeline.Error>)
    /// The server had another picture than the stale one that was given: show this one now. Nothing follows.
    case refreshed(ImageResponse)
  }

  /// What was asked for.
  public var request: ImageRequest { requestBox.value }
  /// Shared with the loads, so that a task that waits takes little memory.
  let requestBox: Box<ImageRequest>

  /// How a task has ended, behind a reference: while it waits it takes no room for that.
  typealias Ending = Box<Result<ImageResponse, ImagePipeline.Error>>

  private struct State {
    var ending: Ending?
    var priority: ImageRequest.Priority
    var latest: Progress?
    /// Whether the server is asked behind the answer, so that there may be more to tell.
    var isFollowed = false
    /// How many are telling somebody of the end: what follows it is told when they have done so.
    var tellers: Int32 = 0
    /// What asking has brought, where that was known before the answer itself had been told.
    var earlyFollowing: Box<ImageResponse?>?
    var observers: [Observer] = []
  }

  private enum Observer {
    case completion(@Sendable (Result<ImageResponse, ImagePipeline.Error>) -> Void)
    case continuation(UnsafeContinuation<Ending, Never>)
    case progress(AsyncStream<Progress>.Continuation)
    case events(AsyncStream<Event>.Continuation)
    case handler(@Sendable (Event) -> Void)

    /// Whether it is also told what follows the end.
    var isAboutEvents: Bool {
      switch self {
      case .events, .handler: true
      case .completion, .continuation, .progress: false
      }
    }
  }

  private let state: Lock<State>
  /// Set when anyone listens to what happens before the end, so that a load without listeners tells nobody.
  private let hasListeners = Atomic<Bool>(false)
  /// Set when anyone listens to events, to whom a preview can be shown.
  private let hasEventListeners = Atomic<Bool>(false)
  /// The pipeline that the task belongs to; `nil` for a task that had ended when it was made.
  private let pipeline: ImagePipeline?
  /// The moment of the start, in nanoseconds of the monotonic clock.
  let startTime: UInt64
  /// The load that the task waits for. Touched only under the pipeline's lock.
  nonisolated(unsafe) var load: PrintLoad?
  /// Where else the picture may be had, for few tasks. Touched only by whoever ends the task's load, one load after the other.
  nonisolated(unsafe) private var attemptsBox: Box<ImageRequest.Attempts>?

  init(request: Box<ImageRequest>, pipeline: ImagePipeline?, startTime: UInt64) {
    requestBox = request
    self.pipeline = pipeline
    self.startTime = startTime
    state = Lock(State(priority: request.value.priority))
  }

  /// A task that has its answer already.
  init(request: ImageRequest, result: Result<ImageResponse, ImagePipeline.Error>) {
    requestBox = Box(request)
    pipeline = nil
    startTime = 0
    state = Lock(State(ending: Box(result), priority: request.priority))
  }

  /// Where else the picture may be had; `nil` where the request names one address.
  var attempts: ImageRequest.Attempts? {
    get { attemptsBox?.value }
    set { attemptsBox = newValue.map(Box.init) }
  }

  /// Whether the request names more than one address.
  var hasAttempts: Bool { attemptsBox != nil }

  /// The finished picture. It may be asked for any number of times, also after the end. Cancelling the
  /// Swift task that waits here cancels this task.
  public var response: ImageResponse {
    get async throws(ImagePipeline.Error) {
      let ending = await withTaskCancellationHandler {
        await withUnsafeContinuation { continuation in
          let ending = state.withLock { state in
            if state.ending == nil { state.observers.append(.continuation(continuation)) }
            return state.ending
          }
          if let ending { continuation.resume(returning: ending) }
        }
      } onCancel: {
        cancel()
      }
      return try ending.value.get()
    }
  }

  /// The result, or `nil` until the task has ended.
  public var result: Result<ImageResponse, ImagePipeline.Error>? { ending?.value }

  private var ending: Ending? { state.withLock { $0.ending } }
  /// Whether the task has ended.
  var hasEnded: Bool { ending != nil }

  /// The download's progress. The stream keeps only the newest value and ends with the task; it yields
  /// nothing where a cache answers. Each use makes a stream of its own.
  public var progress: AsyncStream<Progress> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let ended = state.withLock { state in
        guard state.ending == nil else { return true }
        if let latest = state.latest { continuation.yield(latest) }
        state.observers.append(.progress(continuation))
        return false
      }
      hasListeners.store(true, ordering: .relaxed)
      if ended { continuation.finish() }
    }
  }

  /// Everything that happens to the task from now on, the end included. Each use makes a stream of its own. It
  /// begins with a print of another size from memory, else the request's ``ImageRequest/placeholder``, where there
  /// is one and the picture is not here.
  public var events: AsyncStream<Event> {
    AsyncStream { continuation in
      if !hasEnded {
        if let picture = pipeline?.previewImage(for: request) {
          continuation.yield(.preview(ImageResponse(container: picture, source: .memory)))
        } else if let picture = request.placeholderImage {
          continuation.yield(.preview(ImageResponse(container: picture, source: .placeholder)))
        }
      }
      let isAtEnd = state.withLock { state in
        // With the lock held, so that what follows the end comes behind it.
        if let ending = state.ending { continuation.yield(.finished(ending.value)) }
        if state.ending == nil || state.isFollowed {
          state.observers.append(.events(continuation))
        } else {
          continuation.finish()
        }
        return state.ending != nil
      }
      hasListeners.store(true, ordering: .relaxed)
      hasEventListeners.store(true, ordering: .relaxed)
      if !isAtEnd { pipeline?.listenerCame(to: self) }
    }
  }

  /// Which of the waiting requests goes first. A shared load has the highest priority of its tasks.
  public var priority: ImageRequest.Priority {
    get { state.withLock { $0.priority } }
    set {
      let changed = state.withLock { state in
        guard state.ending == nil, state.priority != newValue else { return false }
        state.priority = newValue
        return true
      }
      if changed { pipeline?.priorityChanged(of: self) }
    }
  }

  /// Ends the task with ``ImagePipeline/Error/Cause/cancelled``, at once, unless it has ended. Its load
  /// goes on while other tasks wait for it.
  public func cancel() {
    pipeline?.cancel(self)
  }

  /// Calls a closure when the task has ended: now, where it has, otherwise from one of the pipeline's
  /// threads. It must not block.
  func whenFinished(_ body: @escaping @Sendable (Result<ImageResponse, ImagePipeline.Error>) -> Void) {
    let ending = state.withLock { state in
      if state.ending == nil { state.observers.append(.completion(body)) }
      return state.ending
    }
    if let ending { body(ending.value) }
  }

  /// Calls a closure for everything that happens from now on, the end included, from whichever thread it
  /// happens on. It must not block. A preview that is made while the task ends may be told after the end.
  package func observe(_ body: @escaping @Sendable (Event) -> Void) {
    let (ending, isFollowed) = state.withLock { state in
      if state.ending == nil || state.isFollowed { state.observers.append(.handler(body)) }
      let isFollowed = state.ending != nil && state.isFollowed
      if isFollowed { state.tellers += 1 }
      return (state.ending, isFollowed)
    }
    hasListeners.store(true, ordering: .relaxed)
    hasEventListeners.store(true, ordering: .relaxed)
    guard let ending else {
      pipeline?.listenerCame(to: self)
      return
    }
    body(.finished(ending.value))
    if isFollowed { endWasTold() }
  }

  /// Ends the task and tells everyone who waits; of no effect on a task that has ended. Returns whether
  /// this call ended it.
  ///
  /// - Parameter isFollowed: Whether ``follow(with:)`` will be called.
  @discardableResult
  func finish(_ result: Result<ImageResponse, ImagePipeline.Error>, isFollowed: Bool = false) -> Bool {
    let ending = Ending(result)
    let told = state.withLock { state -> [Observer]? in
      guard state.ending == nil else { return nil }
      state.ending = ending
      state.isFollowed = isFollowed
      if isFollowed { state.tellers += 1 } else { state.earlyFollowing = nil }
      // Streams are told with the lock held, so that what follows the end comes behind it.
      for case .events(let continuation) in state.observers {
        continuation.yield(.finished(ending.value))
        if !isFollowed { continuation.finish() }
      }
      defer { state.observers = isFollowed ? state.observers.filter(\.isAboutEvents) : [] }
      return state.observers
    }
    guard let told else { return false }
    for observer in told {
      switch observer {
      case .completion(let body): body(ending.value)
      case .continuation(let continuation): continuation.resume(returning: ending)
      case .progress(let continuation): continuation.finish()
      case .events: break
      case .handler(let body): body(.finished(ending.value))
      }
    }
    if isFollowed { endWasTold() }
    return true
  }

  /// Called by whoever has told of an end that something follows: what that is may be here by now.
  private func endWasTold() {
    let (handlers, response) = state.withLock { state -> ([@Sendable (Event) -> Void], ImageResponse?) in
      state.tellers -= 1
      guard state.tellers == 0, let following = state.earlyFollowing else { return ([], nil) }
      state.earlyFollowing = nil
      return (endFollowing(with: following.value, &state), following.value)
    }
    if let response { for handler in handlers { handler(.refreshed(response)) } }
  }

  /// Tells what asking behind a stale answer has brought: another picture, or `nil` for none.
  func follow(with response: ImageResponse?) {
    let handlers = state.withLock { state -> [@Sendable (Event) -> Void] in
      guard state.ending != nil, state.tellers == 0 else {
        // The server was faster than the thread that tells of the stale answer: those who wait for that one are
        // not to be let go.
        state.earlyFollowing = Box(response)
        return []
      }
      return endFollowing(with: response, &state)
    }
    if let response { for handler in handlers { handler(.refreshed(response)) } }
  }

  /// Tells the streams what has followed the end. Returns the handlers, which are to be told outside of the lock.
  private func endFollowing(
    with response: ImageResponse?, _ state: inout State
  ) -> [@Sendable (Event) -> Void] {
    state.isFollowed = false
    defer { state.observers = [] }
    return state.observers.compactMap { observer in
      switch observer {
      case .events(let continuation):
        if let response { continuation.yield(.refreshed(response)) }
        continuation.finish()
        return nil
      case .handler(let body): return body
      case .completion, .continuation, .progress: return nil
      }
    }
  }

  /// Passes progress on to whoever listens.
  func report(_ progress: Progress) {
    guard hasListeners.load(ordering: .relaxed) else {
      return state.withLock { $0.latest = progress }
    }
    tell(.progress(progress)) { state in state.latest = progress }
  }

  /// Whether there is anyone to show a preview to.
  var wantsPreviews: Bool { hasEventListeners.load(ordering: .relaxed) }

  /// Passes a preview on to whoever listens. Returns whether the task still waited.
  @discardableResult
  func report(preview: ImageResponse) -> Bool {
    guard !hasEnded else { return false }
    tell(.preview(preview)) { _ in }
    return true
  }

  private func tell(_ event: Event, _ change: (inout State) -> Void) {
    let handlers = state.withLock { state -> [@Sendable (Event) -> Void] in
      guard state.ending == nil else { return [] }
      change(&state)
      var handlers: [@Sendable (Event) -> Void] = []
      for observer in state.observers {
        switch observer {
        case .progress(let continuation):
          if case .progress(let progress) = event { continuation.yield(progress) }
        case .events(let continuation): continuation.yield(event)
        case .handler(let body): handlers.append(body)
        case .completion, .continuation: break
        }
      }
      return handlers
    }
    for handler in handlers { handler(event) }
  }
}
