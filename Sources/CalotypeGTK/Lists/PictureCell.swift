public import CGtk
public import Calotype
public import Foundation

/// What a row of a list shows: texts and a picture.
public struct PictureListItem: Sendable {
  /// The first line, and the row's name for a screen reader.
  public var title: String
  /// The second line; empty for none.
  public var subtitle: String
  /// The picture; `nil` for none. Where it has no target size, it is asked for at the size that rows show.
  public var request: ImageRequest?

  /// Creates an item from a request.
  public init(title: String, subtitle: String = "", request: ImageRequest?) {
    self.title = title
    self.subtitle = subtitle
    self.request = request
  }

  /// Creates an item from an address.
  public init(title: String, subtitle: String = "", url: URL?) {
    self.init(title: title, subtitle: subtitle, request: url.map { ImageRequest(url: $0) })
  }
}

/// The widgets of a row. A list makes as many as it needs and uses them again and again for other positions, as
/// `UITableView` does with its cells.
@MainActor
public protocol PictureCell: AnyObject {
  /// The whole row.
  var widget: UnsafeMutablePointer<GtkWidget> { get }
  /// Where the picture goes; one that was made with ``RemotePicture/init(inListWidth:height:)``, as the list says
  /// what it shows and when.
  var picture: RemotePicture { get }
  /// Shows an item's texts. The picture is the list's affair.
  func show(_ item: PictureListItem)
}

/// A row with a picture at its start and two lines beside it.
@MainActor
public final class PictureRow: PictureCell {
  /// The whole row.
  public let widget: UnsafeMutablePointer<GtkWidget>
  /// The picture at the row's start.
  public let picture: RemotePicture
  private let title: OpaquePointer
  private let subtitle: OpaquePointer

  /// Creates a row with a picture so many points wide and high.
  public init(pictureSize: Double) {
    picture = RemotePicture(inListWidth: pictureSize, height: pictureSize)
    widget = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12)
    title = Self.label()
    subtitle = Self.label()
    gtk_widget_add_css_class(subtitle.asWidget, "dim-label")
    gtk_widget_add_css_class(subtitle.asWidget, "caption")
    let texts = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2)!
    gtk_widget_set_valign(texts, GTK_ALIGN_CENTER)
    gtk_widget_set_hexpand(texts, 1)
    gtk_box_append(texts.cast(), title.asWidget)
    gtk_box_append(texts.cast(), subtitle.asWidget)
    gtk_widget_set_valign(picture.widget, GTK_ALIGN_CENTER)
    gtk_box_append(widget.cast(), picture.widget)
    gtk_box_append(widget.cast(), texts)
    for set in [gtk_widget_set_margin_top, gtk_widget_set_margin_bottom] { set(widget, 6) }
    for set in [gtk_widget_set_margin_start, gtk_widget_set_margin_end] { set(widget, 12) }
  }

  private static func label() -> OpaquePointer {
    let label = OpaquePointer(gtk_label_new(nil)!)
    gtk_label_set_xalign(label, 0)
    gtk_label_set_ellipsize(label, PANGO_ELLIPSIZE_END)
    gtk_label_set_single_line_mode(label, 1)
    return label
  }

  /// Shows an item's texts.
  public func show(_ item: PictureListItem) {
    gtk_label_set_text(title, Escaping.displaySafe(item.title))
    gtk_label_set_text(subtitle, Escaping.displaySafe(item.subtitle))
    // Rows are of one height, or the list could not know where a position is.
    gtk_widget_set_visible(subtitle.asWidget, item.subtitle.isEmpty ? 0 : 1)
  }
}

/// A picture with a name under it, for grids.
@MainActor
public final class PictureTile: PictureCell {
  /// The whole tile.
  public let widget: UnsafeMutablePointer<GtkWidget>
  /// The picture.
  public let picture: RemotePicture
  private let title: OpaquePointer

  /// Creates a tile with a picture so many points wide and high.
  public init(pictureSize: Double) {
    picture = RemotePicture(inListWidth: pictureSize, height: pictureSize)
    widget = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6)
    title = OpaquePointer(gtk_label_new(nil)!)
    gtk_label_set_ellipsize(title, PANGO_ELLIPSIZE_END)
    gtk_label_set_single_line_mode(title, 1)
    gtk_label_set_max_width_chars(title, 12)
    gtk_widget_set_halign(picture.widget, GTK_ALIGN_CENTER)
    gtk_box_append(widget.cast(), picture.widget)
    gtk_box_append(widget.cast(), title.asWidget)
    for set in [
      gtk_widget_set_margin_top, gtk_widget_set_margin_bottom, gtk_widget_set_margin_start,
      gtk_widget_set_margin_end,
    ] { set(widget, 8) }
  }

  /// Shows an item's title.
  public func show(_ item: PictureListItem) { gtk_label_set_text(title, Escaping.displaySafe(item.title)) }
}
