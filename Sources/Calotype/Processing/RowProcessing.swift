/// A processor of this package: its result is a new picture that nobody else holds, or the picture itself.
protocol BuiltInProcessing: ImageProcessing {}

/// A processor that makes each row of its result of one row of the picture. Several such are run together:
/// each row passes through all of them while it is at hand.
protocol RowProcessing: BuiltInProcessing {
  /// Works out what is the same for all rows.
  func rowWork(for size: PixelSize, isOpaque: Bool) throws -> RowWork
}

/// What a ``RowProcessing`` does to a picture of a certain size.
struct RowWork {
  /// The left edge and the top edge of the part of the picture that is kept, and its size: the result's.
  var x = 0, y = 0, size: PixelSize
  /// Whether the result is opaque.
  var isOpaque: Bool
  /// Makes a row of the result. Source and target may be the same row.
  var run: (_ source: UnsafePointer<UInt32>, _ target: UnsafeMutablePointer<UInt32>, _ row: Int) -> Void
}

extension RowProcessing {
  /// Makes the new picture.
  public func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
    try RowRun([self], on: image).run(reusing: false, cancellation: cancellation)
  }
}

/// Row processors that are run together.
struct RowRun {
  private let image: Bitmap
  private let works: [RowWork]

  /// Takes as many of the processors as can be run in one pass.
  init(_ processors: [any RowProcessing], on image: Bitmap) throws {
    self.image = image
    var works: [RowWork] = []
    var size = image.size
    var isOpaque = image.isOpaque
    for processor in processors {
      let work = try processor.rowWork(for: size, isOpaque: isOpaque)
      // A part is taken only of the picture that is read, which the first one does.
      if !works.isEmpty, work.size != size { break }
      works.append(work)
      size = work.size
      isOpaque = work.isOpaque
    }
    self.works = works
  }

  /// How many of the processors were taken.
  var count: Int { works.count }

  /// Runs them.
  ///
  /// - Parameter reusing: Whether nobody else holds the picture, so that its own memory may be written.
  func run(reusing: Bool, cancellation: CancellationFlag) throws -> Bitmap {
    guard let first = works.first, let last = works.last else { return image }
    let size = first.size
    let inPlace = reusing && size == image.size
    let storage = inPlace ? image.storage : try Bitmap.Storage(size: size)
    guard let read = image.storage.buffer.baseAddress, let write = storage.buffer.baseAddress else {
      throw BitmapError.outOfMemory(size)
    }
    for y in 0..<size.height {
      if cancellation.isCancelled { throw CancellationError() }
      let source = (read + (first.y + y) * image.bytesPerRow + first.x * 4).assumingMemoryBound(
        to: UInt32.self)
      let target = (write + y * size.width * 4).assumingMemoryBound(to: UInt32.self)
      first.run(source, target, y)
      for work in works.dropFirst() { work.run(target, target, y) }
    }
    return Bitmap(storage: storage, size: size, isOpaque: last.isOpaque)
  }
}
