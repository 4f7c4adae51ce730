internal import CGtk
internal import Calotype

/// A list's own knowledge of one of its cells.
@MainActor
final class ListCell {
  /// Tells it from the list's other cells.
  let number: Int
  let cell: any PictureCell
  /// The row that it shows; `nil` while it shows none.
  var position: Int?
  /// What its picture is asked for with.
  var request: ImageRequest?
  /// Whether the loader knows of it.
  var isAsked = false
  /// Whether it was asked for and goes on behind the others, being out of sight.
  var isLowered = false

  init(number: Int, cell: any PictureCell) {
    self.number = number
    self.cell = cell
  }

  func show(_ picture: RowPicture) {
    // A cell without a picture is told so again and again as it goes from row to row.
    if picture.isPlaceholder, cell.picture.picture.isPlaceholder { return }
    cell.picture.show(picture)
  }

  /// An item's request at the size that this cell shows.
  func request(for item: PictureListItem) -> ImageRequest? { item.request.map { cell.picture.sized($0) } }

  /// Whether any of it is seen. Mapped it may be for a moment without a place.
  func isOnScreen(of window: UnsafeMutablePointer<GtkWidget>, height: Float) -> Bool {
    guard gtk_widget_get_mapped(cell.widget) != 0 else { return false }
    var bounds = graphene_rect_t()
    guard gtk_widget_compute_bounds(cell.widget, window, &bounds) != 0, bounds.size.height > 0 else {
      return false
    }
    return bounds.origin.y < height && bounds.origin.y + bounds.size.height > 0
  }
}
