#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Decoded pixels finer than a ``Bitmap``'s: 16 bits each of red, green, blue and alpha, premultiplied, in sRGB or
/// Display P3, the top row first.
///
/// ``ImageContainer/deepBitmap`` has them beside the 8-bit picture where a request asks for them
/// (``ImageRequest/isDeep``) and the file holds more than the 8-bit picture does: more bits a channel, or colours
/// outside of sRGB.
public struct DeepBitmap: Sendable {
  /// The space that colours are in. Both have the same curve (IEC 61966-2-1).
  public enum ColorSpace: String, Hashable, Sendable, CaseIterable {
    /// sRGB.
    case sRGB
    /// Display P3: the primaries of DCI-P3, the white of sRGB.
    case displayP3
  }

  /// Pixels from left to right, at least 1.
  public let width: Int
  /// Pixels from top to bottom, at least 1.
  public let height: Int
  /// Bytes from the start of a row to the start of the next: `width * 8`.
  public var bytesPerRow: Int { width * 8 }
  /// Whether every pixel is known to be opaque.
  public let isOpaque: Bool
  /// The space that the colours are in.
  public let colorSpace: ColorSpace

  let storage: Bitmap.Storage

  /// Width and height together.
  public var size: PixelSize { PixelSize(width: width, height: height) }

  /// The bytes that the pixels take in memory.
  public var byteCount: Int { bytesPerRow * height }

  /// Creates a bitmap and lets a closure fill its pixels.
  ///
  /// - Parameters:
  ///   - size: Width and height in pixels, each at least 1.
  ///   - isOpaque: Whether every pixel will be opaque.
  ///   - colorSpace: The space that the colours will be in.
  ///   - initialize: Fills the pixels, rows of `width` pixels without gaps, each four numbers of 16 bits in the
  ///     machine's order of bytes. The memory is not cleared beforehand.
  /// - Throws: What `initialize` throws; ``BitmapError`` where the size is not positive or the memory cannot be
  ///   had.
  public init(
    size: PixelSize, isOpaque: Bool, colorSpace: ColorSpace,
    initializingWith initialize: (UnsafeMutableBufferPointer<UInt16>) throws -> Void
  ) throws {
    let storage = try Self.storage(size)
    try initialize(storage.buffer.bindMemory(to: UInt16.self))
    self.init(storage: storage, size: size, isOpaque: isOpaque, colorSpace: colorSpace)
  }

  init(storage: Bitmap.Storage, size: PixelSize, isOpaque: Bool, colorSpace: ColorSpace) {
    width = size.width
    height = size.height
    self.isOpaque = isOpaque
    self.colorSpace = colorSpace
    self.storage = storage
  }

  static func storage(_ size: PixelSize) throws(BitmapError) -> Bitmap.Storage {
    guard size.width > 0, size.height > 0 else { throw .invalidSize(size) }
    let (double, overflow) = size.width.multipliedReportingOverflow(by: 2)
    guard !overflow else { throw .outOfMemory(size) }
    do { return try Bitmap.Storage(size: PixelSize(width: double, height: size.height)) } catch {
      throw .outOfMemory(size)
    }
  }

  /// Calls a closure with the pixels' memory, `bytesPerRow * height` bytes. The pointer is valid only while the
  /// closure runs.
  public func withUnsafeBytes<Result, Failure: Swift.Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(storage.buffer))
  }

  /// One pixel's premultiplied components, from 0 to 65,535: red, green, blue, alpha. `x` counts from the left, `y`
  /// from the top.
  public subscript(x: Int, y: Int) -> SIMD4<UInt16> {
    precondition(x >= 0 && x < width && y >= 0 && y < height, "pixel (\(x), \(y)) is outside \(size)")
    return UnsafeRawBufferPointer(storage.buffer).load(
      fromByteOffset: (y * width + x) * 8, as: SIMD4<UInt16>.self)
  }
}

extension DeepBitmap: Equatable {
  /// Whether two bitmaps have the same size, the same space and the same pixels.
  public static func == (left: DeepBitmap, right: DeepBitmap) -> Bool {
    guard left.size == right.size, left.colorSpace == right.colorSpace else { return false }
    if left.storage === right.storage { return true }
    return left.storage.buffer.elementsEqual(right.storage.buffer)
  }
}
