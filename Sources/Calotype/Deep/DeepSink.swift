import Foundation

/// Takes a picture's rows of 16 bits a channel and makes both prints of them: the deep one, and the 8-bit one that
/// everything else works with.
final class DeepSink {
  private let plan: DecodePlan
  private let hasAlpha: Bool
  private let format: ImageFormat
  private let resampler: DeepResampler?
  private let whole: Bitmap.Storage?
  private var rowCount = 0
  private var isOpaque = true

  init(plan: DecodePlan, format: ImageFormat, hasAlpha: Bool) throws(ImageDecodingError) {
    self.plan = plan
    self.format = format
    self.hasAlpha = hasAlpha
    do {
      resampler =
        plan.keepsEveryPixel
        ? nil
        : try DeepResampler(sourceSize: plan.storedSize, crop: plan.crop, outputSize: plan.outputSize)
      whole = plan.keepsEveryPixel ? try DeepBitmap.storage(plan.storedSize) : nil
    } catch {
      throw .outOfMemory(plan.outputSize)
    }
  }

  /// Takes the next row, with its alpha not multiplied in; it is changed.
  func append(_ row: UnsafeMutablePointer<SIMD4<UInt16>>) {
    let width = plan.storedSize.width
    if hasAlpha, !DeepPixels.premultiply(row, count: width) { isOpaque = false }
    if let resampler {
      resampler.append(row)
    } else if let base = whole?.buffer.baseAddress, rowCount < plan.storedSize.height {
      (base + rowCount * width * 8).copyMemory(from: row, byteCount: width * 8)
    }
    rowCount += 1
  }

  /// The prints, once all rows have come.
  ///
  /// - Parameter conversion: Brings the picture's colours to sRGB.
  func finish(
    _ conversion: ColorConversion?, cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> (bitmap: Bitmap, deep: DeepBitmap?) {
    guard rowCount == plan.storedSize.height, let pixels = whole ?? resampler?.finish() else {
      throw .truncated(format)
    }
    let filled = DeepBitmap(storage: pixels, size: plan.outputSize, isOpaque: isOpaque, colorSpace: .sRGB)
    do {
      let shallow = try filled.reduced()
      try conversion?.apply(to: shallow, cancellation: cancellation)
      let upright = try shallow.oriented(plan.orientation)
      let wide = conversion?.deepConversion
      // Grey with a curve of its own has no deep form.
      if conversion != nil, wide == nil { return (upright, nil) }
      return (upright, try filled.converted(by: wide, cancellation).oriented(plan.orientation))
    } catch let error as ImageDecodingError {
      throw error
    } catch {
      throw .outOfMemory(plan.outputSize)
    }
  }
}

/// Between straight and premultiplied colours of 16 bits.
enum DeepPixels {
  /// Multiplies in place. Returns whether every pixel is opaque.
  static func premultiply(_ pixels: UnsafeMutablePointer<SIMD4<UInt16>>, count: Int) -> Bool {
    var isOpaque = true
    for index in 0..<count {
      let pixel = pixels[index]
      if pixel.w == 65_535 { continue }
      isOpaque = false
      let wide = SIMD4<UInt32>(truncatingIfNeeded: pixel) &* UInt32(pixel.w) &+ 32_767
      pixels[index] = SIMD4<UInt16>(truncatingIfNeeded: wide / 65_535)
      pixels[index].w = pixel.w
    }
    return isOpaque
  }

  /// Divides in place.
  static func unpremultiply(_ pixels: UnsafeMutablePointer<SIMD4<UInt16>>, count: Int) {
    for index in 0..<count {
      let pixel = pixels[index], alpha = UInt32(pixel.w)
      if alpha == 65_535 || alpha == 0 { continue }
      let wide = (SIMD4<UInt32>(truncatingIfNeeded: pixel) &* 65_535 &+ alpha / 2) / alpha
      pixels[index] = SIMD4<UInt16>(
        truncatingIfNeeded: pointwiseMin(wide, SIMD4(repeating: 65_535)))
      pixels[index].w = pixel.w
    }
  }
}

extension DeepBitmap {
  /// The same pixels in 8 bits, their colours as they are.
  func reduced() throws(BitmapError) -> Bitmap {
    let target = try Bitmap.Storage(size: size)
    guard let from = storage.buffer.baseAddress?.assumingMemoryBound(to: UInt16.self),
      let to = target.buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    else { throw .outOfMemory(size) }
    for at in 0..<size.pixelCount * 4 { to[at] = UInt8((UInt32(from[at]) * 255 + 32_767) / 65_535) }
    return Bitmap(storage: target, size: size, isOpaque: isOpaque)
  }

  /// An 8-bit bitmap's pixels, their colours as they are.
  static func widened(_ bitmap: Bitmap) throws(BitmapError) -> DeepBitmap {
    let target = try storage(bitmap.size)
    guard let from = bitmap.storage.buffer.baseAddress?.assumingMemoryBound(to: UInt8.self),
      let to = target.buffer.baseAddress?.assumingMemoryBound(to: UInt16.self)
    else { throw .outOfMemory(bitmap.size) }
    for at in 0..<bitmap.size.pixelCount * 4 { to[at] = UInt16(from[at]) * 257 }
    return DeepBitmap(storage: target, size: bitmap.size, isOpaque: bitmap.isOpaque, colorSpace: .sRGB)
  }

  /// Brings the colours to the conversion's space, in place: nobody else has seen the bitmap yet.
  func converted(
    by conversion: DeepColorConversion?, _ cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> DeepBitmap {
    guard let conversion, let base = storage.buffer.baseAddress else { return self }
    for row in 0..<height {
      if row & 15 == 0, cancellation.isCancelled { throw .cancelled }
      let pixels = (base + row * bytesPerRow).assumingMemoryBound(to: SIMD4<UInt16>.self)
      if !isOpaque { DeepPixels.unpremultiply(pixels, count: width) }
      conversion.apply(pixels, count: width)
      if !isOpaque { _ = DeepPixels.premultiply(pixels, count: width) }
    }
    return DeepBitmap(storage: storage, size: size, isOpaque: isOpaque, colorSpace: conversion.target)
  }

  /// The picture made upright, as ``Bitmap/oriented(_:)`` does it.
  func oriented(_ orientation: ImageOrientation) throws(BitmapError) -> DeepBitmap {
    if orientation == .up { return self }
    let outputSize = orientation.isTransposed ? size.transposed : size
    let output = try Self.storage(outputSize)
    guard let from = storage.buffer.baseAddress?.assumingMemoryBound(to: SIMD4<UInt16>.self),
      let to = output.buffer.baseAddress?.assumingMemoryBound(to: SIMD4<UInt16>.self)
    else { throw .outOfMemory(size) }
    for y in 0..<outputSize.height {
      for x in 0..<outputSize.width {
        let (sourceX, sourceY) =
          switch orientation {
          case .up: (x, y)
          case .upMirrored: (width - 1 - x, y)
          case .down: (width - 1 - x, height - 1 - y)
          case .downMirrored: (x, height - 1 - y)
          case .leftMirrored: (y, x)
          case .right: (y, height - 1 - x)
          case .rightMirrored: (width - 1 - y, height - 1 - x)
          case .left: (width - 1 - y, x)
          }
        to[y * outputSize.width + x] = from[sourceY * width + sourceX]
      }
    }
    return DeepBitmap(storage: output, size: outputSize, isOpaque: isOpaque, colorSpace: colorSpace)
  }
}
