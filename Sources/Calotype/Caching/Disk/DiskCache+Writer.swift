import CXXHash
import Foundation

extension DiskCache {
  /// The key under which the start of a broken download is kept beside what the key itself has. No
  /// address has a space in it, so no other key is like it.
  public static func partialKey(for key: String) -> String { key + " {partial}" }

  /// Begins an entry whose body is written as it arrives, without holding it in memory.
  ///
  /// - Parameters:
  ///   - key: What the whole will be stored under; a part is kept under ``partialKey(for:)``.
  ///   - continuing: Whether to begin with the part that is kept for the key. The part is taken: it is no
  ///     longer in the cache, unless ``Writer/keep(_:)`` puts it back.
  /// - Returns: `nil` where the disk does not take it, or there is no whole part to continue.
  public func makeWriter(for key: String, continuing: Bool = false) -> Writer? {
    guard let folder = folders.current(creating: true) else { return nil }
    if !folder.isInPlace {
      folders.forget(folder)
      if continuing { return nil }
      return folders.current(creating: true).flatMap { newWriter(for: key, in: $0) }
    }
    return continuing ? continuedWriter(for: key, in: folder) : newWriter(for: key, in: folder)
  }

  private func newWriter(for key: String, in folder: CacheFolder) -> Writer? {
    guard let made = try? folder.makeTemporary(in: EntryName(key: key).shard) else { return nil }
    return Writer(cache: self, folder: folder, key: key, descriptor: made.descriptor, path: made.path)
  }

  private func continuedWriter(for key: String, in folder: CacheFolder) -> Writer? {
    let partial = EntryName(key: Self.partialKey(for: key))
    guard let opened = folder.open(partial) else { return nil }
    let writer = newWriter(for: key, in: folder)
    defer { close(opened) }
    guard let writer, let status = folder.status(ofEntry: opened),
      let head = EntryFile.readHead(opened, status), head.metadata.kind == .partial,
      !isEnded(head.metadata, stored: status.modified, now: clock()),
      writer.take(opened, head.header)
    else {
      writer?.discard()
      return nil
    }
    remove(Self.partialKey(for: key))
    return writer
  }

  /// An entry that is being written.
  ///
  /// Until ``commit(_:)`` or ``keep(_:)`` nobody sees it; a writer that is let go without either leaves
  /// nothing. Used from one thread at a time.
  public final class Writer: Sendable {
    private struct State {
      /// -1 once the entry is published or given up.
      var descriptor: Int32
      let hash = StreamingHash()
      var count = 0
      var hasFailed = false
    }

    private let cache: DiskCache
    private let folder: CacheFolder
    private let key: String
    private let path: String
    private let state: Lock<State>

    fileprivate init(cache: DiskCache, folder: CacheFolder, key: String, descriptor: Int32, path: String) {
      self.cache = cache
      self.folder = folder
      self.key = key
      self.path = path
      state = Lock(State(descriptor: descriptor))
    }

    deinit { discard() }

    /// Bytes of the body so far.
    public var count: Int { state.withLock { $0.count } }

    /// Adds bytes to the body. `false` once something could not be written: the entry is lost then, and the
    /// rest may be left out.
    @discardableResult
    public func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
      state.withLock { state in
        guard state.descriptor >= 0, !state.hasFailed else { return false }
        let offset = EntryFormat.headerLength + state.count
        guard offset + bytes.count < EntryFile.largest,
          (try? FileSystem.write(state.descriptor, bytes, at: offset)) != nil
        else {
          state.hasFailed = true
          return false
        }
        state.hash.update(bytes)
        state.count += bytes.count
        return true
      }
    }

    /// Adds bytes to the body; see ``append(_:)-(UnsafeRawBufferPointer)``.
    @discardableResult
    public func append(_ data: Data) -> Bool { data.withUnsafeBytes { append($0) } }

    /// Publishes the whole body under the key, in place of what the key had. `false` where that failed.
    @discardableResult
    public func commit(_ metadata: DataCacheMetadata) -> Bool { publish(metadata, as: key) }

