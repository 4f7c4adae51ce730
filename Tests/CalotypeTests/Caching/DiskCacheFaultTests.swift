import Foundation
import TestSupport
import Testing

import class TestSupport.SpawnedProgram

@testable import Calotype

/// Folders and disks that are not as they should be.
@Suite struct DiskCacheFaultTests {
  let folder: TemporaryFolder
  let warnings = Recorder<DiskCache.Warning>()

  init() throws { folder = try TemporaryFolder() }

  private func cache(at path: String? = nil, limit: Int? = nil) -> DiskCache {
    let warnings = warnings
    return DiskCache(
      directory: URL(fileURLWithPath: path ?? folder.path),
      configuration: .init(sizeLimit: limit) { warnings.record($0) })
  }

  private func shell(_ command: String) -> Int32 {
    (try? SpawnedProgram("/bin/sh", ["-c", command]).wait()) ?? -1
  }

  /// K9
  @Test(.enabled(if: geteuid() == 0, "only root may mount a file system"))
  func aFullDiskCostsOneWarningAndNoPartialFile() throws {
    let mount = folder.path + "/full"
    try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: false)
    try #require(shell("mount -t tmpfs -o size=1m,mode=700 tmpfs '\(mount)'") == 0)
    defer { _ = shell("umount '\(mount)'") }
    let cache = cache(at: mount)
    for number in 0..<30 { cache.store(entry(bytes: 100_000), for: "k\(number)") }
    cache.flush()
    #expect(warnings.all.count == 1)
    #expect(warnings.all.first?.description.contains("No space left on device") == true)
    #expect(TemporaryFolder.files(in: mount).filter { $0.contains("tmp-") } == [])
    let stored = (0..<30).filter { cache.entry(for: "k\($0)") != nil }
    #expect(stored.contains(0))
    #expect(stored.count < 11)
    #expect(cache.verify().damaged == [])
  }

  /// What the index has no room for is not kept either: it would never be let go.
  @Test(
    .enabled(if: geteuid() == 0, "only root may mount a file system"),
    arguments: ["size=1m", "size=2m,nr_inodes=100"])
  func onAFullDiskTheIndexKnowsAllThereIs(options: String) throws {
    let mount = folder.path + "/full"
    try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: false)
    try #require(shell("mount -t tmpfs -o \(options),mode=700 tmpfs '\(mount)'") == 0)
    defer { _ = shell("umount -l '\(mount)'") }
    let cache = cache(at: mount)
    // A few at a time, as a run stores them, so that the disk fills up between batches.
    for number in 0..<400 {
      cache.store(entry(bytes: 4000, url: "http://a/\(number)"), for: "k\(number)")
      if number % 16 == 0 { cache.flush() }
    }
    cache.flush()
    let files = TemporaryFolder.entryFiles(in: mount).count
    #expect(files > 20)
    #expect(cache.info.count == files)
    let report = cache.verify()
    #expect(report.isClean && report.unindexed == 0 && report.vanished == 0, "\(report)")
    #expect(report.entries == files)
    #expect(warnings.all.count == 1, "\(warnings.all)")
    // All of it can be let go.
    #expect(cache.trim(toSize: 0).removed == files)
    #expect(TemporaryFolder.entryFiles(in: mount).isEmpty)
    #expect(cache.info.count == 0)
  }

  /// Where the index cannot be written, every file is checked all the same, and that is said.
  @Test(.enabled(if: geteuid() == 0, "only root may mount a file system"))
  func verifyChecksAllWithoutAnIndex() throws {
    let (source, mount) = (folder.path + "/rw", folder.path + "/ro")
    try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: false)
    let writer = cache(at: source)
    for number in 0..<40 { writer.store(entry(bytes: 100, url: "http://a/\(number)"), for: "k\(number)") }
    writer.flush()
    try #require(shell("rm '\(writer.path)'/index.sqlite*") == 0)
    try #require(shell("mount --bind '\(source)' '\(mount)'") == 0)
    defer { _ = shell("umount -l '\(mount)'") }
    try #require(shell("mount -o remount,bind,ro '\(mount)'") == 0)
    let report = cache(at: mount).verify()
    #expect(report.entries == 40)
    #expect(report.damaged.isEmpty)
    #expect(report.indexProblem != nil)
    #expect(!report.isClean)
  }

  /// What cannot be removed is counted as such, and costs the others nothing.
  @Test(.enabled(if: geteuid() == 0, "only root may mount a file system"))
  func whatCannotBeRemovedIsTold() throws {
    let cache = cache()
    for number in 0..<10 { cache.store(entry(bytes: 100, url: "http://a/\(number)"), for: "k\(number)") }
    cache.flush()
    // A file that something is mounted on cannot be deleted.
    let stuck = folder.path + "/" + folder.entryFiles[0]
    try #require(shell("mount --bind '\(stuck)' '\(stuck)'") == 0)
    defer { _ = shell("umount -l '\(stuck)'") }
    var removal = cache.trim(toSize: 0)
    #expect(removal.removed == 9 && removal.remaining == 1)
    #expect(removal.reason == String(cString: strerror(EBUSY)))
    #expect(cache.info.count == 1)
    removal = cache.clear()
    #expect(removal.removed == 0 && removal.remaining == 1)
    #expect(cache.info.count == 1)
    let left = try #require(cache.entries().first { _ in true })
    removal = cache.remove(url: try #require(URL(string: left.url)))
    #expect(removal.removed == 0 && removal.remaining == 1)
    cache.remove(left.key)
    #expect(warnings.all.map(\.description).contains { $0.hasPrefix("nothing could be removed") })
    try #require(shell("umount '\(stuck)'") == 0)
    #expect(cache.clear().removed == 1)
    #expect(cache.info.count == 0)
  }

  @Test(.enabled(if: geteuid() == 0, "only root may mount a file system"))
  func aReadOnlyFolderServesHits() throws {
    let (source, mount) = (folder.path + "/rw", folder.path + "/ro")
    try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: false)
    let writer = cache(at: source)
    writer.store(entry("x"), for: "k")
    writer.flush()
    try #require(shell("mount --bind '\(source)' '\(mount)'") == 0)
    defer { _ = shell("umount '\(mount)'") }
    try #require(shell("mount -o remount,bind,ro '\(mount)'") == 0)
    let reader = cache(at: mount)
    #expect(reader.entry(for: "k")?.body == Data("x".utf8))
    reader.store(entry("y"), for: "k2")
    reader.flush()
    #expect(reader.entry(for: "k2") == nil)
    #expect(reader.entry(for: "k")?.body == Data("x".utf8))
    #expect(warnings.all.count == 1)
  }

  @Test(.enabled(if: geteuid() == 0, "only root may give a folder away"))
  func aFolderOfAnotherUsersIsNotUsed() throws {
    let cache1 = cache()
    cache1.store(entry("x"), for: "k")
    cache1.flush()
    #expect(chown(cache1.path, 12345, 12345) == 0)
    let cache2 = cache()
    #expect(cache2.entry(for: "k") == nil)
    cache2.store(entry("y"), for: "k")
    cache2.removeAll()
    #expect(warnings.all.count == 1)
    #expect(folder.entryFiles.count == 1)
  }

  @Test func anEntryThatOthersCouldHaveWrittenIsNotRead() throws {
    let cache = cache()
    cache.store(entry("x"), for: "k")
    #expect(chmod(cache.path + "/" + EntryName(key: "k").path, 0o666) == 0)
    #expect(cache.entry(for: "k") == nil)
  }

  @Test func aFolderThatIsOpenToOthersIsClosed() throws {
    let first = cache()
    first.store(entry("x"), for: "k")
    first.flush()
    #expect(chmod(first.path, 0o755) == 0)
    let second = cache()
    #expect(second.entry(for: "k") != nil)
    var status = stat()
    #expect(lstat(second.path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o700)
  }

  @Test func linksAreNotFollowedOnReadWriteOrClear() throws {
    let outside = folder.path + "/outside"
    try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: false)
    let other = cache(at: folder.path + "/other")
    other.store(entry("x"), for: "k")
    let name = EntryName(key: "k")
    let file = other.path + "/" + name.path
    try FileManager.default.copyItem(atPath: file, toPath: outside + "/" + file.suffix(32))
    let shard = String(name.path.prefix(2))

    // An entry that is a link.
    let first = cache(at: folder.path + "/first")
    first.store(entry("other"), for: "k2")
    try FileManager.default.createDirectory(
      atPath: first.path + "/" + shard, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: first.path + "/" + name.path, withDestinationPath: file)
    #expect(first.entry(for: "k") == nil)
    first.removeAll()
    #expect(FileManager.default.fileExists(atPath: file))
    first.store(entry("y"), for: "k")
    #expect(first.entry(for: "k")?.body == Data("y".utf8))
    #expect(other.entry(for: "k")?.body == Data("x".utf8))

    // A shard that is a link.
    let second = cache(at: folder.path + "/second")
    second.store(entry("other"), for: "k2")
    try? FileManager.default.removeItem(atPath: second.path + "/" + shard)
    try FileManager.default.createSymbolicLink(
      atPath: second.path + "/" + shard, withDestinationPath: outside)
    #expect(second.entry(for: "k") == nil)
    second.store(entry("z"), for: "k")
    #expect(second.entry(for: "k") == nil)
    second.remove("k")
    second.removeAll()
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside).count == 1)

    // The folder itself.
    let third = folder.path + "/third"
    try FileManager.default.createDirectory(atPath: third, withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: third + "/v1", withDestinationPath: folder.path + "/other/v1")
    let linked = cache(at: third)
    #expect(linked.entry(for: "k") == nil)
    linked.store(entry("z"), for: "k")
    linked.removeAll()
    #expect(other.entry(for: "k")?.body == Data("x".utf8))
  }

  @Test func clearingLeavesWhatTheCacheDidNotMake() throws {
    let cache = cache()
    cache.store(entry("x"), for: "k")
    cache.flush()
    let shard = cache.path + "/" + EntryName(key: "k").path.prefix(3)
    let foreign = ["notes.txt", "deadbeef", ".hidden"].map { shard + $0 } + [cache.path + "/README"]
    for path in foreign { try Data("mine".utf8).write(to: URL(fileURLWithPath: path)) }
    cache.removeAll()
    #expect(cache.verify().isClean)
    for path in foreign { #expect(FileManager.default.fileExists(atPath: path), "\(path)") }
    #expect(folder.entryFiles == [])
  }

  /// SQLite opens by a path that the owner of a folder above can change between the checks and the opening.
  @Test func anIndexIsNeitherMadeNorReadElsewhere() throws {
    let holder = FolderHolder(directory: folder.path, name: "images") { _ in }
    let opened = try #require(holder.current(creating: true))
    try #require(
      shell("mkdir -p '\(folder.path)/else/images'; cd '\(folder.path)' && mv v1 was && ln -s else v1") == 0)
    let worker = IndexWorker(folders: holder, configuration: .init()) { 0 }
    let outcome = worker.attempt(in: opened) { _ in Issue.record("nothing may be done there") }
    #expect(
      outcome.problem?.contains("moved away") == true || outcome.problem?.contains("open") == true,
      "\(outcome)")
    #expect(TemporaryFolder.files(in: folder.path + "/else").isEmpty)
    // One that lies there is not read either.
    try #require(shell("cp '\(folder.path)/was/images/index.sqlite' '\(folder.path)/else/images/'") == 0)
    #expect(
      worker.attempt(in: opened) { _ in Issue.record("nothing may be done there") }.problem?.contains(
        "moved away") == true)
    #expect(
      TemporaryFolder.files(in: folder.path + "/else").map { ($0 as NSString).lastPathComponent } == [
        "index.sqlite"
      ])
  }

  /// The index is refused as a link, but a folder may be named by one.
  @Test func aFolderIsNamedByALink() throws {
    try #require(shell("mkdir '\(folder.path)/real'; ln -s real '\(folder.path)/link'") == 0)
    let cache = cache(at: folder.path + "/link")
    cache.store(entry("x"), for: "k")
    cache.flush()
    #expect(cache.info.count == 1)
    #expect(warnings.all.isEmpty)
    try #require(
      shell(
        "cd '\(folder.path)/real/v1/images' && rm index.sqlite* && touch ../../o && ln -s ../../o index.sqlite"
      ) == 0)
    let next = self.cache(at: folder.path + "/link")
    #expect(next.verify().isClean && next.info.count == 1)
    #expect(shell("test -f '\(folder.path)/real/o' && ! test -s '\(folder.path)/real/o'") == 0)
  }
}
