import Foundation
import TestSupport
import Testing

@testable import Calotype

/// A pipeline as programs have it, on a real server, a real transport and a cache in a folder of its own.
struct HTTPFixture {
  let server: ScriptedServer
  let folder: TestSupport.TemporaryFolder
  let transport = CurlTransport()

  init(_ handler: @escaping @Sendable (ScriptedServer.Request) -> Script) throws {
    server = try ScriptedServer(handler)
    folder = try TestSupport.TemporaryFolder()
  }

  /// The cache as another process would open it.
  func cache() -> DiskCache { DiskCache(directory: folder.url, configuration: .init(sizeLimit: 256 << 20)) }

  /// A pipeline as another run of the program would make it.
  func pipeline(
    memory: Bool = false, configure: (inout ImagePipeline.Configuration) -> Void = { _ in }
  ) -> ImagePipeline {
    var configuration = ImagePipeline.Configuration(
      transport: transport, memoryCache: memory ? MemoryCache() : nil, diskCache: cache(),
      decoder: ImageDecoder(), encoder: ImageEncoder())
    configuration.diskStorage = .originals
    configuration.retry = .never
    // A busy machine's want of memory must not empty a cache that a test looks into.
    configuration.respondsToMemoryPressure = false
    configure(&configuration)
    return ImagePipeline(configuration: configuration)
  }

  func url(_ path: String) -> URL { server.url(path) }

  func request(_ path: String, headers: HTTPHeaders = []) -> ImageRequest {
    ImageRequest(url: url(path), headers: headers)
  }

  /// Makes what is stored for an address older.
  func letTimePass(_ seconds: Double, for path: String) throws {
    let cache = cache()
    let key = ImageRequest.normalizedAddress(url(path).absoluteString)
    var metadata = try #require(cache.entry(for: key)).metadata
    metadata.requestTime -= seconds
    metadata.responseTime -= seconds
    if let date = metadata.headers["Date"].flatMap({ HTTPDate.parse($0, now: metadata.responseTime) }) {
      metadata.headers["Date"] = HTTPDate.format(date - seconds)
    }
    cache.updateMetadata(metadata, for: key)
  }

  /// The beginning of an address's body that is kept.
  func part(_ path: String) -> DataCacheEntry? {
    let key = ImageRequest.normalizedAddress(url(path).absoluteString)
    return PartPieces.read(key + "\npart", from: cache())?.entry
  }

  /// The entries stored, once all is written.
  func entryCount(_ pipeline: ImagePipeline) async -> Int {
    await pipeline.flush()
    return cache().verify().entries
  }
}

/// Waits for something that tells nobody when it happens.
func waitUntil(_ what: String, _ isThere: () -> Bool) async throws {
  for _ in 0..<12_000 {
    if isThere() { return }
    try await Task.sleep(for: .milliseconds(5))
  }
  Issue.record("waited in vain for \(what)")
}

/// Pictures to serve.
enum ServedPicture {
  /// A PNG of one colour.
  static func png(red: UInt8 = 200, green: UInt8 = 40, blue: UInt8 = 40, side: Int = 24) throws -> [UInt8] {
    try encode(.png, side: side) { _ in (red, green, blue) }
  }

  /// A PNG of noise, which does not compress: about 4 bytes a pixel.
  static func noise(side: Int, seed: UInt64) throws -> [UInt8] {
    var generator = SplitMix(state: seed)
    return try encode(.png, side: side) { _ in
      let bits = generator.next()
      return (UInt8(bits & 255), UInt8(bits >> 8 & 255), UInt8(bits >> 16 & 255))
    }
  }

  /// Bytes that begin as a PNG does.
  static func bytes(_ count: Int, seed: UInt64) -> [UInt8] {
    var generator = SplitMix(state: seed)
    var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
      withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) }
    }
    return Array(bytes.prefix(count))
  }

  private static func encode(
    _ format: ImageFormat, side: Int, _ color: (Int) -> (UInt8, UInt8, UInt8)
  ) throws -> [UInt8] {
    let bitmap = try Bitmap(size: PixelSize(width: side, height: side), isOpaque: true) { pixels in
      for at in stride(from: 0, to: pixels.count, by: 4) {
        (pixels[at], pixels[at + 1], pixels[at + 2]) = color(at / 4)
        pixels[at + 3] = 255
      }
    }
    return Array(
      try ImageEncoder().encode(bitmap, options: .init(format: format), cancellation: CancellationFlag()))
  }
}

extension Script {
  /// Answers as a server does that knows ranges: the whole with a strong tag, or what is asked for of it.
  static func resumable(
    _ body: [UInt8], tag: String, to request: ScriptedServer.Request, headers: [(String, String)] = [],
    sending limit: Int? = nil, then end: [Step] = [.reset]
  ) -> Script {
    var start = 0
    if request.header("If-Range").map({ $0 == tag }) ?? true, let range = request.header("Range"),
      range.hasPrefix("bytes="), range.hasSuffix("-"), let first = Int(range.dropFirst(6).dropLast())
    {
      guard first < body.count else {
        return .status(416, headers: [("Content-Range", "bytes */\(body.count)")])
      }
      start = first
    }
    let rest = Array(body[start...])
    var fields =
      headers + [("ETag", tag), ("Content-Length", "\(rest.count)"), ("Content-Type", "image/png")]
    if start > 0 || request.header("Range") != nil && start == 0 && request.header("If-Range") == tag {
      fields.append(("Content-Range", "bytes \(start)-\(body.count - 1)/\(body.count)"))
    }
    let head = Step.head(start > 0 ? 206 : 200, fields)
    guard let limit, limit < rest.count else { return Script([head, .body(rest)]) }
    return Script([head, .body(Array(rest[..<limit]))] + end)
  }
}
