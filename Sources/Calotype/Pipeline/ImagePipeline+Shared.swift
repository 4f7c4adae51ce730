extension ImagePipeline {
  /// A pipeline for the whole program, with the default configuration.
  public static let shared = ImagePipeline(configuration: Configuration())
}

extension ImagePipeline.Configuration {
  /// The parts that most programs want: libcurl, a memory cache, the disk cache in the user's cache folder,
  /// and the codecs of this package.
  public init() {
    self.init(
      transport: CurlTransport.shared, memoryCache: MemoryCache(), diskCache: DiskCache(),
      decoder: ImageDecoder(), encoder: ImageEncoder())
  }
}
