import Dispatch

/// What a row shows in the place of its picture.
public enum RowPicture: Sendable {
  /// Nothing was asked for, or it is not here yet.
  case placeholder
  /// The picture, and where it came from; a preview of it where its container says so, such as the request's
  /// ``ImageRequest/placeholder``, and its ``ImageRequest/fallback`` where the source says so.
  case image(ImageContainer, source: ImageResponse.Source)
  /// It could not be had: the placeholder stays, with a way to try again.
  case failed(ImagePipeline.Error)

  /// The picture's pixels, where there are any.
  public var bitmap: Bitmap? { if case .image(let container, _) = self { container.bitmap } else { nil } }
}

/// Answers a list row's question, "which picture do I show now?", for any toolkit.
///
/// A picture in memory is shown at once. Otherwise the row shows its placeholder, the disk cache and then the
/// network are asked, an address once however many rows show it, and only the rows that it belongs to are
/// told, on the main actor. Rows may be reused as they like: a picture that comes late for a row that shows
/// another address by now is not delivered.
///
/// ```swift
/// let loader = RowLoader<Int>(pipeline: .shared) { row, picture in table.show(picture, in: row) }
/// table.show(loader.bind(row, to: request), in: row)
/// ```
@MainActor
public final class RowLoader<Row: Hashable & Sendable> {
  /// Told when what a row shows changes after ``bind(_:to:)`` has returned.
  public typealias Update = @MainActor (Row, RowPicture) -> Void

  /// Loads the pictures.
  public let pipeline: ImagePipeline

  /// Whether rows are held back, as while a person flings the list. What is in memory is still shown, loads
  /// under way go on, but nothing is asked for: a row that is bound now is asked for when this is set back to
  /// `false`, and not at all if it has been unbound by then. Of those that wait, the last bound goes first.
  public var isSuspended = false {
    didSet { if oldValue, !isSuspended { askForWaiting() } }
  }

  private struct Binding {
    var request: ImageRequest
    /// Tells when it was bound: the last bound has the greatest.
    var order: UInt64
    /// Tells what comes of its load from what comes of earlier ones; 0 until it is asked for.
    var load: UInt64 = 0
    var task: ImageTask?
    var picture = RowPicture.placeholder

    /// Whether it is worth another try.
    var hasFailed: Bool {
      switch picture {
      case .failed, .image(_, .fallback): true
      case .placeholder, .image: false
      }
    }

    /// Whether it shows the picture, rather than something in its place.
    var hasPicture: Bool {
      if case .image(let container, let source) = picture {
        !container.isPreview && source != .fallback
      } else {
        false
      }
    }

    /// Whether its load was cancelled before it had a picture.
    var wasGivenUp: Bool {
      guard load != 0, !hasPicture, !hasFailed else { return false }
      // The news of the end may still be on its way here.
      if case .failure(let error) = task?.result { return error.isCancelled }
      return task == nil
    }
  }

  private var bindings: [Row: Binding] = [:]
  private(set) var lastNumber: UInt64 = 0
  private let onUpdate: Update

  /// Creates a loader.
  ///
  /// - Parameters:
  ///   - pipeline: Loads the pictures.
  ///   - onUpdate: Told when what a row shows changes.
  public init(pipeline: ImagePipeline = .shared, onUpdate: @escaping Update) {
    self.pipeline = pipeline
    self.onUpdate = onUpdate
  }

  isolated deinit {
    for binding in bindings.values { binding.task?.cancel() }
  }

  // MARK: Rows

  /// Says what a row is to show, and what it shows now.
  ///
  /// - Parameters:
  ///   - row: The row, or the cell that shows it: whatever is reused.
  ///   - request: What it is to show; `nil` for nothing. A row that is bound to the same print already goes
  ///     on as it was, and one that has failed is tried again.
  /// - Returns: What to show at once. What comes later is told.
  @discardableResult
  public func bind(_ row: Row, to request: ImageRequest?) -> RowPicture {
    guard let request else {
      unbind(row)
      return .placeholder
    }
    if let binding = bindings[row], binding.request.cacheKey == request.cacheKey, !binding.hasFailed {
      binding.task?.priority = request.priority
      return binding.wasGivenUp && !isSuspended ? askAgain(for: row, request) : binding.picture
    }
    bindings.removeValue(forKey: row)?.task?.cancel()
    lastNumber += 1
    var binding = Binding(request: request, order: lastNumber)
    let image = pipeline.cachedImage(for: request)
    if let image {
      binding.picture = .image(image, source: .memory)
    } else if let picture = pipeline.previewImage(for: request) {
      binding.picture = .image(picture, source: .memory)
    } else if let picture = request.placeholderImage {
      binding.picture = .image(picture, source: .placeholder)
    }
    bindings[row] = binding
    // What is shown although it is stale is asked about all the same.
    if image?.isFresh != true, !isSuspended { ask(for: row) }
    return binding.picture
  }

