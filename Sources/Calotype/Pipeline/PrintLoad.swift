import Foundation

/// The shared work for one print: any number of tasks wait for it.
///
/// Everything that changes is touched only under the pipeline's lock, which is what makes it sound as
/// Sendable.
final class PrintLoad: @unchecked Sendable, OriginalWaiter {
  /// Names a load. Loads that may use what is stored are not shared with loads that may not.
  struct Key: Hashable {
    let print: ImageCacheKey
    let policy: ImageRequest.CachePolicy
    let freshness: FreshnessPolicy
  }

  /// The first task's request: all of a load's tasks ask for the same print.
  let requestBox: Box<ImageRequest>
  /// What counts as fresh for it.
  let freshness: FreshnessPolicy
  /// What any of the tasks wants stored.
  var storage: ImageRequest.StorageOptions
  var tasks = ShortList<ImageTask>()
  var priority: ImageRequest.Priority
  /// The work under way: a look in the disk cache, or a decode.
  var item: WorkQueue.Item?
  var original: OriginalLoad?
  /// Made when a decode begins.
  var cancellation: CancellationFlag?
  /// A print found on disk that may only be shown once the server has confirmed its original.
  var unconfirmed: Box<DataCacheEntry>?
  /// Whether it was delivered, has failed or was cancelled.
  var hasEnded = false

  init(_ request: Box<ImageRequest>, freshness: FreshnessPolicy, priority: ImageRequest.Priority) {
    requestBox = request
    self.freshness = freshness
    self.priority = priority
    storage = request.value.storage
  }

  @inline(__always)
  var request: ImageRequest { requestBox.value }

  @inline(__always)
  var key: Key {
    Key(print: requestBox.value.cacheKey, policy: requestBox.value.cachePolicy, freshness: freshness)
  }

  var printLoad: PrintLoad? { self }
}

/// What waits for an original: a print that is made from it, or a caller that wants its bytes.
protocol OriginalWaiter: AnyObject, Sendable {
  /// Touched only under the pipeline's lock.
  var priority: ImageRequest.Priority { get set }
  /// Touched only under the pipeline's lock.
  var original: OriginalLoad? { get set }
  /// The same, where it is a print.
  var printLoad: PrintLoad? { get }
}

/// A caller that wants an original's bytes.
///
/// What changes is touched only under the pipeline's lock.
final class DataLoad: @unchecked Sendable, OriginalWaiter {
  let request: ImageRequest
  var priority: ImageRequest.Priority
  var original: OriginalLoad?
  /// Told of the end, once.
  var completion: (@Sendable (Result<Original, ImagePipeline.Error>) -> Void)?
  var hasEnded = false
  let startTime = monotonicNanoseconds()
  var printLoad: PrintLoad? { nil }

  init(request: ImageRequest) {
    self.request = request
    priority = request.priority
  }
}