    /// Keeps the body so far as the start of a broken download, under ``DiskCache/partialKey(for:)``, for
    /// ``DiskCache/makeWriter(for:continuing:)`` or ``DiskCache/entry(for:)`` to find. `false` where that
    /// failed.
    @discardableResult
    public func keep(_ metadata: DataCacheMetadata) -> Bool {
      var metadata = metadata
      metadata.kind = .partial
      return publish(metadata, as: DiskCache.partialKey(for: key))
    }

    /// Gives the entry up.
    public func discard() {
      guard let ended = end() else { return }
      close(ended.descriptor)
      folder.discard(path)
      folder.claim.unmark(EntryName(key: key).shard, count: 1)
    }

    /// Begins with the body of an entry, and checks it on the way.
    fileprivate func take(_ source: Int32, _ header: EntryFormat.Header) -> Bool {
      var buffer = [UInt8](repeating: 0, count: min(header.bodyLength, 1 << 18))
      var done = 0
      while done < header.bodyLength {
        let piece = min(buffer.count, header.bodyLength - done)
        let isWritten = buffer.withUnsafeMutableBytes { bytes -> Bool in
          let part = UnsafeMutableRawBufferPointer(rebasing: bytes[..<piece])
          let isWhole = try? FileSystem.read(source, into: part, at: EntryFormat.headerLength + done)
          return isWhole == true && append(UnsafeRawBufferPointer(part))
        }
        guard isWritten else { return false }
        done += piece
      }
      return state.withLock { $0.hash.value } == header.bodyHash
    }

    private func publish(_ metadata: DataCacheMetadata, as key: String) -> Bool {
      guard let ended = end() else { return false }
      let name = EntryName(key: key)
      let shard = EntryName(key: self.key).shard
      do throws(SystemError) {
        try finish(ended, metadata, key: key)
        // The file may go to another shard than the one it was begun in, and must be noted there too.
        if name.shard != shard { try folder.claim.mark(name.shard) }
        try folder.makeShardIfMissing(name.shard)
        try folder.publish(path, as: name)
      } catch {
        folder.discard(path)
        folder.claim.unmark(shard, count: 1)
        return false
      }
      if name.shard != shard { folder.claim.unmark(shard, count: 1) }
      cache.noteStored(metadata, bodyLength: ended.count, key: key, name: name, in: folder)
      return true
    }

    /// Puts the trailer behind the body and the header before it, and closes the file.
    private func finish(_ ended: Ended, _ metadata: DataCacheMetadata, key: String) throws(SystemError) {
      var isOpen = true
      defer { if isOpen { close(ended.descriptor) } }
      guard !ended.hasFailed else { throw SystemError(EIO) }
      let parts = try EntryFile.encode(metadata, key: key, bodyLength: ended.count, bodyHash: ended.hash)
      try FileSystem.write(
        ended.descriptor, parts.trailer, at: EntryFormat.headerLength + ended.count)
      try FileSystem.write(ended.descriptor, parts.header, at: 0)
      isOpen = false
      guard close(ended.descriptor) == 0 || errno == EINTR else { throw SystemError() }
    }

    private struct Ended {
      var descriptor: Int32
      var hash: UInt64
      var count: Int
      var hasFailed: Bool
    }

    /// Takes the file from the writer; `nil` where that was done before.
    private func end() -> Ended? {
      state.withLock { state in
        guard state.descriptor >= 0 else { return nil }
        let ended = Ended(
          descriptor: state.descriptor, hash: state.hash.value, count: state.count, hasFailed: state.hasFailed
        )
        state.descriptor = -1
        return ended
      }
    }
  }
}

/// XXH3-64 of bytes that come in pieces.
///
/// Sound as Sendable: its one owner touches it under a lock.
private final class StreamingHash: @unchecked Sendable {
  private let state = XXH3_createState()

  init() { if let state { XXH3_64bits_reset(state) } }
  deinit { XXH3_freeState(state) }

  func update(_ bytes: UnsafeRawBufferPointer) {
    if let state { XXH3_64bits_update(state, bytes.baseAddress, bytes.count) }
  }

  /// The hash so far. Without memory for the state it is 0, and the entry will not pass for whole.
  var value: UInt64 { state.map { XXH3_64bits_digest($0) } ?? 0 }
}
