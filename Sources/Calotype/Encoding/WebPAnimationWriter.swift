import CWebP
import Foundation

/// Animated WebP through libwebpmux, which finds what changes from frame to frame.
final class WebPAnimationWriter: AnimationWriting {
  private let encoder: OpaquePointer
  private let options: ImageEncodingOptions
  private var end: Int32 = 0

  init(
    _ size: PixelSize, _ options: ImageEncodingOptions, loopCount: Int
  ) throws(ImageEncodingError) {
    try WebPEncoder.check(size)
    var encoderOptions = WebPAnimEncoderOptions()
    guard WebPAnimEncoderOptionsInit(&encoderOptions) != 0 else {
      throw .failed(.webp, reason: "the library does not fit")
    }
    encoderOptions.anim_params.loop_count = Int32(min(loopCount, 65_535))
    encoderOptions.anim_params.bgcolor = 0
    guard let encoder = WebPAnimEncoderNew(Int32(size.width), Int32(size.height), &encoderOptions) else {
      throw .failed(.webp, reason: "out of memory")
    }
    self.encoder = encoder
    self.options = options
  }

  deinit { WebPAnimEncoderDelete(encoder) }

  func add(
    _ bitmap: Bitmap, milliseconds: Int, _ cancellation: CancellationFlag
  ) throws(ImageEncodingError) {
    var config = try WebPEncoder.configuration(options)
    var picture = try WebPEncoder.picture(of: bitmap, usesARGB: true, cancellation)
    defer { WebPPictureFree(&picture) }
    guard WebPAnimEncoderAdd(encoder, &picture, end, &config) != 0 else { throw failure() }
    end &+= Int32(clamping: milliseconds)
  }

  func finish() throws(ImageEncodingError) -> Data {
    var data = WebPData()
    WebPDataInit(&data)
    defer { WebPDataClear(&data) }
    guard WebPAnimEncoderAdd(encoder, nil, end, nil) != 0, WebPAnimEncoderAssemble(encoder, &data) != 0,
      let bytes = data.bytes
    else { throw failure() }
    return Data(bytes: bytes, count: data.size)
  }

  private func failure() -> ImageEncodingError {
    .failed(.webp, reason: WebPAnimEncoderGetError(encoder).map { String(cString: $0) } ?? "no reason given")
  }
}
