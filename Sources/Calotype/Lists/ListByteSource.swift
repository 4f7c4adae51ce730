import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Where a list's bytes come from.
protocol ListByteSource: AnyObject {
  /// Reads up to the buffer's length, waiting for the first byte; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImageListError) -> Int
  /// Whether a read would not wait.
  var isReady: Bool { get }
}

/// Reads a file, a pipe or standard input.
final class FileDescriptorSource: ListByteSource, Sendable {
  private let descriptor: Int32
  private let closes: Bool
  private let name: String

  /// Reads a descriptor that is open already.
  init(descriptor: Int32, closes: Bool, name: String) {
    self.descriptor = descriptor
    self.closes = closes
    self.name = name
  }

  /// Opens a file.
  convenience init(path: String) throws(ImageListError) {
    let descriptor = DescriptorShortage.waiting { open(path, O_RDONLY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw ImageListError(list: path, reason: systemMessage(errno)) }
    var status = stat()
    if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
      close(descriptor)
      throw ImageListError(list: path, reason: "is a folder; a list is a file")
    }
    self.init(descriptor: descriptor, closes: true, name: path)
  }

  deinit { if closes { close(descriptor) } }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImageListError) -> Int {
    while true {
      #if canImport(Glibc)
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      #else
        let count = Darwin.read(descriptor, buffer.baseAddress, buffer.count)
      #endif
      if count >= 0 { return count }
      if errno != EINTR { throw ImageListError(list: name, reason: systemMessage(errno)) }
    }
  }

  var isReady: Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    #if canImport(Glibc)
      return Glibc.poll(&poll, 1, 0) != 0
    #else
      return Darwin.poll(&poll, 1, 0) != 0
    #endif
  }
}

/// Reads bytes that are in memory.
final class DataSource: ListByteSource {
  private let data: Data
  private var at: Int

  init(_ data: Data) {
    self.data = data
    at = data.startIndex
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, data.endIndex - at)
    if count > 0 { data.copyBytes(to: buffer, from: at..<(at + count)) }
    at += count
    return count
  }

  var isReady: Bool { true }
}

/// Turns UTF-16 into UTF-8, as spreadsheets write "Unicode text". A lone half of a pair becomes U+FFFD.
final class UTF16Source: ListByteSource {
  private let source: any ListByteSource
  private let isBigEndian: Bool
  private var oddByte: UInt8?
  private var highSurrogate: UInt16?
  private var pending: [UInt8] = []
  private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 15, alignment: 8)

  /// - Parameter start: Bytes of the source that have been read already, without the byte order mark.
  init(_ source: any ListByteSource, isBigEndian: Bool, start: [UInt8]) {
    self.source = source
    self.isBigEndian = isBigEndian
    start.withUnsafeBytes { translate($0) }
  }

  deinit { input.deallocate() }

  var isReady: Bool { !pending.isEmpty || source.isReady }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImageListError) -> Int {
    while pending.isEmpty {
      let count = try source.read(into: input)
      if count == 0 {
        if highSurrogate == nil, oddByte == nil { return 0 }
        highSurrogate = nil
        oddByte = nil
        pending += "\u{FFFD}".utf8
        break
      }
      translate(UnsafeRawBufferPointer(rebasing: input[..<count]))
    }
    let count = min(buffer.count, pending.count)
    pending.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    pending.removeFirst(count)
    return count
  }

  private func translate(_ bytes: UnsafeRawBufferPointer) {
    for byte in bytes {
      guard let first = oddByte else {
        oddByte = byte
        continue
      }
      oddByte = nil
      append(isBigEndian ? UInt16(first) << 8 | UInt16(byte) : UInt16(byte) << 8 | UInt16(first))
    }
  }

  private func append(_ unit: UInt16) {
    if let high = highSurrogate {
      highSurrogate = nil
      if UTF16.isTrailSurrogate(unit) {
        let value = 0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(unit) - 0xDC00)
        append(Unicode.Scalar(value) ?? "\u{FFFD}")
        return
      }
      append("\u{FFFD}" as Unicode.Scalar)
    }
    if UTF16.isLeadSurrogate(unit) {
      highSurrogate = unit
    } else {
      append(Unicode.Scalar(unit) ?? "\u{FFFD}")
    }
  }

  private func append(_ scalar: Unicode.Scalar) {
    pending += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
  }
}
