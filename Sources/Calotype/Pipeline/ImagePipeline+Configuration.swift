import Foundation

extension ImagePipeline {
  /// The parts that a pipeline works with and the limits that it keeps to.
  public struct Configuration: Sendable {
    /// What the disk cache keeps of a finished load.
    public enum DiskStoragePolicy: String, Hashable, Sendable, CaseIterable {
      /// Originals; and prints where they are much smaller than their original and small enough to be kept
      /// as bare pixels, which show many times faster than the original decodes. The default.
      case automatic
      /// Originals only.
      case originals
      /// Finished prints only; requests for the picture at its own size still store the original.
      case prints
      /// Originals and prints.
      case all
    }

    /// Sends requests.
    public var transport: any HTTPTransport
    /// Keeps prints in memory; `nil` for none.
    public var memoryCache: (any ImageCaching)?
    /// Keeps originals and prints on disk; `nil` for none.
    public var diskCache: (any DataCaching)?
    /// What the disk cache keeps, ``DiskStoragePolicy/automatic`` by default.
    public var diskStorage: DiskStoragePolicy = .automatic
    /// The sizes that the program asks for prints in. A print is made from a larger one on disk where that is as
    /// good; those of an earlier run are found for the sizes that are named here, or were asked for since.
    public var printSizes: [TargetSize] = []
    /// Decodes originals.
    public var decoder: any ImageDecoding
    /// Where the pictures are decoded, in this process by default: a library starts no processes unasked.
    /// It concerns ``ImageDecoder`` alone: a decoder of the program's own is used as it is, and refused where
    /// isolation is required. What holds is told by ``ImagePipeline/isolationStatus``.
    public var isolation = DecodingIsolation.inProcess
    /// The sandboxed workers that decode where ``isolation`` asks for them.
    public var decodingWorkers = DecodingWorkers.shared
    /// Encodes the prints that are stored.
    public var encoder: any ImageEncoding
    /// What a file's header may promise.
    public var limits = ImageDecodingLimits()
    /// Downloads under way at once, 16 by default. Prefetches (``ImageRequest/Priority/veryLow``) keep to it
    /// too, but take no place from anything else, so that for a while there may be that many more.
    public var maximumConcurrentDownloads = 16
    /// Downloads from one host under way at once, 6 by default; prefetches as above.
    public var maximumConcurrentDownloadsPerHost = 6
    /// In which order waiting downloads of one priority start, the oldest first by default.
    public var downloadOrder = TransferOrder.oldestFirst
    /// The most downloads from one host that start in a second; `nil`, the default, for no limit.
    public var maximumDownloadsPerSecondPerHost: Double?
    /// What counts as fresh in the caches, where the request does not say, ``FreshnessPolicy/http`` by
    /// default.
    public var freshness = FreshnessPolicy.http
    /// How long, in seconds, a picture is fresh whose server says nothing of it, 300 by default. What a
    /// server does say (Cache-Control, Expires) goes before.
    public var unspecifiedLifetime = 300.0
    /// Whether and when a download that failed is tried again.
    public var retry = RetryPolicy()
    /// The most redirects that a download follows, 10 by default.
    public var maximumRedirects = 10
    /// Whether a redirect may lead from https to http; off by default.
    public var allowsInsecureRedirects = false
    /// Which network addresses downloads may reach whose requests do not say so themselves; `nil`, the default,
    /// for what the transport's configuration says. For addresses from strangers:
    /// ``AddressPolicy/untrusted``.
    public var addressPolicy: AddressPolicy?
    /// Names of headers that, like Authorization and Cookie, are not passed on to another origin.
    public var secretHeaders: Set<String> = []
    /// The most bytes that an original may have, 64 MB by default.
    public var maximumOriginalSize = HTTPRequest.defaultMaximumResponseSize
    /// Headers sent with every download, where the request does not set them itself. Prints are filed apart in the caches
    /// by those that may hold a secret: all but Accept, Accept-Language and User-Agent.
    public var headers: HTTPHeaders = [
      "User-Agent": "Calotype/\(CalotypeVersion.string)", "Accept": "image/*,*/*;q=0.8",
    ]
    /// Whether pictures are shown while they come, where the request does not say,
    /// ``PreviewPolicy/automatic`` by default. They are made where ``decoder`` is an ``ImageDecoder`` or an
    /// ``IsolatedImageDecoder``.
    public var previews = PreviewPolicy.automatic
    /// Whether the memory cache is emptied and waiting prefetches are cancelled when the system says that
    /// memory is short (``MemoryPressureMonitor``); on by default.
    public var respondsToMemoryPressure = true
    /// Threads that decode, process and read the disk cache; as many as the machine has cores, at least 2.
    public var decodingWidth = max(2, ProcessInfo.processInfo.activeProcessorCount)

    /// Creates a configuration from its parts.
    public init(
      transport: any HTTPTransport, memoryCache: (any ImageCaching)?, diskCache: (any DataCaching)?,
      decoder: any ImageDecoding, encoder: any ImageEncoding
    ) {
      self.transport = transport
      self.memoryCache = memoryCache
      self.diskCache = diskCache
      self.decoder = decoder
      self.encoder = encoder
    }
  }
}
