import Foundation

extension ImagePipeline {
  /// Decodes an original at the request's size and applies its processors.
  func renderPrint(
    _ request: ImageRequest, from original: Original, cancellation: CancellationFlag,
    timing: inout PrintTiming
  ) throws(Error) -> ImageContainer {
    var container: ImageContainer
    timing.decodeStart = monotonicNanoseconds()
    do {
      container = try configuration.decoder.decode(
        original.data, for: request, limits: configuration.limits, cancellation: cancellation)
    } catch {
      let cause: Error.Cause = error == .cancelled ? .cancelled : .decoding(error)
      throw Error(url: request.url, stage: .decode, cause: cause)
    }
    timing.decodeEnd = monotonicNanoseconds()
    guard !request.processors.isEmpty else { return container }
    do {
      container.bitmap = try ImageProcessors.apply(
        request.processors, to: container.bitmap, limits: configuration.limits, cancellation: cancellation)
    } catch is CancellationError {
      throw Error(url: request.url, stage: .process, cause: .cancelled)
    } catch {
      let processor = (error as? ImageProcessingError)?.processor
      throw Error(
        url: request.url, stage: .process,
        cause: .processing(identifier: processor ?? "", reason: "\(error)"))
    }
    timing.processEnd = monotonicNanoseconds()
    return container
  }

  // MARK: Storing

  /// - Parameter isOnlyThere: Whether the original alone holds all of the print: an animation, or more than 8 bits.
  func storeOriginal(
    _ original: Original, for request: ImageRequest, storage: ImageRequest.StorageOptions,
    isOnlyThere: Bool = false
  ) {
    guard let cache = configuration.diskCache, storage.contains(.diskOriginal),
      configuration.diskStorage != .prints || request.cacheKey.variant.isEmpty || isOnlyThere,
      let storable = original.claimStoring()
    else { return }
    storable.store(in: cache)
  }

  func storePrint(
    _ container: ImageContainer, of load: PrintLoad, from original: Original,
    storage: ImageRequest.StorageOptions
  ) {
    // A print is filed under the address that was asked for, so behind a redirect, which may lead elsewhere
    // tomorrow, it is not.
    guard let cache = configuration.diskCache, storage.contains(.diskPrint), !container.isPreview,
      container.animation == nil, !load.request.isDeep,
      !original.outcome.wasRedirected, !original.outcome.isOfAnotherVersion, load.key.print.isLasting,
      original.source != .network || original.outcome.storable != nil,
      !load.key.print.variant.isEmpty, isWorthStoring(container)
    else { return }
    let bitmap = container.bitmap
    var metadata = original.metadata
    metadata.print = DataCacheMetadata.PrintDescription(
      size: bitmap.size, isOpaque: bitmap.isOpaque, format: container.format,
      originalSize: container.originalSize, frameCount: container.frameCount)
    if bitmap.byteCount <= Self.maximumRawPrintSize {
      metadata.kind = .rawPrint
      let body = bitmap.withUnsafeBytes { Data($0) }
      cache.store(DataCacheEntry(metadata: metadata, body: body), for: load.key.print.text)
    } else {
      metadata.kind = .encodedPrint
      let options = ImageEncodingOptions.storedPrint(of: bitmap)
      guard
        let body = try? configuration.encoder.encode(
          bitmap, options: options, cancellation: CancellationFlag())
      else { return }
      cache.store(DataCacheEntry(metadata: metadata, body: body), for: load.key.print.text)
    }
  }

  /// Prints of up to this many bytes of pixels are stored as bare pixels: reading them is several times
  /// faster than decoding.
  static let maximumRawPrintSize = 64 << 10

  private func isWorthStoring(_ container: ImageContainer) -> Bool {
    switch configuration.diskStorage {
    case .originals: false
    case .prints, .all: true
    case .automatic:
      container.originalSize.pixelCount >= 4 * container.bitmap.size.pixelCount
        && container.bitmap.byteCount <= Self.maximumRawPrintSize
    }
  }

  /// The print that a disk cache's entry holds, or `nil` where it holds none that can be used: a stored print
  /// is one frame, so that an animation is made of its original again.
  func restorePrint(from entry: DataCacheEntry, isStill: Bool) -> ImageContainer? {
    guard let description = entry.metadata.print,
      description.frameCount <= 1 || isStill || !ImageDecoder.playsAnimations(of: description.format)
    else { return nil }
    switch entry.metadata.kind {
    case .rawPrint:
      let size = description.size
      guard size.width > 0, size.height > 0, size.pixelCount <= Self.maximumRawPrintSize / 4,
        entry.body.count == size.pixelCount * 4,
        let bitmap = try? Bitmap(
          size: size, isOpaque: description.isOpaque,
          initializingWith: { pixels in
            entry.body.withUnsafeBytes { pixels.copyMemory(from: $0) }
          })
      else { return nil }
      return container(bitmap, description)
    case .encodedPrint:
      let options = ImageDecodingOptions(limits: configuration.limits)
      guard
        let decoded = try? configuration.decoder.decode(
          entry.body, options: options, cancellation: CancellationFlag()),
        decoded.bitmap.size == description.size
      else { return nil }
      return container(decoded.bitmap, description)
    case .original, .partial:
      return nil
    }
  }

  private func container(_ bitmap: Bitmap, _ description: DataCacheMetadata.PrintDescription)
    -> ImageContainer
  {
    ImageContainer(
      bitmap: bitmap, format: description.format, originalSize: description.originalSize,
      frameCount: description.frameCount)
  }
}
