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
    /// Files that were no whole entries, by path below the cache's folder. They have been dropped.
    public var damaged: [String] = []
    /// Temporary files that killed writers had left behind. They have been deleted.
    public var leftovers = 0
    /// Entries that the index did not know, or not right. They have been entered.
    public var unindexed = 0
    /// Entries that the index had and the folder has not. They have been struck out.
    public var vanished = 0

    /// Whether every entry is whole and nothing was left behind. That the index lagged behind the files, as
    /// it may while other processes write, is no fault.
    public var isClean: Bool { damaged.isEmpty && leftovers == 0 }
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
      _ = worker.attempt(in: folder) { connection throws(SQLiteError) in
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

  /// Drops everything stored for an address: the original, its prints, its variants, what was kept of a
  /// broken download. Returns how many entries that were.
  @discardableResult
  public func remove(url: URL) -> Int {
    let address = ImageRequest.normalizedAddress(url.absoluteString)
    return index.perform { worker in
      guard let folder = folders.current(creating: false) else { return 0 }
      var names: [EntryName] = []
      _ = worker.attempt(in: folder) { connection throws(SQLiteError) in
        names = []
        try connection.rows(
          "SELECT id, low, coalesce(url, key) FROM entries WHERE address = ?",
          [.integer(IndexWorker.addressHash(address))]
        ) { row in
          if let url = row.text(2), ImageRequest.normalizedAddress(url) == address {
            names.append(EntryName(row))
          }
        }
        for name in names { folder.delete(name) }
        try connection.transaction { () throws(SQLiteError) in
          for name in names { try worker.delete(name, connection) }
        }
      }
      return names.count
    }
  }

  /// Lets the least recently used entries go until the rest takes at most so many bytes on disk.
  public func trim(toSize bytes: Int) {
    index.perform { worker in
      guard let folder = folders.current(creating: false) else { return }
      _ = worker.attempt(in: folder) { connection throws(SQLiteError) in
        try worker.evict(toBytes: max(0, bytes), folder, connection)
      }
    }
  }

  /// Reads and checks every entry, drops what is damaged, clears up after killed writers, and makes the
  /// index agree with the files.
  public func verify() -> VerifyReport {
    index.perform { worker in
      var report = VerifyReport()
      guard let folder = folders.current(creating: false) else { return report }
      _ = worker.attempt(in: folder) { connection throws(SQLiteError) in
        report = VerifyReport()
        worker.recover(folder, connection)
        for shard in 0..<256 { try worker.verify(shard, folder, connection, &report) }
      }
      return report
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
      _ = worker.attempt(in: folder) { connection throws(SQLiteError) in
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
