/// Composes a GIF's frames (GIF 89a, sections 20 and 23). The screen starts out clear, and a frame that is
/// disposed of leaves clear behind: browsers pass over the background colour too.
final class GIFFrameReader: FrameReading {
  private let file: AnimationFile
  private let header: GIFHeader
  private let reader: GIFReader
  private let printer: FramePrinter
  private let canvas: Canvas
  /// What was there before a frame that goes without a trace.
  private var saved: Canvas?
  private var index = 0
  private var disposal = Disposal.none

  private enum Disposal {
    case none
    case clear(x: Range<Int>, y: Range<Int>)
    case restore(x: Range<Int>, y: Range<Int>)
  }

  init(_ file: AnimationFile, _ options: ImageDecodingOptions) throws(ImageDecodingError) {
    guard let header = GIFHeader(file.view) else { throw .truncated(.gif) }
    self.file = file
    self.header = header
    printer = try FramePrinter(header.info, options)
    reader = try GIFReader(file.view)
    canvas = try Canvas(header.size, isCleared: true)
  }

  func nextFrame(_ cancellation: CancellationFlag) throws(ImageDecodingError) -> Bitmap? {
    guard index < header.frameCount, let frame = try reader.nextFrame() else { return nil }
    try dispose()
    // The first frame may have been moved to where the screen is: see GIFHeader.
    let left = index == 0 ? header.firstFrame.x : frame.x
    let top = index == 0 ? header.firstFrame.y : frame.y
    let columns = min(left, canvas.size.width)..<min(left + frame.size.width, canvas.size.width)
    let rows = min(top, canvas.size.height)..<min(top + frame.size.height, canvas.size.height)
    switch frame.disposal {
    case 2: disposal = .clear(x: columns, y: rows)
    case 3:
      try save(columns, rows)
      disposal = .restore(x: columns, y: rows)
    default: disposal = .none
    }
    try draw(frame, at: left, top, columns, cancellation)
    index += 1
    return try printer.print(canvas.base, isPremultiplied: true, cancellation)
  }

  private func draw(
    _ frame: GIFReader.Frame, at left: Int, _ top: Int, _ columns: Range<Int>,
    _ cancellation: CancellationFlag
  ) throws(ImageDecodingError) {
    guard frame.size.width > 0, frame.size.height > 0 else { return try reader.skipFrame() }
    guard let line = IndexPlane(count: frame.size.width) else { throw .outOfMemory(frame.size) }
    for row in frame.rowOrder {
      if cancellation.isCancelled { throw .cancelled }
      try reader.readLine(line.base, count: frame.size.width)
      guard top + row < canvas.size.height else { continue }
      let pixels = (canvas.base + (top + row) * canvas.stride).assumingMemoryBound(to: UInt32.self)
      frame.colors.withUnsafeBufferPointer { colors in
        for x in columns {
          let index = Int(line.base[x - left])
          if index != frame.clearIndex { pixels[x] = colors[index] }
        }
      }
    }
  }

  private func dispose() throws(ImageDecodingError) {
    switch disposal {
    case .none: break
    case .clear(let x, let y):
      for row in y {
        (canvas.base + row * canvas.stride + x.lowerBound * 4)
          .initializeMemory(as: UInt8.self, repeating: 0, count: x.count * 4)
      }
    case .restore(let x, let y):
      if let saved { copy(from: saved, to: canvas, x, y) }
    }
    disposal = .none
  }

  private func save(_ x: Range<Int>, _ y: Range<Int>) throws(ImageDecodingError) {
    let target: Canvas
    if let saved { target = saved } else { target = try Canvas(canvas.size) }
    saved = target
    copy(from: canvas, to: target, x, y)
  }

  private func copy(from source: Canvas, to target: Canvas, _ x: Range<Int>, _ y: Range<Int>) {
    for row in y {
      let offset = row * canvas.stride + x.lowerBound * 4
      (target.base + offset).copyMemory(from: source.base + offset, byteCount: x.count * 4)
    }
  }
}
