#if HEIF
  import CHEIF
  import CHEIFDecode

  /// HEIC and HEIF through libheif, which also turns and crops as the container says.
  enum HEIFCodec: ImageCodec {
    static func inspect(_ view: ByteView) throws(ImageDecodingError) -> ImageInfo {
      let reader = try HEIFReader(view)
      var info = reader.info
      info.profile = reader.profile.withUnsafeBytes {
        $0.isEmpty ? nil : ColorProfile.description(of: ByteView($0))
      }
      return info
    }

    static func decode(_ job: DecodeJob) throws(ImageDecodingError) -> ImageContainer {
      let reader = try HEIFReader(job.view)
      let info = reader.info
      let plan = try job.plan(for: info)
      try job.checkCancellation()
      let canvas = try reader.decode()
      try job.checkCancellation()
      let sink = try RowSink(plan: plan, format: .heif, size: info.storedSize, hasAlpha: info.hasAlpha)
      try sink.append(canvas, job)
      let conversion = reader.profile.withUnsafeBytes { bytes in
        bytes.isEmpty ? nil : job.colors.conversion(for: ByteView(bytes), source: .rgb)
      }
      return job.container(try sink.finish(conversion, cancellation: job.cancellation), info: info)
    }
  }

  /// One HEIF being read. The bytes must outlive it.
  final class HEIFReader {
    private let context: OpaquePointer
    private var handle: OpaquePointer?

    init(_ view: ByteView) throws(ImageDecodingError) {
      guard let context = heif_context_alloc() else { throw .outOfMemory(PixelSize(width: 0, height: 0)) }
      self.context = context
      // 0 decodes on the calling thread.
      heif_context_set_max_decoding_threads(context, 0)
      try Self.check(
        heif_context_read_from_memory_without_copy(context, view.bytes.baseAddress, view.count, nil))
      try Self.check(heif_context_get_primary_image_handle(context, &handle))
    }

    deinit {
      heif_image_handle_release(handle)
      heif_context_free(context)
    }

    var info: ImageInfo {
      ImageInfo(
        format: .heif,
        storedSize: PixelSize(
          width: Int(heif_image_handle_get_width(handle)), height: Int(heif_image_handle_get_height(handle))),
        hasAlpha: heif_image_handle_has_alpha_channel(handle) != 0,
        bitsPerChannel: max(8, Int(heif_image_handle_get_luma_bits_per_pixel(handle))))
    }

    /// The embedded profile, empty where there is none.
    var profile: [UInt8] {
      let count = heif_image_handle_get_raw_color_profile_size(handle)
      guard count > 0, count <= 4 << 20 else { return [] }
      var bytes = [UInt8](repeating: 0, count: count)
      let result = heif_image_handle_get_raw_color_profile(handle, &bytes)
      return result.code == heif_error_Ok ? bytes : []
    }

    /// The picture as RGBA, alpha not premultiplied.
    func decode() throws(ImageDecodingError) -> Canvas {
      var image: OpaquePointer?
      try Self.check(
        heif_decode_image(handle, &image, heif_colorspace_RGB, heif_chroma_interleaved_RGBA, nil))
      defer { heif_image_release(image) }
      var stride: Int32 = 0
      let size = info.storedSize
      guard let plane = heif_image_get_plane_readonly(image, heif_channel_interleaved, &stride),
        Int(heif_image_get_width(image, heif_channel_interleaved)) == size.width,
        Int(heif_image_get_height(image, heif_channel_interleaved)) == size.height,
        Int(stride) >= size.width * 4
      else { throw .corrupt(.heif, reason: "its picture is not of the size that its header says") }
      let canvas = try Canvas(size)
      for row in 0..<size.height {
        (canvas.base + row * canvas.stride).copyMemory(
          from: plane + row * Int(stride), byteCount: canvas.stride)
      }
      return canvas
    }

    private static func check(_ error: heif_error) throws(ImageDecodingError) {
      if error.code == heif_error_Ok { return }
      let message = error.message.map { String(cString: $0) } ?? "it cannot be read"
      if error.subcode == heif_suberror_End_of_data { throw .truncated(.heif) }
      switch error.code {
      case heif_error_Unsupported_filetype, heif_error_Unsupported_feature:
        throw .unsupported(format: "HEIF", reason: message)
      case heif_error_Memory_allocation_error: throw .outOfMemory(PixelSize(width: 0, height: 0))
      default: throw .corrupt(.heif, reason: message)
      }
    }
  }
#endif
