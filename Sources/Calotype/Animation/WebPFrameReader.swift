import CWebP

/// An animated WebP's frames, composed by libwebpdemux.
final class WebPFrameReader: FrameReading {
  private let file: AnimationFile
  private let decoder: OpaquePointer
  private let printer: FramePrinter

  init(
    _ file: AnimationFile, _ options: ImageDecodingOptions, _ colors: ColorConversionCache
  ) throws(ImageDecodingError) {
    guard let header = WebPHeader(file.view) else { throw .truncated(.webp) }
    // Judged before libwebp takes the memory of two canvases.
    let printer = try FramePrinter(
      header.info, options, conversion: colors.conversion(for: header.profile, source: .rgb))
    var decoderOptions = WebPAnimDecoderOptions()
    guard WebPAnimDecoderOptionsInit(&decoderOptions) != 0 else {
      throw .unsupported(
        format: "WebP", reason: "another version of libwebp is installed than was built with")
    }
    decoderOptions.color_mode = MODE_RGBA
    decoderOptions.use_threads = 0
    var data = WebPData(
      bytes: file.view.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), size: file.view.count)
    guard let decoder = WebPAnimDecoderNew(&data, &decoderOptions) else {
      throw .corrupt(.webp, reason: "its frames cannot be told apart")
    }
    self.file = file
    self.decoder = decoder
    self.printer = printer
    var info = WebPAnimInfo()
    guard WebPAnimDecoderGetInfo(decoder, &info) != 0, Int(info.canvas_width) == header.size.width,
      Int(info.canvas_height) == header.size.height
    else { throw .corrupt(.webp, reason: "its canvas is not of the size that its header says") }
  }

  deinit { WebPAnimDecoderDelete(decoder) }

  func nextFrame(_ cancellation: CancellationFlag) throws(ImageDecodingError) -> Bitmap? {
    guard WebPAnimDecoderHasMoreFrames(decoder) != 0 else { return nil }
    var pixels: UnsafeMutablePointer<UInt8>?
    var end: Int32 = 0
    guard WebPAnimDecoderGetNext(decoder, &pixels, &end) != 0, let pixels else {
      throw .corrupt(.webp, reason: "a frame's picture data is damaged")
    }
    return try printer.print(pixels, isPremultiplied: false, cancellation)
  }
}
