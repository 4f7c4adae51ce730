import Foundation

// A print is made from a larger one of the same picture, where that gives what the original would give to the eye:
// without a download and without a decode. Never the other way round.
extension ImagePipeline {
  /// A print that the memory cache holds of the same picture, in another size, to be shown until the right one is
  /// here: `nil` where there is none.
  public func previewImage(for request: ImageRequest) -> ImageContainer? {
    guard let memory = configuration.memoryCache else { return nil }
    let request = completed(request)
    let known = printIndex.withLock { $0.prints(of: request.cacheKey.address) }
    guard !known.isEmpty else { return nil }
    let identifiers = request.processors.map(\.identifier)
    for print in known
    where print.key != request.cacheKey
      && print.shape.targetSize?.mode ?? .fit == request.targetSize?.mode ?? .fit
      && print.shape.processors.map(\.identifier) == identifiers
    {
      guard var image = memory.image(for: print.key), mayBeShown(image, for: request) else { continue }
      image.isPreview = true
      return image
    }
    return nil
  }

  private func mayBeShown(_ image: ImageContainer, for request: ImageRequest) -> Bool {
    image.isFresh || request.cachePolicy.takesStale || freshness(of: request) == .staleWhileRevalidate
  }

  /// Whether what is stored may be used for a load.
  private func mayDerive(_ load: PrintLoad) -> Bool {
    load.key.policy.readsStored && load.request.targetSize != nil && !load.request.isDeep
  }

  /// The smallest print in memory that a load's print can be made from.
  func largerPrintInMemory(for load: PrintLoad) -> (ImageContainer, PrintShape.Derivation)? {
    guard mayDerive(load), load.storage.contains(.memory), let memory = configuration.memoryCache else {
      return nil
    }
    let known = printIndex.withLock { index in
      if let size = load.request.targetSize { index.note(size) }
      return index.prints(of: load.key.print.address)
    }
    let wanted = PrintShape(load.request)
    for print in known.reversed() where print.key != load.key.print {
      guard
        let derivation = print.shape.derivation(of: wanted, from: print.size, original: print.originalSize),
        let image = memory.image(for: print.key), image.isFresh || load.key.policy.takesStale,
        image.bitmap.size == print.size,
        // A still print of an animation tells nothing of its other frames.
        image.frameCount <= 1 || image.animation != nil || load.request.isStill
      else { continue }
      return (image, derivation)
    }
    return nil
  }

  /// Makes a load's print from a larger one. Returns whether it could be delivered.
  func deliver(
    _ load: PrintLoad, from larger: ImageContainer, _ derivation: PrintShape.Derivation,
    source: ImageResponse.Source, isStale: Bool = false, age: Double? = nil
  ) -> Bool {
    let cancellation = CancellationFlag()
    let isWanted = core.withLock { _ in
      guard !load.hasEnded else { return false }
      load.cancellation = cancellation
      return true
    }
    // Whoever cancelled it has been told.
    guard isWanted else { return true }
    var timing = PrintTiming()
    timing.decodeStart = monotonicNanoseconds()
    timing.decodeEnd = timing.decodeStart
    guard
      let bitmap = try? derivation.apply(
        to: larger.bitmap, limits: configuration.limits, cancellation: cancellation)
    else {
      // The usual way finds out, and says, what is wrong.
      core.withLock { _ in load.cancellation = nil }
      return cancellation.isCancelled
    }
    timing.processEnd = monotonicNanoseconds()
    var container = ImageContainer(bitmap: bitmap, format: larger.format, originalSize: larger.originalSize)
    container.freshUntil = larger.freshUntil
    container.frameCount = larger.frameCount
    if !load.request.isStill, var animation = larger.animation {
      animation.targetSize = load.request.targetSize
      animation.processors = load.request.processors
      container.animation = animation
    }
    finish(load, with: .success((container, nil)), source: source, isStale: isStale, age: age, timing: timing)
    return true
  }

  /// Looks for a larger print on disk, among the sizes that are asked for. Returns whether there was one and the
  /// load's print was delivered from it.
  func deliverFromLargerStoredPrint(_ load: PrintLoad) -> Bool {
    guard mayDerive(load), configuration.diskStorage != .originals, let disk = configuration.diskCache,
      let targetSize = load.request.targetSize, let own = targetSize.pixelSize
    else { return false }
    let wanted = PrintShape(load.request)
    let isScaling = wanted.processors.allSatisfy { ($0 as? any ScalingProcessing)?.scales ?? false }
    let sizes = printIndex.withLock { index in
      index.note(targetSize)
      return index.targetSizes
    }
    let policy = httpPolicy(freshness: load.key.freshness)
    for size in sizes.reversed() {
      guard let pixels = size.pixelSize, pixels.width >= own.width, pixels.height >= own.height, pixels != own
      else { continue }
      for processors in isScaling && !wanted.processors.isEmpty ? [wanted.processors, []] : [[]] {
        let shape = PrintShape(targetSize: size, processors: processors)
        let variant = ImageRequest.variant(targetSize: size, processors: processors)
        let key = ImageCacheKey(address: load.key.print.address, variant: variant)
        guard let entry = disk.entry(for: key.text), let print = entry.metadata.print, print.frameCount == 1,
          let derivation = shape.derivation(of: wanted, from: print.size, original: print.originalSize)
        else { continue }
        let now = wallClockSeconds()
        let freshUntil = policy.freshUntil(entry.metadata, now: now)
        guard freshUntil > now || load.key.policy.takesStale,
          var larger = restorePrint(from: entry, isStill: load.request.isStill)
        else { continue }
        larger.freshUntil = freshUntil
        return deliver(
          load, from: larger, derivation, source: .disk, isStale: freshUntil <= now,
          age: policy.age(of: entry.metadata, now: now))
      }
    }
    return false
  }
}
