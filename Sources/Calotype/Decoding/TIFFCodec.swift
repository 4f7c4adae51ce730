#if TIFF
  import CTIFF

  /// TIFF's first page through libtiff.
  enum TIFFCodec: ImageCodec {
    static func inspect(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo {
      let reader = try TIFFReader(view, maximumPixelCount: 100_000_000)
      var info = try reader.info()
      info.profile = reader.withProfile { $0.flatMap(ColorProfile.description) }
      return info
    }

    static func decode(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer {
      let reader = try TIFFReader(job.view, maximumPixelCount: job.options.limits.maximumPixelCount)
      let info = try reader.info()
      let plan = try job.plan(for: info)
      try job.checkCancellation()
      let canvas = try Canvas(info.storedSize)
      try reader.read(into: canvas, orientation: info.orientation)
      try job.checkCancellation()
      let sink = try RowSink(
        plan: plan, format: .tiff, size: info.storedSize, hasAlpha: info.hasAlpha, isPremultiplied: true)
      try sink.append(canvas, job)
      // libtiff brings all but RGB to RGB without looking at the profile.
      let conversion = reader.withProfile { job.colors.conversion(for: $0, source: .rgb) }
      return job.container(try sink.finish(conversion, cancellation: job.cancellation), info: info)
    }
  }

  /// One TIFF being read. The bytes must outlive it.
  final class TIFFReader {
    private final class Source {
      let view: ByteView
      var position = 0
      init(_ view: ByteView) { self.view = view }
    }

    private let source: Source
    private let tiff: OpaquePointer

    init(_ view: ByteView, maximumPixelCount: Int) throws(ImageDecodingError) {
      source = Source(view)
      // A strip or tile may be the whole picture, of up to 16 bytes a pixel.
      let most = max(1 << 20, min(maximumPixelCount, 1 << 40) * 16)
      let opened = calotype_tiff_open(
        Unmanaged.passUnretained(source).toOpaque(), tmsize_t(most),
        { data, buffer, count in
          guard let data, let buffer, count > 0 else { return 0 }
          let source = Unmanaged<Source>.fromOpaque(data).takeUnretainedValue()
          let available = max(0, min(Int(count), source.view.count - source.position))
          guard available > 0, let base = source.view.bytes.baseAddress else { return 0 }
          buffer.copyMemory(from: base + source.position, byteCount: available)
          source.position += available
          return tmsize_t(available)
        },
        { _, _, _ in 0 },
        { data, offset, whence in
          guard let data else { return UInt64.max }
          let source = Unmanaged<Source>.fromOpaque(data).takeUnretainedValue()
          let base = whence == 0 ? 0 : whence == 1 ? source.position : source.view.count
          let (position, overflow) = base.addingReportingOverflow(Int(truncatingIfNeeded: offset))
          guard !overflow, position >= 0 else { return UInt64.max }
          source.position = position
          return UInt64(position)
        },
        { _ in 0 },
        { data in
          guard let data else { return 0 }
          return UInt64(Unmanaged<Source>.fromOpaque(data).takeUnretainedValue().view.count)
        })
      guard let opened else { throw .corrupt(.tiff, reason: "its first page cannot be read") }
      tiff = opened
    }

    deinit { TIFFClose(tiff) }

    func info() throws(ImageDecodingError) -> ImageInfo {
      var width: UInt32 = 0, height: UInt32 = 0
      var bits: UInt16 = 8, orientation: UInt16 = 1, samples: UInt16 = 1, photometric: UInt16 = 0
      guard calotype_tiff_get_uint32(tiff, UInt32(TIFFTAG_IMAGEWIDTH), &width) != 0,
        calotype_tiff_get_uint32(tiff, UInt32(TIFFTAG_IMAGELENGTH), &height) != 0
      else { throw .corrupt(.tiff, reason: "its size is not told") }
      _ = calotype_tiff_get_uint16(tiff, UInt32(TIFFTAG_BITSPERSAMPLE), &bits)
      _ = calotype_tiff_get_uint16(tiff, UInt32(TIFFTAG_ORIENTATION), &orientation)
      _ = calotype_tiff_get_uint16(tiff, UInt32(TIFFTAG_SAMPLESPERPIXEL), &samples)
      _ = calotype_tiff_get_uint16(tiff, UInt32(TIFFTAG_PHOTOMETRIC), &photometric)
      let colors = photometric == 5 ? 4 : photometric == 2 || photometric == 6 || photometric == 8 ? 3 : 1
      return ImageInfo(
        format: .tiff, storedSize: PixelSize(width: Int(width), height: Int(height)),
        orientation: ImageOrientation(rawValue: UInt8(truncatingIfNeeded: orientation)) ?? .up,
        hasAlpha: Int(samples) > colors, bitsPerChannel: Int(bits))
    }

    /// Calls a closure with the embedded profile, valid only while it runs.
    func withProfile<Result>(_ body: (ByteView?) -> Result) -> Result {
      withExtendedLifetime(self) {
        var count: UInt32 = 0
        var bytes: UnsafeRawPointer?
        guard calotype_tiff_get_profile(tiff, &count, &bytes) != 0, let bytes else { return body(nil) }
        return body(ByteView(UnsafeRawBufferPointer(start: bytes, count: Int(count))))
      }
    }

    /// Reads the first page as premultiplied RGBA, as it is stored.
    func read(into canvas: Canvas, orientation: ImageOrientation) throws(ImageDecodingError) {
      var message = [CChar](repeating: 0, count: 1024)
      guard TIFFRGBAImageOK(tiff, &message) != 0 else {
        let bytes = message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        throw .unsupported(format: "TIFF", reason: String(decoding: bytes, as: UTF8.self))
      }
      // Asked for the orientation that it has, libtiff turns nothing.
      let pixels = canvas.base.assumingMemoryBound(to: UInt32.self)
      guard
        TIFFReadRGBAImageOriented(
          tiff, UInt32(canvas.size.width), UInt32(canvas.size.height), pixels, Int32(orientation.rawValue), 1)
          != 0
      else {
        // A read past the end is all that tells a cut file from a damaged one.
        if source.position >= source.view.count { throw .truncated(.tiff) }
        throw .corrupt(.tiff, reason: "its picture data is damaged")
      }
    }
  }
#endif
