#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A cache's folder, held open. Everything inside is named from its descriptor and no link inside is
/// followed, so that what is read, written and deleted is the cache's own.
final class CacheFolder: Sendable {
  /// Why a folder cannot be used.
  enum Failure: Error, Hashable {
    case missing
    case notOwned(String)
    case notFolder(String)
    case system(SystemError, String)
  }

  let path: String
  let descriptor: Int32
  /// Whether this object made the folder, so that nothing can be in it.
  let isNew: Bool
  /// What files must be owned by.
  let owner = geteuid()
  /// This process's claim on the folder; see ``WriterClaim``.
  let claim: WriterClaim

  /// One bit a shard folder that was seen to be a folder and no link.
  private let knownShards = Lock<(UInt64, UInt64, UInt64, UInt64)>((0, 0, 0, 0))

  /// Opens `<directory>/v1/<name>`.
  ///
  /// - Parameter creating: Whether to make what is missing.
  init(directory: String, name: String, creating: Bool) throws(Failure) {
    let base = try Self.openBase(directory, creating: creating)
    defer { close(base) }
    let version = try Self.openOwn(base, "v1", in: directory, creating: creating)
    defer { close(version.descriptor) }
    let folder = try Self.openOwn(version.descriptor, name, in: directory + "/v1", creating: creating)
    descriptor = folder.descriptor
    isNew = folder.isNew
    path = directory + "/v1/" + name
    claim = WriterClaim(folder: folder.descriptor)
    if isNew { Self.writeTag(folder.descriptor) }
  }

  deinit {
    claim.end()
    close(descriptor)
  }

  /// Whether the path still leads to this folder.
  var isInPlace: Bool {
    var there = stat()
    var here = stat()
    return lstat(path, &there) == 0 && fstat(descriptor, &here) == 0
      && there.st_ino == here.st_ino && there.st_dev == here.st_dev
  }

  // MARK: Entries

  /// Opens an entry's file for reading, or `nil`.
  func open(_ name: EntryName) -> Int32? {
    guard isShardKnown(name.shard) || checkShard(name.shard) else { return nil }
    return name.withPath { path in
      try? FileSystem.retrying { openat(descriptor, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) }
    }
  }

  /// An opened entry's status where it is a file of this user's that no other can have written.
  func status(ofEntry opened: Int32) -> stat? {
    guard let status = try? FileSystem.status(opened), isOwnFile(status) else { return nil }
    return status
  }

  /// An entry's status by name, or `nil` where there is no such file of this user's.
  func status(of name: EntryName) -> stat? {
    guard isShardKnown(name.shard) || checkShard(name.shard) else { return nil }
    let status = name.withPath { try? FileSystem.status(descriptor, $0) }
    guard let status, isOwnFile(status) else { return nil }
    return status
  }

  func isOwnFile(_ status: stat) -> Bool {
    status.isRegularFile && status.st_uid == owner && status.st_mode & 0o022 == 0
  }

  /// Deletes an entry's file. With an inode, only where the file is still that one.
  ///
  /// - Returns: Why it is still there, or `nil` where it is not.
  @discardableResult
  func delete(_ name: EntryName, inode: ino_t? = nil) -> SystemError? {
    guard isShardKnown(name.shard) || checkShard(name.shard) else { return nil }
    return name.withPath { path in
      if let inode {
        guard let status = try? FileSystem.status(descriptor, path), status.st_ino == inode else {
          return nil
        }
      }
      do throws(SystemError) {
        try FileSystem.retrying { unlinkat(descriptor, path, 0) }
        return nil
      } catch {
        return error.code == ENOENT ? nil : error
      }
    }
  }

  /// Whether there is no room for more, of bytes or of files.
  var isFull: Bool {
    var space = statvfs()
    guard fstatvfs(descriptor, &space) == 0 else { return false }
    // A database's file grows by some blocks at a time. Some file systems count no files.
    return space.f_bavail < 16 || space.f_files > 0 && space.f_favail < 4
  }

  /// Makes a temporary file in a shard's folder, open for writing, with mode 0600.
  func makeTemporary(in shard: Int) throws(SystemError) -> (descriptor: Int32, path: String) {
    try claim.mark(shard)
    do throws(SystemError) {
      let path = Self.shardName(shard) + "/" + claim.temporaryName()
      try makeShardIfMissing(shard)
      let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
      let opened: Int32
      do throws(SystemError) {
        opened = try FileSystem.retrying { openat(descriptor, path, flags, 0o600) }
      } catch {
        // The folder may have been deleted since it was seen.
        guard error.code == ENOENT else { throw error }
        try makeShard(shard)
        opened = try FileSystem.retrying { openat(descriptor, path, flags, 0o600) }
      }
      // Whatever the umask is.
      _ = fchmod(opened, 0o600)
      return (opened, path)
    } catch {
      claim.unmark(shard, count: 1)
      throw error
    }
  }

  /// Gives a temporary file an entry's name, in place of any file that has it.
  func publish(_ temporary: String, as name: EntryName) throws(SystemError) {
    _ = try name.withPath { path -> Result<Int32, SystemError> in
      Result { () throws(SystemError) in
        try FileSystem.retrying { renameat(descriptor, temporary, descriptor, path) }
      }
    }.get()
  }

