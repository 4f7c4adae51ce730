import Foundation
import Synchronization

/// The shared work for one original: a look in the disk cache, then a download. Prints of one address
/// wait for the same one.
///
/// Everything that changes is touched only under the pipeline's lock, which is what makes it sound as
/// Sendable.
final class OriginalLoad: @unchecked Sendable {
  /// Names a load.
  struct Key: Hashable {
    let address: String
    let policy: ImageRequest.CachePolicy
  }

  enum Phase {
    /// Looking in the disk cache.
    case lookingUp
    /// Waiting for a free place among the downloads.
    case pending
    /// The delegate's hook runs, or the transfer does.
    case downloading
    /// The bytes are here; it stays for as long as prints are made from it and it is being stored.
    case finished(Original)
    /// It has failed or was cancelled.
    case ended
  }

  let key: Key
  let request: ImageRequest
  var waiters: [any OriginalWaiter] = []
  var priority: ImageRequest.Priority
  var phase = Phase.lookingUp
  var item: WorkQueue.Item?
  var download: OriginalDownload?
  /// Runs the delegate's hook.
  var hook: Task<Void, Never>?

  init(key: Key, request: ImageRequest, priority: ImageRequest.Priority) {
    self.key = key
    self.request = request
    self.priority = priority
  }
}

/// An original's bytes and where they came from.
final class Original: Sendable {
  let data: Data
  let metadata: DataCacheMetadata
  let source: ImageResponse.Source
  let tries: Int
  let transfer: HTTPTransferMetrics?
  private let isStored: Atomic<Bool>

  init(
    data: Data, metadata: DataCacheMetadata, source: ImageResponse.Source, tries: Int = 0,
    transfer: HTTPTransferMetrics? = nil
  ) {
    self.data = data
    self.metadata = metadata
    self.source = source
    self.tries = tries
    self.transfer = transfer
    isStored = Atomic(source != .network)
  }

  /// Whether the caller is the one to store it: true once, and never for what came from the disk cache.
  func claimStoring() -> Bool { !isStored.exchange(true, ordering: .relaxed) }
}
