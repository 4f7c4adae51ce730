/// Reads one format of list, a row at a time. It holds no more of the list than a row.
///
/// A reader is used by one caller at a time.
public protocol ImageListReading: AnyObject {
  /// The next row, or `nil` at the end.
  ///
  /// - Throws: ``ImageListError`` where the list cannot be read further. What is wrong with one row alone is
  ///   given as ``ImageListRecord/unreadable(_:at:)``.
  func next() throws(ImageListError) -> ImageListRecord?

  /// Whether the next row can be had without waiting for input, as far as is known.
  var isReady: Bool { get }
}

/// A row as a reader finds it, before its fields are given a meaning.
public enum ImageListRecord: Hashable, Sendable {
  /// Fields in the row's order, and the row's place.
  case fields([ImageListItem.Field], at: ImageListPlace)
  /// What is wrong with the row, and its place.
  case unreadable(String, at: ImageListPlace)

  /// Bytes of its names and values.
  var length: Int {
    guard case .fields(let fields, _) = self else { return 0 }
    return fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
  }
}
