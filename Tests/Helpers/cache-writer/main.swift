import Calotype
import Foundation

// Stores entries in a cache folder until it is killed, or has stored as many as it was asked for.
//
//   cache-writer DIRECTORY SEED COUNT BYTES KEYS
//
// Every body is a row of one byte, so that a mixture of two would show. Says "ready" once it has stored the
// first. With a COUNT, waits for the index at the end, as a program does that ends in an orderly way.

let arguments = CommandLine.arguments
guard arguments.count == 6, let seed = UInt64(arguments[2]), let count = Int(arguments[3]),
  let bytes = Int(arguments[4]), let keys = UInt64(arguments[5]), keys > 0
else {
  FileHandle.standardError.write(Data("usage: cache-writer DIRECTORY SEED COUNT BYTES KEYS\n".utf8))
  exit(2)
}

let cache = DiskCache(
  directory: URL(fileURLWithPath: arguments[1]), configuration: .init(sizeLimit: 8 << 20))
var random = seed
for number in 0..<(count == 0 ? Int.max : count) {
  random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
  let key = "http://host/\((random >> 33) % keys)"
  if random >> 60 < 4 {
    _ = cache.entry(for: key)
  } else {
    let fill = UInt8(truncatingIfNeeded: random >> 24)
    let entry = DataCacheEntry(
      metadata: DataCacheMetadata(kind: .original, url: key), body: Data(repeating: fill, count: bytes))
    cache.store(entry, for: key)
  }
  // Not by FileHandle, which ends the program where a write fails, as some tests make it.
  if number == 0 { _ = write(1, "ready\n", 6) }
}
cache.flush()
