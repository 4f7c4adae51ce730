/// An AVIF sequence's frames: each is a whole picture.
final class AVIFFrameReader: FrameReading {
  private let file: AnimationFile
  private let reader: AVIFReader
  private let options: ImageDecodingOptions
  private let colors: ColorConversionCache
  private let canvas: Canvas
  private var printer: FramePrinter?
  private var index = 0

  init(
    _ file: AnimationFile, _ options: ImageDecodingOptions, _ colors: ColorConversionCache
  ) throws(ImageDecodingError) {
    self.file = file
    self.options = options
    self.colors = colors
    reader = try AVIFReader(file.view, maximumPixelCount: options.limits.maximumPixelCount)
    try options.limits.check(reader.info)
    canvas = try Canvas(reader.info.storedSize)
  }

  func nextFrame(_ cancellation: CancellationFlag) throws(ImageDecodingError) -> Bitmap? {
    guard index < reader.info.frameCount else { return nil }
    try reader.decodeFrame()
    if cancellation.isCancelled { throw .cancelled }
    try reader.copyPixels(into: canvas.base, stride: canvas.stride)
    index += 1
    let printer: FramePrinter
    if let made = self.printer {
      printer = made
    } else {
      printer = try FramePrinter(
        reader.info, options, hasAlpha: reader.hasAlpha, conversion: reader.conversion(colors))
      self.printer = printer
    }
    return try printer.print(canvas.base, isPremultiplied: false, cancellation)
  }
}
