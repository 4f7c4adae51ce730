/// Metadata as bytes: what stands in an entry's file. Whatever the bytes are, reading ends in metadata or in
/// `nil`.
///
/// Numbers are little-endian base-128 varints or 8 bytes, texts are a length and UTF-8.
enum MetadataCoding {
  private enum Flag {
    static let expires: UInt8 = 1
    static let print: UInt8 = 2
    static let opaque: UInt8 = 4
    static let format: UInt8 = 8
    static let all: UInt8 = 15
  }

  static func encode(_ metadata: DataCacheMetadata) -> [UInt8] {
    var writer = ByteWriter()
    writer.bytes.reserveCapacity(256)
    var flags: UInt8 = 0
    if metadata.expires != nil { flags |= Flag.expires }
    if let print = metadata.print {
      flags |= Flag.print
      if print.isOpaque { flags |= Flag.opaque }
      if print.format != nil { flags |= Flag.format }
    }
    writer.bytes.append(metadata.kind.rawValue)
    writer.bytes.append(flags)
    writer.number(metadata.status)
    writer.text(metadata.url)
    writer.headers(metadata.headers)
    writer.headers(metadata.requestHeaders)
    writer.double(metadata.requestTime)
    writer.double(metadata.responseTime)
    if let expires = metadata.expires { writer.double(expires) }
    if let print = metadata.print {
      writer.number(print.size.width)
      writer.number(print.size.height)
      writer.number(print.originalSize.width)
      writer.number(print.originalSize.height)
      writer.number(print.frameCount)
      if let format = print.format { writer.text(format.rawValue) }
    }
    return writer.bytes
  }

  static func decode(_ bytes: UnsafeRawBufferPointer) -> DataCacheMetadata? {
    var reader = ByteReader(bytes)
    guard let kind = reader.byte().flatMap(DataCacheMetadata.Kind.init(rawValue:)),
      let flags = reader.byte(), flags & ~Flag.all == 0,
      let status = reader.number(), let url = reader.text(),
      let headers = reader.headers(), let requestHeaders = reader.headers(),
      let requestTime = reader.double(), let responseTime = reader.double()
    else { return nil }
    var metadata = DataCacheMetadata(
      kind: kind, url: url, status: status, headers: headers, requestHeaders: requestHeaders,
      requestTime: requestTime, responseTime: responseTime)
    if flags & Flag.expires != 0 {
      guard let expires = reader.double() else { return nil }
      metadata.expires = expires
    }
    if flags & Flag.print != 0 {
      guard let print = decodePrint(&reader, flags: flags) else { return nil }
      metadata.print = print
    }
    return reader.isAtEnd ? metadata : nil
  }

  private static func decodePrint(
    _ reader: inout ByteReader, flags: UInt8
  ) -> DataCacheMetadata.PrintDescription? {
    guard let width = reader.number(), let height = reader.number(),
      let originalWidth = reader.number(), let originalHeight = reader.number(),
      let frameCount = reader.number()
    else { return nil }
    var format: ImageFormat?
    if flags & Flag.format != 0 {
      guard let name = reader.text() else { return nil }
      // A later version may know more formats: the print is as good without the name.
      format = ImageFormat(rawValue: name)
    }
    return DataCacheMetadata.PrintDescription(
      size: PixelSize(width: width, height: height), isOpaque: flags & Flag.opaque != 0, format: format,
      originalSize: PixelSize(width: originalWidth, height: originalHeight), frameCount: frameCount)
  }
}

private struct ByteWriter {
  var bytes: [UInt8] = []

  mutating func number(_ value: Int) {
    var rest = UInt64(bitPattern: Int64(value))
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func double(_ value: Double) {
    withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func text(_ text: String) {
    number(text.utf8.count)
    bytes.append(contentsOf: text.utf8)
  }

  mutating func headers(_ headers: HTTPHeaders) {
    number(headers.fields.count)
    for field in headers.fields {
      text(field.name)
      text(field.value)
    }
  }
}

private struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  private var at = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { at == bytes.count }
  private var left: Int { bytes.count - at }

  mutating func byte() -> UInt8? {
    guard at < bytes.count else { return nil }
    defer { at += 1 }
    return bytes[at]
  }

  mutating func number() -> Int? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let next = byte() {
      let part = UInt64(next & 0x7F)
      guard shift < 63 || part <= 1 else { return nil }
      value |= part << shift
      if next & 0x80 == 0 { return Int(truncatingIfNeeded: Int64(bitPattern: value)) }
      shift += 7
      guard shift <= 63 else { return nil }
    }
    return nil
  }

  mutating func double() -> Double? {
    guard left >= 8 else { return nil }
    defer { at += 8 }
    return Double(bitPattern: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
  }

  mutating func text() -> String? {
    guard let count = number(), count >= 0, count <= left else { return nil }
    defer { at += count }
    // What is not UTF-8 was not written here; it becomes readable, and stays harmless.
    return String(
      decoding: UnsafeRawBufferPointer(rebasing: bytes[at..<(at + count)]).bindMemory(to: UInt8.self),
      as: UTF8.self)
  }

  mutating func headers() -> HTTPHeaders? {
    // A field takes 2 bytes at least: a count that cannot be true must not reserve memory.
    guard let count = number(), count >= 0, count <= left / 2 else { return nil }
    var fields: [HTTPHeaders.Field] = []
    fields.reserveCapacity(count)
    for _ in 0..<count {
      guard let name = text(), let value = text() else { return nil }
      fields.append(HTTPHeaders.Field(name: name, value: value))
    }
    return HTTPHeaders(fields)
  }
}