  /// Deletes a temporary file that is not to be published.
  func discard(_ temporary: String) { _ = unlinkat(descriptor, temporary, 0) }

  // MARK: Shards

  static func shardName(_ shard: Int) -> String {
    let text = String(shard, radix: 16)
    return text.count == 1 ? "0" + text : text
  }

  /// The names in a shard's folder; none where there is no such folder.
  func forEachName(inShard shard: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
    try? FileSystem.forEachName(in: Self.shardName(shard), of: descriptor, body)
  }

  private func isShardKnown(_ shard: Int) -> Bool {
    let bit = UInt64(1) << UInt64(shard & 63)
    return knownShards.withLock { known in
      switch shard >> 6 {
      case 0: known.0 & bit != 0
      case 1: known.1 & bit != 0
      case 2: known.2 & bit != 0
      default: known.3 & bit != 0
      }
    }
  }

  /// Looks whether a shard's folder is a folder of this user's, and remembers it if so.
  private func checkShard(_ shard: Int) -> Bool {
    guard let status = try? FileSystem.status(descriptor, Self.shardName(shard)), status.isFolder,
      status.st_uid == owner, status.st_mode & 0o022 == 0
    else { return false }
    let bit = UInt64(1) << UInt64(shard & 63)
    knownShards.withLock { known in
      switch shard >> 6 {
      case 0: known.0 |= bit
      case 1: known.1 |= bit
      case 2: known.2 |= bit
      default: known.3 |= bit
      }
    }
    return true
  }

  /// Makes a shard's folder where there is none.
  func makeShardIfMissing(_ shard: Int) throws(SystemError) {
    if !isShardKnown(shard), !checkShard(shard) { try makeShard(shard) }
  }

  private func makeShard(_ shard: Int) throws(SystemError) {
    let name = Self.shardName(shard)
    do throws(SystemError) {
      try FileSystem.retrying { mkdirat(descriptor, name, 0o700) }
      _ = fchmodat(descriptor, name, 0o700, 0)
    } catch {
      guard error.code == EEXIST else { throw error }
    }
    guard checkShard(shard) else { throw SystemError(ENOTDIR) }
  }

  // MARK: Opening

  /// Opens the folder that the user named; links on the way to it are the user's choice.
  private static func openBase(_ directory: String, creating: Bool) throws(Failure) -> Int32 {
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    do throws(SystemError) {
      return try FileSystem.retrying { Calotype.openFile(directory, flags) }
    } catch {
      guard error.code == ENOENT else { throw .system(error, directory) }
    }
    guard creating else { throw .missing }
    var parts = directory.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
    var path = directory.hasPrefix("/") ? "" : "."
    parts.reverse()
    while let part = parts.popLast() {
      path += "/" + part
      if mkdir(path, 0o700) != 0, errno != EEXIST {
        // A parent that is there but read-only says so instead of "exists" on some systems.
        var status = stat()
        let error = SystemError()
        if stat(path, &status) != 0 { throw .system(error, path) }
      }
    }
    do throws(SystemError) {
      return try FileSystem.retrying { Calotype.openFile(directory, flags) }
    } catch {
      throw .system(error, directory)
    }
  }

  /// Opens a folder that is the cache's own: no link, this user's, closed to others.
  private static func openOwn(
    _ parent: Int32, _ name: String, in place: String, creating: Bool
  ) throws(Failure) -> (descriptor: Int32, isNew: Bool) {
    let path = place + "/" + name
    var isNew = false
    if creating, mkdirat(parent, name, 0o700) == 0 {
      isNew = true
      _ = fchmodat(parent, name, 0o700, 0)
    }
    let opened: Int32
    do throws(SystemError) {
      opened = try FileSystem.retrying {
        openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      }
    } catch {
      switch error.code {
      case ENOENT where !creating: throw .missing
      case ELOOP, ENOTDIR: throw .notFolder(path)
      default: throw .system(error, path)
      }
    }
    guard let status = try? FileSystem.status(opened), status.st_uid == geteuid() else {
      close(opened)
      throw .notOwned(path)
    }
    // Others could read what this user looks at, or lay files in: closed where that can be done.
    if status.st_mode & 0o077 != 0, fchmod(opened, 0o700) != 0, status.st_mode & 0o022 != 0 {
      close(opened)
      throw .notOwned(path)
    }
    return (opened, isNew)
  }

  /// Marks the folder for programs that make backups (bford.info/cachedir).
  private static func writeTag(_ folder: Int32) {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let opened = openat(folder, "CACHEDIR.TAG", flags, 0o600)
    guard opened >= 0 else { return }
    defer { close(opened) }
    let text = "Signature: 8a477f597d28d172789f06886806bc55\n# Pictures that Calotype keeps.\n"
    _ = fchmod(opened, 0o600)
    _ = Array(text.utf8).withUnsafeBytes { try? FileSystem.write(opened, $0) }
  }
}

/// `open` without a mode, under a name that methods called `open` do not hide.
func openFile(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }

/// `close`, under a name that methods called `close` do not hide.
func closeFile(_ descriptor: Int32) { close(descriptor) }
