import Calotype
import Foundation
import Synchronization

/// A decoder for tests of everything around decoding: one pixel whose red is the first byte. It counts, and
/// may be held.
package final class StubDecoder: ImageDecoding {
  private let count = Atomic<Int>(0)
  private let gate: (@Sendable (CancellationFlag) -> Void)?

  /// - Parameter gate: Called in each decode, to hold it.
  package init(gate: (@Sendable (CancellationFlag) -> Void)? = nil) { self.gate = gate }

  /// Decodes so far.
  package var decodeCount: Int { count.load(ordering: .relaxed) }

  package func inspect(_ data: Data, limits: ImageDecodingLimits) throws(ImageDecodingError) -> ImageInfo {
    guard !data.isEmpty else { throw .empty }
    return ImageInfo(format: .png, storedSize: PixelSize(width: 1, height: 1))
  }

  package func decode(
    _ data: Data, options: ImageDecodingOptions, cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> ImageContainer {
    count.add(1, ordering: .relaxed)
    gate?(cancellation)
    if cancellation.isCancelled { throw .cancelled }
    guard let first = data.first else { throw .empty }
    let size = PixelSize(width: 1, height: 1)
    let bitmap = try? Bitmap(size: size, isOpaque: true) { pixels in
      pixels.copyBytes(from: [first, 0, 0, 255])
    }
    guard let bitmap else { throw .outOfMemory(size) }
    return ImageContainer(bitmap: bitmap, format: .png)
  }
}

/// An encoder that is never right, for pipelines that store no prints.
package struct StubEncoder: ImageEncoding {
  package init() {}

  package func encode(
    _ bitmap: Bitmap, options: ImageEncodingOptions, cancellation: CancellationFlag
  ) throws(ImageEncodingError) -> Data { throw .unsupported(options.format) }
}

/// A memory cache that keeps everything.
package final class StubMemoryCache: ImageCaching {
  private let images = Lock<[ImageCacheKey: ImageContainer]>([:])

  package init() {}

  package var count: Int { images.withLock { $0.count } }
  package func image(for key: ImageCacheKey) -> ImageContainer? { images.withLock { $0[key] } }
  package func store(_ image: ImageContainer, for key: ImageCacheKey) { images.withLock { $0[key] = image } }
  package func remove(_ key: ImageCacheKey) { images.withLock { $0[key] = nil } }
  package func removeAll() { images.withLock { $0 = [:] } }
}

/// A disk cache that keeps everything, in memory.
package final class StubDataCache: DataCaching {
  private let entries = Lock<[String: DataCacheEntry]>([:])

  package init() {}

  /// Whether there is no room for anything more.
  package let isFull = Lock(false)

  package var keys: [String] { entries.withLock { $0.keys.sorted() } }
  package func entry(for key: String) -> DataCacheEntry? { entries.withLock { $0[key] } }
  package func store(_ entry: DataCacheEntry, for key: String) {
    guard !isFull.withLock({ $0 }) else { return }
    entries.withLock { $0[key] = entry }
  }
  package func updateMetadata(_ metadata: DataCacheMetadata, for key: String) {
    entries.withLock { $0[key]?.metadata = metadata }
  }
  package func remove(_ key: String) { entries.withLock { $0[key] = nil } }
  package func removeAll() { entries.withLock { $0 = [:] } }
}
