#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Decoded pixels: 8 bits each of red, green, blue and alpha, premultiplied, in sRGB, the top row first.
///
/// A bitmap never changes once it is made, so it is shared between threads and copied without copying
/// its pixels. The memory goes when its last copy goes.
public struct Bitmap: Sendable {
  /// Pixels from left to right, at least 1.
  public let width: Int
  /// Pixels from top to bottom, at least 1.
  public let height: Int
  /// Bytes from the start of a row to the start of the next, at least `width * 4`.
  public let bytesPerRow: Int
  /// Whether every pixel is known to be opaque.
  public let isOpaque: Bool

  let storage: Storage

  /// Width and height together.
  public var size: PixelSize { PixelSize(width: width, height: height) }

  /// The bytes that the pixels take in memory: what a cache counts as the bitmap's cost.
  public var byteCount: Int { bytesPerRow * height }

  /// Creates a bitmap and lets a closure fill its pixels.
  ///
  /// - Parameters:
  ///   - size: Width and height in pixels, each at least 1.
  ///   - isOpaque: Whether every pixel will be opaque.
  ///   - initialize: Fills the pixels, rows of `width * 4` bytes without gaps. The memory is not cleared
  ///     beforehand.
  /// - Throws: What `initialize` throws; ``BitmapError`` where the size is not positive or the memory
  ///   cannot be had.
  public init(
    size: PixelSize, isOpaque: Bool,
    initializingWith initialize: (UnsafeMutableRawBufferPointer) throws -> Void
  ) throws {
    let storage = try Storage(size: size)
    try initialize(storage.buffer)
    self.init(storage: storage, size: size, isOpaque: isOpaque)
  }

  /// Takes over pixels that were filled before; rows have no gaps.
  init(storage: Storage, size: PixelSize, isOpaque: Bool) {
    self.width = size.width
    self.height = size.height
    self.bytesPerRow = size.width * 4
    self.isOpaque = isOpaque
    self.storage = storage
  }

  /// Calls a closure with the pixels' memory, `bytesPerRow * height` bytes.
  ///
  /// The pointer is valid only while the closure runs.
  public func withUnsafeBytes<Result, Failure: Swift.Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(storage.buffer))
  }

  /// Where the pixels lie: for as long as any copy of the bitmap is kept.
  package var pixelAddress: UnsafeRawPointer? { UnsafeRawPointer(storage.buffer.baseAddress) }

  /// The same for all copies of a bitmap, and for nothing else while one of them is kept.
  package var storageIdentity: ObjectIdentifier { ObjectIdentifier(storage) }

  /// One pixel's premultiplied components; `x` counts from the left, `y` from the top.
  public subscript(x: Int, y: Int) -> Pixel {
    precondition(x >= 0 && x < width && y >= 0 && y < height, "pixel (\(x), \(y)) is outside \(size)")
    let bytes = storage.buffer
    let at = y * bytesPerRow + x * 4
    return Pixel(red: bytes[at], green: bytes[at + 1], blue: bytes[at + 2], alpha: bytes[at + 3])
  }

  /// A premultiplied pixel.
  public struct Pixel: Hashable, Sendable {
    /// 0 to `alpha`.
    public var red: UInt8
    /// 0 to `alpha`.
    public var green: UInt8
    /// 0 to `alpha`.
    public var blue: UInt8
    /// 0 is clear, 255 is opaque.
    public var alpha: UInt8

    /// Creates a pixel from components that are premultiplied already.
    public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
      self.red = red
      self.green = green
      self.blue = blue
      self.alpha = alpha
    }
  }

  // Sound as Sendable: the buffer is written only before the bitmap that holds it is made, and freed
  // after the last reference is gone.
  final class Storage: @unchecked Sendable {
    let buffer: UnsafeMutableRawBufferPointer
    private let isShared: Bool

    /// Uninitialised memory for a bitmap without gaps between its rows.
    init(size: PixelSize) throws(BitmapError) {
      guard size.width > 0, size.height > 0 else { throw .invalidSize(size) }
      let (rowBytes, rowOverflow) = size.width.multipliedReportingOverflow(by: 4)
      let (bytes, overflow) = rowBytes.multipliedReportingOverflow(by: size.height)
      guard !rowOverflow, !overflow else { throw .outOfMemory(size) }
      // In a sandboxed worker pixels are best made where its parent sees them.
      if let shared = PixelArena.current?.take(bytes) {
        buffer = shared
        isShared = true
        return
      }
      guard let memory = malloc(bytes) else { throw .outOfMemory(size) }
      buffer = UnsafeMutableRawBufferPointer(start: memory, count: bytes)
      isShared = false
    }

    deinit { if !isShared { free(buffer.baseAddress) } }
  }
}

extension Bitmap: Equatable {
  /// Whether two bitmaps have the same size and the same pixels.
  public static func == (left: Bitmap, right: Bitmap) -> Bool {
    guard left.size == right.size else { return false }
    if left.storage === right.storage { return true }
    return left.storage.buffer.elementsEqual(right.storage.buffer)
  }
}

/// Why a bitmap could not be made.
public enum BitmapError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
  /// Width or height is less than 1.
  case invalidSize(PixelSize)
  /// The memory for the pixels cannot be had.
  case outOfMemory(PixelSize)

  /// A sentence that names the size.
  public var description: String {
    switch self {
    case .invalidSize(let size): "a bitmap of \(size) pixels cannot be made: both sides must be at least 1"
    case .outOfMemory(let size): "there is no memory for a bitmap of \(size) pixels"
    }
  }
}
