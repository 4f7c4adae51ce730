/// Hands a bitmap's rows to a codec in the form that it takes.
enum RowPreparation {
  /// What a codec takes.
  enum Form {
    /// The bitmap's own rows; for opaque pictures they are straight as well.
    case asStored
    /// Straight alpha.
    case straight
    /// Put on white.
    case onWhite
  }

  /// Calls a closure with each row, top first.
  static func forEachRow(
    of bitmap: Bitmap, as form: Form, cancellation: CancellationFlag,
    _ body: (UnsafePointer<UInt8>) throws(ImageEncodingError) -> Void
  ) throws(ImageEncodingError) {
    let row = UnsafeMutablePointer<UInt32>.allocate(capacity: form == .asStored ? 1 : bitmap.width)
    defer { row.deallocate() }
    try bitmap.withUnsafeBytes { (bytes) throws(ImageEncodingError) in
      guard let pixels = bytes.baseAddress else { return }
      for y in 0..<bitmap.height {
        if cancellation.isCancelled { throw ImageEncodingError.cancelled }
        let source = (pixels + y * bitmap.bytesPerRow).assumingMemoryBound(to: UInt32.self)
        switch form {
        case .asStored: try body(UnsafeRawPointer(source).assumingMemoryBound(to: UInt8.self))
        case .straight:
          AlphaConversion.unpremultiply(source, into: row, count: bitmap.width)
          try body(UnsafeRawPointer(row).assumingMemoryBound(to: UInt8.self))
        case .onWhite:
          AlphaConversion.flatten(source, onto: 0x00FF_FFFF, into: row, count: bitmap.width)
          try body(UnsafeRawPointer(row).assumingMemoryBound(to: UInt8.self))
        }
      }
    }
  }

  /// Calls a closure with all rows at once, in straight alpha; an opaque bitmap is not copied.
  static func withStraightPixels<Result>(
    of bitmap: Bitmap, cancellation: CancellationFlag,
    _ body: (UnsafePointer<UInt8>, _ bytesPerRow: Int) throws(ImageEncodingError) -> Result
  ) throws(ImageEncodingError) -> Result {
    if bitmap.isOpaque {
      return try bitmap.withUnsafeBytes { (bytes) throws(ImageEncodingError) in
        guard let pixels = bytes.baseAddress else { throw .failed(.png, reason: "no pixels") }
        return try body(pixels.assumingMemoryBound(to: UInt8.self), bitmap.bytesPerRow)
      }
    }
    let copy = UnsafeMutablePointer<UInt32>.allocate(capacity: bitmap.width * bitmap.height)
    defer { copy.deallocate() }
    try bitmap.withUnsafeBytes { (bytes) throws(ImageEncodingError) in
      guard let pixels = bytes.baseAddress else { return }
      for y in 0..<bitmap.height {
        if cancellation.isCancelled { throw ImageEncodingError.cancelled }
        AlphaConversion.unpremultiply(
          (pixels + y * bitmap.bytesPerRow).assumingMemoryBound(to: UInt32.self),
          into: copy + y * bitmap.width, count: bitmap.width)
      }
    }
    return try body(UnsafeRawPointer(copy).assumingMemoryBound(to: UInt8.self), bitmap.width * 4)
  }
}
