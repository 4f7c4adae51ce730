import CXXHash
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// An original that is not asked of a server: a file, or what the program gives itself.
enum LocalSource: Sendable {
  /// A file, by its path.
  case file(String)
  /// A file of another machine (RFC 8089, section 2), by that machine's name: nothing here can read it.
  case foreignFile(host: String)
  /// A `data:` address (RFC 2397).
  case dataAddress(String)
  /// The bytes themselves.
  case bytes(Data)
  /// A closure that fetches them.
  case closure(@Sendable () async throws -> Data)

  /// The source that an address names; `nil` for one of a server's.
  init?(_ url: URL) {
    let text = url.absoluteString
    guard Self.isLocal(text) else { return nil }
    if let host = Self.foreignHost(text) {
      self = .foreignFile(host: host)
    } else {
      self = url.isFileURL ? .file(url.path) : .dataAddress(text)
    }
  }

  /// The machine that a `file:` address names, where that is not this one: `file:///path` and
  /// `file://localhost/path` are.
  static func foreignHost(_ text: String) -> String? {
    let start = "file://"
    guard text.prefix(start.count).lowercased() == start else { return nil }
    let host = text.dropFirst(start.count).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    return host.isEmpty || host.lowercased() == "localhost" ? nil : String(host)
  }

  /// Whether an address is one of `file:` or `data:`.
  static func isLocal(_ text: String) -> Bool {
    guard let first = text.utf8.first, [0x46, 0x66, 0x44, 0x64].contains(first) else { return false }
    let scheme = text.prefix(5).lowercased()
    return scheme == "file:" || scheme == "data:"
  }

  /// An address for what the program gives itself: for errors and logs, and unlike any other's.
  static func url(_ kind: String, _ name: String) -> URL {
    var components = URLComponents()
    components.scheme = "calotype"
    components.path = "\(kind)/\(name)"
    return components.url ?? URL(fileURLWithPath: name)
  }

  /// The key of a local address: a file's names the version that it has now. Of one that may not be read
  /// nothing is asked.
  static func addressKey(for url: URL, addressPolicy: AddressPolicy? = nil) -> String {
    let text = url.absoluteString
    guard !url.isFileURL else {
      let mayBeRead = addressPolicy?.scope != .publicOnly && foreignHost(text) == nil
      let version = mayBeRead ? FileVersion(path: url.path).map { " \($0.text)" } ?? "" : ""
      return ImageRequest.normalizedAddress(text) + (addressPolicy?.cachePartition ?? "") + version
    }
    // The address has all the bytes in it: a key of that length would be held for as long as the print is.
    var copy = text
    let hash = copy.withUTF8 { XXH3_128bits_withSeed($0.baseAddress, $0.count, seed) }
    return "\(volatilePrefix)\(text.utf8.count)-\(hash.high64)-\(hash.low64)"
  }

  /// What the keys begin with that hold for this process only, so that nobody can send two pictures which are
  /// known to share one. Prints under such keys are not put on disk.
  static let volatilePrefix = "data:,"
  private static let seed = UInt64.random(in: .min ... .max)

  // MARK: Reading

  /// Reads what needs no waiting.
  ///
  /// - Returns: The bytes, and whether they are those that the key names.
  func read(key: String, limit: Int) throws(LocalSourceError) -> (data: Data, isKeysVersion: Bool) {
    switch self {
    case .file(let path):
      let (data, version) = try Self.readFile(path, limit: limit)
      return (data, key.hasSuffix(" \(version.text)"))
    case .foreignFile(let host):
      throw LocalSourceError(
        "it is a file of another machine, \(Escaping.address("//" + host).dropFirst(2)): only this one's can be read, as file:///path"
      )
    case .dataAddress(let text): return (try Self.decode(text, limit: limit), true)
    case .bytes(let data): return (try Self.check(data, limit: limit), true)
    case .closure: throw LocalSourceError("nothing has been loaded")
    }
  }

  /// Throws where there are more bytes than may be.
  static func check(_ data: Data, limit: Int) throws(LocalSourceError) -> Data {
    guard data.count <= limit else {
      throw LocalSourceError("\(data.count) bytes are over the limit of \(limit)")
    }
    return data
  }

  private static func readFile(_ path: String, limit: Int) throws(LocalSourceError) -> (Data, FileVersion) {
    // Opening a pipe would wait for its other end.
    let file = DescriptorShortage.waiting { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    guard file >= 0 else { throw LocalSourceError("the file cannot be read: \(systemMessage(errno))") }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw LocalSourceError("it is no file")
    }
    let length = Int(status.st_size)
    guard length <= limit else { throw LocalSourceError("\(length) bytes are over the limit of \(limit)") }
    guard let memory = malloc(max(1, length)) else {
      throw LocalSourceError("there is no memory for \(length) bytes")
    }
    var count = 0
    while count < length {
      let part = readBytes(file, memory + count, length - count)
      if part < 0, errno == EINTR { continue }
      guard part > 0 else { break }
      count += part
    }
    guard count == length else {
      free(memory)
      throw LocalSourceError("the file ended after \(count) of its \(length) bytes")
    }
    let data = Data(bytesNoCopy: memory, count: length, deallocator: .free)
    return (data, FileVersion(status))
  }

  /// `data:[type][;base64],bytes`. The type does not count: pictures are told by their bytes.
  private static func decode(_ text: String, limit: Int) throws(LocalSourceError) -> Data {
    guard let comma = text.firstIndex(of: ",") else {
      throw LocalSourceError("a data: address has a comma in it")
    }
    let body = text[text.index(after: comma)...]
    guard body.utf8.count / 4 * 3 <= limit || body.utf8.count <= limit else {
      throw LocalSourceError("the data: address is over the limit of \(limit) bytes")
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(body.utf8.count)
    var rest = Array(body.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == 0x25, rest.count >= 2, let high = hexDigit(rest[rest.startIndex]),
        let low = hexDigit(rest[rest.startIndex + 1])
      {
        bytes.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    guard text[..<comma].lowercased().hasSuffix(";base64") else {
      return try check(Data(bytes), limit: limit)
    }
    bytes.removeAll { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    // What is left out at the end is commonly left out.
    while bytes.count % 4 > 1 { bytes.append(0x3D) }
    guard let data = Data(base64Encoded: Data(bytes)) else {
      throw LocalSourceError("what the data: address holds is no Base64")
    }
    return try check(data, limit: limit)
  }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }
}

/// The system's, which the type's own hides.
private func readBytes(_ file: Int32, _ memory: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(file, memory, count)
}

/// Why a local original cannot be read.
struct LocalSourceError: Swift.Error {
  let reason: String
  init(_ reason: String) { self.reason = reason }
}

/// What tells a file's content from an earlier one.
struct FileVersion {
  /// When it was changed last, in nanoseconds since 1970, and its length in bytes.
  let changed: Int, length: Int

  init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  init(_ status: stat) {
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    changed = Int(time.tv_sec) &* 1_000_000_000 &+ Int(time.tv_nsec)
    length = Int(status.st_size)
  }

  /// As it stands in keys.
  var text: String { "{\(changed),\(length)}" }
}
