/// A read-only look at bytes from outside: an access past the end answers `nil` instead of reading.
///
/// Valid only while the memory that it was made from is.
struct ByteView {
  let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var count: Int { bytes.count }

  /// The byte at an offset.
  subscript(at: Int) -> UInt8? {
    at >= 0 && at < bytes.count ? bytes[at] : nil
  }

  /// Two bytes as a number.
  func uint16(at offset: Int, littleEndian: Bool = false) -> Int? {
    guard offset >= 0, offset <= bytes.count - 2 else { return nil }
    let first = Int(bytes[offset]), second = Int(bytes[offset + 1])
    return littleEndian ? second << 8 | first : first << 8 | second
  }

  /// Three bytes as a little-endian number.
  func uint24LittleEndian(at offset: Int) -> Int? {
    guard offset >= 0, offset <= bytes.count - 3 else { return nil }
    return Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 | Int(bytes[offset + 2]) << 16
  }

  /// Four bytes as a number.
  func uint32(at offset: Int, littleEndian: Bool = false) -> Int? {
    guard offset >= 0, offset <= bytes.count - 4 else { return nil }
    let value =
      UInt32(bytes[offset]) << 24 | UInt32(bytes[offset + 1]) << 16
      | UInt32(bytes[offset + 2]) << 8 | UInt32(bytes[offset + 3])
    return Int(littleEndian ? value.byteSwapped : value)
  }

  /// A part, or `nil` where it is not all there.
  func slice(at offset: Int, count length: Int) -> ByteView? {
    guard offset >= 0, length >= 0, offset <= bytes.count, length <= bytes.count - offset else { return nil }
    return ByteView(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length]))
  }

  /// The bytes from an offset to the end; none where the offset lies past it.
  func dropFirst(_ offset: Int) -> ByteView {
    ByteView(UnsafeRawBufferPointer(rebasing: bytes[min(max(0, offset), bytes.count)...]))
  }

  /// Whether a text stands at an offset.
  func matches(_ text: StaticString, at offset: Int = 0) -> Bool {
    let length = text.utf8CodeUnitCount
    guard offset >= 0, length <= bytes.count, offset <= bytes.count - length else { return false }
    for index in 0..<length where bytes[offset + index] != text.utf8Start[index] { return false }
    return true
  }

  /// The position of a text between an offset and a limit.
  func firstIndex(of text: StaticString, from offset: Int = 0, limit: Int = .max) -> Int? {
    let last = min(bytes.count, limit) - text.utf8CodeUnitCount
    var at = max(0, offset)
    while at <= last {
      if matches(text, at: at) { return at }
      at += 1
    }
    return nil
  }
}
