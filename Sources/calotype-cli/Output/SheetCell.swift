import Calotype
import Foundation

/// One picture, or failure, of a contact sheet.
struct SheetCell: Sendable {
  var row: Int
  var name: String
  /// A second line: the size and the source, or what went wrong.
  var detail: String
  var isFailure: Bool
  /// The small picture.
  var thumbnail: Bitmap?
}

/// Takes the cells of a contact sheet as they come and lays them out in the list's order at the end.
protocol ContactSheet: AnyObject, Sendable {
  func add(_ cell: SheetCell) throws
  func finish(_ summary: String) throws
}

extension SheetCell {
  /// The largest side of a cell's picture, in pixels.
  static let pictureSize = 96
  /// The most cells of a sheet; a list may have a million rows.
  static let limit = 10_000

  /// A picture of a cell's size.
  static func thumbnail(_ bitmap: Bitmap) -> Bitmap? {
    let target = TargetSize(width: Double(pictureSize), height: Double(pictureSize))
    guard let geometry = target.resolve(for: bitmap.size) else { return nil }
    if geometry.size == bitmap.size { return bitmap }
    return try? bitmap.resampled(to: geometry.size)
  }
}
