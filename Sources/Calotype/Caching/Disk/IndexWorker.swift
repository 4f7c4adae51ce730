import CSQLite
import CXXHash

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The index's database and what is done with it.
///
/// Sound as Sendable: everything but the constants is touched only on ``DiskIndex``'s serial queue.
final class IndexWorker: @unchecked Sendable {
  enum Outcome {
    case written, busy
    case failed(SQLiteError?)

    /// Why it is not in the index, or `nil` where it is.
    var problem: String? {
      switch self {
      case .written: nil
      case .busy: "others hold the index for too long"
      case .failed(let error): error?.message ?? "the index cannot be used"
      }
    }
  }

  static let fileName = "index.sqlite"

  let folders: FolderHolder
  let configuration: DiskCache.Configuration
  let clock: @Sendable () -> Double

  private var connection: SQLiteConnection?
  private var connectionFolder: CacheFolder?
  private var connectionInode: ino_t = 0
  /// The folder whose database was opened before, be it open now or not.
  private weak var lastFolder: CacheFolder?
  /// The shard that a rebuild looks at next; 256 when there is none under way.
  private var rebuildShard = 256
  private var lastRecovery = -Double.infinity
  private var computedLimit: Int?

  init(folders: FolderHolder, configuration: DiskCache.Configuration, clock: @escaping @Sendable () -> Double)
  {
    self.folders = folders
    self.configuration = configuration
    self.clock = clock
  }

  // MARK: Batches

  /// Writes changes and lets entries go that are over the limits.
  ///
  /// - Parameter willStore: Whether an entry has been stored since the changes were taken.
  func write(_ changes: [EntryName: IndexChanges.Change], willStore: (EntryName) -> Bool) -> Outcome {
    let stores = changes.values.contains { if case .stored = $0 { true } else { false } }
    if changes.isEmpty, connection == nil { return .written }
    guard let folder = folders.current(creating: stores) else { return .failed(nil) }
    if !folder.isInPlace {
      close()
      folders.forget(folder)
      // The files went with the folder. What has been stored since is in a new folder and comes again.
      return .written
    }
    return attempt(in: folder) { connection throws(SQLiteError) in
      recoverIfDue(folder, connection)
      try connection.transaction { () throws(SQLiteError) in
        for (name, change) in changes { try apply(change, to: name, folder, connection) }
        try dropExpired(folder, connection)
      }
      try evict(toBytes: entriesLimit(folder, connection), folder, connection, willStore: willStore)
    }
  }

  /// Does something with the database, which is opened first, and made anew where it is damaged.
  func attempt(
    in folder: CacheFolder, _ body: (SQLiteConnection) throws(SQLiteError) -> Void
  ) -> Outcome {
    var last: SQLiteError?
    for _ in 0..<2 {
      do throws(SQLiteError) {
        let connection = try openConnection(folder)
        try body(connection)
        return .written
      } catch {
        if error.isDamage {
          last = error
          reset(folder)
          continue
        }
        if error.isBusy { return .busy }
        close()
        return .failed(error)
      }
    }
    return .failed(last)
  }

  /// Whether a failure is one of a disk that is full.
  func isForWantOfRoom(_ outcome: Outcome) -> Bool {
    guard case .failed(let error?) = outcome, let folder = folders.current(creating: false) else {
      return false
    }
    return error.isFull || error.mayBeFull && folder.isFull
  }

  /// Takes files away again that the index has no room for: entries that it does not know would never go.
  func giveUp(_ names: some Sequence<EntryName>) {
    guard let folder = folders.current(creating: false) else { return }
    for name in names { folder.delete(name) }
  }

  /// Clears up after killed writers, where the index can be used.
  func catchUp() {
    guard let folder = folders.current(creating: false), WriterClaim.hasDead(in: folder.descriptor) else {
      return
    }
    _ = attempt(in: folder) { connection throws(SQLiteError) in recover(folder, connection) }
  }

