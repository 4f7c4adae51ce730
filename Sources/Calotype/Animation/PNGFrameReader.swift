/// Composes an animated PNG's frames (PNG, third edition, sections 11.3.6 and 13.10). libpng knows nothing of them:
/// each is handed to it as a PNG of its own, made of the file's header and the frame's data.
final class PNGFrameReader: FrameReading {
  private let file: AnimationFile
  private let header: PNGHeader
  private let printer: FramePrinter
  /// Premultiplied.
  private let canvas: Canvas
  private var saved: Canvas?
  /// `PLTE` and `tRNS`, which all frames share.
  private var sharedChunks: [UInt8] = []
  private var position = 8
  private var index = 0
  private var previous: FrameControl?

  /// What `fcTL` says.
  private struct FrameControl {
    var x: Int, y: Int
    var size: PixelSize
    var disposal: UInt8
    var isBlended: Bool

    init?(_ body: ByteView) {
      guard let width = body.uint32(at: 4), let height = body.uint32(at: 8), let x = body.uint32(at: 12),
        let y = body.uint32(at: 16), let disposal = body[24], let blending = body[25]
      else { return nil }
      self.x = x
      self.y = y
      size = PixelSize(width: width, height: height)
      self.disposal = disposal
      isBlended = blending == 1
    }

    func fits(_ canvas: PixelSize) -> Bool {
      size.width > 0 && size.height > 0 && x <= canvas.width && y <= canvas.height
        && size.width <= canvas.width - x && size.height <= canvas.height - y
    }
  }

  init(
    _ file: AnimationFile, _ options: ImageDecodingOptions, _ colors: ColorConversionCache
  ) throws(ImageDecodingError) {
    guard let header = PNGHeader(file.view) else { throw .truncated(.png) }
    self.file = file
    self.header = header
    var conversion: ColorConversion?
    if header.hasProfile {
      conversion = PNGCodec.conversion(try PNGReader(file.view, header: header), header, colors)
    }
    printer = try FramePrinter(header.info, options, conversion: conversion)
    canvas = try Canvas(header.size, isCleared: true)
  }

  func nextFrame(_ cancellation: CancellationFlag) throws(ImageDecodingError) -> Bitmap? {
    guard index < header.frameCount, let (control, stream) = try nextFrameData() else { return nil }
    try dispose()
    if control.disposal == 2 { try save(control) }
    let drawn = stream.withUnsafeBytes { bytes in
      Result { () throws(ImageDecodingError) in
        let view = ByteView(bytes)
        guard let frameHeader = PNGHeader(view) else { throw .truncated(.png) }
        try draw(try PNGReader(view, header: frameHeader), frameHeader, control, cancellation)
      }
    }
    try drawn.get()
    previous = control
    index += 1
    return try printer.print(canvas.base, isPremultiplied: true, cancellation)
  }

  // MARK: Chunks

  /// Goes to the next frame and makes a PNG of it.
  private func nextFrameData() throws(ImageDecodingError) -> (FrameControl, [UInt8])? {
    let view = file.view
    var control: FrameControl?
    var stream: [UInt8] = []
    while let length = view.uint32(at: position), let type = view.uint32(at: position + 4) {
      guard length <= 0x7FFF_FFFF, let body = view.slice(at: position + 8, count: length) else {
        throw .truncated(.png)
      }
      let isFrameEnd = type == 0x6663_544C || type == 0x4945_4E44  // fcTL, IEND
      if let control, isFrameEnd, !stream.isEmpty {
        PNGChunk.append(0x4945_4E44, [], to: &stream)
        return (control, stream)
      }
      switch type {
      case 0x504C_5445, 0x7452_4E53: PNGChunk.append(type, body, to: &sharedChunks)  // PLTE, tRNS
      case 0x6663_544C:
        guard let next = FrameControl(body), next.fits(header.size) else {
          throw .corrupt(.png, reason: "frame \(index) does not fit on it")
        }
        control = next
      case 0x4944_4154:  // IDAT: the first frame's where a control stands before it, else nobody's.
        if let control { add(body, of: control, to: &stream) }
      case 0x6664_4154:  // fdAT: a number, then what IDAT has.
        if let control { add(body.dropFirst(4), of: control, to: &stream) }
      case 0x4945_4E44: return nil
      default: break
      }
      position += length + 12
    }
    throw .truncated(.png)
  }

  private func add(_ data: ByteView, of control: FrameControl, to stream: inout [UInt8]) {
    if stream.isEmpty {
      stream = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      let sides = PNGChunk.number(control.size.width) + PNGChunk.number(control.size.height)
      PNGChunk.append(0x4948_4452, sides + file.view.bytes[24..<29], to: &stream)
      stream += sharedChunks
    }
    PNGChunk.append(0x4944_4154, data, to: &stream)
  }

  // MARK: Drawing

  private func draw(
    _ reader: PNGReader, _ header: PNGHeader, _ control: FrameControl, _ cancellation: CancellationFlag
  ) throws(ImageDecodingError) {
    let size = control.size
    let rows = reader.passCount > 1 ? size.height : 1
    let buffer = try Canvas(PixelSize(width: size.width, height: rows))
    if reader.passCount > 1 {
      for _ in 0..<reader.passCount {
        for row in 0..<size.height {
          if row & 15 == 0, cancellation.isCancelled { throw .cancelled }
          try reader.readRows(buffer.base + row * buffer.stride, stride: buffer.stride, count: 1)
        }
      }
    }
    for row in 0..<size.height {
      if row & 15 == 0, cancellation.isCancelled { throw .cancelled }
      let source = buffer.base + (reader.passCount > 1 ? row * buffer.stride : 0)
      if reader.passCount == 1 { try reader.readRows(source, stride: buffer.stride, count: 1) }
      let pixels = source.assumingMemoryBound(to: UInt32.self)
      if header.hasAlpha { _ = Premultiplication.premultiply(pixels, count: size.width) }
      let target = (canvas.base + (control.y + row) * canvas.stride + control.x * 4)
        .assumingMemoryBound(to: UInt32.self)
      if control.isBlended {
        for x in 0..<size.width {
          target[x] =
            PixelBlending.over(
              UInt32(littleEndian: pixels[x]), UInt32(littleEndian: target[x])
            ).littleEndian
        }
      } else {
        target.update(from: pixels, count: size.width)
      }
    }
  }

  /// Takes the frame before away, where it says so.
  private func dispose() throws(ImageDecodingError) {
    guard let previous, previous.disposal > 0 else { return }
    for row in previous.y..<previous.y + previous.size.height {
      let offset = row * canvas.stride + previous.x * 4
      // There is nothing to go back to behind the first frame but the clear canvas.
      if previous.disposal == 2, index > 1, let saved {
        (canvas.base + offset).copyMemory(from: saved.base + offset, byteCount: previous.size.width * 4)
      } else {
        (canvas.base + offset)
          .initializeMemory(as: UInt8.self, repeating: 0, count: previous.size.width * 4)
      }
    }
  }

  private func save(_ control: FrameControl) throws(ImageDecodingError) {
    let target: Canvas
    if let saved { target = saved } else { target = try Canvas(canvas.size) }
    saved = target
    for row in control.y..<control.y + control.size.height {
      let offset = row * canvas.stride + control.x * 4
      (target.base + offset).copyMemory(from: canvas.base + offset, byteCount: control.size.width * 4)
    }
  }
}
