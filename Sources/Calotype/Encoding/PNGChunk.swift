import CPNGDecode

/// Writes the chunks that PNG files are made of (PNG, third edition, section 5.3).
enum PNGChunk {
  /// Four bytes.
  static func number(_ value: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - $0 * 8)) }
  }

  static func append(_ type: Int, _ body: [UInt8], to file: inout [UInt8]) {
    body.withUnsafeBytes { append(type, ByteView($0), to: &file) }
  }

  /// Adds a chunk with its length and checksum.
  static func append(_ type: Int, _ body: ByteView, to file: inout [UInt8]) {
    file += number(body.count)
    let start = file.count
    file += number(type)
    file += body.bytes
    let sum = file[start...].withUnsafeBufferPointer { calotype_png_checksum($0.baseAddress, $0.count) }
    file += number(Int(sum))
  }
}
