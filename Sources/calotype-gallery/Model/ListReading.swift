import Calotype
import Foundation

/// A list that is being read, away from the main thread: its rows come in portions, each short enough for a frame.
///
/// Reading begins at once; whoever goes through ``portions`` later finds what has come by then.
final class ListReading: Sendable {
  /// Some of a list's rows.
  struct Portion: Sendable {
    var items: [ImageListItem] = []
    var problems: [ImageListProblem] = []
    var count: Int { items.count + problems.count }
  }

  let source: GallerySource
  /// The rows in order.
  let portions: AsyncStream<Portion>
  private let task: Task<Result<Int, ImageListError>, Never>

  /// Begins to read a list, or a page of one.
  ///
  /// - Parameter onFirst: Told of the first portion before anybody else, on the reading's thread.
  init(_ source: GallerySource, page: Int?, onFirst: (@Sendable (Portion) -> Void)? = nil) {
    self.source = source
    let (stream, continuation) = AsyncStream<Portion>.makeStream()
    portions = stream
    task = Task.detached(priority: .userInitiated) {
      defer { continuation.finish() }
      return await Self.read(source, page) { portion, isFirst in
        if isFirst { onFirst?(portion) }
        continuation.yield(portion)
      }
    }
  }

  deinit { task.cancel() }

  /// How many rows there were, once all have been read, or why there are no more.
  var result: Result<Int, ImageListError> { get async { await task.value } }

  private static func read(
    _ source: GallerySource, _ page: Int?, deliver: (Portion, _ isFirst: Bool) -> Void
  ) async -> Result<Int, ImageListError> {
    var portion = Portion(), count = 0, isFirst = true
    var last = ContinuousClock.now
    func flush() {
      guard portion.count > 0 else { return }
      deliver(portion, isFirst)
      isFirst = false
      portion = Portion()
      last = .now
    }
    do throws(ImageListError) {
      for try await row in source.list(page: page) {
        if Task.isCancelled { break }
        count += 1
        switch row {
        case .item(let item) where source.isRemote && item.url.isFileURL:
          // A stranger's list has no business with files of this computer.
          portion.problems.append(
            ImageListProblem(list: source.text, place: item.place, reason: "names a file of this computer"))
        case .item(let item): portion.items.append(item)
        case .problem(let problem): portion.problems.append(problem)
        }
        // A screenful at once; then as many at a time as the main thread takes in well under a millisecond.
        if portion.count >= (isFirst ? 24 : 512) || last.duration(to: .now) > .milliseconds(60) { flush() }
      }
      flush()
      return .success(count)
    } catch {
      flush()
      return .failure(error)
    }
  }
}
