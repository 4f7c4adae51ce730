extension Bitmap {
  /// The picture made upright: turned and mirrored as an EXIF orientation says.
  ///
  /// - Parameter orientation: How the bitmap is stored; ``ImageOrientation/up`` gives the bitmap itself.
  /// - Throws: ``BitmapError`` where the memory cannot be had.
  public func oriented(_ orientation: ImageOrientation) throws(BitmapError) -> Bitmap {
    if orientation == .up { return self }
    let outputSize = orientation.isTransposed ? size.transposed : size
    let output = try Storage(size: outputSize)
    let stride = bytesPerRow / 4
    let right = width - 1
    let bottom = (height - 1) * stride
    // Where the output's first pixel is in the source, and how far apart its neighbours to the right and
    // below are there.
    let (origin, stepX, stepY): (Int, Int, Int) =
      switch orientation {
      case .up: (0, 1, stride)
      case .upMirrored: (right, -1, stride)
      case .down: (bottom + right, -1, -stride)
      case .downMirrored: (bottom, 1, -stride)
      case .leftMirrored: (0, stride, 1)
      case .right: (bottom, -stride, 1)
      case .rightMirrored: (bottom + right, -stride, -1)
      case .left: (right, stride, -1)
      }
    if let source = storage.buffer.baseAddress?.assumingMemoryBound(to: UInt32.self),
      let target = output.buffer.baseAddress?.assumingMemoryBound(to: UInt32.self)
    {
      Self.copyPixels(
        from: source + origin, stepX: stepX, stepY: stepY, to: target, size: outputSize)
    }
    return Bitmap(storage: output, size: outputSize, isOpaque: isOpaque)
  }

  private static func copyPixels(
    from source: UnsafePointer<UInt32>, stepX: Int, stepY: Int, to target: UnsafeMutablePointer<UInt32>,
    size: PixelSize
  ) {
    // In tiles: a turned picture reads down its columns, and a whole column does not fit in the cache.
    let tile = abs(stepX) == 1 ? size.width : 16
    let tileHeight = abs(stepX) == 1 ? size.height : 64
    var top = 0
    while top < size.height {
      let bottom = min(size.height, top + tileHeight)
      var left = 0
      while left < size.width {
        let right = min(size.width, left + tile)
        var y = top
        while y < bottom {
          let row = target + y &* size.width
          var from = source + (y &* stepY &+ left &* stepX)
          var x = left
          while x < right {
            row[x] = from.pointee
            from += stepX
            x &+= 1
          }
          y &+= 1
        }
        left = right
      }
      top = bottom
    }
  }
}
