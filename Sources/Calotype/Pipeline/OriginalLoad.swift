import Foundation
import Synchronization

/// The shared work for one original: a look in the disk cache, then asking the server. Prints of one address
/// wait for the same one.
///
/// Everything that changes is touched only under the pipeline's lock, but for the exchange, which one step
/// after the other works on; that makes it sound as Sendable.
final class OriginalLoad: @unchecked Sendable {
  /// Names a load. Loads that use the caches otherwise are not shared.
  struct Key: Hashable {
    let address: String
    let policy: ImageRequest.CachePolicy
    let freshness: FreshnessPolicy
  }

  enum Phase {
    /// Looking in the disk cache, or at an answer.
    case working
    /// Waiting for a free place among the downloads.
    case pending
    /// The delegate's hook runs, or the transfer does.
    case downloading
    /// Waiting to try again.
    case backingOff
    /// The bytes are here; it stays for as long as prints are made from it and it is being stored.
    case done
    /// It has failed or was cancelled.
    case ended
  }

  let requestBox: Box<ImageRequest>
  /// What counts as fresh for it.
  let freshness: FreshnessPolicy
  /// The hash of its address, by which the pipeline finds it.
  let addressHash: Int
  let exchange: CachedExchange
  var waiters = ShortList<any OriginalWaiter>()
  var priority: ImageRequest.Priority
  var phase = Phase.working
  /// The bytes, once they are here; the server may still be asked behind them.
  var answer: Original?
  var item: WorkQueue.Item?
  /// The headers of the request that waits for a place or is under way; all else is the exchange's.
  var askingHeaders: HTTPHeaders?
  /// Its place among the downloads that wait or run.
  var slot: TransferScheduler<OriginalLoad>.Slot?
  var download: OriginalDownload?
  /// Runs the delegate's hook.
  var hook: Task<Void, Never>?
  /// How many requests were sent, those of redirects and of challenges too.
  var tries = 0
  /// How often it was begun again because it failed.
  var failures = 0
  var transfer: Box<HTTPTransferMetrics>?
  /// When its stages were.
  var timing = Timing()
  /// Whether the delegate was asked for credentials.
  var wasChallenged = false
  /// Whether the server is asked behind an answer that was given already.
  var isRevalidating = false
  /// The prints that were made from a stale original and are made again if it has changed.
  var followers: [Follower] = []

  /// Moments on the monotonic clock, in nanoseconds; 0 for those that have not been.
  struct Timing: Sendable {
    /// It began to wait for a place among the downloads.
    var enqueued: UInt64 = 0
    /// The last request was handed to the transport.
    var sent: UInt64 = 0
    /// The last response was whole.
    var ended: UInt64 = 0
    /// Bytes that travelled, of all transfers.
    var wireByteCount = 0
  }

  /// A print that was delivered from a stale original.
  struct Follower {
    var load: PrintLoad
    var tasks: ShortList<ImageTask>
  }

  init(
    _ request: Box<ImageRequest>, freshness: FreshnessPolicy, addressHash: Int, exchange: CachedExchange,
    priority: ImageRequest.Priority
  ) {
    requestBox = request
    self.freshness = freshness
    self.addressHash = addressHash
    self.exchange = exchange
    self.priority = priority
  }

  @inline(__always)
  var request: ImageRequest { requestBox.value }

  @inline(__always)
  var key: Key {
    Key(
      address: requestBox.value.cacheKey.address, policy: requestBox.value.cachePolicy, freshness: freshness)
  }

  /// The server that it comes from, with its port: downloads from one server share that server's places.
  var host: String {
    // The program's own closures have nothing to do with each other.
    if case .closure = request.localSource { return key.address }
    return ImageRequest.host(ofAddress: key.address)
  }
}

/// An original's bytes and where they came from.
final class Original: Sendable {
  let outcome: CachedExchange.Outcome
  let tries: Int
  private let transferBox: Box<HTTPTransferMetrics>?
  var transfer: HTTPTransferMetrics? { transferBox?.value }
  let timing: OriginalLoad.Timing
  private let isStored = Atomic<Bool>(false)

  init(
    _ outcome: CachedExchange.Outcome, tries: Int, transfer: Box<HTTPTransferMetrics>?,
    timing: OriginalLoad.Timing = .init()
  ) {
    self.outcome = outcome
    self.tries = tries
    transferBox = transfer
    self.timing = timing
  }

  var data: Data { outcome.body }
  var metadata: DataCacheMetadata { outcome.metadata }
  var source: ImageResponse.Source { outcome.source }

  /// What the caller is to store: given once, and never for what came from the disk cache.
  func claimStoring() -> CachedExchange.Storable? {
    guard let storable = outcome.storable, !isStored.exchange(true, ordering: .relaxed) else { return nil }
    return storable
  }

  /// Whether another response's metadata are of the same version: they have the same validators, or came
  /// with this one.
  func isSameVersion(as other: DataCacheMetadata) -> Bool {
    let mine = metadata.headers
    let theirs = other.headers
    if metadata.responseTime == other.responseTime, metadata.url == other.url { return true }
    guard mine["ETag"] == theirs["ETag"], mine["Last-Modified"] == theirs["Last-Modified"] else {
      return false
    }
    return mine["ETag"] != nil || mine["Last-Modified"] != nil
  }
}