  private func apply(
    _ change: IndexChanges.Change, to name: EntryName, _ folder: CacheFolder, _ connection: SQLiteConnection
  ) throws(SQLiteError) {
    switch change {
    case .removed:
      // Another process may have stored it again.
      if folder.status(of: name) == nil { try delete(name, connection) }
    case .stored(var row, _, _):
      guard let status = folder.status(of: name) else { return try delete(name, connection) }
      row.size = status.sizeOnDisk
      row.stored = DiskIndex.microseconds(status.modified)
      try upsert(row, connection)
    case .used(let time):
      try connection.run(
        "UPDATE entries SET used = max(used, ?2) WHERE id = ?1", .integer(name.id), .integer(time))
      if connection.changes == 0, var row = describe(name, in: folder) {
        row.used = time
        try upsert(row, connection)
      }
    }
  }

  func upsert(_ row: IndexRow, _ connection: SQLiteConnection) throws(SQLiteError) {
    try connection.run(
      """
      INSERT INTO entries (id, low, size, used, expires, stored, kind, address, key, url)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
      ON CONFLICT (id) DO UPDATE SET low = ?2, size = ?3, used = max(used, ?4), expires = ?5, stored = ?6,
      kind = ?7, address = ?8, key = ?9, url = ?10
      """,
      .integer(row.name.id), .integer(Int64(bitPattern: row.name.low)), .integer(Int64(row.size)),
      .integer(row.used), .optional(row.expires), .integer(row.stored), .integer(Int64(row.kind.rawValue)),
      .integer(Self.addressHash(row.url)), .text(row.key), .optional(row.url == row.key ? nil : row.url))
  }

  func delete(_ name: EntryName, _ connection: SQLiteConnection) throws(SQLiteError) {
    try connection.run("DELETE FROM entries WHERE id = ?", .integer(name.id))
  }

  // MARK: Letting go

  /// Lets the least recently used entries go until the rest takes at most so many bytes.
  @discardableResult
  func evict(
    toBytes limit: Int, _ folder: CacheFolder, _ connection: SQLiteConnection,
    willStore: (EntryName) -> Bool = { _ in false }
  ) throws(SQLiteError) -> DiskCache.Removal {
    var removal = DiskCache.Removal()
    var stuck: Set<EntryName> = []
    var isOver = true
    // Some at a time, so that other processes get their turn.
    while isOver {
      try connection.transaction { () throws(SQLiteError) in
        var bytes = Int(try connection.integer("SELECT bytes FROM totals") ?? 0)
        isOver = bytes > limit
        guard isOver else { return }
        var victims: [(name: EntryName, size: Int, stored: Int64)] = []
        try connection.rows("SELECT id, low, size, stored FROM entries ORDER BY used LIMIT 512") { row in
          victims.append((EntryName(row), Int(row.integer(2)), row.integer(3)))
        }
        var goesOn = false
        for victim in victims where bytes > limit {
          var dropped = Dropped.kept
          if !willStore(victim.name) {
            dropped = try drop(victim.name, stored: victim.stored, folder, connection)
          }
          switch dropped {
          case .gone:
            bytes -= victim.size
            removal.note(nil)
            goesOn = true
          case .kept:
            // Stored anew since the index last heard of it: it is not the oldest.
            try connection.run(
              "UPDATE entries SET used = ?2 WHERE id = ?1", .integer(victim.name.id),
              .integer(DiskIndex.microseconds(clock())))
            goesOn = true
          case .stuck(let error): if stuck.insert(victim.name).inserted { removal.note(error) }
          }
        }
        // Where none of them can be removed, neither can the others.
        isOver = bytes > limit && goesOn
      }
    }
    return removal
  }

  /// What came of dropping an entry.
  private enum Dropped {
    case gone
    /// It has been stored anew.
    case kept
    /// Its file cannot be removed.
    case stuck(SystemError)
  }

  private func dropExpired(_ folder: CacheFolder, _ connection: SQLiteConnection) throws(SQLiteError) {
    var ended: [(name: EntryName, stored: Int64)] = []
    try connection.rows(
      "SELECT id, low, stored FROM entries WHERE expires <= ? LIMIT 256",
      [.integer(DiskIndex.microseconds(clock()))]
    ) { row in ended.append((EntryName(row), row.integer(2))) }
    for entry in ended { try drop(entry.name, stored: entry.stored, folder, connection) }
  }

