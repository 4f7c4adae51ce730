import Foundation

/// Keeps originals and finished prints on disk, between runs and between processes.
///
/// An entry is one file, `<directory>/v1/<name>/ab/<32 hexadecimal digits>`, published by renaming, so that
/// readers see the old entry or the new one, whole, also when a writer is killed. Every look-up compares the
/// key and checks the length and the checksums (XXH3); what does not pass is dropped and is a miss. Sizes,
/// times of last use and ends are kept in an index that is written in batches in the background: looking an
/// entry up never waits for it, and what it loses it finds again from the files.
///
/// Folders have mode 0700 and files 0600. A folder of another user's is not used; links are not followed.
/// Nothing is forced to the disk: after a power cut an entry may be gone, but not wrong.
public final class DiskCache: DataCaching {
  /// A cache's limits and hooks.
  public struct Configuration: Sendable {
    /// The folder's name below the format's version; caches of different names share nothing.
    public var name: String
    /// Bytes that the cache may take on disk, in whole blocks of 4 KB and with its index. `nil`, the
    /// default, for 2 % of the free disk, at least 64 MB and at most 1 GB.
    public var sizeLimit: Int?
    /// Seconds after which an entry has ended, counted from when it was stored or its metadata were
    /// replaced; reading does not renew it. `nil`, the default, for never.
    public var ageLimit: Double?
    /// Told why something could not be done, once for each kind of reason. Called on any thread.
    public var onWarning: (@Sendable (Warning) -> Void)?

    /// Creates limits.
    public init(
      name: String = "images", sizeLimit: Int? = nil, ageLimit: Double? = nil,
      onWarning: (@Sendable (Warning) -> Void)? = nil
    ) {
      self.name = name
      self.sizeLimit = sizeLimit
      self.ageLimit = ageLimit
      self.onWarning = onWarning
    }

    /// The name as one folder's.
    var folderName: String {
      let safe = name.utf8.map { byte -> UInt8 in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: byte
        default: 0x5F
        }
      }
      return safe.isEmpty ? "images" : String(decoding: safe.prefix(64), as: UTF8.self)
    }

