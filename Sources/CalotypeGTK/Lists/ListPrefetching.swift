internal import Calotype

/// Fetches what comes next in the direction of scrolling.
@MainActor
final class ListPrefetching {
  private let pipeline: ImagePipeline
  private var positions: [Int] = []
  private var tasks: [ImageCacheKey: ImageTask] = [:]

  init(pipeline: ImagePipeline) { self.pipeline = pipeline }

  isolated deinit { for task in tasks.values { task.cancel() } }

  /// Whether other rows are wanted than before.
  func isNews(_ positions: [Int]) -> Bool { positions != self.positions }

  /// Wants the pictures of these rows, the nearest first, and no others any more.
  func update(_ positions: [Int], _ requests: [ImageRequest] = []) {
    self.positions = positions
    var kept: [ImageCacheKey: ImageTask] = [:]
    for var request in requests where kept[request.cacheKey] == nil {
      if let task = tasks.removeValue(forKey: request.cacheKey) {
        kept[request.cacheKey] = task
      } else if pipeline.cachedImage(for: request) == nil {
        request.priority = .veryLow
        kept[request.cacheKey] = pipeline.task(for: request)
      }
    }
    for task in tasks.values { task.cancel() }
    tasks = kept
  }
}
