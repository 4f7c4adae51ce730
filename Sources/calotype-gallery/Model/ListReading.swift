import Calotype
import Foundation

/// Reads a list away from the main thread and hands its rows over in portions, each short enough for a frame.
enum ListReading {
  /// Some of a list's rows.
  struct Portion: Sendable {
    var items: [ImageListItem] = []
    var problems: [ImageListProblem] = []
    var isEmpty: Bool { items.isEmpty && problems.isEmpty }
  }

  /// Goes through a list to its end. Returns how many rows it had.
  ///
  /// - Parameter deliver: Is given the rows in order.
  @concurrent
  static func read(
    _ source: GallerySource, page: Int?, deliver: @escaping @Sendable (Portion) async -> Void
  ) async throws(ImageListError) -> Int {
    var portion = Portion(), count = 0
    var last = ContinuousClock.now
    // The first rows at once, the others as many at a time as the main thread takes in well under a millisecond.
    var size = 32
    for try await row in source.list(page: page) {
      if Task.isCancelled { return count }
      count += 1
      switch row {
      case .item(let item) where source.isRemote && item.url.isFileURL:
        // A stranger's list has no business with files of this computer.
        portion.problems.append(
          ImageListProblem(list: source.text, place: item.place, reason: "names a file of this computer"))
      case .item(let item): portion.items.append(item)
      case .problem(let problem): portion.problems.append(problem)
      }
      if portion.items.count + portion.problems.count >= size || last.duration(to: .now) > .milliseconds(60) {
        await deliver(portion)
        portion = Portion()
        last = .now
        size = 512
      }
    }
    if !portion.isEmpty { await deliver(portion) }
    return count
  }
}
