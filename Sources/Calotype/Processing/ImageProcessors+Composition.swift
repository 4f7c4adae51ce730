extension ImageProcessors {
  /// Several processors as one, applied in order.
  public struct Composition: LimitedProcessing {
    /// The processors, the first one first.
    public let processors: [any ImageProcessing]

    /// Creates a composition.
    public init(_ processors: [any ImageProcessing]) { self.processors = processors }

    /// The processors' identifiers, in order.
    public var identifier: String { processors.map(\.identifier).joined(separator: "|") }

    func process(
      _ image: Bitmap, limits: ImageDecodingLimits, cancellation: CancellationFlag
    ) throws -> Bitmap {
      try ImageProcessors.apply(processors, to: image, limits: limits, cancellation: cancellation)
    }
  }

  /// Applies processors in order, in as few passes as they allow and without copies between them.
  ///
  /// - Parameters:
  ///   - processors: The processors, the first one first.
  ///   - image: The picture.
  ///   - limits: How many pixels a picture may have that is made larger.
  ///   - cancellation: Looked at in long work.
  /// - Throws: ``ImageProcessingError``, which names the processor that failed; `CancellationError`.
  public static func apply(
    _ processors: [any ImageProcessing], to image: Bitmap,
    limits: ImageDecodingLimits = ImageDecodingLimits(),
    cancellation: CancellationFlag = CancellationFlag()
  ) throws -> Bitmap {
    var image = image
    // Whether the pixels were made here and nobody else has seen them: only then may they be written again.
    var isOwn = false
    var at = 0
    while at < processors.count {
      if cancellation.isCancelled { throw CancellationError() }
      do {
        at += try step(processors[at...], on: &image, isOwn: &isOwn, limits, cancellation)
      } catch let error as CancellationError {
        throw error
      } catch let error as ImageProcessingError {
        throw error
      } catch {
        throw ImageProcessingError.failed(processor: processors[at].identifier, reason: "\(error)")
      }
    }
    return image
  }

  /// Applies the first processor, or as many as can be run together, and returns their number.
  private static func step(
    _ processors: ArraySlice<any ImageProcessing>, on image: inout Bitmap, isOwn: inout Bool,
    _ limits: ImageDecodingLimits, _ cancellation: CancellationFlag
  ) throws -> Int {
    let rows = processors.prefix { $0 is any RowProcessing }.compactMap { $0 as? any RowProcessing }
    if let processor = processors.first, rows.isEmpty {
      let before = image.storage
      image = try processor.process(image, within: limits, cancellation: cancellation)
      isOwn = processor is any BuiltInProcessing && (isOwn || image.storage !== before)
      return 1
    }
    let run = try RowRun(rows, on: image)
    image = try run.run(reusing: isOwn, cancellation: cancellation)
    isOwn = true
    return run.count
  }
}
