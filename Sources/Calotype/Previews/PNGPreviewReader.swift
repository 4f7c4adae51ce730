import CPNGDecode
import Foundation

/// An interlaced PNG while it comes (PNG, third edition, section 8): libpng's progressive reader.
final class PNGPreviewReader: PreviewReading {
  private let pusher: OpaquePointer
  private let limits: ImageDecodingLimits
  private let colors: ColorConversionCache
  /// The bytes up to the picture data, until they are read.
  private var head = Data()
  private var header: PNGHeader?
  private var conversion: ColorConversion?
  private var shownPasses = 0

  /// The longer side of what a pixel fills after each pass.
  private static let blocks = [8.0, 8, 4, 4, 2, 2, 1]

  init(limits: ImageDecodingLimits, colors: ColorConversionCache) throws(ImageDecodingError) {
    guard let pusher = calotype_png_pusher_create(PNGCodec.maximumProfileByteCount) else {
      throw .outOfMemory(PixelSize(width: 0, height: 0))
    }
    self.pusher = pusher
    self.limits = limits
    self.colors = colors
  }

  deinit { calotype_png_pusher_destroy(pusher) }

  func append(
    _ bytes: Data, targets: [TargetSize?], _ cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> [PreviewMaker.Preview]? {
    if header == nil {
      head.append(bytes)
      // libpng takes the memory of the whole picture with its data: its size is judged before.
      let info = head.withUnsafeBytes { PNGHeader(ByteView($0))?.info }
      guard let info else { throw .truncated(.png) }
      try limits.check(info)
    }
    let isRead = bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map {
        calotype_png_push(pusher, $0.assumingMemoryBound(to: UInt8.self), bytes.count)
      } ?? true
    }
    guard isRead else { throw .corrupt(.png, reason: "it cannot be read") }
    var passes: Int32 = 0
    guard let rows = calotype_png_pushed_rows(pusher, &passes) else { return nil }
    if header == nil { readHeader() }
    guard let header, !targets.isEmpty, Int(passes) > shownPasses else { return nil }
    shownPasses = Int(passes)
    var previews: [PreviewMaker.Preview] = []
    for target in targets {
      let plan = try limits.previewPlan(for: header.info, target)
      let printer = try FramePrinter(
        header.info, .init(targetSize: target, limits: limits), hasAlpha: header.hasAlpha,
        conversion: conversion)
      var bitmap = try printer.print(rows, isPremultiplied: false, cancellation)
      let block = Self.blocks[min(shownPasses, Self.blocks.count) - 1]
      if block > 2 { bitmap = try PreviewBlur.soften(bitmap, block: block, plan: plan, cancellation) }
      previews.append(.init(bitmap: bitmap, format: .png, originalSize: header.info.displaySize))
    }
    return previews
  }

  /// Takes from the header what has to do with how it is shown.
  private func readHeader() {
    head.withUnsafeBytes { bytes in
      let view = ByteView(bytes)
      header = PNGHeader(view)
      guard let header, header.hasProfile, let reader = try? PNGReader(view, header: header) else { return }
      conversion = PNGCodec.conversion(reader, header, colors)
    }
    head = Data()
  }
}
