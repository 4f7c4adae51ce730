#if JXL
  import CJXL

  /// JPEG XL through libjxl, on the calling thread.
  enum JXLCodec: ImageCodec {
    static func inspect(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo {
      let reader = try JXLReader(view)
      try reader.readHeader()
      var info = reader.info
      info.profile = reader.profile.withUnsafeBytes {
        $0.isEmpty ? nil : ColorProfile.description(of: ByteView($0))
      }
      return info
    }

    static func decode(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer {
      let reader = try JXLReader(job.view)
      try reader.readHeader()
      let info = reader.info
      let plan = try job.plan(for: info)
      try job.checkCancellation()
      let canvas = try Canvas(info.storedSize)
      try reader.readFrame(into: canvas)
      try job.checkCancellation()
      let sink = try RowSink(plan: plan, format: .jxl, size: info.storedSize, hasAlpha: info.hasAlpha)
      try sink.append(canvas, job)
      let isGray = reader.isGray
      let conversion = reader.profile.withUnsafeBytes { bytes in
        let profile = ByteView(bytes)
        let source: ColorConversion.Source = isGray && profile.matches("GRAY", at: 16) ? .gray : .rgb
        return bytes.isEmpty ? nil : job.colors.conversion(for: profile, source: source)
      }
      return job.container(try sink.finish(conversion, cancellation: job.cancellation), info: info)
    }
  }

  /// One JPEG XL being read. The bytes must outlive it.
  final class JXLReader {
    private let decoder: OpaquePointer
    private var basic = JxlBasicInfo()
    /// The profile of the pixels, empty where there is none.
    private(set) var profile: [UInt8] = []

    init(_ view: ByteView) throws(ImageDecodingError) {
      guard let decoder = JxlDecoderCreate(nil) else { throw .outOfMemory(PixelSize(width: 0, height: 0)) }
      self.decoder = decoder
      let events = JXL_DEC_BASIC_INFO.rawValue | JXL_DEC_COLOR_ENCODING.rawValue | JXL_DEC_FULL_IMAGE.rawValue
      let bytes = view.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      guard JxlDecoderSubscribeEvents(decoder, Int32(events)) == JXL_DEC_SUCCESS,
        JxlDecoderSetKeepOrientation(decoder, JXL_TRUE) == JXL_DEC_SUCCESS,
        JxlDecoderSetUnpremultiplyAlpha(decoder, JXL_TRUE) == JXL_DEC_SUCCESS,
        JxlDecoderSetInput(decoder, bytes, view.count) == JXL_DEC_SUCCESS
      else { throw .corrupt(.jxl, reason: "it cannot be read") }
      JxlDecoderCloseInput(decoder)
    }

    deinit { JxlDecoderDestroy(decoder) }

    var isGray: Bool { basic.num_color_channels == 1 }

    var info: ImageInfo {
      let isAnimated = basic.have_animation != JXL_FALSE
      return ImageInfo(
        format: .jxl, storedSize: PixelSize(width: Int(basic.xsize), height: Int(basic.ysize)),
        orientation: ImageOrientation(rawValue: UInt8(truncatingIfNeeded: basic.orientation.rawValue)) ?? .up,
        loopCount: isAnimated ? Int(basic.animation.num_loops) : 1, hasAlpha: basic.alpha_bits > 0,
        bitsPerChannel: Int(basic.bits_per_sample))
    }

    /// Reads on until size and colours are known.
    func readHeader() throws(ImageDecodingError) {
      while true {
        let status = JxlDecoderProcessInput(decoder)
        switch status {
        case JXL_DEC_BASIC_INFO:
          guard JxlDecoderGetBasicInfo(decoder, &basic) == JXL_DEC_SUCCESS else {
            throw .corrupt(.jxl, reason: "its header cannot be read")
          }
        case JXL_DEC_COLOR_ENCODING:
          readProfile()
          return
        default: throw Self.error(status)
        }
      }
    }

    /// Reads the first frame as RGBA, alpha not premultiplied.
    func readFrame(into canvas: Canvas) throws(ImageDecodingError) {
      var format = JxlPixelFormat(
        num_channels: 4, data_type: JXL_TYPE_UINT8, endianness: JXL_NATIVE_ENDIAN, align: 0)
      while true {
        let status = JxlDecoderProcessInput(decoder)
        switch status {
        case JXL_DEC_NEED_IMAGE_OUT_BUFFER:
          let count = canvas.stride * canvas.size.height
          var needed = 0
          guard JxlDecoderImageOutBufferSize(decoder, &format, &needed) == JXL_DEC_SUCCESS, needed == count,
            JxlDecoderSetImageOutBuffer(decoder, &format, canvas.base, count) == JXL_DEC_SUCCESS
          else { throw .corrupt(.jxl, reason: "its frame is not of the size that its header says") }
        case JXL_DEC_FULL_IMAGE: return
        default: throw Self.error(status)
        }
      }
    }

    private func readProfile() {
      var count = 0
      guard
        JxlDecoderGetICCProfileSize(decoder, nil, JXL_COLOR_PROFILE_TARGET_DATA, &count) == JXL_DEC_SUCCESS,
        count > 0, count <= 4 << 20
      else { return }
      var bytes = [UInt8](repeating: 0, count: count)
      guard
        JxlDecoderGetColorAsICCProfile(decoder, nil, JXL_COLOR_PROFILE_TARGET_DATA, &bytes, count)
          == JXL_DEC_SUCCESS
      else { return }
      profile = bytes
    }

    private static func error(_ status: JxlDecoderStatus) -> ImageDecodingError {
      switch status {
      case JXL_DEC_NEED_MORE_INPUT: .truncated(.jxl)
      default: .corrupt(.jxl, reason: "its picture data is damaged")
      }
    }
  }
#endif
