import Foundation

extension DiskCache {
  /// What a cache holds, by its index.
  public struct Info: Hashable, Sendable {
    /// The cache's folder.
    public var path: String
    /// Entries stored.
    public var count: Int
    /// Bytes that the entries take on disk, in whole blocks of 4 KB.
    public var bytes: Int
    /// Bytes that the index takes.
    public var indexBytes: Int
    /// Bytes that the cache may take.
    public var sizeLimit: Int
    /// Seconds after which an entry has ended, or `nil`.
    public var ageLimit: Double?
  }

  /// A stored entry, without its bytes.
  public struct EntryInfo: Hashable, Sendable {
    /// What it is stored under.
    public var key: String
    /// The address that was asked for.
    public var url: String
    /// What the bytes are.
    public var kind: DataCacheMetadata.Kind
    /// Bytes on disk, in whole blocks of 4 KB.
    public var bytes: Int
    /// When it was stored or its metadata were replaced, in seconds since 1970.
    public var stored: Double
    /// When it was used last, in seconds since 1970.
    public var lastUsed: Double
    /// When it ends whatever its headers say, in seconds since 1970, or `nil` for never.
    public var expires: Double?
  }

  /// What ``verify()`` found.
  public struct VerifyReport: Hashable, Sendable {
    /// Entries that were read and checked.
    public var entries = 0
    /// Their bytes on disk.
    public var bytes = 0
    /// Files that were no whole entries, by path below the cache's folder. They have been dropped, but for those in
    /// ``undropped``.
    public var damaged: [String] = []
    /// Those of ``damaged`` that could not be dropped, or not even be read.
    public var undropped: [String] = []
    /// Temporary files that killed writers had left behind. They have been deleted.
    public var leftovers = 0
    /// Entries that the index did not know, or not right. They have been entered.
    public var unindexed = 0
    /// Entries that the index had and the folder has not. They have been struck out.
    public var vanished = 0
    /// Why the index could not be made to agree with the files, or `nil` where it does.
    public var indexProblem: String?

    /// Whether every entry is whole, nothing was left behind, and the index agrees now. That it lagged behind the
    /// files, as it may while other processes write, is no fault.
    public var isClean: Bool { damaged.isEmpty && leftovers == 0 && indexProblem == nil }
  }

  /// What came of removing entries.
  public struct Removal: Hashable, Sendable {
    /// Entries that have gone.
    public var removed = 0
    /// Entries that were to go and could not be removed.
    public var remaining = 0
    /// Why, in the system's words, where some remain or could not even be looked for.
    public var reason: String?

    /// Creates a report of nothing.
    public init() {}

    mutating func note(_ error: SystemError?) {
      guard let error else { return removed += 1 }
      remaining += 1
      if reason == nil { reason = error.message }
    }
  }

  /// Waits until what was stored, used and removed so far is in the index and the size limit holds.
  public func flush() { index.flush() }

  /// What the cache holds.
  public var info: Info {
    index.perform { worker in
      var info = Info(
        path: path, count: 0, bytes: 0, indexBytes: 0, sizeLimit: configuration.sizeLimit ?? 0,
        ageLimit: configuration.ageLimit)
      guard let folder = folders.current(creating: false) else { return info }
      _ = worker.attemptOnWhole(in: folder) { connection throws(SQLiteError) in
        try connection.rows("SELECT count, bytes FROM totals") { row in
          info.count = Int(row.integer(0))
          info.bytes = Int(row.integer(1))
        }
        info.indexBytes = worker.indexBytes(folder)
        info.sizeLimit = worker.sizeLimit(folder, connection)
      }
      return info
    }
  }

  /// All entries that the index knows, in no order. They are fetched as they are asked for; entries stored
  /// meanwhile may be among them or not.
  public func entries() -> some Sequence<EntryInfo> {
    EntrySequence(cache: self)
  }

  /// Drops everything stored for an address, as ``remove(url:)`` does.
  public func removeAll(for url: URL) { remove(url: url) }

