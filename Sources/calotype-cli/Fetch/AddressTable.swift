import Calotype

/// What has become of each distinct address, in as few bytes as that takes: a list may have a million.
struct AddressTable {
  /// What an address gave.
  enum Outcome {
    /// A file under a name (without extension), or none where nothing is written.
    case done(Result)
    /// An error's number in ``errors``.
    case failed(code: String, message: String)
  }

  /// A finished picture's facts.
  struct Result {
    var name: String?
    var format: ImageFormat
    var width: Int
    var height: Int
    var bytes: Int
    var source: ImageResponse.Source
    /// The file's SHA-256, where a report asks for it.
    var sha256: [UInt8]?
  }

  /// A row that waits for an address that is being loaded.
  typealias Index = Int32

  private struct Key: Hashable {
    var first: Int
    var second: Int
  }

  private struct Entry {
    var state: UInt8
    var format: UInt8 = 0
    var source: UInt8 = 0
    var nameLength: UInt16 = 0
    var nameOrError: UInt32 = 0
    var width: UInt32 = 0
    var height: UInt32 = 0
    var bytes: UInt32 = 0
    var digest: UInt32 = .max
  }

  private var indices: [Key: Index] = [:]
  private var entries: [Entry] = []
  private var names = ByteArena()
  private var digests = ByteArena()
  private var errors: [(code: String, message: String)] = []
  private var errorNumbers: [String: UInt32] = [:]

  /// Looks an address up and enters it where it is new. Addresses are told apart by 128 bits of a hash with
  /// a seed of the run's own, so that nobody can make two that are taken for one.
  mutating func enter(_ address: String) -> (index: Index, isNew: Bool) {
    var first = Hasher(), second = Hasher()
    first.combine(address)
    second.combine(1 as UInt8)
    second.combine(address)
    let key = Key(first: first.finalize(), second: second.finalize())
    if let index = indices[key] { return (index, false) }
    let index = Index(entries.count)
    indices[key] = index
    entries.append(Entry(state: 0))
    return (index, true)
  }

  /// The outcome of an address, or `nil` while it is being loaded.
  func outcome(_ index: Index) -> Outcome? {
    let entry = entries[Int(index)]
    switch entry.state {
    case 0: return nil
    case 1:
      return .done(
        Result(
          name: entry.nameLength == 0
            ? nil
            : String(decoding: names.bytes(at: entry.nameOrError, length: entry.nameLength), as: UTF8.self),
          format: ImageFormat.allCases[Int(entry.format)], width: Int(entry.width), height: Int(entry.height),
          bytes: Int(entry.bytes), source: ImageResponse.Source.allCases[Int(entry.source)],
          sha256: entry.digest == .max ? nil : Array(digests.bytes(at: entry.digest, length: 32))))
    default:
      let error = errors[Int(entry.nameOrError)]
      return .failed(code: error.code, message: error.message)
    }
  }

  /// Notes an outcome.
  mutating func finish(_ index: Index, _ outcome: Outcome) {
    var entry = Entry(state: 1)
    switch outcome {
    case .done(let result):
      entry.format = UInt8(ImageFormat.allCases.firstIndex(of: result.format) ?? 0)
      entry.source = UInt8(ImageResponse.Source.allCases.firstIndex(of: result.source) ?? 0)
      entry.width = UInt32(clamping: result.width)
      entry.height = UInt32(clamping: result.height)
      entry.bytes = UInt32(clamping: result.bytes)
      if let name = result.name {
        entry.nameLength = UInt16(clamping: name.utf8.count)
        entry.nameOrError = names.add(Array(name.utf8))
      }
      if let digest = result.sha256 { entry.digest = digests.add(digest) }
    case .failed(let code, let message):
      entry.state = 2
      entry.nameOrError = number(ofError: code, message)
    }
    entries[Int(index)] = entry
  }

  /// Errors repeat, so each is kept once; beyond a number of different ones the code is kept alone.
  private mutating func number(ofError code: String, _ message: String) -> UInt32 {
    let message = errors.count < 10_000 ? message : "see the first failure of this address"
    let key = "\(code) \(message)"
    if let number = errorNumbers[key] { return number }
    let number = UInt32(errors.count)
    errors.append((code, message))
    errorNumbers[key] = number
    return number
  }
}

/// Bytes end to end in blocks, so that a million small texts cost their bytes and nothing else.
struct ByteArena {
  private static let blockSize = 1 << 20
  private var blocks: [[UInt8]] = []

  /// Adds less than 64 KB; the result finds them again.
  mutating func add(_ bytes: [UInt8]) -> UInt32 {
    let bytes = bytes.prefix(Int(UInt16.max))
    if blocks.isEmpty || blocks[blocks.count - 1].count + bytes.count > Self.blockSize {
      blocks.append([])
      blocks[blocks.count - 1].reserveCapacity(Self.blockSize)
    }
    let offset = (blocks.count - 1) * Self.blockSize + blocks[blocks.count - 1].count
    blocks[blocks.count - 1] += bytes
    return UInt32(clamping: offset)
  }

  /// The bytes at a place.
  func bytes(at offset: UInt32, length: UInt16) -> ArraySlice<UInt8> {
    let start = Int(offset) % Self.blockSize
    return blocks[Int(offset) / Self.blockSize][start..<(start + Int(length))]
  }
}
