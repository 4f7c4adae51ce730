import Foundation
import TestSupport
import Testing

@testable import Calotype

/// The disk cache while system calls fail, the disk is full, or its writers are killed.
@Suite struct CacheFaultMatrixTests {
  private func cache(_ path: String) -> DiskCache {
    DiskCache(directory: URL(fileURLWithPath: path), configuration: .init(sizeLimit: 8 << 20))
  }

  /// Everything that is read is whole, and the cache goes on.
  private func expectInOrder(_ path: String, _ what: String) {
    let cache = cache(path)
    // Before anything is read: what is read and is not whole is dropped at once.
    let report = cache.verify()
    #expect(report.damaged.isEmpty, "\(what): \(report.damaged)")
    for number in 0..<20 {
      guard let body = cache.entry(for: "http://host/\(number)")?.body else { continue }
      #expect(body.count == 20_000 && body.allSatisfy { $0 == body[0] }, "\(what): a mixed body")
    }
    cache.store(entry("after"), for: "http://host/after")
    cache.flush()
    #expect(cache.entry(for: "http://host/after")?.body == Data("after".utf8), "\(what): it does not go on")
    let again = cache.verify()
    #expect(again.isClean && again.unindexed == 0 && again.vanished == 0, "\(what): \(again)")
  }

  @Test(.enabled(if: Strace.canFollow, "\(Strace.why)"))
  func oneCallThatFails() async throws {
    let writer = FaultyCalls.built("cache-writer")
    let faults = FaultyCalls.matrix()
    // One folder for all: what one fault leaves behind is what the next one finds.
    let folder = try TemporaryFolder()
    expectInOrder(folder.path, "before")
    for (round, fault) in faults.enumerated() {
      let program = try FaultyCalls.start(
        fault, writer, [folder.path, "\(round)", "12", "20000", "20"],
        in: ["", "/v1", "/v1/images"].map { folder.path + $0 })
      let status = await program.ended()
      // A cache never ends its program. Closing is what the loader of its libraries does too, and that one does.
      if fault.what == "SIGKILL" {
        #expect([0, 137].contains(status), "\(fault): \(status)")
      } else {
        #expect(status == 0 || fault.calls == "close" && status == 127, "\(fault): \(status)")
      }
      if round % 4 == 3 || FaultyCalls.isWhole { expectInOrder(folder.path, "\(fault)") }
    }
    expectInOrder(folder.path, "all")
  }

  /// Room for bytes, but not for files.
  @Test(.enabled(if: geteuid() == 0, "only root may mount a file system"))
  func aDiskWithoutRoomForFiles() async throws {
    let folder = try TemporaryFolder()
    let mount = folder.file("few").path
    try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: false)
    let mounted = try await runProcess(
      "mount", ["-t", "tmpfs", "-o", "size=8m,nr_inodes=32,mode=700", "tmpfs", mount])
    try #require(mounted.status == 0)
    let warnings = Recorder<DiskCache.Warning>()
    do {
      let cache = DiskCache(
        directory: URL(fileURLWithPath: mount),
        configuration: .init(sizeLimit: 4 << 20) { warnings.record($0) })
      for number in 0..<60 { cache.store(entry(bytes: 1000), for: "k\(number)") }
      cache.flush()
      #expect(warnings.all.count == 1)
      #expect(cache.entry(for: "k0") != nil)
      #expect(cache.verify().isClean)
      cache.removeAll()
      cache.store(entry("x"), for: "again")
      #expect(cache.entry(for: "again")?.body == Data("x".utf8))
    }
    _ = try await runProcess("umount", ["-l", mount])
  }

  /// The file system is read-only for a while: hits are served, the rest is said once, and later all goes on.
  @Test(.enabled(if: geteuid() == 0, "only root may mount a file system"), .timeLimit(.minutes(2)))
  func aDiskThatBecomesReadOnly() async throws {
    let folder = try TemporaryFolder()
    let mount = folder.file("turns").path
    try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: false)
    let mounted = try await runProcess("mount", ["-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", mount])
    try #require(mounted.status == 0)
    let warnings = Recorder<DiskCache.Warning>()
    func open() -> DiskCache {
      DiskCache(
        directory: URL(fileURLWithPath: mount),
        configuration: .init(sizeLimit: 4 << 20) { warnings.record($0) })
    }
    do {
      let first = open()
      first.store(entry("x"), for: "k")
      first.flush()
    }
    // An index that is open for writing keeps it from becoming read-only, and is closed in its own time.
    while try await runProcess("mount", ["-o", "remount,ro", mount]).status != 0 { await Task.yield() }
    do {
      let cache = open()
      #expect(cache.entry(for: "k")?.body == Data("x".utf8))
      cache.store(entry("y"), for: "k2")
      cache.flush()
      #expect(cache.entry(for: "k2") == nil)
      #expect(!warnings.all.isEmpty)
    }
    let turned = try await runProcess("mount", ["-o", "remount,rw", mount])
    #expect(turned.status == 0)
    do {
      let cache = open()
      cache.store(entry("y"), for: "k3")
      #expect(cache.entry(for: "k3")?.body == Data("y".utf8))
      #expect(cache.entry(for: "k")?.body == Data("x".utf8))
    }
    _ = try await runProcess("umount", ["-l", mount])
  }

  /// A picture in memory is not fresh for longer because the clock is set back.
  @Test func aClockThatIsSetBackLetsNothingInMemoryBeFreshForLonger() throws {
    let (wall, steady) = (wallClockSeconds(), steadySeconds())
    var container = ImageContainer(
      bitmap: try Bitmap(size: PixelSize(width: 1, height: 1), isOpaque: true) { _ in })
    #expect(container.isFresh)
    container.freshUntil = wall + 60
    #expect(container.isFresh)
    #expect(container.isFresh(wall: wall + 59, steady: steady + 59))
    #expect(!container.isFresh(wall: wall + 61, steady: steady + 61))
    // Set back by a day, and forward by one.
    #expect(!container.isFresh(wall: wall - 86_400, steady: steady + 61))
    #expect(container.isFresh(wall: wall - 86_400, steady: steady + 10))
    #expect(!container.isFresh(wall: wall + 86_400, steady: steady + 10))
  }

  @Test func anEntryFromTheFutureIsNotShownByItsAgeNorThrownAway() throws {
    let folder = try TemporaryFolder()
    let now = Date().timeIntervalSince1970
    func cache(_ clock: ManualClock) -> DiskCache {
      DiskCache(directory: folder.path, configuration: .init(ageLimit: 60)) { clock.now }
    }
    let first = cache(ManualClock(now))
    first.store(entry("x"), for: "k")
    first.flush()
    let back = cache(ManualClock(now - 7200))
    #expect(back.entry(for: "k") == nil)
    back.flush()
    #expect(cache(ManualClock(now + 1)).entry(for: "k")?.body == Data("x".utf8))
  }
}