  /// Deletes an entry's file and row, unless the file is newer than the row: then the row is mended.
  @discardableResult
  private func drop(
    _ name: EntryName, stored: Int64, _ folder: CacheFolder, _ connection: SQLiteConnection
  ) throws(SQLiteError) -> Dropped {
    if let status = folder.status(of: name) {
      if DiskIndex.microseconds(status.modified) != stored, var row = describe(name, in: folder) {
        row.used = DiskIndex.microseconds(clock())
        try upsert(row, connection)
        return .kept
      }
      // The file goes first: were the process killed in between, a row without a file is met again here,
      // but a file without a row would stay.
      if let error = folder.delete(name) { return .stuck(error) }
    }
    try delete(name, connection)
    return .gone
  }

  /// The bytes that entries may take: the limit without what the index itself takes.
  func entriesLimit(_ folder: CacheFolder, _ connection: SQLiteConnection) -> Int {
    let limit = sizeLimit(folder, connection)
    return max(limit / 2, limit - indexBytes(folder))
  }

  func indexBytes(_ folder: CacheFolder) -> Int {
    ["", "-wal", "-shm"].reduce(0) { sum, suffix in
      sum + ((try? FileSystem.status(folder.descriptor, Self.fileName + suffix))?.sizeOnDisk ?? 0)
    }
  }

  /// The configured limit, or 2 % of what is free and the cache's own, between 64 MB and 1 GB.
  func sizeLimit(_ folder: CacheFolder, _ connection: SQLiteConnection?) -> Int {
    if let limit = configuration.sizeLimit { return limit }
    if let computedLimit { return computedLimit }
    let own = (try? connection?.integer("SELECT bytes FROM totals")).flatMap { $0 }.map(Int.init) ?? 0
    var space = statvfs()
    var free = 0
    if fstatvfs(folder.descriptor, &space) == 0 {
      free = Int(clamping: space.f_bavail).multipliedClamped(by: Int(clamping: space.f_frsize))
    }
    let limit = min(1 << 30, max(64 << 20, free.addingClamped(own) / 50))
    computedLimit = limit
    return limit
  }

  // MARK: The database

  private func openConnection(_ folder: CacheFolder) throws(SQLiteError) -> SQLiteConnection {
    if let connection, connectionFolder === folder,
      (try? FileSystem.status(folder.descriptor, Self.fileName))?.st_ino == connectionInode
    {
      return connection
    }
    close()
    // Held against a process that finds the database damaged and takes it away.
    guard lock(folder) else { throw SQLiteError(code: 5, message: "the cache folder is locked") }
    defer { flock(folder.descriptor, LOCK_UN) }
    for suffix in ["", "-wal", "-shm"] {
      guard let status = try? FileSystem.status(folder.descriptor, Self.fileName + suffix) else { continue }
      if !folder.isOwnFile(status) { unlinkat(folder.descriptor, Self.fileName + suffix, 0) }
    }
    let (opened, inode) = try openDatabase(in: folder)
    // Whatever is found in it from here on is said of this file.
    connectionInode = inode
    try prepare(opened, isNewFolder: folder.isNew && lastFolder !== folder)
    for suffix in ["", "-wal", "-shm"] {
      _ = fchmodat(folder.descriptor, Self.fileName + suffix, 0o600, 0)
    }
    connection = opened
    connectionFolder = folder
    lastFolder = folder
    rebuildShard = Int(try opened.integer("SELECT value FROM state WHERE name = 'rebuild'") ?? 256)
    return opened
  }

