import CGtk
import Calotype
import CalotypeGTK
import Foundation

/// What is known of a picture, beside it.
@MainActor
final class PictureDetails {
  /// The panel, which slides in and out.
  let widget: Widget
  private let grid: Widget
  private var lines: Int32 = 0

  init() {
    widget = gtk_revealer_new()
    gtk_revealer_set_transition_type(widget.opaque, GTK_REVEALER_TRANSITION_TYPE_SLIDE_LEFT)
    grid = gtk_grid_new()
    gtk_grid_set_row_spacing(grid.cast(), 2)
    let heading = label(tr("Information"), classes: "heading")
    gtk_widget_set_margin_bottom(heading, 6)
    let content = column(6, heading, grid).margins(18)
    let scroller = gtk_scrolled_window_new()!
    gtk_scrolled_window_set_policy(scroller.opaque, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
    gtk_scrolled_window_set_child(scroller.opaque, content)
    gtk_widget_set_size_request(scroller, 280, -1)
    scroller.add(["details"])
    gtk_revealer_set_child(widget.opaque, scroller)
  }

  var isOpen: Bool {
    get { gtk_revealer_get_reveal_child(widget.opaque) != 0 }
    set { gtk_revealer_set_reveal_child(widget.opaque, newValue ? 1 : 0) }
  }

  /// Shows what is known of a row's picture: from the list alone while it has not come.
  func show(_ item: ImageListItem, _ response: ImageResponse?, fileSize: Int?) {
    clear()
    add(tr("Name"), item.title)
    if let subtitle = item.subtitle { add(tr("Details"), subtitle) }
    if let response { addPicture(response, fileSize: fileSize) }
    let address = item.url.absoluteString
    add(tr("Address"), Escaping.address(address.removingPercentEncoding ?? address))
    for field in item.fields.prefix(20) { add(field.name, field.value) }
    if let response { addTiming(response.metrics) }
  }

  private func addPicture(_ response: ImageResponse, fileSize: Int?) {
    let container = response.container
    if let format = container.format { add(tr("Format"), format.rawValue.uppercased()) }
    add(
      tr("Size"),
      tr(
        "{width} × {height} pixels",
        ["width": "\(container.originalSize.width)", "height": "\(container.originalSize.height)"]))
    if container.frameCount > 1 { add(tr("Frames"), "\(container.frameCount)") }
    let bytes = response.metrics.originalByteCount > 0 ? response.metrics.originalByteCount : fileSize ?? 0
    if bytes > 0 { add(tr("File size"), formatted(bytes: bytes)) }
    add(tr("In memory"), formatted(bytes: container.bitmap.byteCount))
    add(tr("Source"), Self.text(response.source))
    if let age = response.age { add(tr("Age"), Self.text(age: age)) }
    if response.isStale { add(tr("Freshness"), tr("Out of date: the server could not be asked")) }
  }

  private func addTiming(_ metrics: ImageTaskMetrics) {
    add(tr("Time taken"), Self.text(seconds: metrics.duration))
    for stage in metrics.stages where stage.end - stage.start >= 0.0005 {
      add(Self.text(stage.stage), Self.text(seconds: stage.end - stage.start))
    }
    if metrics.tries > 1 { add(tr("Tries"), "\(metrics.tries)") }
  }

  private func clear() {
    while let child = gtk_widget_get_first_child(grid) { gtk_grid_remove(grid.cast(), child) }
    lines = 0
  }

  private func add(_ name: String, _ value: String) {
    let caption = label(Escaping.displaySafe(name), classes: "caption", "dim-label")
    if lines > 0 { gtk_widget_set_margin_top(caption, 8) }
    // An address of a megabyte is no use to anybody.
    let text = label(Escaping.displaySafe(String(value.prefix(2000))), wraps: true)
    gtk_label_set_selectable(text.opaque, 1)
    gtk_label_set_max_width_chars(text.opaque, 28)
    // Selecting is for the mouse; with the keyboard's focus each would be a stop on the way.
    gtk_widget_set_focusable(text, 0)
    setAccessible(text.opaque, label: "\(name): \(text.text)")
    gtk_grid_attach(grid.cast(), caption, 0, lines, 1, 1)
    gtk_grid_attach(grid.cast(), text, 0, lines + 1, 1, 1)
    lines += 2
  }

  static func text(_ source: ImageResponse.Source) -> String {
    switch source {
    case .memory: tr("Memory cache")
    case .disk: tr("Disk cache")
    case .revalidated: tr("Disk cache, confirmed by the server")
    case .network: tr("Network")
    case .local: tr("This computer")
    case .placeholder, .fallback: tr("Stand-in")
    }
  }

  static func text(_ stage: ImageTaskMetrics.Stage) -> String {
    switch stage {
    case .queue: tr("Waiting for a turn")
    case .name: tr("Looking up the name")
    case .connect: tr("Connecting")
    case .secureConnect: tr("Securing the connection")
    case .firstByte: tr("Waiting for the server")
    case .lastByte: tr("Receiving")
    case .decode: tr("Decoding")
    case .process: tr("Processing")
    }
  }

  static func text(seconds: Double) -> String {
    seconds < 1
      ? tr(
        "{count} ms", ["count": max(0, seconds * 1000).formatted(.number.precision(.fractionLength(0...1)))])
      : tr("{count} s", ["count": seconds.formatted(.number.precision(.fractionLength(1...2)))])
  }

  static func text(age: Double) -> String {
    let seconds = Int(age.clampedToInt)
    switch seconds {
    case ..<60: return tr(one: "{count} second", many: "{count} seconds", max(0, seconds))
    case ..<3600: return tr(one: "{count} minute", many: "{count} minutes", seconds / 60)
    case ..<86400: return tr(one: "{count} hour", many: "{count} hours", seconds / 3600)
    default: return tr(one: "{count} day", many: "{count} days", seconds / 86400)
    }
  }
}

extension Double {
  /// A number of seconds that fits, whatever a server says.
  fileprivate var clampedToInt: Double { isFinite ? Swift.min(Swift.max(self, 0), 1e12) : 0 }
}
