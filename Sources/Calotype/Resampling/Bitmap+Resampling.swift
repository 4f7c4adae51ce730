extension Bitmap {
  /// The picture at another size, or a part of it.
  ///
  /// - Parameters:
  ///   - crop: The part that is shown, in this picture's pixels, fractions meant; `nil` for the whole.
  ///   - size: The size of the result, at least 1×1.
  ///   - filter: How pixels are worked out.
  ///   - cancellation: Looked at after every row.
  /// - Throws: ``BitmapError`` where the size or the crop is no size or the memory cannot be had;
  ///   `CancellationError`.
  public func resampled(
    crop: (x: Double, y: Double, width: Double, height: Double)? = nil, to size: PixelSize,
    filter: ResamplingFilter = .lanczos3, cancellation: CancellationFlag? = nil
  ) throws -> Bitmap {
    let whole = (x: 0.0, y: 0.0, width: Double(width), height: Double(height))
    let part = crop ?? whole
    if size == self.size, part == whole { return self }
    let resampler = try RowResampler(
      sourceSize: self.size, crop: part, outputSize: size, isOpaque: isOpaque, filter: filter)
    let rows = resampler.neededRows
    resampler.skipRows(rows.lowerBound)
    for row in rows {
      if cancellation?.isCancelled == true { throw CancellationError() }
      let bytes = storage.buffer[row * bytesPerRow..<(row + 1) * bytesPerRow]
      resampler.append(row: UnsafeRawBufferPointer(rebasing: bytes))
    }
    return resampler.finish()
  }

  /// A part of the picture, its pixels as they are.
  ///
  /// The part is cut to the picture; a part that is outside of it or empty is an error.
  ///
  /// - Throws: ``BitmapError/invalidSize(_:)`` where nothing of the picture is inside;
  ///   ``BitmapError/outOfMemory(_:)``.
  public func cropped(x: Int, y: Int, width: Int, height: Int) throws(BitmapError) -> Bitmap {
    let left = max(0, x)
    let top = max(0, y)
    let right = min(self.width, x.addingSaturating(width))
    let bottom = min(self.height, y.addingSaturating(height))
    guard right > left, bottom > top else { throw .invalidSize(PixelSize(width: width, height: height)) }
    let size = PixelSize(width: right - left, height: bottom - top)
    if size == self.size { return self }
    let output = try Storage(size: size)
    guard let source = storage.buffer.baseAddress, let target = output.buffer.baseAddress else {
      throw .outOfMemory(size)
    }
    for row in 0..<size.height {
      (target + row * size.width * 4).copyMemory(
        from: source + (top + row) * bytesPerRow + left * 4, byteCount: size.width * 4)
    }
    return Bitmap(storage: output, size: size, isOpaque: isOpaque)
  }
}

extension Int {
  /// The sum, or the nearest number that an `Int` can hold.
  fileprivate func addingSaturating(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }
}
