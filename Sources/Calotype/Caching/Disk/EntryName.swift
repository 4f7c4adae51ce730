import CXXHash

/// An entry's file: the 128-bit XXH3 of its key, as `ab/<32 hexadecimal digits>` whose first two are the
/// folder's.
struct EntryName: Hashable, Sendable {
  var high: UInt64
  var low: UInt64

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  init(key: String) {
    var key = key
    let hash = key.withUTF8 { XXH3_128bits($0.baseAddress, $0.count) }
    high = hash.high64
    low = hash.low64
  }

  /// The name that a file has in its folder, or `nil` where the text is no such name.
  init?(fileName: UnsafeBufferPointer<UInt8>) {
    guard fileName.count == 32 else { return nil }
    var words: (UInt64, UInt64) = (0, 0)
    for (index, byte) in fileName.enumerated() {
      guard let digit = Self.value(of: byte) else { return nil }
      if index < 16 { words.0 = words.0 << 4 | digit } else { words.1 = words.1 << 4 | digit }
    }
    self.init(high: words.0, low: words.1)
  }

  /// Which of the 256 folders holds the file.
  var shard: Int { Int(high >> 56) }

  /// The path from the cache's folder, as text.
  var path: String { withPath { String(cString: $0) } }

  /// Calls a closure with the path from the cache's folder, as a C string.
  func withPath<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 36) { buffer in
      Self.write(high, to: buffer, at: 3)
      Self.write(low, to: buffer, at: 19)
      buffer[0] = buffer[3]
      buffer[1] = buffer[4]
      buffer[2] = 0x2F
      buffer[35] = 0
      return body(UnsafePointer(buffer.baseAddress.unsafelyUnwrapped))
    }
  }

  private static func write(_ word: UInt64, to buffer: UnsafeMutableBufferPointer<CChar>, at start: Int) {
    for index in 0..<16 {
      buffer[start + index] = digit(UInt8(truncatingIfNeeded: word >> UInt64(60 - index * 4)) & 15)
    }
  }

  private static func digit(_ value: UInt8) -> CChar {
    CChar(bitPattern: value < 10 ? 0x30 + value : 0x57 + value)
  }

  private static func value(of byte: UInt8) -> UInt64? {
    switch byte {
    case 0x30...0x39: UInt64(byte - 0x30)
    case 0x61...0x66: UInt64(byte - 0x57)
    default: nil
    }
  }
}
