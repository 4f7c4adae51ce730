import Calotype
import Foundation
import Synchronization

struct CacheBenchmarks: Benchmark {
  static let name = "cache"
  static let summary = "memory and disk caches: hits, stores, evictions, hit ratios on traces"

  func run(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    var rows = try await memoryRows(context)
    rows += try CacheTrace.all(isQuick: context.isQuick).flatMap(hitRatioRows)
    rows += try await diskRows(context)
    return rows
  }

  // MARK: Memory

  private func picture(side: Int) throws -> ImageContainer {
    ImageContainer(
      bitmap: try Bitmap(size: PixelSize(width: side, height: side), isOpaque: true) { pixels in
        pixels.initializeMemory(as: UInt8.self, repeating: 0)
      })
  }

  private func memoryRows(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    let image = try picture(side: 4)
    let addresses = (0..<1000).map { "https://icons.example.org/catalogue/large/icon-\($0).png" }
    let cache = MemoryCache(configuration: .init(costLimit: 64 << 20))
    let peer = Mutex<[String: ImageContainer]>([:])
    for address in addresses {
      cache.store(image, for: ImageCacheKey(address: address, variant: "48x48"))
      peer.withLock { $0[address] = image }
    }
    let keys = addresses.map { ImageCacheKey(address: $0, variant: "48x48") }
    let rounds = 100
    let one: @Sendable () -> Void = {
      for _ in 0..<rounds { for key in keys { keep(cache.image(for: key)) } }
    }
    var rows = [
      await context.compare(
        "memory hit, ready key", unit: .nanoseconds, operations: rounds * keys.count,
        peer: "Dictionary + Mutex",
        ours: { one() },
        theirs: {
          for _ in 0..<rounds { for address in addresses { keep(peer.withLock { $0[address] }) } }
        }),
      await context.compare(
        "memory hit, key built", unit: .nanoseconds, operations: rounds * keys.count,
        peer: "Dictionary + Mutex",
        goal: 1.5,
        ours: {
          for _ in 0..<rounds {
            for address in addresses {
              keep(cache.image(for: ImageCacheKey(address: address, variant: "48x48")))
            }
          }
        },
        theirs: {
          for _ in 0..<rounds { for address in addresses { keep(peer.withLock { $0[address] }) } }
        }),
    ]
    let row = await context.compare(
      "memory hit, 2 threads at once", unit: .nanoseconds, operations: rounds * keys.count * 2,
      peer: "1 thread, as many hits", note: "a ratio of 0.625 is 1.6 times the hits of one thread",
      ours: {
        await withTaskGroup(of: Void.self) { group in
          group.addTask { one() }
          group.addTask { one() }
        }
      },
      theirs: {
        one()
        one()
      })
    rows.append(row)
    let next = Mutex(0)
    rows.append(
      await context.measure("memory store that evicts", unit: .nanoseconds, operations: 1000) {
        let small = MemoryCacheHolder.shared
        for _ in 0..<1000 {
          let number = next.withLock { number in
            number += 1
            return number
          }
          small.store(image, for: ImageCacheKey(address: "https://host/\(number)"))
        }
      })
    return rows
  }

  private enum MemoryCacheHolder {
    static let shared = MemoryCache(configuration: .init(costLimit: 64 * 5000))
  }

  private func hitRatioRows(_ trace: CacheTrace) throws -> [BenchmarkRow] {
    let pixel = try picture(side: 1)
    return [100, 500, 1000, 2500].map { capacity in
      let cache = MemoryCache(configuration: .init(costLimit: capacity * 4, largestEntryShare: 1))
      var lru = LeastRecentlyUsed(capacity: capacity)
      var hits = (ours: 0, lru: 0)
      for number in trace.numbers {
        let key = ImageCacheKey(address: "http://host/\(number)")
        if cache.image(for: key) != nil { hits.ours += 1 } else { cache.store(pixel, for: key) }
        if lru.look(up: number) { hits.lru += 1 }
      }
      let count = Double(trace.numbers.count) / 100
      let ours = Double(hits.ours) / count
      let theirs = Double(hits.lru) / count
      return BenchmarkRow(
        title: "hit ratio, \(trace.name), room for \(capacity)", value: ours, unit: "%", peer: "LRU",
        peerValue: theirs, note: String(format: "%+.1f points", ours - theirs))
    }
  }

  // MARK: Disk

  private func diskRows(_ context: BenchmarkContext) async throws -> [BenchmarkRow] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("calotype-bench-\(getpid())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let count =
      ProcessInfo.processInfo.environment["CALOTYPE_BENCH_ENTRIES"].flatMap { Int($0) }
      ?? (context.isQuick ? 2000 : 100_000)
    var rows = try await diskHitRows(context, folder.appendingPathComponent("hit"))
    let large = folder.appendingPathComponent("large")
    rows.append(fill(large, count))
    rows += try await openRows(context, large, count)
    rows.append(evict(large, count / 10))
    return rows
  }

