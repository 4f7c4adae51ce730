import Foundation
import Testing

@testable import Calotype

@Suite struct DiskCacheWriterTests {
  let folder: TemporaryFolder
  let cache: DiskCache
  let metadata = DataCacheMetadata(kind: .original, url: "http://a/1", headers: ["ETag": "\"1\""])

  init() throws {
    folder = try TemporaryFolder()
    cache = DiskCache(directory: URL(fileURLWithPath: folder.path))
  }

  @Test func aBodyInPiecesIsSeenWhenItIsWhole() throws {
    let writer = try #require(cache.makeWriter(for: "k"))
    #expect(writer.append(Data("one ".utf8)))
    #expect(cache.entry(for: "k") == nil)
    #expect(writer.append(Data("two".utf8)))
    #expect(writer.count == 7)
    #expect(writer.commit(metadata))
    #expect(cache.entry(for: "k") == DataCacheEntry(metadata: metadata, body: Data("one two".utf8)))
    #expect(!writer.commit(metadata))
    #expect(!writer.append(Data("more".utf8)))
    cache.flush()
    #expect(cache.info.count == 1)
    #expect(folder.leftovers == [])
  }

  @Test func aWriterThatIsLetGoLeavesNothing() throws {
    do {
      let writer = try #require(cache.makeWriter(for: "k"))
      writer.append(Data("one ".utf8))
      #expect(folder.leftovers.count == 2)
    }
    cache.flush()
    #expect(folder.leftovers == [])
    #expect(cache.entry(for: "k") == nil)
  }

  @Test func aPartIsKeptAndContinued() throws {
    let writer = try #require(cache.makeWriter(for: "k"))
    writer.append(Data("one ".utf8))
    #expect(writer.keep(metadata))
    #expect(cache.entry(for: "k") == nil)
    let later = DiskCache(directory: URL(fileURLWithPath: folder.path))
    let part = later.entry(for: DiskCache.partialKey(for: "k"))
    #expect(part?.metadata.kind == .partial)
    #expect(part?.body == Data("one ".utf8))
    cache.flush()
    #expect(later.info.count == 1, "parts count in the cache's limit")

    let next = try #require(later.makeWriter(for: "k", continuing: true))
    #expect(next.count == 4)
    next.append(Data("two".utf8))
    #expect(next.commit(metadata))
    #expect(later.entry(for: "k")?.body == Data("one two".utf8))
    #expect(later.entry(for: DiskCache.partialKey(for: "k")) == nil)
    #expect(later.makeWriter(for: "k", continuing: true) == nil)
    later.flush()
    cache.flush()
    #expect(later.info.count == 1)
    #expect(folder.leftovers == [])
  }

  @Test func aDamagedPartIsNotContinued() throws {
    let writer = try #require(cache.makeWriter(for: "k"))
    writer.append(Data("one ".utf8))
    writer.keep(metadata)
    let path = folder.path + "/" + (try #require(folder.entryFiles.first))
    let handle = try #require(FileHandle(forUpdatingAtPath: path))
    try handle.seek(toOffset: 65)
    handle.write(Data([0]))
    #expect(cache.makeWriter(for: "k", continuing: true) == nil)
    cache.flush()
    #expect(folder.leftovers == [])
  }
}
