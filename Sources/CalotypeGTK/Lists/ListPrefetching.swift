internal import Calotype

/// Fetches what comes next in the direction of scrolling.
@MainActor
final class ListPrefetching {
  private let prefetcher: ImagePrefetcher
  private var positions: [Int] = []
  private var requests: [ImageCacheKey: ImageRequest] = [:]

  init(pipeline: ImagePipeline) { prefetcher = ImagePrefetcher(pipeline: pipeline) }

  /// Whether other rows are wanted than before.
  func isNews(_ positions: [Int]) -> Bool { positions != self.positions }

  /// Wants the pictures of these rows, the nearest first, and no others any more.
  func update(_ positions: [Int], _ wanted: [ImageRequest] = []) {
    self.positions = positions
    var left = requests
    let new = wanted.filter { left.removeValue(forKey: $0.cacheKey) == nil && requests[$0.cacheKey] == nil }
    prefetcher.stop(with: Array(left.values))
    for key in left.keys { requests[key] = nil }
    for request in new { requests[request.cacheKey] = request }
    prefetcher.start(with: new)
  }
}