    /// When an entry ends, in microseconds since 1970, or `nil` for never.
    func expiry(of metadata: DataCacheMetadata, stored: Double) -> Int64? {
      let end = min(metadata.expires ?? .infinity, ageLimit.map { stored + $0 } ?? .infinity)
      return end < .infinity ? DiskIndex.microseconds(end) : nil
    }
  }

  /// Why a cache could not do something. Loads go on without it.
  public enum Warning: Error, Hashable, Sendable, CustomStringConvertible {
    /// The folder cannot be used: nothing is found and nothing is stored.
    case unusableFolder(path: String, reason: String)
    /// An entry could not be stored; `reason` is the system's.
    case notStored(path: String, reason: String)
    /// An entry that was to go could not be removed; `reason` is the system's.
    case notRemoved(path: String, reason: String)

    /// A sentence that names the folder.
    public var description: String {
      switch self {
      case .unusableFolder(let path, let reason): "the cache folder \(path) is not used: \(reason)"
      case .notStored(let path, let reason): "nothing could be stored in the cache folder \(path): \(reason)"
      case .notRemoved(let path, let reason):
        "nothing could be removed from the cache folder \(path): \(reason)"
      }
    }
  }

  /// `$XDG_CACHE_HOME/calotype`, else `~/.cache/calotype`.
  public static var defaultDirectory: URL {
    let environment = ProcessInfo.processInfo.environment
    // A relative path there is to be taken for none (XDG base directory specification).
    if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") {
      return URL(fileURLWithPath: base, isDirectory: true).appendingPathComponent(
        "calotype", isDirectory: true)
    }
    let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
    return URL(fileURLWithPath: home, isDirectory: true).appendingPathComponent(
      ".cache/calotype", isDirectory: true)
  }

  /// The limits and hooks.
  public let configuration: Configuration

  let folders: FolderHolder
  let index: DiskIndex
  let clock: @Sendable () -> Double
  private let warnings: WarningGate

  /// Opens a cache. The folder is made when something is first stored.
  ///
  /// - Parameters:
  ///   - directory: The folder that holds caches' folders.
  ///   - configuration: The limits and hooks.
  public convenience init(
    directory: URL = DiskCache.defaultDirectory, configuration: Configuration = Configuration()
  ) {
    self.init(directory: directory.path, configuration: configuration, clock: wallClockSeconds)
  }

  /// Opens a cache with a clock of the caller's that gives seconds since 1970.
  init(directory: String, configuration: Configuration, clock: @escaping @Sendable () -> Double) {
    self.configuration = configuration
    self.clock = clock
    let warnings = WarningGate(configuration.onWarning)
    self.warnings = warnings
    folders = FolderHolder(directory: directory, name: configuration.folderName) { warnings.tell($0) }
    let path = folders.path
    index = DiskIndex(folders: folders, configuration: configuration, clock: clock) { reason in
      warnings.tell(.notStored(path: path, reason: reason))
    }
  }

  deinit { index.close() }

  /// The cache's folder.
  public var path: String { folders.path }

  // MARK: DataCaching

  /// The whole entry for a key, checked, or `nil`.
  public func entry(for key: String) -> DataCacheEntry? {
    guard let folder = folders.current(creating: false) else { return nil }
    let name = EntryName(key: key)
    guard let opened = folder.open(name) else { return nil }
    guard let status = folder.status(ofEntry: opened) else {
      close(opened)
      return nil
    }
    let reading = EntryFile.read(opened, status, key: key)
    close(opened)
    switch reading {
    case .entry(let entry):
      let now = clock()
      // The clock has been set back: how old the entry is cannot be told. It is not shown, nor thrown away for
      // what a clock says.
      if configuration.ageLimit != nil, status.modified > now + 1 { return nil }
      if isEnded(entry.metadata, stored: status.modified, now: now) {
        drop(name, inode: status.st_ino, in: folder)
        return nil
      }
      index.noteUsed(name, at: now)
      return entry
    case .damaged:
      drop(name, inode: status.st_ino, in: folder)
      return nil
    case .otherKey, .unreadable:
      return nil
    }
  }

  /// Keeps an entry, in place of any that the key had. What cannot be written is left out, with a warning.
  public func store(_ entry: DataCacheEntry, for key: String) {
    let limit = configuration.sizeLimit ?? EntryFile.largest
    // What would have to go again at once is not written; what the key had is no longer true.
    guard entry.body.count <= limit else { return remove(key) }
    do throws(SystemError) {
      try write(entry, for: key)
    } catch {
      // The folder may have been deleted while the program runs: it is made anew, once.
      guard error.code == ENOENT, let folder = folders.current(creating: true) else {
        return notStored(error)
      }
      folders.forget(folder)
      do throws(SystemError) { try write(entry, for: key) } catch { notStored(error) }
    }
  }

  /// Replaces an entry's metadata where the key has an entry, and leaves its bytes, which are copied
  /// without being looked at.
  public func updateMetadata(_ metadata: DataCacheMetadata, for key: String) {
    updateMetadata(metadata, for: key, where: { _ in true })
  }

  /// The same where what is stored now is such that it may be.
  func updateMetadata(
    _ metadata: DataCacheMetadata, for key: String, where isReplaceable: (DataCacheMetadata) -> Bool
  ) {
    guard let folder = folders.current(creating: false) else { return }
    let name = EntryName(key: key)
    guard let opened = folder.open(name) else { return }
    defer { close(opened) }
    guard let status = folder.status(ofEntry: opened) else { return }
    guard let head = EntryFile.readHead(opened, status) else {
      return drop(name, inode: status.st_ino, in: folder)
    }
    guard head.key == key, isReplaceable(head.metadata) else { return }
    do throws(SystemError) {
      try publish(in: folder, as: name) { temporary throws(SystemError) in
        try EntryFile.write(metadata, key: key, bodyOf: opened, head.header, to: temporary)
      }
    } catch {
      return notStored(error)
    }
    noteStored(metadata, bodyLength: head.header.bodyLength, key: key, name: name, in: folder)
  }

  /// Drops a key's entry.
  public func remove(_ key: String) {
    guard let folder = folders.current(creating: false) else { return }
    let name = EntryName(key: key)
    guard folder.status(of: name) != nil else { return }
    if let error = folder.delete(name) { return notRemoved(error) }
    index.noteRemoved(name)
  }

  /// Drops every entry. Other files in the folder, and links, are left alone.
  public func removeAll() { clear() }

  // MARK: Parts

  private func write(_ entry: DataCacheEntry, for key: String) throws(SystemError) {
    guard let folder = folders.current(creating: true) else { return }
    let name = EntryName(key: key)
    try publish(in: folder, as: name) { temporary throws(SystemError) in
      try EntryFile.write(entry, key: key, to: temporary)
    }
    noteStored(entry.metadata, bodyLength: entry.body.count, key: key, name: name, in: folder)
  }

  /// Makes an entry's file: fills a temporary one and gives it the entry's name.
  private func publish(
    in folder: CacheFolder, as name: EntryName, _ fill: (Int32) throws(SystemError) -> Void
  ) throws(SystemError) {
    let temporary = try folder.makeTemporary(in: name.shard)
    var isOpen = true
    do throws(SystemError) {
      defer { if isOpen { close(temporary.descriptor) } }
      try fill(temporary.descriptor)
      isOpen = false
      // Some file systems only say at the end that there was no room.
      guard close(temporary.descriptor) == 0 || errno == EINTR else { throw SystemError() }
      try folder.publish(temporary.path, as: name)
    } catch {
      folder.discard(temporary.path)
      folder.claim.unmark(name.shard, count: 1)
      throw error
    }
  }

  /// Tells the index of an entry whose file has been published; settles one mark of the claim.
  func noteStored(
    _ metadata: DataCacheMetadata, bodyLength: Int, key: String, name: EntryName, in folder: CacheFolder
  ) {
    let now = clock()
    index.noteStored(
      IndexRow(
        name: name, key: key, url: metadata.url, kind: metadata.kind, size: (bodyLength + 4095) & ~4095,
        used: 0,
        expires: configuration.expiry(of: metadata, stored: now), stored: DiskIndex.microseconds(now)),
      claim: folder.claim)
  }

  func isEnded(_ metadata: DataCacheMetadata, stored: Double, now: Double) -> Bool {
    if let expires = metadata.expires, expires <= now { return true }
    if let ageLimit = configuration.ageLimit, stored + ageLimit <= now { return true }
    return false
  }

  func drop(_ name: EntryName, inode: ino_t, in folder: CacheFolder) {
    if let error = folder.delete(name, inode: inode) { return notRemoved(error) }
    index.noteRemoved(name)
  }

  private func notRemoved(_ error: SystemError) {
    warnings.tell(.notRemoved(path: path, reason: error.message))
  }

  private func notStored(_ error: SystemError) {
    warnings.tell(.notStored(path: path, reason: error.message))
  }
}
