import CXXHash

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// How an entry lies in its file, format version 1:
///
/// | At | Bytes | |
/// |---|---|---|
/// | 0 | 8 | `89 43 4C 54 59 31 0D 0A`, whose sixth byte is the version |
/// | 8 | 4 | length of the key |
/// | 12 | 4 | length of the metadata |
/// | 16 | 8 | length of the body |
/// | 24 | 8 | XXH3-64 of the body |
/// | 32 | 8 | XXH3-64 of key and metadata |
/// | 40 | 16 | zeros |
/// | 56 | 8 | XXH3-64 of the 56 bytes before |
/// | 64 | | body, key (UTF-8), metadata (``MetadataCoding``) |
///
/// Numbers are little-endian. The body stands before what describes it, so that a body of unknown length
/// can be written as it arrives, and at a place where pixels may stand.
enum EntryFormat {
  static let headerLength = 64
  static let magic: [UInt8] = [0x89, 0x43, 0x4C, 0x54, 0x59, 0x31, 0x0D, 0x0A]
  private static let magicWord: UInt64 = 0x0A0D_3159_544C_4389

  /// What the first 64 bytes say.
  struct Header: Hashable {
    var keyLength: Int
    var metadataLength: Int
    var bodyLength: Int
    var bodyHash: UInt64
    var trailerHash: UInt64

    /// The length that the file must have.
    var fileLength: Int { headerLength + bodyLength + keyLength + metadataLength }
    /// Where key and metadata start.
    var trailerOffset: Int { headerLength + bodyLength }
    var trailerLength: Int { keyLength + metadataLength }
  }

  /// What reading a file's bytes gives.
  enum Reading {
    /// The entry of the key that was asked for.
    case entry(DataCacheMetadata, body: Range<Int>)
    /// A whole entry, but another key's.
    case otherKey
    /// Not an entry, or not as it was written.
    case damaged
  }

  /// The first 64 bytes.
  static func encode(_ header: Header) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(headerLength)
    func append<Number: FixedWidthInteger>(_ number: Number) {
      withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }
    append(magicWord)
    append(UInt32(header.keyLength))
    append(UInt32(header.metadataLength))
    append(UInt64(header.bodyLength))
    append(header.bodyHash)
    append(header.trailerHash)
    append(UInt64(0))
    append(UInt64(0))
    append(bytes.withUnsafeBytes { hash($0) })
    return bytes
  }

  /// Reads the first 64 bytes of a file that has a certain length; `nil` where they are not as written.
  static func header(_ bytes: UnsafeRawBufferPointer, fileLength: Int) -> Header? {
    guard bytes.count >= headerLength,
      number(bytes, 0, UInt64.self) == magicWord,
      number(bytes, 56, UInt64.self) == hash(UnsafeRawBufferPointer(rebasing: bytes[..<56]))
    else { return nil }
    let bodyLength = number(bytes, 16, UInt64.self)
    guard bodyLength < 1 << 48 else { return nil }
    let header = Header(
      keyLength: Int(number(bytes, 8, UInt32.self)), metadataLength: Int(number(bytes, 12, UInt32.self)),
      bodyLength: Int(bodyLength), bodyHash: number(bytes, 24, UInt64.self),
      trailerHash: number(bytes, 32, UInt64.self))
    return header.fileLength == fileLength ? header : nil
  }

  /// Reads key and metadata; `nil` where they are not as written.
  static func trailer(
    _ bytes: UnsafeRawBufferPointer, header: Header
  ) -> (key: UnsafeRawBufferPointer, metadata: UnsafeRawBufferPointer)? {
    guard bytes.count == header.trailerLength, hash(bytes) == header.trailerHash else { return nil }
    return (
      UnsafeRawBufferPointer(rebasing: bytes[..<header.keyLength]),
      UnsafeRawBufferPointer(rebasing: bytes[header.keyLength...])
    )
  }

  /// Reads and checks a whole file.
  ///
  /// - Parameters:
  ///   - bytes: All of the file.
  ///   - key: The key that was asked for; `nil` to take any.
  static func read(_ bytes: UnsafeRawBufferPointer, key: String?) -> Reading {
    guard let header = header(bytes, fileLength: bytes.count) else { return .damaged }
    let body = headerLength..<header.trailerOffset
    guard
      let trailer = trailer(UnsafeRawBufferPointer(rebasing: bytes[header.trailerOffset...]), header: header),
      hash(UnsafeRawBufferPointer(rebasing: bytes[body])) == header.bodyHash
    else { return .damaged }
    if var key {
      let isSame = key.withUTF8 { bytes in
        guard bytes.count == trailer.key.count else { return false }
        guard let left = bytes.baseAddress, let right = trailer.key.baseAddress else { return bytes.isEmpty }
        return memcmp(left, right, bytes.count) == 0
      }
      guard isSame else { return .otherKey }
    }
    guard let metadata = MetadataCoding.decode(trailer.metadata) else { return .damaged }
    return .entry(metadata, body: body)
  }

  static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 { XXH3_64bits(bytes.baseAddress, bytes.count) }

  private static func number<Number: FixedWidthInteger>(
    _ bytes: UnsafeRawBufferPointer, _ at: Int, _ type: Number.Type
  ) -> Number {
    Number(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: Number.self))
  }
}
