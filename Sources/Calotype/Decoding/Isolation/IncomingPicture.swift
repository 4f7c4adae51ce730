/// A picture on its way out of a worker's reach: its rows are copied while the worker makes the next.
///
/// Why it is copied, where the memory that the worker wrote to could become the bitmap's own: what is checked must
/// not change afterwards, or colours come over their alpha, on which what comes later relies. The kernel lets
/// nobody write only once no worker has the memory mapped any more (a seal against writing), and then it cannot be used for
/// another picture; new memory for each costs several times what the copy does, which goes to memory that is
/// warm. And beside a worker that is at the next rows it costs no time at all.
///
/// The worker may write while this reads; what counts is the copy, and all is checked on that.
struct IncomingPicture {
  let size: PixelSize
  /// Where it lies in the shared memory.
  let offset: Int
  private let storage: Bitmap.Storage
  private var rowCount = 0
  private var isOpaque = true

  init(size: PixelSize, offset: Int) throws(DecodingWorker.Failure) {
    self.size = size
    self.offset = offset
    do { storage = try Bitmap.Storage(size: size) } catch { throw .noMemory(size) }
  }

  /// Copies the rows that have not been copied yet, up to so many from the top.
  ///
  /// - Parameter source: The memory of the whole picture.
  /// - Returns: Whether those are more rows than before, and rows of the picture.
  mutating func copy(rows count: Int, from source: UnsafeRawBufferPointer) -> Bool {
    guard count > rowCount, count <= size.height, source.count == storage.buffer.count,
      let from = source.baseAddress, let to = storage.buffer.baseAddress
    else { return false }
    let end = count * size.width
    let pixels = to.assumingMemoryBound(to: UInt32.self)
    // In steps that stay in the cache of the first level.
    var at = rowCount * size.width
    while at < end {
      let step = min(2048, end - at)
      (to + at * 4).copyMemory(from: from + at * 4, byteCount: step * 4)
      let isPartOpaque = Premultiplication.clamp(pixels + at, count: step)
      isOpaque = isOpaque && isPartOpaque
      at += step
    }
    rowCount = count
    return true
  }

  /// Copies what is left.
  ///
  /// - Parameter isOpaque: What the worker says; it does not count where a pixel shows that it is not so.
  mutating func finish(from source: UnsafeRawBufferPointer, isOpaque isSaidToBe: Bool) -> Bitmap {
    _ = copy(rows: size.height, from: source)
    return Bitmap(storage: storage, size: size, isOpaque: isOpaque && isSaidToBe)
  }
}
