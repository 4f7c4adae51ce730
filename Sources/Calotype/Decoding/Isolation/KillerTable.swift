import CXXHash
import Foundation

/// Pictures that ended a worker, or kept it busy past its deadline: they are not tried again for a while.
///
/// Pictures are told by their bytes. Nobody gains by a picture that is taken for another: it is the one that is
/// refused.
struct KillerTable {
  private struct Entry {
    let byteCount: Int
    let low: UInt64, high: UInt64
    let until: UInt64
  }

  private var entries: [Entry] = []

  /// The most pictures that are remembered; the oldest is forgotten first.
  static let capacity = 256

  /// Notes a picture, until a moment of the monotonic clock.
  mutating func note(_ data: Data, until: UInt64) {
    let hash = Self.hash(data)
    entries.removeAll { $0.byteCount == data.count && $0.low == hash.low64 && $0.high == hash.high64 }
    if entries.count >= Self.capacity { entries.removeFirst() }
    entries.append(Entry(byteCount: data.count, low: hash.low64, high: hash.high64, until: until))
  }

  /// Whether a picture is remembered.
  func contains(_ data: Data, now: UInt64) -> Bool {
    // Few files have the same length, so as a rule nothing has to be hashed.
    guard entries.contains(where: { $0.byteCount == data.count && $0.until > now }) else { return false }
    let hash = Self.hash(data)
    return entries.contains {
      $0.byteCount == data.count && $0.low == hash.low64 && $0.high == hash.high64 && $0.until > now
    }
  }

  /// So that nobody can make a second file with the hash of another's.
  private static let seed = UInt64.random(in: .min ... .max)

  private static func hash(_ data: Data) -> XXH128_hash_t {
    data.withUnsafeBytes { XXH3_128bits_withSeed($0.baseAddress, $0.count, seed) }
  }
}
