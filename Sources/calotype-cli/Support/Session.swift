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
  /// Decodes all pictures, also those that do not come through the pipeline.
  let decoder: IsolatedImageDecoder

  /// - Parameter keepsPrints: Whether finished prints are kept on disk; otherwise originals are.
  init(_ arguments: Arguments, keepsPrints: Bool = false) throws {
    headers = try arguments.headers()
    cachePolicy = try arguments.cachePolicy()
    addressPolicy = try arguments.addressPolicy()
    transport = CurlTransport(configuration: try Self.transportConfiguration(arguments))
    diskCache = try Self.diskCache(arguments)
    decoder = Self.decoder(try arguments.isolation())
    var configuration = ImagePipeline.Configuration(
      transport: transport, memoryCache: nil, diskCache: diskCache, decoder: decoder,
      encoder: ImageEncoder())
    configuration.isolation = decoder.isolation
    // There is no memory cache to empty, and the watch takes descriptors.
    configuration.respondsToMemoryPressure = false
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

  /// A decoder whose workers are this program; it says so where it has to do without.
  static func decoder(_ isolation: DecodingIsolation) -> IsolatedImageDecoder {
    var configuration = DecodingWorkers.Configuration()
    configuration.program = .thisProgram
    return IsolatedImageDecoder(isolation, workers: DecodingWorkers(configuration: configuration)) { reason in
      Terminal.standardError.line(
        Escaping.displaySafe(
          "calotype: pictures are decoded without a sandbox (\(reason)); --isolation in-process takes that as it is"
        ))
    }
  }

  /// What holds of the isolation, in a word for reports.
  var isolationName: String { decoder.decodesInProcess ? "in-process" : "sandboxed" }

  /// The cache on disk, or `nil` where none is wanted.
  ///
  /// - Parameter onWarning: Told of each warning, which is shown in any case.
  static func diskCache(
    _ arguments: Arguments, onWarning: @escaping @Sendable (DiskCache.Warning) -> Void = { _ in }
  ) throws -> DiskCache? {
    if arguments.has("no-cache") {
      if arguments.has("cache-dir") { throw UsageError("--no-cache and --cache-dir exclude each other") }
      return nil
    }
    return DiskCache(
      directory: cacheDirectory(arguments),
      configuration: .init(onWarning: { warning in
        Terminal.standardError.line(Escaping.displaySafe("calotype: \(warning)"))
        onWarning(warning)
      }))
  }

  static func cacheDirectory(_ arguments: Arguments) -> URL {
    arguments["cache-dir"].map { URL(fileURLWithPath: $0, isDirectory: true) } ?? DiskCache.defaultDirectory
  }
}
