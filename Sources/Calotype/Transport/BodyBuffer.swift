import Foundation

/// Collects a body in one piece of memory that is handed over without a copy.
///
/// The announced length is believed up to 1 MB; beyond that, memory is taken as bytes come, doubling.
struct BodyBuffer: ~Copyable {
  private var memory: UnsafeMutableRawPointer?
  /// The bytes that there is memory for.
  private(set) var capacity = 0
  /// The bytes collected.
  private(set) var count = 0

  /// The most memory that is taken on the word of a header alone.
  static let trustedLength = 1 << 20

  init() {}

  deinit { free(memory) }

  /// Makes room for an announced length.
  mutating func reserve(announced length: Int?) {
    guard let length, length > capacity else { return }
    grow(to: min(length, BodyBuffer.trustedLength))
  }

  /// Adds bytes; whether there was memory for them.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let source = bytes.baseAddress, !bytes.isEmpty else { return true }
    let needed = count + bytes.count
    if needed > capacity { grow(to: max(needed, min(capacity * 2, capacity + (64 << 20)), 4096)) }
    guard needed <= capacity, let memory else { return false }
    memcpy(memory + count, source, bytes.count)
    count = needed
    return true
  }

  /// A copy of the bytes from a position on.
  func copy(from start: Int) -> Data {
    guard let memory, start < count else { return Data() }
    return Data(bytes: memory + start, count: count - start)
  }

  /// Gives the bytes away and is empty afterwards.
  mutating func takeData() -> Data {
    guard count > 0, var memory else { return Data() }
    if capacity - count > max(4096, count / 4), let smaller = realloc(memory, count) { memory = smaller }
    let data = Data(bytesNoCopy: memory, count: count, deallocator: .free)
    self.memory = nil
    capacity = 0
    count = 0
    return data
  }

  private mutating func grow(to newCapacity: Int) {
    guard newCapacity > capacity, let larger = realloc(memory, newCapacity) else { return }
    memory = larger
    capacity = newCapacity
  }
}
