import Foundation

/// Reads and writes entries' files.
enum EntryFile {
  /// Bytes that a file may have at most; what is longer is no entry.
  static let largest = 1 << 31

  /// What reading a file gives.
  enum Reading {
    case entry(DataCacheEntry)
    case otherKey
    case damaged
    /// The file could not be read now; nothing is known of it.
    case unreadable
  }

  /// Reads and checks an opened file. The body is the memory that was read into.
  ///
  /// - Parameter key: The key that was asked for; `nil` to take any.
  static func read(_ opened: Int32, _ status: stat, key: String?) -> Reading {
    let length = Int(status.st_size)
    guard length >= EntryFormat.headerLength, length <= largest else { return .damaged }
    guard let memory = malloc(length) else { return .unreadable }
    let buffer = UnsafeMutableRawBufferPointer(start: memory, count: length)
    var isOwned = true
    defer { if isOwned { free(memory) } }
    do throws(SystemError) {
      // A file that got shorter than its status said is not as it was written.
      guard try FileSystem.read(opened, into: buffer) else { return .damaged }
    } catch {
      return .unreadable
    }
    switch EntryFormat.read(UnsafeRawBufferPointer(buffer), key: key) {
    case .damaged: return .damaged
    case .otherKey: return .otherKey
    case .entry(let metadata, let body):
      guard !body.isEmpty else { return .entry(DataCacheEntry(metadata: metadata, body: Data())) }
      isOwned = false
      // The address as a number: a pointer is not Sendable, but this one is the closure's alone.
      let address = UInt(bitPattern: memory)
      let data = Data(
        bytesNoCopy: memory + body.lowerBound, count: body.count,
        deallocator: .custom { _, _ in free(UnsafeMutableRawPointer(bitPattern: address)) })
      return .entry(DataCacheEntry(metadata: metadata, body: data))
    }
  }

  /// Reads and checks all but the body.
  static func readHead(
    _ opened: Int32, _ status: stat
  ) -> (header: EntryFormat.Header, key: String, metadata: DataCacheMetadata)? {
    let length = Int(status.st_size)
    guard length >= EntryFormat.headerLength, length <= largest else { return nil }
    var head = [UInt8](repeating: 0, count: EntryFormat.headerLength)
    guard (try? head.withUnsafeMutableBytes { try FileSystem.read(opened, into: $0, at: 0) }) == true,
      let header = head.withUnsafeBytes({ EntryFormat.header($0, fileLength: length) })
    else { return nil }
    var rest = [UInt8](repeating: 0, count: header.trailerLength)
    let isWhole = try? rest.withUnsafeMutableBytes {
      try FileSystem.read(opened, into: $0, at: header.trailerOffset)
    }
    guard isWhole == true else { return nil }
    return rest.withUnsafeBytes { bytes in
      guard let trailer = EntryFormat.trailer(bytes, header: header),
        let key = String(validating: trailer.key, as: UTF8.self),
        let metadata = MetadataCoding.decode(trailer.metadata)
      else { return nil }
      return (header, key, metadata)
    }
  }

  /// What stands before and behind a body.
  static func encode(
    _ metadata: DataCacheMetadata, key: String, bodyLength: Int, bodyHash: UInt64
  ) throws(SystemError) -> (header: [UInt8], trailer: [UInt8]) {
    let keyLength = key.utf8.count
    let trailer = Array(key.utf8) + MetadataCoding.encode(metadata)
    guard keyLength <= 1 << 20, trailer.count <= 1 << 24, bodyLength < largest - trailer.count - 64 else {
      throw SystemError(EFBIG)
    }
    let header = EntryFormat.encode(
      EntryFormat.Header(
        keyLength: keyLength, metadataLength: trailer.count - keyLength, bodyLength: bodyLength,
        bodyHash: bodyHash, trailerHash: trailer.withUnsafeBytes { EntryFormat.hash($0) }))
    return (header, trailer)
  }

  /// Writes a whole entry to an opened, empty file.
  static func write(_ entry: DataCacheEntry, key: String, to opened: Int32) throws(SystemError) {
    let parts = try encode(
      entry.metadata, key: key, bodyLength: entry.body.count,
      bodyHash: entry.body.withUnsafeBytes { EntryFormat.hash($0) })
    let result = parts.header.withUnsafeBytes { header in
      entry.body.withUnsafeBytes { body in
        parts.trailer.withUnsafeBytes { trailer in
          Result { () throws(SystemError) in try FileSystem.write(opened, [header, body, trailer]) }
        }
      }
    }
    try result.get()
  }

  /// Writes an entry to an opened, empty file with the body of another file, which is not looked at.
  static func write(
    _ metadata: DataCacheMetadata, key: String, bodyOf source: Int32, _ header: EntryFormat.Header,
    to opened: Int32
  ) throws(SystemError) {
    let parts = try encode(metadata, key: key, bodyLength: header.bodyLength, bodyHash: header.bodyHash)
    try FileSystem.write(opened, parts.header, at: 0)
    try FileSystem.copy(
      from: source, to: opened, at: EntryFormat.headerLength, count: header.bodyLength)
    try FileSystem.write(opened, parts.trailer, at: EntryFormat.headerLength + header.bodyLength)
  }
}
