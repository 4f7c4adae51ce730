#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Reads a source byte by byte or line by line through one buffer, and knows the line.
final class ListByteReader {
  /// The list's name, for errors.
  let name: String
  private(set) var line = 1

  private var source: any ListByteSource
  private var buffer: UnsafeMutablePointer<UInt8>
  private var capacity = 1 << 16
  private var at = 0
  private var end = 0
  private var bytesBefore = 0
  private var hasEnded = false

  init(_ source: any ListByteSource, name: String) {
    self.source = source
    self.name = name
    buffer = .allocate(capacity: capacity)
  }

  deinit { buffer.deallocate() }

  /// The number of bytes read so far.
  var offset: Int { bytesBefore + at }

  /// Whether the next byte can be had without waiting.
  var isReady: Bool { at < end || hasEnded || source.isReady }

  /// The next byte, left where it is; `nil` at the end.
  @inline(__always)
  func peek() throws(ImageListError) -> UInt8? {
    if at == end, try !refill() { return nil }
    return buffer[at]
  }

  /// The next byte; `nil` at the end.
  @inline(__always)
  func next() throws(ImageListError) -> UInt8? {
    if at == end, try !refill() { return nil }
    let byte = buffer[at]
    at += 1
    if byte == 0x0A { line += 1 }
    return byte
  }

  /// Skips spaces, tabs and line ends, and gives the byte after them, left where it is.
  func peekPastWhitespace() throws(ImageListError) -> UInt8? {
    while let byte = try peek() {
      guard byte == 0x20 || (0x09...0x0D).contains(byte) else { return byte }
      _ = try next()
    }
    return nil
  }

  /// Adds bytes to a text up to, and without, the next of three, or the end of what is in the buffer.
  /// Line ends are counted.
  func appendRun(until stop: (UInt8) -> Bool, to text: inout [UInt8]) {
    let start = at
    while at < end, !stop(buffer[at]) {
      if buffer[at] == 0x0A { line += 1 }
      at += 1
    }
    text.append(contentsOf: UnsafeBufferPointer(start: buffer + start, count: at - start))
  }

  /// Reads a line, without its end, in place of what `text` held.
  ///
  /// - Returns: `false` at the end of the list. A line longer than `limit` is read to its end and cut:
  ///   `text` is then longer than `limit`.
  func readLine(into text: inout [UInt8], limit: Int) throws(ImageListError) -> Bool {
    text.removeAll(keepingCapacity: true)
    guard try peek() != nil else { return false }
    while true {
      if at == end, try !refill() { break }
      let found = memchr(buffer + at, 0x0A, end - at)
      let stop =
        found.map { UnsafePointer($0.assumingMemoryBound(to: UInt8.self)) - UnsafePointer(buffer) } ?? end
      let room = limit + 1 - text.count
      if room > 0 {
        text.append(contentsOf: UnsafeBufferPointer(start: buffer + at, count: min(stop - at, room)))
      }
      at = stop
      if found != nil {
        at += 1
        line += 1
        break
      }
    }
    if text.last == 0x0D { text.removeLast() }
    return true
  }

  /// The list's first bytes without using them up: as many as come with a first line, or all that the
  /// buffer holds. A byte order mark is removed, and UTF-16 is turned to UTF-8 from here on.
  func start() throws(ImageListError) -> [UInt8] {
    while end < 4096, !hasEnded {
      if memchr(buffer + at, 0x0A, end - at) != nil, end > 64 { break }
      try fill()
    }
    let bytes = UnsafeBufferPointer(start: buffer + at, count: end - at)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      at += 3
    } else if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) {
      let start = Array(bytes.dropFirst(2))
      source = UTF16Source(source, isBigEndian: bytes[0] == 0xFE, start: start)
      (at, end, hasEnded) = (0, 0, false)
      return try self.start()
    }
    return Array(UnsafeBufferPointer(start: buffer + at, count: end - at))
  }

  /// All bytes that are left, or `nil` where they are more than the limit.
  func readAll(limit: Int) throws(ImageListError) -> [UInt8]? {
    var bytes: [UInt8] = []
    while try peek() != nil {
      bytes.append(contentsOf: UnsafeBufferPointer(start: buffer + at, count: end - at))
      at = end
      if bytes.count > limit { return nil }
    }
    return bytes
  }

  /// An error at the present line.
  func error(_ reason: String) -> ImageListError {
    ImageListError(list: name, place: ImageListPlace(line: line), reason: reason)
  }

  /// Reads these bytes from now on, as the line of this number, in place of what was there before.
  func restart(with bytes: [UInt8], line number: Int) {
    if capacity < bytes.count {
      buffer.deallocate()
      capacity = bytes.count
      buffer = .allocate(capacity: capacity)
    }
    bytes.withUnsafeBufferPointer {
      if let base = $0.baseAddress { buffer.update(from: base, count: $0.count) }
    }
    (at, end, hasEnded, line, bytesBefore) = (0, bytes.count, true, number, 0)
  }

  private func refill() throws(ImageListError) -> Bool {
    if hasEnded { return false }
    bytesBefore += end
    (at, end) = (0, 0)
    try fill()
    return end > 0
  }

  private func fill() throws(ImageListError) {
    let room = UnsafeMutableRawBufferPointer(start: buffer + end, count: capacity - end)
    let count = try source.read(into: room)
    if count == 0 { hasEnded = true }
    end += count
  }
}
