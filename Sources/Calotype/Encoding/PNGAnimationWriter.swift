import Foundation

/// Animated PNG (PNG, third edition, sections 11.3.6 and 13.10): each frame is written by libpng as a picture of
/// its own, of which the data are taken. From the second frame on only the rectangle that changes is stored.
final class PNGAnimationWriter: AnimationWriting {
  private let options: ImageEncodingOptions
  private let hasAlpha: Bool
  private let frameCount: Int
  private let loopCount: Int
  private var file: [UInt8] = []
  private var previous: Bitmap?
  private var sequenceNumber = 0

  init(_ options: ImageEncodingOptions, hasAlpha: Bool, frameCount: Int, loopCount: Int) {
    self.options = options
    self.hasAlpha = hasAlpha
    self.frameCount = frameCount
    self.loopCount = loopCount
  }

  func add(
    _ bitmap: Bitmap, milliseconds: Int, _ cancellation: CancellationFlag
  ) throws(ImageEncodingError) {
    let place = previous.map { Self.change(from: $0, to: bitmap) }
    let shown = try place.map { (place) throws(ImageEncodingError) in try Self.part(of: bitmap, place) }
    let png = try PNGEncoder.encode(
      shown ?? bitmap, hasAlpha: hasAlpha, options: options, cancellation: cancellation)
    let isFirst = previous == nil
    var hasControl = false
    png.withUnsafeBytes { bytes in
      let view = ByteView(bytes)
      var at = 8
      while let length = view.uint32(at: at), let type = view.uint32(at: at + 4),
        let body = view.slice(at: at + 8, count: length)
      {
        if type == 0x4948_4452, isFirst {  // IHDR
          file += bytes[0..<at + length + 12]
          // acTL
          PNGChunk.append(0x6163_544C, PNGChunk.number(frameCount) + PNGChunk.number(loopCount), to: &file)
        } else if type == 0x4944_4154 {  // IDAT
          if !hasControl {
            appendControl((shown ?? bitmap).size, at: (place?.x ?? 0, place?.y ?? 0), milliseconds)
            hasControl = true
          }
          if isFirst {
            PNGChunk.append(type, body, to: &file)
          } else {
            // fdAT
            PNGChunk.append(0x6664_4154, PNGChunk.number(sequenceNumber) + body.bytes, to: &file)
            sequenceNumber += 1
          }
        }
        at += length + 12
      }
    }
    previous = bitmap
  }

  func finish() throws(ImageEncodingError) -> Data {
    PNGChunk.append(0x4945_4E44, [], to: &file)  // IEND
    return Data(file)
  }

  /// fcTL: nothing is disposed of, and what is there is replaced.
  private func appendControl(_ size: PixelSize, at place: (x: Int, y: Int), _ milliseconds: Int) {
    var body: [UInt8] = []
    for number in [sequenceNumber, size.width, size.height, place.x, place.y] {
      body += PNGChunk.number(number)
    }
    let (numerator, denominator) =
      milliseconds <= 65_535 ? (milliseconds, 1000) : (min(65_535, (milliseconds + 500) / 1000), 1)
    for number in [numerator, denominator] { body += [UInt8(number >> 8), UInt8(number & 0xFF)] }
    PNGChunk.append(0x6663_544C, body + [0, 0], to: &file)
    sequenceNumber += 1
  }

  private struct Place {
    var x: Int, y: Int, width: Int, height: Int
  }

  /// The least rectangle that holds all that changes; one pixel where nothing does.
  private static func change(from old: Bitmap, to new: Bitmap) -> Place {
    old.withUnsafeBytes { old in
      new.withUnsafeBytes { bytes in
        let width = new.width, stride = new.bytesPerRow
        let before = old.bindMemory(to: UInt32.self), after = bytes.bindMemory(to: UInt32.self)
        var left = width, right = 0, top = new.height, bottom = 0
        for y in 0..<new.height {
          let row = y * stride / 4
          var first = 0
          while first < width, before[row + first] == after[row + first] { first += 1 }
          guard first < width else { continue }
          var last = width - 1
          while before[row + last] == after[row + last] { last -= 1 }
          (left, right) = (min(left, first), max(right, last + 1))
          (top, bottom) = (min(top, y), y + 1)
        }
        return left < right
          ? Place(x: left, y: top, width: right - left, height: bottom - top)
          : Place(x: 0, y: 0, width: 1, height: 1)
      }
    }
  }

  private static func part(of bitmap: Bitmap, _ place: Place) throws(ImageEncodingError) -> Bitmap {
    do {
      let size = PixelSize(width: place.width, height: place.height)
      return try Bitmap(size: size, isOpaque: bitmap.isOpaque) { target in
        bitmap.withUnsafeBytes { source in
          guard let from = source.baseAddress, let to = target.baseAddress else { return }
          for row in 0..<place.height {
            (to + row * place.width * 4).copyMemory(
              from: from + (place.y + row) * bitmap.bytesPerRow + place.x * 4, byteCount: place.width * 4)
          }
        }
      }
    } catch {
      throw .failed(.png, reason: "\(error)")
    }
  }
}
