import Foundation

/// Is told of a ``DownloadOperation``'s way: first the response, then progress, in the end exactly one of
/// finished, failed and cancelled. Every method has an empty default.
///
/// The methods are called on the main actor, so a class that belongs to the main actor conforms as
/// `final class Screen: @MainActor DownloadOperationDelegate`. Where ``DownloadOperation/delegateQueue``
/// is set they are called there instead, and the delegate has to be one that may be called there.
public protocol DownloadOperationDelegate: AnyObject {
  /// The server has answered, and the body is on its way.
  func downloadOperation(_ operation: DownloadOperation, didReceive response: HTTPResponseHead)
  /// More of the body has come: so many bytes of a total, which is `nil` while it is unknown. Where pieces
  /// come faster than the delegate is called, it hears of the last.
  func downloadOperation(_ operation: DownloadOperation, didReceive byteCount: Int, of total: Int?)
  /// All bytes are here; decoding, where it was asked for, begins.
  func downloadOperation(_ operation: DownloadOperation, didDownload original: DownloadedOriginal)
  /// The picture is finished. Not called where nothing was to be decoded.
  func downloadOperation(_ operation: DownloadOperation, didFinishWith image: ImageContainer)
  /// The picture cannot be had.
  func downloadOperation(_ operation: DownloadOperation, didFailWith error: ImagePipeline.Error)
  /// The operation was cancelled.
  func downloadOperationDidCancel(_ operation: DownloadOperation)
}

extension DownloadOperationDelegate {
  /// Does nothing.
  public func downloadOperation(_ operation: DownloadOperation, didReceive response: HTTPResponseHead) {}
  /// Does nothing.
  public func downloadOperation(_ operation: DownloadOperation, didReceive byteCount: Int, of total: Int?) {}
  /// Does nothing.
  public func downloadOperation(_ operation: DownloadOperation, didDownload original: DownloadedOriginal) {}
  /// Does nothing.
  public func downloadOperation(_ operation: DownloadOperation, didFinishWith image: ImageContainer) {}
  /// Does nothing.
  public func downloadOperation(_ operation: DownloadOperation, didFailWith error: ImagePipeline.Error) {}
  /// Does nothing.
  public func downloadOperationDidCancel(_ operation: DownloadOperation) {}
}

/// Carries an operation's news to its delegate: in order, one call after the other on any queue, only the
/// latest progress, and nothing behind the end.
// Sound as Sendable: all of it is behind a lock; the delegate, which need not be Sendable, is touched on
// the queue of its choice alone.
final class DownloadMailbox: @unchecked Sendable {
  /// News not delivered yet.
  struct News {
    var head: HTTPResponseHead?
    var progress: (received: Int, total: Int?)?
    var original: DownloadedOriginal?
    var end: Result<ImageContainer?, ImagePipeline.Error>?
  }

  private struct State {
    weak var delegate: (any DownloadOperationDelegate)?
    // Looked at in place of the delegate off its queue, so that its last reference never goes there.
    var hasDelegate = false
    var queue: OperationQueue?
    var news: News?
    /// Whether a delivery has been queued or runs, which then takes later news along.
    var isDelivering = false
    var isClosed = false
  }

  private let state = Lock(State())

  var delegate: (any DownloadOperationDelegate)? {
    get { state.withLock { $0.delegate } }
    set {
      state.withLock { state in
        state.delegate = newValue
        state.hasDelegate = newValue != nil
      }
    }
  }

  var queue: OperationQueue? {
    get { state.withLock { $0.queue } }
    set { state.withLock { $0.queue = newValue } }
  }

  /// Adds news; costs next to nothing where there is no delegate.
  func post(from operation: DownloadOperation, _ add: (inout News) -> Void) {
    let (begins, queue) = state.withLock { state -> (Bool, OperationQueue?) in
      guard state.hasDelegate, !state.isClosed else { return (false, nil) }
      var news = state.news ?? News()
      add(&news)
      state.news = news
      defer { state.isDelivering = true }
      return (!state.isDelivering, state.queue)
    }
    guard begins else { return }
    if let queue {
      queue.addOperation { self.deliver(from: operation) }
    } else {
      DispatchQueue.main.async { self.deliver(from: operation) }
    }
  }

  private func deliver(from operation: DownloadOperation) {
    while true {
      let (news, delegate) = state.withLock { state -> (News?, (any DownloadOperationDelegate)?) in
        guard let news = state.news, !state.isClosed else {
          state.isDelivering = false
          return (nil, nil)
        }
        state.news = nil
        state.isClosed = news.end != nil
        return (news, state.delegate)
      }
      guard let news else { return }
      // Where the delegate is gone there may be another by the time of the next news.
      if let delegate { tell(delegate, news, operation) }
    }
  }

  private func tell(_ delegate: any DownloadOperationDelegate, _ news: News, _ operation: DownloadOperation) {
    // A delegate that cancels within one call hears of the cancellation next.
    if let head = news.head, !operation.isCancelled {
      delegate.downloadOperation(operation, didReceive: head)
    }
    if let progress = news.progress, !operation.isCancelled {
      delegate.downloadOperation(operation, didReceive: progress.received, of: progress.total)
    }
    if let original = news.original, !operation.isCancelled {
      delegate.downloadOperation(operation, didDownload: original)
    }
    switch news.end {
    case nil: break
    case .success(let image):
      if let image { delegate.downloadOperation(operation, didFinishWith: image) }
    case .failure(let error):
      if error.isCancelled {
        delegate.downloadOperationDidCancel(operation)
      } else {
        delegate.downloadOperation(operation, didFailWith: error)
      }
    }
  }
}
