internal import CGtk
internal import Calotype

/// Loads a picture for a widget that stands alone, once the widget is on screen.
@MainActor
final class PictureLoading {
  private unowned let owner: RemotePicture
  private let pipeline: ImagePipeline
  private var loader: RowLoader<Int>?
  /// What was asked for last.
  private var asked: ImageRequest?
  private var isWaitingForFrame = false

  init(for owner: RemotePicture, pipeline: ImagePipeline) {
    self.owner = owner
    self.pipeline = pipeline
    let widget = owner.widget
    loader = RowLoader(pipeline: pipeline) { [weak owner] _, picture in owner?.show(picture) }
    connect(widget, "map") { [weak self] in self?.update() }
    connect(widget, "unmap") { [weak self] in self?.leave() }
    connect(widget, "notify::scale-factor") { [weak self] in self?.update() }
  }

  /// Another picture is wanted.
  func requestChanged() {
    guard owner.request != nil else {
      asked = nil
      loader?.unbind(0)
      return owner.show(.placeholder)
    }
    update()
  }

  /// Whether a request is under way or has been answered.
  private func isAsked(_ request: ImageRequest) -> Bool {
    asked?.cacheKey == request.cacheKey && loader?.wasGivenUp(0) != true
  }

  /// The widget has another size.
  func sizeChanged() { update() }

  func retry() {
    owner.show(.placeholder)
    loader?.retry(0)
  }

  /// The request as it is sent: at the size that the widget has on its screen.
  private var effectiveRequest: ImageRequest? {
    guard let request = owner.request else { return nil }
    return request.targetSize != nil || owner.targetSize != nil ? owner.sized(request) : nil
  }

  /// Asks for what is wanted now: what is in memory is shown in this frame already, the rest is asked for a
  /// frame later, when it is known that the widget stays.
  private func update() {
    guard gtk_widget_get_mapped(owner.widget) != 0, let request = effectiveRequest else { return }
    guard !isAsked(request) else { return }
    if let image = pipeline.cachedImage(for: request) {
      ask(request)
      owner.show(.image(image, source: .memory))
      return
    }
    if asked?.url != request.url {
      loader?.unbind(0)
      asked = nil
      if owner.texture != nil || !owner.picture.isPlaceholder { owner.show(.placeholder) }
    }
    guard !isWaitingForFrame else { return }
    isWaitingForFrame = true
    onEachFrame(owner.widget) { [weak self] _ in
      self?.askNow()
      return false
    }
  }

  private func askNow() {
    isWaitingForFrame = false
    guard gtk_widget_get_mapped(owner.widget) != 0, let request = effectiveRequest,
      !isAsked(request)
    else { return }
    let picture = ask(request)
    owner.describe()
    // A smaller print of the same picture is better than a placeholder.
    if picture.bitmap != nil || owner.texture == nil { owner.show(picture) }
  }

  @discardableResult
  private func ask(_ request: ImageRequest) -> RowPicture {
    asked = request
    return loader?.bind(0, to: request) ?? .placeholder
  }

  /// Whether a picture is on its way.
  var isLoading: Bool { (loader?.loadingCount ?? 0) > 0 }

  /// The widget has left the screen: what has not come yet is not wanted now.
  private func leave() {
    isWaitingForFrame = false
    guard isLoading else { return }
    loader?.unbind(0)
    asked = nil
  }
}

extension RowPicture {
  var isPlaceholder: Bool { if case .placeholder = self { true } else { false } }
  var hasFailed: Bool { if case .failed = self { true } else { false } }
}
