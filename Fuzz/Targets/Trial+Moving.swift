#if DEBUG
  import Foundation

  @testable import Calotype

  extension Trial {
    private static let limits = ImageDecodingLimits(maximumPixelCount: 1 << 16, maximumSeconds: 5)

    /// What a file says of its frames, and the first of them.
    mutating func animation(_ bytes: [UInt8]) {
      for target in [nil, TargetSize(width: 7, height: 5, mode: .fill)] {
        let options = ImageDecodingOptions(targetSize: target, limits: Self.limits)
        guard let animation = ImageDecoder().animation(of: Data(bytes), options: options) else { return }
        expect(animation.frameCount >= 2, "\(animation.frameCount) frames")
        expect(animation.storedDelays.count == animation.frameCount, "delays of other frames")
        expect(animation.duration >= 0 && animation.duration.isFinite, "it lasts \(animation.duration) s")
        var count = 0, size: PixelSize?
        do throws(ImageDecodingError) {
          let reader = try animation.makeReader()
          while count < 12, let frame = try reader.nextFrame(CancellationFlag()) {
            count += 1
            expect(size == nil || frame.size == size, "frames of \(frame.size) and others")
            expect(frame.size.pixelCount <= 1 << 16, "over the limit")
            size = frame.size
          }
        } catch {
          expect(!error.description.isEmpty, "an error without words")
        }
        expect(count <= animation.frameCount, "more frames than it has")
      }
    }

    /// Previews of a file that comes in pieces, whose length the last byte says.
    mutating func preview(_ bytes: [UInt8]) {
      guard let last = bytes.last else { return }
      let piece = 16 + Int(last) * 8
      let targets = [nil, TargetSize(width: 9, height: 7)]
      let maker = PreviewMaker(
        limits: Self.limits, colors: ColorConversionCache(), cancellation: CancellationFlag())
      for start in stride(from: 0, to: bytes.count, by: piece) {
        let part = Data(bytes[start..<min(start + piece, bytes.count)])
        guard let previews = maker.append(part, targets: targets) else { continue }
        expect(previews.count == targets.count, "\(previews.count) previews of \(targets.count)")
        for preview in previews { expect(preview.bitmap.size.pixelCount <= 1 << 16, "over the limit") }
      }
    }

    /// A picture whose first bytes say its size and how to write it: written and read again.
    mutating func encoded(_ bytes: [UInt8]) {
      guard bytes.count > 8 else { return }
      let size = PixelSize(width: Int(bytes[0] & 63) + 1, height: Int(bytes[1] & 63) + 1)
      let isOpaque = bytes[2] & 1 != 0
      var options = ImageEncodingOptions(
        format: ImageEncoder.formats[Int(bytes[3]) % ImageEncoder.formats.count], quality: Int(bytes[4]),
        isLossless: bytes[2] & 2 != 0, isProgressive: bytes[2] & 4 != 0,
        chroma: .allCases[Int(bytes[5]) % ImageEncodingOptions.Chroma.allCases.count], effort: .fast)
      if bytes[2] & 8 != 0 { options.profile = Data(bytes.suffix(Int(bytes[6]))) }
      do {
        let bitmap = try Bitmap(size: size, isOpaque: isOpaque) { pixels in
          for at in stride(from: 0, to: pixels.count, by: 4) {
            let color = { (index: Int) in bytes[8 + (at + index) % (bytes.count - 8)] }
            let alpha = isOpaque ? 255 : color(3)
            for channel in 0..<3 { pixels[at + channel] = min(alpha, color(channel)) }
            pixels[at + 3] = alpha
          }
        }
        let data = try ImageEncoder().encode(bitmap, options: options)
        let read = try ImageDecoder().decode(data, options: .init(isDeep: false, keepsProfile: true)).bitmap
        expect(read.size == size, "\(options.format) of \(size) is of \(read.size) when read")
        let keepsAll = options.format == .png || options.format == .webp && options.isLossless
        expect(
          !keepsAll || read == bitmap || options.profile != nil,
          "\(options.format) has other pixels when read")
      } catch let error as ImageEncodingError {
        expect(!error.description.isEmpty, "an error without words")
      } catch {
        expect(false, "what was written cannot be read: \(error)")
      }
    }
  }
#endif
