import Calotype
import Foundation

/// The contact sheet as one picture.
final class PNGSheet: ContactSheet {
  private let path: String
  private let title: String
  private let cells = Lock<[SheetCell]>([])

  init(path: String, title: String) throws(Failure) {
    try ToolLibrary.cairo.load()
    self.path = path
    self.title = title
  }

  func add(_ cell: SheetCell) { cells.withLock { $0.append(cell) } }

  func finish(_ summary: String) throws {
    let cells = cells.withLock { $0.sorted { $0.row < $1.row } }
    let picture = try SheetDrawing(title: title, summary: summary, cells: cells).draw()
    let data = try ImageEncoder().encode(
      picture, options: ImageEncodingOptions(format: .png), cancellation: CancellationFlag())
    try OutputFolder.write(data, toPath: path)
  }
}
