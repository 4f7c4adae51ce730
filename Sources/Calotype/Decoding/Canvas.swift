/// A whole frame in memory, RGBA, for formats whose codecs do not give rows in their order.
final class Canvas {
  let size: PixelSize
  let base: UnsafeMutableRawPointer
  private let storage: Bitmap.Storage

  var stride: Int { size.width * 4 }

  /// - Parameter isCleared: Whether the frame starts out clear; else its memory is as it comes.
  init(_ size: PixelSize, isCleared: Bool = false) throws(ImageDecodingError) {
    guard let storage = try? Bitmap.Storage(size: size), let base = storage.buffer.baseAddress else {
      throw .outOfMemory(size)
    }
    self.size = size
    self.storage = storage
    self.base = base
    if isCleared { base.initializeMemory(as: UInt8.self, repeating: 0, count: storage.buffer.count) }
  }
}

extension RowSink {
  /// Takes every row of a frame, which is premultiplied in place.
  func append(_ canvas: Canvas, _ job: DecodeJob) throws(ImageDecodingError) {
    for row in 0..<canvas.size.height {
      if row & 15 == 0 { try job.checkCancellation() }
      append(canvas.base + row * canvas.stride, count: 1, stride: canvas.stride)
    }
  }
}
