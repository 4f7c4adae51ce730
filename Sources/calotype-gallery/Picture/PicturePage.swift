import CGtk
import Calotype
import CalotypeGTK
import Foundation

/// One of the list's pictures, full size, in the window.
@MainActor
final class PicturePage {
  let widget: Widget
  /// The row shown, by its place in what the list shows.
  private(set) var position: Int?
  private(set) var item: ImageListItem?
  private(set) var response: ImageResponse?

  /// Told when another picture is shown or this one has come.
  var onChange: (@MainActor () -> Void)?
  /// Told when Cancel was pressed.
  var onCancel: (@MainActor () -> Void)?

  let view = ZoomView()
  let details = PictureDetails()
  private let box: WaitingBox
  private let percent: Widget
  private let model: GalleryModel
  private let services: Services
  private let policy: @MainActor () -> ImageRequest.CachePolicy
  /// Counts the pictures, so that what comes late for an earlier one is not taken for this one's.
  private var number = 0
  private var lookingUpSize: Task<Void, Never>?

  init(model: GalleryModel, services: Services, policy: @escaping @MainActor () -> ImageRequest.CachePolicy) {
    self.model = model
    self.services = services
    self.policy = policy
    percent = label(classes: "numeric", x: 0.5)
    gtk_label_set_width_chars(percent.opaque, 7)
    let tools = row(
      0,
      iconButton("go-previous-symbolic", tr("Previous picture"), action: "win.previous", classes: "flat"),
      iconButton("zoom-out-symbolic", tr("Smaller"), action: "win.zoom-out", classes: "flat"),
      percent,
      iconButton("zoom-in-symbolic", tr("Larger"), action: "win.zoom-in", classes: "flat"),
      iconButton("zoom-fit-best-symbolic", tr("Fit to window"), action: "win.zoom-fit", classes: "flat"),
      iconButton("go-next-symbolic", tr("Next picture"), action: "win.next", classes: "flat")
    ).aligned(x: GTK_ALIGN_CENTER, y: GTK_ALIGN_END)
    gtk_widget_set_margin_bottom(tools, 18)
    tools.add(["osd", "tools"])
    box = WaitingBox(over: view.widget)
    box.widget.expanding(x: true, y: true)
    let overlay = gtk_overlay_new()!
    gtk_overlay_set_child(overlay.opaque, box.widget)
    gtk_overlay_add_overlay(overlay.opaque, tools)
    overlay.expanding(x: true, y: true)
    widget = row(0, overlay, details.widget)
    widget.add(["picture-page"])
    view.onChange = { [weak self] in self?.viewChanged() }
    box.onCancel = { [weak self] in
      if self?.item != nil { self?.onCancel?() }
    }
  }

  // MARK: Showing

  /// Shows the picture of a row.
  func open(_ position: Int) {
    guard let item = model.item(at: position) else { return }
    self.position = position
    self.item = item
    start(item)
  }

  /// Lets the picture go, and what is on its way.
  func close() {
    position = nil
    item = nil
    response = nil
    number += 1
    lookingUpSize?.cancel()
    box.cancel()
    view.clear()
  }

  /// Another row, by so many places.
  func move(by offset: Int) {
    guard let position, model.item(at: position + offset) != nil else { return }
    open(position + offset)
  }

  var hasPrevious: Bool { position.map { $0 > 0 } ?? false }
  var hasNext: Bool { position.map { $0 + 1 < model.count } ?? false }

  /// The same picture's row has moved: the list was sorted or searched, or has more rows.
  func rowsChanged() {
    guard let item else { return }
    if position.flatMap({ model.item(at: $0) })?.url != item.url { position = model.position(of: item.url) }
    onChange?()
  }

  private func start(_ item: ImageListItem) {
    lookingUpSize?.cancel()
    response = nil
    view.clear()
    setAccessible(view.widget.opaque, label: Escaping.displaySafe(item.title))
    details.show(item, nil, fileSize: nil)
    number += 1
    let (number, pipeline) = (number, services.pipeline)
    let request = ImageRequest(url: item.url, priority: .veryHigh, cachePolicy: policy())
    box.wait(tr("Loading the picture…")) { [weak self] in
      let task = pipeline.task(for: request)
      task.observe { event in
        switch event {
        case .preview(let response):
          DispatchQueue.main.async { MainActor.assumeIsolated { self?.show(preview: response, of: number) } }
        case .refreshed(let response):
          DispatchQueue.main.async { MainActor.assumeIsolated { self?.show(response, of: number) } }
        case .progress, .finished: break
        }
      }
      return task
    } completion: { [weak self] response in
      self?.show(response, of: number)
    }
    gtk_widget_grab_focus(view.widget)
    onChange?()
  }

  private func show(preview: ImageResponse, of number: Int) {
    guard number == self.number, response == nil else { return }
    view.show(preview.container, of: preview.container.originalSize, keepsPlace: false)
  }

  private func show(_ response: ImageResponse, of number: Int) {
    guard number == self.number else { return }
    let isRefreshed = self.response != nil
    self.response = response
    view.show(response.container, of: response.container.bitmap.size, keepsPlace: isRefreshed)
    showDetails()
    onChange?()
  }

  private func showDetails() {
    guard let item, let response else { return }
    details.show(item, response, fileSize: nil)
    guard response.metrics.originalByteCount == 0 else { return }
    // From memory it came without its file: the disk cache knows how large that was.
    let request = ImageRequest(url: item.url, cachePolicy: .onlyIfCached)
    let pipeline = services.pipeline
    lookingUpSize = Task { [weak self] in
      let size = try? await pipeline.data(for: request).data.count
      guard let self, !Task.isCancelled, let size, self.item?.url == item.url else { return }
      details.show(item, response, fileSize: size)
    }
  }

  private func viewChanged() {
    percent.text =
      response == nil ? "" : tr("{percent} %", ["percent": Int((view.factor * 100).rounded()).formatted()])
  }

  // MARK: Taking it along

  /// Puts the picture on the clipboard.
  func copy() -> Bool {
    guard response != nil, let texture = view.texturePointer else { return false }
    gdk_clipboard_set_texture(gtk_widget_get_clipboard(widget), texture)
    return true
  }

  /// A name to save the picture under.
  var fileName: String {
    guard let item else { return "" }
    let suffix: String
    switch response?.container.format {
    case .jpeg?: suffix = "jpg"
    case let format?: suffix = format.rawValue
    case nil: suffix = item.url.pathExtension.isEmpty ? "png" : item.url.pathExtension
    }
    return "\(Escaping.fileName(item.title)).\(suffix)"
  }

  /// Writes the picture's file as it came from the server.
  func save(to file: URL) async throws {
    guard let item else { return }
    let request = ImageRequest(url: item.url, priority: .veryHigh, cachePolicy: .forceCache)
    try await Self.save(try await services.pipeline.data(for: request).data, to: file)
  }

  @concurrent
  private static func save(_ data: Data, to file: URL) async throws {
    try data.write(to: file, options: .atomic)
  }
}
