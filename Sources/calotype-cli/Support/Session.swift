import Calotype
import Foundation

/// The parts that a command works with, as its options want them.
struct Session {
  let transport: CurlTransport
  let diskCache: DiskCache?
  let pipeline: ImagePipeline
  let headers: HTTPHeaders
  let cachePolicy: ImageRequest.CachePolicy
  let addressPolicy: AddressPolicy

  /// - Parameter keepsPrints: Whether finished prints are kept on disk; otherwise originals are.
  init(_ arguments: Arguments, keepsPrints: Bool = false) throws {
    headers = try arguments.headers()
    cachePolicy = try arguments.cachePolicy()
    addressPolicy = try arguments.addressPolicy()
    transport = CurlTransport(configuration: try Self.transportConfiguration(arguments))
    diskCache = try Self.diskCache(arguments)
    var configuration = ImagePipeline.Configuration(
      transport: transport, memoryCache: nil, diskCache: diskCache, decoder: ImageDecoder(),
      encoder: ImageEncoder())
    configuration.diskStorage = keepsPrints ? .automatic : .originals
    configuration.retry.maximumTries = (try arguments.integer("retries", in: 0...100) ?? 3) + 1
    configuration.addressPolicy = addressPolicy
    configuration.secretHeaders = headers.namesOfPossibleSecrets
    configuration.maximumConcurrentDownloads = transport.configuration.maximumConcurrentTransfers
    configuration.maximumConcurrentDownloadsPerHost = transport.configuration.maximumTransfersPerHost
    pipeline = ImagePipeline(configuration: configuration)
  }

  static func transportConfiguration(_ arguments: Arguments) throws -> CurlTransport.Configuration {
    var configuration = CurlTransport.Configuration()
    configuration.addressPolicy = try arguments.addressPolicy()
    configuration.maximumConcurrentTransfers = try arguments.integer("concurrency", in: 1...256) ?? 16
    configuration.maximumTransfersPerHost =
      try arguments.integer("per-host", in: 1...256) ?? min(6, configuration.maximumConcurrentTransfers)
    if let timeout = try arguments.number("timeout", in: 0.001...86_400) {
      configuration.totalTimeout = timeout
      configuration.connectTimeout = min(configuration.connectTimeout, timeout)
      configuration.stallTimeout = min(configuration.stallTimeout, timeout)
    }
    return configuration
  }

  /// The cache on disk, or `nil` where none is wanted.
  static func diskCache(_ arguments: Arguments) throws -> DiskCache? {
    if arguments.has("no-cache") {
      if arguments.has("cache-dir") { throw UsageError("--no-cache and --cache-dir exclude each other") }
      return nil
    }
    return DiskCache(
      directory: cacheDirectory(arguments),
      configuration: .init(onWarning: { warning in
        Terminal.standardError.line(Escaping.displaySafe("calotype: \(warning)"))
      }))
  }

  static func cacheDirectory(_ arguments: Arguments) -> URL {
    arguments["cache-dir"].map { URL(fileURLWithPath: $0, isDirectory: true) } ?? DiskCache.defaultDirectory
  }
}
