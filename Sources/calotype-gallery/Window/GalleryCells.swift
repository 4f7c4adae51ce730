import CGtk
import Calotype
import CalotypeGTK

/// A row of the list: icon, title, second line.
@MainActor
final class GalleryRow: PictureCell {
  static let pictureSize = 48.0

  let widget: Widget
  let picture: RemotePicture
  private let title: Widget
  private let subtitle: Widget

  init(showsSource: Bool) {
    picture = RemotePicture(inListWidth: Self.pictureSize, height: Self.pictureSize)
    picture.shape = .rounded(10)
    picture.showsSource = showsSource
    picture.widget.aligned(y: GTK_ALIGN_CENTER)
    title = label(classes: "row-title")
    subtitle = label(classes: "row-subtitle", "dim-label")
    for text in [title, subtitle] { gtk_label_set_single_line_mode(text.opaque, 1) }
    let texts = column(1, title, subtitle).aligned(y: GTK_ALIGN_CENTER).expanding(x: true)
    widget = row(14, picture.widget, texts).margins(6, 12)
  }

  func show(_ item: PictureListItem) {
    title.text = Escaping.displaySafe(item.title)
    // A space keeps the row as high as the others: a list knows where its rows are by that.
    subtitle.text = item.subtitle.isEmpty ? " " : Escaping.displaySafe(item.subtitle)
  }
}

/// A tile of the grid: a larger icon with its title under it.
@MainActor
final class GalleryTile: PictureCell {
  static let pictureSize = 96.0

  let widget: Widget
  let picture: RemotePicture
  private let title: Widget

  init(showsSource: Bool) {
    picture = RemotePicture(inListWidth: Self.pictureSize, height: Self.pictureSize)
    picture.shape = .rounded(14)
    picture.showsSource = showsSource
    picture.widget.aligned(x: GTK_ALIGN_CENTER)
    title = label(classes: "tile-title", x: 0.5)
    gtk_label_set_single_line_mode(title.opaque, 1)
    gtk_label_set_width_chars(title.opaque, 12)
    gtk_label_set_max_width_chars(title.opaque, 12)
    widget = column(8, picture.widget, title).margins(10, 6)
  }

  func show(_ item: PictureListItem) { title.text = Escaping.displaySafe(item.title) }
}
