import Foundation
import Synchronization
import TestSupport
import Testing

import class TestSupport.SpawnedProgram

@testable import Calotype

/// Several threads, several processes, and processes that are killed.
@Suite struct DiskCacheProcessTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func cache(limit: Int? = nil) -> DiskCache {
    DiskCache(directory: URL(fileURLWithPath: folder.path), configuration: .init(sizeLimit: limit))
  }

  /// Starts the helper program, which lies beside the tests, and waits until it has stored something.
  private func startWriter(seed: Int, count: Int = 0, bytes: Int, keys: Int) throws -> SpawnedProgram {
    let output = Pipe()
    let process = try SpawnedProgram(
      Self.helper.path, [folder.path, "\(seed)", "\(count)", "\(bytes)", "\(keys)"],
      output: output.fileHandleForWriting.fileDescriptor)
    try output.fileHandleForWriting.close()
    let ready = output.fileHandleForReading.availableData
    #expect(ready == Data("ready\n".utf8))
    return process
  }

  private static let helper: URL = {
    let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    // On Linux the tests are a program in the folder of all programs; on macOS a bundle in it.
    var folder = tests.deletingLastPathComponent()
    while folder.path != "/" {
      let helper = folder.appendingPathComponent("cache-writer")
      if FileManager.default.isExecutableFile(atPath: helper.path) { return helper }
      folder.deleteLastPathComponent()
    }
    return tests
  }()

  /// K7, first half
  @Test func readersNextToAWriterOnlyEverSeeOneWholeBody() {
    let cache = cache()
    let bodies = [entry(bytes: 256 << 10, fill: 1), entry(bytes: 256 << 10, fill: 2)]
    cache.store(bodies[0], for: "k")
    let readersLeft = Atomic(4)
    let first = Atomic(0)
    let second = Atomic(0)
    let other = Atomic(0)
    // Threads of their own: they must run side by side, whatever other tests do.
    let threads = (0..<5).map { number in
      Thread {
        if number == 4 {
          var turn = 0
          while readersLeft.load(ordering: .relaxed) > 0 {
            turn += 1
            cache.store(bodies[turn % 2], for: "k")
          }
          return
        }
        // Half of the readers as another process would read.
        let cache = number % 2 == 0 ? cache : self.cache()
        for _ in 0..<400 {
          let body = cache.entry(for: "k")?.body
          if body == bodies[0].body {
            first.add(1, ordering: .relaxed)
          } else if body == bodies[1].body {
            second.add(1, ordering: .relaxed)
          } else {
            other.add(1, ordering: .relaxed)
          }
        }
        readersLeft.subtract(1, ordering: .relaxed)
      }
    }
    for thread in threads { thread.start() }
    for thread in threads { while !thread.isFinished { usleep(1000) } }
    #expect(other.load(ordering: .relaxed) == 0)
    #expect(first.load(ordering: .relaxed) > 0)
    #expect(second.load(ordering: .relaxed) > 0)
  }

  /// K7, second half
  @Test func aWriterThatIsKilledLeavesNothingHalf() throws {
    for round in 0..<100 {
      let process = try startWriter(seed: round, bytes: 256 << 10, keys: 4)
      // At another point of the writing each time.
      usleep(useconds_t(round * 37 % 500))
      process.signal(SIGKILL)
      process.wait()
    }
    for file in folder.entryFiles {
      let size = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + file)[.size] as? Int
      #expect((size ?? 0) > 256 << 10, "\(file)")
    }
    let cache = cache()
    let report = cache.verify()
    #expect(report.isClean)
    #expect(report.entries > 0)
    #expect(report.entries == cache.info.count)
    cache.flush()
    #expect(folder.leftovers == [])
  }

  /// K15, smaller
  @Test func processesThatShareAFolderAndAreKilledLeaveItInOrder() throws {
    for round in 0..<3 {
      let killed = try (0..<4).map { try startWriter(seed: round * 10 + $0, bytes: 5000, keys: 3000) }
      let orderly = try startWriter(seed: 99 + round, count: 300, bytes: 5000, keys: 3000)
      for process in killed {
        usleep(20_000)
        process.signal(SIGKILL)
      }
      for process in killed { process.wait() }
      #expect(orderly.wait() == 0)
    }
    let cache = cache(limit: 8 << 20)
    #expect(cache.verify().isClean)
    cache.flush()
    #expect(folder.leftovers == [])
    // The index's sums are those of the files.
    let info = cache.info
    let sizes = try folder.entryFiles.map { file -> Int in
      let size = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + file)[.size] as? Int
      return ((size ?? 0) + 4095) / 4096 * 4096
    }
    #expect(info.count == sizes.count)
    #expect(info.bytes == sizes.reduce(0, +))
    #expect(info.bytes <= 8 << 20)
    for number in 0..<3000 {
      guard let body = cache.entry(for: "http://host/\(number)")?.body else { continue }
      #expect(body.count == 5000 && body.allSatisfy { $0 == body[0] })
    }
  }

  @Test func twentyFiveProcessesOpenOneNewFolderAtOnce() throws {
    let processes = try (0..<25).map { seed in
      try SpawnedProgram(Self.helper.path, [folder.path, "\(seed)", "20", "100", "100000"])
    }
    for process in processes { #expect(process.wait() == 0) }
    let cache = cache()
    #expect(cache.info.count == folder.entryFiles.count)
    #expect(cache.info.count > 25 * 10)
    let report = cache.verify()
    #expect(report.isClean)
    #expect(report.unindexed == 0 && report.vanished == 0)
  }
}
