import Calotype
import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct DiskCacheTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  func cache(
    limit: Int? = nil, age: Double? = nil, clock: ManualClock? = nil,
    warnings: Recorder<DiskCache.Warning>? = nil
  ) -> DiskCache {
    let configuration = DiskCache.Configuration(sizeLimit: limit, ageLimit: age) { warnings?.record($0) }
    guard let clock else {
      return DiskCache(directory: URL(fileURLWithPath: folder.path), configuration: configuration)
    }
    return DiskCache(directory: folder.path, configuration: configuration) { clock.now }
  }

  @Test func givesBackTheWholeEntryAlsoToAnotherCache() throws {
    let stored = DataCacheEntry(
      metadata: DataCacheMetadata(
        kind: .encodedPrint, url: "http://a/ü?q=1", status: 203,
        headers: ["ETag": "\"x\"", "Set-Cookie": "a=1", "set-cookie": "b=2", "Empty": ""],
        requestHeaders: ["Accept": "image/*"], requestTime: 12.5, responseTime: 13.25, expires: 4e9,
        print: .init(
          size: PixelSize(width: 48, height: 32), isOpaque: true, format: .webp,
          originalSize: PixelSize(width: 4000, height: 3000), frameCount: 3)),
      body: Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }))
    let first = cache()
    #expect(first.entry(for: "key") == nil)
    first.store(stored, for: "key")
    #expect(first.entry(for: "key") == stored)
    #expect(cache().entry(for: "key") == stored)
    #expect(cache().entry(for: "other") == nil)
  }

  @Test func anEmptyBodyIsAnEntry() {
    let cache = cache()
    cache.store(entry(""), for: "k")
    #expect(cache.entry(for: "k")?.body == Data())
  }

  /// K14
  @Test func headersThatAreNotASCIISurvive() {
    let headers: HTTPHeaders = ["X-Latin-1": "caf\u{E9} \u{80}\u{FF}", "X-UTF-8": "图片.png", "X-Nul": "a\0b"]
    let cache = cache()
    cache.store(
      DataCacheEntry(
        metadata: DataCacheMetadata(kind: .original, url: "u", headers: headers), body: Data([1])),
      for: "k")
    #expect(cache.entry(for: "k")?.metadata.headers == headers)
  }

  @Test func storingAgainReplaces() {
    let cache = cache()
    cache.store(entry("one"), for: "k")
    cache.store(entry("two, longer"), for: "k")
    #expect(cache.entry(for: "k")?.body == Data("two, longer".utf8))
    cache.flush()
    #expect(cache.info.count == 1)
    #expect(folder.entryFiles.count == 1)
  }

  @Test func metadataAreReplacedAndTheBodyStays() {
    let cache = cache()
    cache.updateMetadata(DataCacheMetadata(kind: .original, url: "u"), for: "k")
    #expect(cache.entry(for: "k") == nil)
    cache.store(entry("body"), for: "k")
    let newer = DataCacheMetadata(
      kind: .original, url: "u", status: 200, headers: ["Age": "7"], responseTime: 99)
    cache.updateMetadata(newer, for: "k")
    #expect(cache.entry(for: "k") == DataCacheEntry(metadata: newer, body: Data("body".utf8)))
  }

  /// What a server confirms is what it was asked about, not what another program has stored since.
  @Test func aConfirmationOfAnotherVersionChangesNothing() {
    let cache = cache()
    func version(_ tag: String, _ time: Double) -> DataCacheMetadata {
      DataCacheMetadata(kind: .original, url: "u", status: 200, headers: ["ETag": tag], responseTime: time)
    }
    let (one, two) = (version("\"1\"", 10), version("\"2\"", 20))
    cache.store(DataCacheEntry(metadata: two, body: Data("two".utf8)), for: "k")
    cache.updateMetadata(version("\"1\"", 30), for: "k", replacing: one)
    #expect(cache.entry(for: "k")?.metadata == two)
    for confirmed in [version("\"2\"", 30), version("\"3\"", 40)] {
      let held = cache.entry(for: "k")?.metadata ?? one
      cache.updateMetadata(confirmed, for: "k", replacing: held)
      #expect(cache.entry(for: "k")?.metadata == confirmed)
    }
  }

  @Test func removesOneAndAll() {
    let cache = cache()
    for key in ["a", "b", "c"] { cache.store(entry(key), for: key) }
    cache.remove("b")
    #expect(cache.entry(for: "b") == nil)
    #expect(cache.entry(for: "a") != nil)
    cache.removeAll()
    #expect(cache.entry(for: "a") == nil)
    #expect(folder.entryFiles == [])
    #expect(cache.info.count == 0)
    cache.store(entry("again"), for: "a")
    #expect(cache.entry(for: "a") != nil)
    #expect(cache.info.count == 1)
  }

  @Test func foldersAndFilesAreClosedToOthersWhateverTheUmask() throws {
    let cache = cache()
    cache.store(entry("x"), for: "k")
    cache.flush()
    var status = stat()
    let file = try #require(folder.entryFiles.first)
    for path in [file, "v1/images/index.sqlite", "v1/images/index.sqlite-wal"] {
      #expect(lstat(folder.path + "/" + path, &status) == 0)
      #expect(status.st_mode & 0o7777 == 0o600, "\(path)")
    }
    for path in ["v1", "v1/images", String(file.dropLast(33))] {
      #expect(lstat(folder.path + "/" + path, &status) == 0)
      #expect(status.st_mode & 0o7777 == 0o700, "\(path)")
    }
  }

  /// K13
  @Test func anyFlippedBitIsAMissAndTheEntryIsDropped() throws {
    let cache = cache()
    cache.store(entry("small body"), for: "k")
    let path = folder.path + "/" + (try #require(folder.entryFiles.first))
    let good = try Data(contentsOf: URL(fileURLWithPath: path))
    for bit in 0..<(good.count * 8) {
      var bad = good
      bad[bit / 8] ^= 1 << UInt8(bit % 8)
      try bad.write(to: URL(fileURLWithPath: path))
      #expect(chmod(path, 0o600) == 0)
      #expect(cache.entry(for: "k") == nil, "bit \(bit)")
      #expect(access(path, F_OK) != 0, "bit \(bit)")
    }
    for length in 0..<good.count {
      try good.prefix(length).write(to: URL(fileURLWithPath: path))
      #expect(chmod(path, 0o600) == 0)
      #expect(cache.entry(for: "k") == nil, "length \(length)")
      #expect(access(path, F_OK) != 0, "length \(length)")
    }
    try good.write(to: URL(fileURLWithPath: path))
    #expect(chmod(path, 0o600) == 0)
    #expect(cache.entry(for: "k") != nil)
  }

  @Test func anotherKeysFileUnderThisNameIsAMiss() throws {
    let cache = cache()
    cache.store(entry("a"), for: "a")
    cache.store(entry("b"), for: "b")
    let root = folder.path + "/v1/images/"
    #expect(rename(root + EntryName(key: "a").path, root + EntryName(key: "b").path) == 0)
    #expect(cache.entry(for: "b") == nil)
  }

  /// K10
  @Test func staysUnderItsLimit() {
    let cache = cache(limit: 1 << 20)
    for index in 0..<500 { cache.store(entry(bytes: 10_000), for: "k\(index)") }
    cache.flush()
    let total = folder.files.reduce(0) { sum, file in
      var status = stat()
      lstat(folder.path + "/" + file, &status)
      return sum + Int(status.st_size)
    }
    #expect(total <= 1 << 20)
    #expect(cache.info.bytes <= 1 << 20)
    #expect(cache.info.count == folder.entryFiles.count)
    #expect(cache.info.count > 40, "the limit must not empty the cache")
    #expect(cache.entry(for: "k499") != nil)
    #expect(cache.entry(for: "k0") == nil)
  }

  /// K11
  @Test func theLeastRecentlyUsedGoesFirst() {
    let clock = ManualClock()
    // Room for the index and three entries.
    let cache = cache(limit: 1 << 20, clock: clock)
    for key in ["A", "B", "C"] {
      cache.store(entry(bytes: 250_000), for: key)
      clock.advance(by: 1)
    }
    cache.flush()
    #expect(cache.info.count == 3)
    #expect(cache.entry(for: "A") != nil)
    clock.advance(by: 1)
    cache.store(entry(bytes: 250_000), for: "D")
    cache.flush()
    #expect(cache.entry(for: "B") == nil)
    #expect(cache.entry(for: "A") != nil)
    #expect(cache.entry(for: "C") != nil)
    #expect(cache.entry(for: "D") != nil)
  }

  /// K12
  @Test func anEntryEndsOnTimeHoweverOftenItIsRead() {
    let clock = ManualClock()
    let cache = cache(clock: clock)
    cache.store(entry("x", expires: clock.now + 5), for: "k")
    for second in 0..<10 {
      #expect((cache.entry(for: "k") != nil) == (second < 5), "after \(second) s")
      clock.advance(by: 1)
    }
    #expect(folder.entryFiles == [])
  }

  @Test func theAgeLimitEndsEntriesThatNobodyAsksFor() {
    let clock = ManualClock(Date().timeIntervalSince1970)
    let cache = cache(age: 60, clock: clock)
    cache.store(entry("x"), for: "k")
    cache.flush()
    #expect(cache.entry(for: "k") != nil)
    clock.advance(by: 100)
    cache.flush()
    #expect(folder.entryFiles == [])
  }

  /// K8
  @Test func aDeletedFolderIsMadeAgain() throws {
    let cache = cache()
    cache.store(entry("x"), for: "k")
    cache.flush()
    try FileManager.default.removeItem(atPath: folder.path)
    #expect(cache.entry(for: "k") == nil)
    cache.store(entry("y"), for: "k")
    #expect(cache.entry(for: "k")?.body == Data("y".utf8))
    cache.flush()
    #expect(cache.info.count == 1)
    try FileManager.default.removeItem(atPath: cache.path)
    cache.flush()
    cache.store(entry("z"), for: "k")
    #expect(cache.entry(for: "k")?.body == Data("z".utf8))
    #expect(cache.info.count == 1)
  }

  @Test func aDamagedOrLostIndexIsMadeAgain() throws {
    let first = cache()
    for index in 0..<50 { first.store(entry("\(index)"), for: "k\(index)") }
    first.flush()
    let path = first.path + "/index.sqlite"
    try Data(repeating: 0x55, count: 20_000).write(to: URL(fileURLWithPath: path))
    let second = cache()
    #expect(second.entry(for: "k7") != nil)
    second.flush()
    #expect(second.verify().isClean)
    #expect(second.info.count == 50)
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    #expect(second.entry(for: "k8") != nil)
    #expect(second.verify().isClean)
    #expect(second.info.count == 50)
  }

  /// An index that somebody else has laid there, with triggers and views, is made anew and nothing in it run.
  @Test(arguments: ["PRAGMA user_version = 1;", "PRAGMA user_version = 0;", "DROP TABLE state;"])
  func aForeignIndexIsMadeAgain(change: String) throws {
    let first = cache()
    for index in 0..<20 { first.store(entry("\(index)"), for: "k\(index)") }
    first.flush()
    let path = URL(fileURLWithPath: first.path + "/index.sqlite").resolvingSymlinksInPath().path
    do {
      let foreign = try SQLiteConnection(path: path, busyTimeout: 5000)
      try foreign.execute(
        """
        CREATE TABLE seen (x); CREATE VIEW spy AS SELECT * FROM entries;
        CREATE TRIGGER spying AFTER INSERT ON entries BEGIN DELETE FROM entries; INSERT INTO seen VALUES (1); END;
        \(change)
        """)
    }
    let second = cache()
    second.store(entry("new"), for: "new")
    second.flush()
    #expect(second.verify().isClean)
    #expect(second.info.count == 21)
    let made = try SQLiteConnection(path: path, busyTimeout: 5000)
    #expect(
      try made.integer("SELECT count(*) FROM sqlite_master WHERE name IN ('seen', 'spy', 'spying')") == 0)
  }

  /// What is asked of an index that was lost is answered when it has been made again.
  @Test func nothingIsMissedAfterTheIndexIsLost() throws {
    func lost() throws -> DiskCache {
      let first = cache()
      first.removeAll()
      for index in 0..<20 {
        first.store(entry("\(index)", url: "http://h/\(index)"), for: "http://h/\(index)")
      }
      first.flush()
      for suffix in ["", "-wal", "-shm"] { unlink(first.path + "/index.sqlite" + suffix) }
      return cache()
    }
    #expect(try lost().info.count == 20)
    #expect(try Array(lost().entries()).count == 20)
    #expect(try lost().remove(url: #require(URL(string: "http://h/7"))).removed == 1)
    let other = try lost()
    #expect(other.trim(toSize: 0).removed == 20)
    #expect((0..<20).allSatisfy { other.entry(for: "http://h/\($0)") == nil })
  }

  /// Totals that are wrong would have everything let go: a check sums up anew.
  @Test(arguments: ["UPDATE totals SET count = 77, bytes = 99999999999", "DELETE FROM totals"])
  func aCheckSumsUpAnew(change: String) throws {
    let first = cache()
    for index in 0..<20 { first.store(entry("\(index)"), for: "k\(index)") }
    first.flush()
    let bytes = first.info.bytes
    let path = URL(fileURLWithPath: first.path + "/index.sqlite").resolvingSymlinksInPath().path
    try SQLiteConnection(path: path, busyTimeout: 5000).execute(change)
    let second = cache()
    #expect(second.verify().entries == 20)
    #expect(second.info.count == 20)
    #expect(second.info.bytes == bytes)
  }

  /// A second cache on the folder leaves the first one its lock: without it another process could take the log away.
  @Test func aSecondCacheLeavesTheFirstItsLocks() throws {
    let first = cache()
    first.store(entry("1"), for: "k")
    first.flush()
    var status = stat()
    try #require(stat(first.path + "/index.sqlite", &status) == 0)
    func isLocked() throws -> Bool {
      try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").contains {
        $0.contains(" POSIX ") && $0.contains(" \(getpid()) ") && $0.contains(":\(status.st_ino) ")
      }
    }
    #expect(try isLocked())
    let second = cache()
    #expect(second.info.count == 1)
    #expect(try isLocked())
    withExtendedLifetime(first) {}
  }

  @Test func listsWhatItHolds() {
    let clock = ManualClock()
    let cache = cache(clock: clock)
    for index in 0..<1200 {
      cache.store(entry("x", url: "http://a/\(index)", expires: clock.now + 9), for: "http://a/\(index)")
    }
    let list = Array(cache.entries())
    #expect(Set(list.map(\.url)) == Set((0..<1200).map { "http://a/\($0)" }))
    #expect(list.count == 1200)
    #expect(list.allSatisfy { $0.expires == clock.now + 9 && $0.bytes == 4096 && $0.kind == .original })
  }

  @Test func removesEverythingOfAnAddress() throws {
    let cache = cache()
    let address = "http://host/a"
    cache.store(entry("original", url: address), for: address)
    cache.store(entry("print", url: "HTTP://Host:80/a#x", kind: .encodedPrint), for: address + " 48x48")
    cache.store(entry("other", url: "http://host/a/"), for: "http://host/a/")
    #expect(cache.remove(url: try #require(URL(string: "http://HOST/a#frag"))).removed == 2)
    #expect(cache.entry(for: address) == nil)
    #expect(cache.entry(for: address + " 48x48") == nil)
    #expect(cache.entry(for: "http://host/a/") != nil)
    #expect(cache.info.count == 1)
  }

  @Test func trimsToASize() {
    let cache = cache()
    for index in 0..<10 { cache.store(entry(bytes: 5000), for: "\(index)") }
    cache.trim(toSize: 3 * 8192)
    #expect(cache.info.count == 3)
    #expect(cache.entry(for: "9") != nil)
    cache.trim(toSize: 0)
    #expect(folder.entryFiles == [])
  }

  @Test func verifyNamesDamageAndMendsTheIndex() throws {
    let cache = cache()
    for key in ["a", "b", "c"] { cache.store(entry(key), for: key) }
    cache.flush()
    let root = cache.path + "/"
    let damaged = EntryName(key: "a").path
    let handle = try #require(FileHandle(forUpdatingAtPath: root + damaged))
    try handle.truncate(atOffset: 70)
    try FileManager.default.removeItem(atPath: root + EntryName(key: "b").path)
    let report = cache.verify()
    #expect(report.damaged == [damaged])
    #expect(report.entries == 1)
    #expect(report.vanished == 2)
    #expect(!report.isClean)
    #expect(cache.info.count == 1)
    #expect(cache.verify().isClean)
  }
}