  private func diskHitRows(_ context: BenchmarkContext, _ folder: URL) async throws -> [BenchmarkRow] {
    let cache = DiskCache(directory: folder)
    let headers: HTTPHeaders = [
      "Content-Type": "image/png", "Content-Length": "8192", "ETag": "\"5f3c-1a2b\"",
      "Last-Modified": "Tue, 03 Mar 2026 10:00:00 GMT", "Cache-Control": "max-age=86400",
      "Date": "Tue, 03 Mar 2026 10:00:00 GMT", "Server": "nginx",
    ]
    var plain: [String] = []
    for number in 0..<200 {
      let address = "http://host/\(number)"
      let body = Data(repeating: UInt8(number), count: 8192)
      cache.store(
        DataCacheEntry(
          metadata: DataCacheMetadata(kind: .original, url: address, headers: headers), body: body),
        for: address)
      let path = folder.appendingPathComponent("plain-\(number)").path
      try body.write(to: URL(fileURLWithPath: path))
      plain.append(path)
    }
    cache.flush()
    let addresses = (0..<200).map { "http://host/\($0)" }
    return [
      await context.compare(
        "disk hit, 8 KB", operations: 200, peer: "open, read, close", goal: 1.3,
        ours: { for address in addresses { keep(cache.entry(for: address)) } },
        theirs: { for path in plain { keep(readPlain(path)) } }),
      await context.compare(
        "disk store, 8 KB", operations: 200, peer: "open, write, rename",
        ours: {
          for address in addresses {
            let metadata = DataCacheMetadata(kind: .original, url: address, headers: headers)
            cache.store(
              DataCacheEntry(metadata: metadata, body: Data(repeating: 1, count: 8192)), for: address)
          }
        },
        theirs: { for path in plain { writePlain(path) } }),
    ]
  }

  private func readPlain(_ path: String) -> Data {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0, let memory = malloc(8192) else { return Data() }
    let count = read(descriptor, memory, 8192)
    close(descriptor)
    return Data(bytesNoCopy: memory, count: max(0, count), deallocator: .free)
  }

  private func writePlain(_ path: String) {
    let bytes = [UInt8](repeating: 1, count: 8192)
    let descriptor = open(path + ".new", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    keep(write(descriptor, bytes, bytes.count))
    close(descriptor)
    rename(path + ".new", path)
  }

  private func fill(_ folder: URL, _ count: Int) -> BenchmarkRow {
    let cache = DiskCache(directory: folder, configuration: .init(sizeLimit: 1 << 40))
    let start = ContinuousClock.now
    for number in 0..<count {
      let address = "http://host/\(number)"
      cache.store(
        DataCacheEntry(
          metadata: DataCacheMetadata(kind: .original, url: address), body: Data(repeating: 1, count: 100)),
        for: address)
    }
    cache.flush()
    let seconds = (ContinuousClock.now - start).seconds
    return BenchmarkRow(
      title: "disk store of \(count) small entries, with index", value: seconds * 1e6 / Double(count),
      unit: "µs")
  }

  private func openRows(_ context: BenchmarkContext, _ folder: URL, _ count: Int) async throws
    -> [BenchmarkRow]
  {
    let goal = count > 100_000 ? 30.0 : 20.0
    return [
      await context.measure(
        "disk open and first hit, \(count) entries", unit: .milliseconds, goal: goal
      ) {
        let cache = DiskCache(directory: folder, configuration: .init(sizeLimit: 1 << 40))
        keep(cache.entry(for: "http://host/\(count / 2)"))
      },
      await context.measure(
        "disk open, hit, count and flush, \(count) entries", unit: .milliseconds, goal: goal
      ) {
        let cache = DiskCache(directory: folder, configuration: .init(sizeLimit: 1 << 40))
        keep(cache.entry(for: "http://host/\(count / 2)"))
        keep(cache.info)
        cache.flush()
      },
    ]
  }

  private func evict(_ folder: URL, _ count: Int) -> BenchmarkRow {
    let cache = DiskCache(directory: folder, configuration: .init(sizeLimit: 1 << 40))
    let bytes = cache.info.bytes
    let start = ContinuousClock.now
    cache.trim(toSize: bytes - count * 4096)
    let seconds = (ContinuousClock.now - start).seconds
    return BenchmarkRow(title: "disk eviction, an entry", value: seconds * 1e6 / Double(count), unit: "µs")
  }
}
