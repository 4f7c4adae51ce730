import Foundation

/// What is shown in a picture's place until it is here: a few bytes that came with the list, and are drawn in
/// microseconds.
///
/// ```swift
/// var request = ImageRequest(url: url)
/// request.placeholder = .thumbHash(row.hash)
/// ```
///
/// `calotype info --placeholder` makes them.
public enum ImagePlaceholder: Hashable, Sendable {
  /// A [ThumbHash](https://evanw.github.io/thumbhash/): about 25 bytes that hold the picture's shape,
  /// transparency and colours.
  case thumbHash(Data)
  /// A [BlurHash](https://blurha.sh): a short text that holds colours, but neither shape nor transparency.
  case blurHash(String)
  /// One colour, as of ``averageColor(of:)``.
  case color(ColorValue)

  /// Reads a ThumbHash that is written in Base64, as lists do.
  public static func thumbHash(base64 text: String) -> ImagePlaceholder? {
    Data(base64Encoded: text).map { .thumbHash($0) }
  }

  /// Draws it: at most 32 pixels a side, for the one who shows it to enlarge.
  ///
  /// - Parameter aspectRatio: The picture's width over its height, where it is known better than the hash
  ///   knows it.
  /// - Throws: ``ImagePlaceholderError`` where the hash is none.
  public func bitmap(aspectRatio: Double? = nil) throws(ImagePlaceholderError) -> Bitmap {
    var ratio = aspectRatio
    if let given = ratio, !(given.isFinite && given > 0) { ratio = nil }
    switch self {
    case .thumbHash(let data): return try ThumbHash.decode(Array(data.prefix(64)), aspectRatio: ratio)
    case .blurHash(let text): return try BlurHash.decode(text, aspectRatio: ratio)
    case .color(let color):
      return try Self.bitmap(PixelSize(width: 1, height: 1), isOpaque: color.isOpaque) { pixels in
        pixels[0] = PixelLanes.pixel(color.premultiplied, opaque: PixelLanes.opaqueMask(color.isOpaque))
      }
    }
  }

  // MARK: Making

  /// The ThumbHash of a picture.
  public static func thumbHash(of bitmap: Bitmap) throws -> ImagePlaceholder {
    .thumbHash(Data(ThumbHash.encode(try reduced(bitmap, to: 100))))
  }

  /// The BlurHash of a picture; what is transparent is put on white.
  ///
  /// - Parameter components: Waves across and down, each 1 to 9.
  public static func blurHash(
    of bitmap: Bitmap, components: (x: Int, y: Int) = (4, 3)
  ) throws -> ImagePlaceholder {
    let small = try reduced(bitmap, to: 64)
    let flat = try ImageProcessors.Background(.white).process(small, cancellation: CancellationFlag())
    let count = (x: min(9, max(1, components.x)), y: min(9, max(1, components.y)))
    return .blurHash(BlurHash.encode(flat, components: count))
  }

  /// The mean of a picture's colours, each counted by how much of it is seen, with the mean of its alpha.
  public static func averageColor(of bitmap: Bitmap) -> ColorValue {
    var sums = SIMD4<UInt64>(repeating: 0)
    bitmap.withUnsafeBytes { bytes in
      for y in 0..<bitmap.height {
        for x in 0..<bitmap.width {
          let at = y * bitmap.bytesPerRow + x * 4
          sums &+= SIMD4(
            UInt64(bytes[at]), UInt64(bytes[at + 1]), UInt64(bytes[at + 2]), UInt64(bytes[at + 3]))
        }
      }
    }
    guard sums.w > 0 else { return .clear }
    func mean(_ sum: UInt64) -> Double { (Double(sum) / Double(sums.w) * 255).rounded() / 255 }
    let alpha = Double(sums.w) / Double(bitmap.width * bitmap.height)
    return ColorValue(
      red: mean(sums.x), green: mean(sums.y), blue: mean(sums.z), alpha: alpha.rounded() / 255)
  }

  private static func reduced(_ bitmap: Bitmap, to side: Double) throws -> Bitmap {
    guard let size = TargetSize(width: side, height: side).resolve(for: bitmap.size)?.size else {
      return bitmap
    }
    return try bitmap.resampled(to: size, filter: .area)
  }

  /// A bitmap whose pixels a closure fills.
  static func bitmap(
    _ size: PixelSize, isOpaque: Bool, _ fill: (UnsafeMutablePointer<UInt32>) -> Void
  ) throws(ImagePlaceholderError) -> Bitmap {
    do {
      return try Bitmap(size: size, isOpaque: isOpaque) { bytes in
        if let base = bytes.baseAddress { fill(base.assumingMemoryBound(to: UInt32.self)) }
      }
    } catch {
      throw ImagePlaceholderError(reason: "\(error)")
    }
  }

  /// The size to draw in.
  static func size(aspectRatio ratio: Double) -> PixelSize {
    let longest = 32.0
    return PixelSize(
      width: max(1, Int((ratio > 1 ? longest : longest * ratio).rounded())),
      height: max(1, Int((ratio > 1 ? longest / ratio : longest).rounded())))
  }
}

/// Why a placeholder cannot be drawn.
public struct ImagePlaceholderError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong with the hash.
  public let reason: String

  /// A sentence for people.
  public var description: String { "the placeholder cannot be drawn: \(reason)" }
}
