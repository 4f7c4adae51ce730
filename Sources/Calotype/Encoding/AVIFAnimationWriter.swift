import CAVIF
import Foundation

/// AVIF sequences through libavif and libaom.
final class AVIFAnimationWriter: AnimationWriting {
  private let encoder: UnsafeMutablePointer<avifEncoder>
  private let options: ImageEncodingOptions
  private let hasAlpha: Bool

  init(_ options: ImageEncodingOptions, hasAlpha: Bool) throws(ImageEncodingError) {
    try AVIFEncoder.load()
    guard let encoder = avifEncoderCreate() else { throw .failed(.avif, reason: "out of memory") }
    self.encoder = encoder
    self.options = options
    self.hasAlpha = hasAlpha
    AVIFEncoder.configure(encoder, options)
    // In its fastest ways libaom loses detail between frames also where it is told to lose none.
    if options.isLossless { encoder.pointee.speed = min(encoder.pointee.speed, 6) }
    encoder.pointee.timescale = 1000
  }

  deinit { avifEncoderDestroy(encoder) }

  func add(
    _ bitmap: Bitmap, milliseconds: Int, _ cancellation: CancellationFlag
  ) throws(ImageEncodingError) {
    let image = try AVIFEncoder.image(of: bitmap, hasAlpha: hasAlpha, options, cancellation)
    defer { avifImageDestroy(image) }
    if cancellation.isCancelled { throw .cancelled }
    try AVIFEncoder.check(
      avifEncoderAddImage(
        encoder, image, UInt64(max(1, milliseconds)), avifAddImageFlags(AVIF_ADD_IMAGE_FLAG_NONE.rawValue)))
  }

  func finish() throws(ImageEncodingError) -> Data {
    var output = avifRWData(data: nil, size: 0)
    defer { avifRWDataFree(&output) }
    try AVIFEncoder.check(avifEncoderFinish(encoder, &output))
    return output.data.map { Data(bytes: $0, count: output.size) } ?? Data()
  }
}
