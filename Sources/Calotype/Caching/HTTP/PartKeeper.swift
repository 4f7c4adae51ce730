import Dispatch
import Foundation

/// Keeps a body in the cache while it comes, piece by piece, so that little of it is lost when the process is
/// killed.
///
/// Each piece is an entry of its own, named by where it begins: it is published whole or not at all, nothing
/// that was written is written again, and the cache counts, ages and evicts pieces as it does everything.
/// The first has the response's metadata, the others only the tag by which they are told to be of the same
/// version.
final class PartKeeper: Sendable {
  private struct State {
    /// All bytes before this one are kept.
    var end: Int
    var keys: [String] = []
  }

  /// Pieces are written here, one after the other, off the transport's thread.
  static let queue = DispatchQueue(label: "calotype.parts", qos: .utility)

  private let cache: any DataCaching
  private let key: String
  private let metadata: DataCacheMetadata
  private let start: Int
  private let state: Lock<State>

  /// - Parameters:
  ///   - key: The part's key: that of its first piece.
  ///   - metadata: The part's metadata.
  ///   - start: How many bytes of the body are kept already.
  init(cache: any DataCaching, key: String, metadata: DataCacheMetadata, start: Int) {
    self.cache = cache
    self.key = key
    self.metadata = metadata
    self.start = start
    state = Lock(State(end: start))
  }

  /// Keeps bytes that follow those that are kept. Called on ``queue``.
  func keep(_ piece: Data) {
    let end = state.withLock { $0.end }
    let name = PartPieces.key(of: key, at: end)
    cache.store(
      DataCacheEntry(metadata: end == 0 ? metadata : PartPieces.metadata(of: metadata), body: piece),
      for: name
    )
    state.withLock { state in
      state.end += piece.count
      state.keys.append(name)
    }
  }

  /// Waits until what was begun is written. Returns the keys of the pieces.
  func wait() -> [String] {
    Self.queue.sync {}
    return state.withLock { $0.keys }
  }

  /// Keeps what is not kept yet of the bytes that came with this response.
  func finish(_ body: Data) -> [String] {
    Self.queue.sync {
      let kept = state.withLock { $0.end } - start
      if kept >= 0, kept < body.count { keep(body.subdata(in: body.startIndex + kept..<body.endIndex)) }
    }
    return state.withLock { $0.keys }
  }
}

/// Where the pieces of a part are filed.
enum PartPieces {
  static func key(of part: String, at offset: Int) -> String { offset == 0 ? part : "\(part)\n\(offset)" }

  /// What is kept with a piece that is not the first.
  static func metadata(of part: DataCacheMetadata) -> DataCacheMetadata {
    DataCacheMetadata(
      kind: .partial, url: part.url, status: part.status,
      headers: part.headers["ETag"].map { ["ETag": $0] } ?? [], requestTime: part.requestTime,
      responseTime: part.responseTime)
  }

  /// Reads a part with as many of its pieces as follow each other without a gap and are of one version.
  static func read(_ part: String, from cache: any DataCaching) -> (entry: DataCacheEntry, keys: [String])? {
    guard let first = cache.entry(for: part) else { return nil }
    var keys = [part]
    guard first.metadata.kind == .partial, first.metadata.status == 200,
      let tag = first.metadata.headers["ETag"], EntityTag(tag)?.isStrong == true
    else { return (first, keys) }
    var pieces: [Data] = []
    var length = first.body.count
    while true {
      let key = key(of: part, at: length)
      guard let piece = cache.entry(for: key), piece.metadata.kind == .partial, !piece.body.isEmpty,
        piece.metadata.headers["ETag"] == tag
      else { break }
      pieces.append(piece.body)
      keys.append(key)
      length += piece.body.count
    }
    guard !pieces.isEmpty else { return (first, keys) }
    var body = Data(capacity: length)
    body.append(first.body)
    for piece in pieces { body.append(piece) }
    return (DataCacheEntry(metadata: first.metadata, body: body), keys)
  }
}