  /// Drops everything stored for an address: the original, its prints, its variants, what was kept of a
  /// broken download.
  @discardableResult
  public func remove(url: URL) -> Removal {
    let address = ImageRequest.normalizedAddress(url.absoluteString)
    return index.perform { worker in
      var removal = Removal()
      guard let folder = folders.current(creating: false) else { return removal }
      var names: [EntryName] = []
      let outcome = worker.attemptOnWhole(in: folder) { connection throws(SQLiteError) in
        names = []
        try connection.rows(
          "SELECT id, low, coalesce(url, key) FROM entries WHERE address = ?",
          [.integer(IndexWorker.addressHash(address))]
        ) { row in
          if let url = row.text(2), ImageRequest.normalizedAddress(url) == address {
            names.append(EntryName(row))
          }
        }
      }
      removal.reason = outcome.problem
      var gone: [EntryName] = []
      for name in names {
        let error = folder.delete(name)
        removal.note(error)
        if error == nil { gone.append(name) }
      }
      guard !gone.isEmpty else { return removal }
      // A row that stays where the index cannot be written is met again, and is then found to have no file.
      _ = worker.attempt(in: folder) { connection throws(SQLiteError) in
        try connection.transaction { () throws(SQLiteError) in
          for name in gone { try worker.delete(name, connection) }
        }
      }
      return removal
    }
  }

  /// Lets the least recently used entries go until the rest takes at most so many bytes on disk.
  @discardableResult
  public func trim(toSize bytes: Int) -> Removal {
    index.perform { worker in
      var removal = Removal()
      guard let folder = folders.current(creating: false) else { return removal }
      let outcome = worker.attemptOnWhole(in: folder) { connection throws(SQLiteError) in
        removal = Removal()
        removal = try worker.evict(toBytes: max(0, bytes), folder, connection)
      }
      if removal.reason == nil { removal.reason = outcome.problem }
      return removal
    }
  }

  /// Drops every entry, as ``removeAll()`` does, and says what came of it.
  @discardableResult
  public func clear() -> Removal {
    guard let folder = folders.current(creating: false) else { return Removal() }
    return index.discardingChanges { worker in
      var removal = Removal()
      for shard in 0..<256 {
        var names: [EntryName] = []
        folder.forEachName(inShard: shard) { bytes in
          if let name = EntryName(fileName: bytes), name.shard == shard { names.append(name) }
        }
        for name in names where folder.status(of: name) != nil { removal.note(folder.delete(name)) }
      }
      worker.startAnew(folder)
      return removal
    }
  }

  /// Reads and checks every entry, drops what is damaged, clears up after killed writers, and makes the
  /// index agree with the files.
  public func verify() -> VerifyReport {
    index.perform { worker in
      guard let folder = folders.current(creating: false) else { return VerifyReport() }
      return worker.verify(folder)
    }
  }
}

private struct EntrySequence: Sequence, IteratorProtocol {
  let cache: DiskCache
  private var page: ArraySlice<DiskCache.EntryInfo> = []
  private var last = Int64.min
  private var isAtEnd = false

  init(cache: DiskCache) { self.cache = cache }

  mutating func next() -> DiskCache.EntryInfo? {
    if page.isEmpty, !isAtEnd { fetch() }
    return page.popFirst()
  }

  private mutating func fetch() {
    var found: [DiskCache.EntryInfo] = []
    var last = last
    cache.index.perform { worker in
      guard let folder = cache.folders.current(creating: false) else { return }
      _ = worker.attemptOnWhole(in: folder) { connection throws(SQLiteError) in
        found = []
        try connection.rows(
          """
          SELECT id, key, coalesce(url, key), kind, size, stored, used, expires FROM entries
          WHERE id > ? ORDER BY id LIMIT 512
          """, [.integer(self.last)]
        ) { row in
          last = row.integer(0)
          found.append(
            DiskCache.EntryInfo(
              key: row.text(1) ?? "", url: row.text(2) ?? "",
              kind: UInt8(exactly: row.integer(3)).flatMap(DataCacheMetadata.Kind.init(rawValue:))
                ?? .original,
              bytes: Int(row.integer(4)), stored: Double(row.integer(5)) / 1e6,
              lastUsed: Double(row.integer(6)) / 1e6, expires: row.optionalInteger(7).map { Double($0) / 1e6 }
            ))
        }
      }
    }
    page = found[...]
    self.last = last
    isAtEnd = found.count < 512
  }
}
