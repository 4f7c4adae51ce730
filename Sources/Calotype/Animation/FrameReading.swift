import Foundation

/// Reads an animation's frames, one after the other, each composed to the whole picture that is seen.
///
/// For use by one thread at a time. To begin again, another is made.
protocol FrameReading: AnyObject {
  /// The next frame at its target size, or `nil` after the last.
  func nextFrame(_ cancellation: CancellationFlag) throws(ImageDecodingError) -> Bitmap?
}

extension ImageAnimation {
  func makeReader() throws(ImageDecodingError) -> any FrameReading {
    if let isolated { return IsolatedFrameReader(self, isolated) }
    let file = AnimationFile(data)
    let options = ImageDecodingOptions(targetSize: targetSize, limits: limits)
    switch format {
    case .gif: return try GIFFrameReader(file, options)
    case .webp: return try WebPFrameReader(file, options, colors)
    case .png: return try PNGFrameReader(file, options, colors)
    case .avif: return try AVIFFrameReader(file, options, colors)
    default: throw .unsupported(format: format.displayName, reason: "its animations are not read")
    }
  }
}

/// A file's bytes at one place in memory for as long as they are read.
final class AnimationFile {
  private let data: Data
  let view: ByteView

  init(_ data: Data) {
    // A Data of more than a few bytes keeps them in an allocation of its own, which stays where it is while
    // the value is held and not changed.
    self.data = data.count < 64 ? Data() : data
    view = self.data.withUnsafeBytes { ByteView($0) }
  }
}

/// Makes the prints of an animation's frames from the canvas that they are drawn on.
struct FramePrinter {
  private let plan: DecodePlan
  private let format: ImageFormat
  private let size: PixelSize
  private let hasAlpha: Bool
  private let conversion: ColorConversion?

  init(
    _ info: ImageInfo, _ options: ImageDecodingOptions, hasAlpha: Bool = true,
    conversion: ColorConversion? = nil
  ) throws(ImageDecodingError) {
    let job = DecodeJob(
      view: ByteView(UnsafeRawBufferPointer(start: nil, count: 0)), options: options,
      cancellation: CancellationFlag(), colors: ColorConversionCache())
    plan = try job.plan(for: info)
    format = info.format
    size = info.storedSize
    self.hasAlpha = hasAlpha
    self.conversion = conversion
  }

  /// A print of the canvas, whose rows have no gaps and are left as they are.
  func print(
    _ canvas: UnsafeRawPointer, isPremultiplied: Bool, _ cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> Bitmap {
    let sink = try RowSink(
      plan: plan, format: format, size: size, hasAlpha: hasAlpha, isPremultiplied: isPremultiplied)
    for row in 0..<size.height {
      if row & 15 == 0, cancellation.isCancelled { throw .cancelled }
      sink.append(copying: canvas + row * sink.stride)
    }
    return try sink.finish(conversion, cancellation: cancellation)
  }
}