  /// Asks for a row's picture anew; what it shows instead of it stays until then.
  private func askAgain(for row: Row, _ request: ImageRequest) -> RowPicture {
    bindings[row]?.task = nil
    bindings[row]?.request = request
    if let image = pipeline.cachedImage(for: request) {
      bindings[row]?.picture = .image(image, source: .memory)
      if image.isFresh { return picture(of: row) }
    }
    ask(for: row)
    return picture(of: row)
  }

  /// Says that a row shows nothing any more. Its load ends unless another row wants it.
  public func unbind(_ row: Row) {
    bindings.removeValue(forKey: row)?.task?.cancel()
  }

  /// Tries a row's picture again, if it has failed.
  public func retry(_ row: Row) {
    guard let binding = bindings[row], binding.hasFailed else { return }
    let placeholder = binding.request.placeholderImage
    bindings[row]?.picture = placeholder.map { .image($0, source: .placeholder) } ?? .placeholder
    if !isSuspended { ask(for: row) }
  }

  /// What a row shows now.
  public func picture(of row: Row) -> RowPicture { bindings[row]?.picture ?? .placeholder }

  /// Whether a row's load was cancelled before its picture was here, for want of memory or by the pipeline: then the
  /// row is asked for when it is bound again.
  package func wasGivenUp(_ row: Row) -> Bool { bindings[row]?.wasGivenUp ?? false }

  /// How many rows wait for a picture that has been asked for.
  public var loadingCount: Int { bindings.values.count { $0.task != nil } }

  /// Empties the memory cache and cancels what has been asked for. What rows show stays, and rows without a
  /// picture are asked for again when ``isSuspended`` is set back or they are bound again.
  public func handleMemoryWarning() {
    pipeline.configuration.memoryCache?.removeAll()
    for row in bindings.keys {
      bindings[row]?.task?.cancel()
      bindings[row]?.task = nil
    }
  }

  // MARK: Loading

  private func askForWaiting() {
    let waiting = bindings.filter {
      $0.value.wasGivenUp || $0.value.task == nil && !$0.value.hasFailed && !$0.value.hasPicture
    }
    for (row, _) in waiting.sorted(by: { $0.value.order > $1.value.order }) {
      bindings[row]?.task = nil
      ask(for: row)
    }
  }

  private func ask(for row: Row) {
    guard let binding = bindings[row], binding.task == nil else { return }
    lastNumber += 1
    let load = lastNumber
    let task = pipeline.task(for: binding.request)
    bindings[row]?.load = load
    bindings[row]?.task = task
    task.observe { [weak self] event in
      // Progress is for waiting boxes, not for rows; it would only keep the main thread busy.
      if case .progress = event { return }
      DispatchQueue.main.async {
        MainActor.assumeIsolated { self?.take(event, for: row, of: load) }
      }
    }
  }

  /// Takes what a load tells.
  func take(_ event: ImageTask.Event, for row: Row, of load: UInt64) {
    guard let binding = bindings[row], binding.load == load else { return }
    switch event {
    case .progress: return
    case .preview(let response):
      // Of one that was made while the load ended, the end may have been told first.
      guard binding.task != nil else { return }
      show(.image(response.container, source: response.source), in: row)
    case .refreshed(let response): show(.image(response.container, source: response.source), in: row)
    case .finished(let result):
      bindings[row]?.task = nil
      switch result {
      case .success(let response): show(.image(response.container, source: response.source), in: row)
      case .failure(let error):
        // A row whose load was cancelled for want of memory keeps what it shows.
        guard !error.isCancelled else { return }
        // What is shown already is better than a failure to refresh it.
        if !binding.hasPicture { show(.failed(error), in: row) }
      }
    }
  }

  private func show(_ picture: RowPicture, in row: Row) {
    bindings[row]?.picture = picture
    onUpdate(row, picture)
  }
}