  /// Opens the database, which is made where it is missing.
  ///
  /// SQLite opens by the path, and who owns a folder above may lay another one there: so the file is made by the
  /// folder's descriptor, SQLite makes none, and what it has opened must be what lies in the folder.
  private func openDatabase(
    in folder: CacheFolder
  ) throws(SQLiteError) -> (connection: SQLiteConnection, inode: ino_t) {
    // One that is there is not opened here: closing it would end the locks that another connection of this process
    // has on it (fcntl(2), "Record locking"), and others could take the log away under that.
    let file = openat(
      folder.descriptor, Self.fileName, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    if file >= 0 {
      closeFile(file)
    } else if errno != EEXIST {
      let error = SystemError()
      let code = error.code == ENOSPC || error.code == EDQUOT ? SQLITE_FULL : SQLITE_CANTOPEN
      throw SQLiteError(code: code, message: "the index cannot be opened: \(error.message)")
    }
    let real = realpath(folder.path, nil)
    defer { free(real) }
    guard let real else { throw Self.movedAway }
    let path = String(cString: real) + "/" + Self.fileName
    let opened = try SQLiteConnection(path: path, busyTimeout: 5000)
    guard let own = try? FileSystem.status(folder.descriptor, Self.fileName),
      let there = try? FileSystem.status(AT_FDCWD, path), own.st_ino == there.st_ino,
      own.st_dev == there.st_dev
    else { throw Self.movedAway }
    return (opened, own.st_ino)
  }

  private static let movedAway = SQLiteError(
    code: SQLITE_CANTOPEN, message: "the cache folder has been moved away")

  private func lock(_ folder: CacheFolder) -> Bool {
    for _ in 0..<400 {
      if flock(folder.descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
      usleep(5000)
    }
    return false
  }

  private func prepare(_ connection: SQLiteConnection, isNewFolder: Bool) throws(SQLiteError) {
    connection.keepLogOnClose()
    try connection.execute(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;
      PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;
      PRAGMA wal_autocheckpoint = \(checkpointPages); PRAGMA journal_size_limit = \(checkpointPages * 4096);
      """)
    let isMade = try connection.integer("PRAGMA user_version") == 1
    try IndexSchema.check(connection, isMade: isMade)
    // Nothing is forced to the disk, so a power cut may lose part of the index: after each start of the
    // machine it is compared with the files once, in the background.
    let boot = Self.boot
    if isMade, try connection.integer("SELECT value FROM state WHERE name = 'boot'") == boot { return }
    try connection.transaction { () throws(SQLiteError) in
      if try connection.integer("PRAGMA user_version") != 1 { try IndexSchema.make(connection) }
      if try connection.integer("SELECT value FROM state WHERE name = 'boot'") == boot { return }
      try connection.run(
        "INSERT OR REPLACE INTO state VALUES ('rebuild', ?1), ('boot', ?2)",
        .integer(isNewFolder && !isMade ? 256 : 0), .integer(boot))
    }
  }

  /// A number that is another one after each start of the machine.
  private static let boot: Int64 = {
    guard let text = FileSystem.smallFile("/proc/sys/kernel/random/boot_id") else { return 0 }
    let bytes = Array(text.utf8)
    return bytes.withUnsafeBytes { Int64(bitPattern: EntryFormat.hash($0)) }
  }()

  /// The log's length, in pages, at which it goes into the database: shorter for a cache that is small.
  private var checkpointPages: Int {
    min(1000, max(16, (configuration.sizeLimit ?? 64 << 20) / 4096 / 32))
  }

  func close() {
    connection = nil
    connectionFolder = nil
  }

  /// Puts this process's note away while nothing is being written.
  func rest() { folders.current(creating: false)?.claim.rest() }

  /// Takes the database away, so that the next use makes it anew from the files.
  func reset(_ folder: CacheFolder) {
    let damaged = connectionInode
    close()
    guard lock(folder) else { return }
    defer { flock(folder.descriptor, LOCK_UN) }
    if damaged != 0, let status = try? FileSystem.status(folder.descriptor, Self.fileName),
      status.st_ino != damaged
    {
      return
    }
    for suffix in ["", "-wal", "-shm"] { unlinkat(folder.descriptor, Self.fileName + suffix, 0) }
    connectionInode = 0
  }

  // MARK: Mending

  /// Whether a rebuild is under way.
  var hasBackgroundWork: Bool { connection != nil && rebuildShard < 256 }

  /// Takes a rebuild one shard further; `false` where that failed.
  func doBackgroundWork() -> Bool {
    guard rebuildShard < 256, let folder = folders.current(creating: false) else { return false }
    let outcome = attempt(in: folder) { connection throws(SQLiteError) in
      guard rebuildShard < 256 else { return }
      try reconcile(rebuildShard, folder, connection)
      rebuildShard += 1
      try connection.run("UPDATE state SET value = ? WHERE name = 'rebuild'", .integer(Int64(rebuildShard)))
      if rebuildShard == 256 {
        try recount(connection)
        try evict(toBytes: entriesLimit(folder, connection), folder, connection)
      }
    }
    if case .written = outcome { return true }
    return false
  }

  private func recoverIfDue(_ folder: CacheFolder, _ connection: SQLiteConnection) {
    let now = clock()
    guard abs(now - lastRecovery) > 60 else { return }
    lastRecovery = now
    recover(folder, connection)
  }

  /// Clears up after processes that were killed. Returns the temporary files that were deleted.
  @discardableResult
  func recover(_ folder: CacheFolder, _ connection: SQLiteConnection) -> Int {
    var reclaimed = 0
    for dead in WriterClaim.dead(in: folder.descriptor) {
      var isDone = true
      for shard in dead.shards {
        reclaimed += deleteTemporaries(of: dead.digits, inShard: shard, folder)
        do throws(SQLiteError) { try reconcile(shard, folder, connection) } catch { isDone = false }
      }
      if isDone { WriterClaim.clear(dead, in: folder.descriptor) } else { closeFile(dead.descriptor) }
    }
    return reclaimed
  }

  private func deleteTemporaries(of digits: String, inShard shard: Int, _ folder: CacheFolder) -> Int {
    let prefix = Array("tmp-\(digits)-".utf8)
    var names: [String] = []
    folder.forEachName(inShard: shard) { name in
      if name.starts(with: prefix) { names.append(String(decoding: name, as: UTF8.self)) }
    }
    for name in names { folder.discard(CacheFolder.shardName(shard) + "/" + name) }
    return names.count
  }

  /// Makes the index agree with the files of one shard.
  func reconcile(_ shard: Int, _ folder: CacheFolder, _ connection: SQLiteConnection) throws(SQLiteError) {
    try connection.transaction { () throws(SQLiteError) in
      var rows: [EntryName: (size: Int, stored: Int64)] = [:]
      let first = Int64(bitPattern: UInt64(shard) << 56)
      let last = Int64(bitPattern: UInt64(shard) << 56 | 0x00FF_FFFF_FFFF_FFFF)
      try connection.rows(
        "SELECT id, low, size, stored FROM entries WHERE id BETWEEN ? AND ?",
        [.integer(first), .integer(last)]
      ) { row in rows[EntryName(row)] = (Int(row.integer(2)), row.integer(3)) }
      var names: [EntryName] = []
      folder.forEachName(inShard: shard) { name in
        if let name = EntryName(fileName: name), name.shard == shard { names.append(name) }
      }
      for name in names {
        let known = rows.removeValue(forKey: name)
        guard let status = folder.status(of: name) else { continue }
        if let known, known.size == status.sizeOnDisk,
          known.stored == DiskIndex.microseconds(status.modified)
        {
          continue
        }
        if let row = describe(name, in: folder) {
          try upsert(row, connection)
        } else {
          folder.delete(name, inode: status.st_ino)
          try delete(name, connection)
        }
      }
      for name in rows.keys where folder.status(of: name) == nil { try delete(name, connection) }
    }
  }

  /// What an entry's file says of it, without its body; `nil` where it is no entry.
  func describe(_ name: EntryName, in folder: CacheFolder) -> IndexRow? {
    guard let opened = folder.open(name) else { return nil }
    defer { closeFile(opened) }
    guard let status = folder.status(ofEntry: opened),
      let (_, key, metadata) = EntryFile.readHead(opened, status), EntryName(key: key) == name
    else { return nil }
    let stored = DiskIndex.microseconds(status.modified)
    return IndexRow(
      name: name, key: key, url: metadata.url, kind: metadata.kind, size: status.sizeOnDisk, used: stored,
      expires: configuration.expiry(of: metadata, stored: status.modified), stored: stored)
  }

  static func addressHash(_ url: String) -> Int64 {
    var address = ImageRequest.normalizedAddress(url)
    return address.withUTF8 { Int64(bitPattern: XXH3_64bits($0.baseAddress, $0.count)) }
  }
}

extension EntryName {
  /// The row's number in the index.
  var id: Int64 { Int64(bitPattern: high) }

  /// From the first two columns of a row.
  init(_ row: SQLiteConnection.Row) {
    self.init(high: UInt64(bitPattern: row.integer(0)), low: UInt64(bitPattern: row.integer(1)))
  }
}
