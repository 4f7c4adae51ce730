#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension IndexWorker {
  /// A temporary file without a living writer's note is left over when it is this old, in seconds.
  private static let leftoverAge = 600.0

  /// Checks every entry, whether the index can be used or not, and makes the index agree with them.
  func verify(_ folder: CacheFolder) -> DiskCache.VerifyReport {
    _ = attempt(in: folder) { connection throws(SQLiteError) in recover(folder, connection) }
    var report = DiskCache.VerifyReport()
    for shard in 0..<256 { check(shard, folder, &report) }
    let checked = report
    var outcome = attempt(in: folder) { connection throws(SQLiteError) in
      report = checked
      for shard in 0..<256 { try compare(shard, folder, connection, &report) }
    }
    if case .written = outcome {
      outcome = attempt(in: folder) { connection throws(SQLiteError) in
        for shard in 0..<256 { try reconcile(shard, folder, connection) }
        try recount(connection)
      }
    }
    report.indexProblem = outcome.problem
    return report
  }

  /// Checks every entry of one shard.
  private func check(_ shard: Int, _ folder: CacheFolder, _ report: inout DiskCache.VerifyReport) {
    var names: [EntryName] = []
    var temporaries: [String] = []
    folder.forEachName(inShard: shard) { bytes in
      if let name = EntryName(fileName: bytes) {
        if name.shard == shard { names.append(name) }
      } else if bytes.starts(with: "tmp-".utf8) {
        temporaries.append(CacheFolder.shardName(shard) + "/" + String(decoding: bytes, as: UTF8.self))
      }
    }
    for name in names { check(name, folder, &report) }
    for temporary in temporaries where isLeftOver(temporary, folder) {
      folder.discard(temporary)
      report.leftovers += 1
    }
  }

  private func check(_ name: EntryName, _ folder: CacheFolder, _ report: inout DiskCache.VerifyReport) {
    guard let opened = folder.open(name) else { return }
    defer { closeFile(opened) }
    guard let status = folder.status(ofEntry: opened) else {
      report.damaged.append(name.path)
      report.undropped.append(name.path)
      return
    }
    switch EntryFile.read(opened, status, key: nil) {
    case .entry:
      report.entries += 1
      report.bytes += status.sizeOnDisk
    case .damaged, .otherKey:
      report.damaged.append(name.path)
      if folder.delete(name, inode: status.st_ino) != nil { report.undropped.append(name.path) }
    case .unreadable:
      report.damaged.append(name.path)
      report.undropped.append(name.path)
    }
  }

  /// Counts where the index and the files of one shard do not agree.
  private func compare(
    _ shard: Int, _ folder: CacheFolder, _ connection: SQLiteConnection,
    _ report: inout DiskCache.VerifyReport
  ) throws(SQLiteError) {
    var files: Set<Int64> = []
    folder.forEachName(inShard: shard) { bytes in
      if let name = EntryName(fileName: bytes), name.shard == shard { files.insert(name.id) }
    }
    let rows = try ids(of: shard, connection)
    report.unindexed += files.subtracting(rows).count
    report.vanished += rows.subtracting(files).count
  }

  /// Whether a temporary file is old and its writer's note is gone.
  private func isLeftOver(_ temporary: String, _ folder: CacheFolder) -> Bool {
    guard let status = try? FileSystem.status(folder.descriptor, temporary), folder.isOwnFile(status),
      abs(clock() - status.modified) > Self.leftoverAge
    else { return false }
    // ab/tmp-<16 digits>-<counter>
    let digits = temporary.dropFirst(7).prefix(16)
    return (try? FileSystem.status(folder.descriptor, WriterClaim.prefix + digits)) == nil
  }

  private func ids(of shard: Int, _ connection: SQLiteConnection) throws(SQLiteError) -> Set<Int64> {
    var ids: Set<Int64> = []
    let first = UInt64(shard) << 56
    try connection.rows(
      "SELECT id FROM entries WHERE id BETWEEN ? AND ?",
      [
        .integer(Int64(bitPattern: first)), .integer(Int64(bitPattern: first | 0x00FF_FFFF_FFFF_FFFF)),
      ]
    ) { row in ids.insert(row.integer(0)) }
    return ids
  }

  /// Makes the database anew for a folder that has just been emptied.
  func startAnew(_ folder: CacheFolder) {
    reset(folder)
    // What other processes stored meanwhile is found by looking.
    finishRebuild(folder)
  }

  /// Does something with an index that knows every file: a rebuild that is due is gone through first.
  func attemptOnWhole(
    in folder: CacheFolder, _ body: (SQLiteConnection) throws(SQLiteError) -> Void
  ) -> Outcome {
    finishRebuild(folder)
    return attempt(in: folder, body)
  }

  private func finishRebuild(_ folder: CacheFolder) {
    _ = attempt(in: folder) { _ throws(SQLiteError) in }
    while hasBackgroundWork, doBackgroundWork() {}
  }

  /// Sums up the entries anew: what is let go goes by the totals, which triggers keep from then on.
  func recount(_ connection: SQLiteConnection) throws(SQLiteError) {
    try connection.run(
      "INSERT OR REPLACE INTO totals SELECT 0, count(*), coalesce(sum(size), 0) FROM entries")
  }
}
