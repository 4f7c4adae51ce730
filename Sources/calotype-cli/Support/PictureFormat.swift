import Calotype
import Foundation

/// How pictures are written.
struct PictureOutput {
  /// What a picture is written as.
  enum Format: Hashable {
    /// The bytes as they were downloaded.
    case original
    /// The picture's own format where that can be written, else PNG.
    case automatic
    /// This one.
    case fixed(ImageFormat)
  }

  var targetSize: TargetSize?
  var processors: [any ImageProcessing]
  var format: Format
  private var encoding: ImageEncodingOptions
  /// Whether only the first frame of an animation is written.
  var isStill: Bool
  /// Whether more than 8 bits and colours outside of sRGB are kept.
  var isDeep: Bool
  /// Whether a picture's own colours are kept, with their profile.
  var keepsProfile: Bool

  init(_ arguments: Arguments, path: String? = nil) throws {
    targetSize = try arguments.targetSize()
    processors = try arguments.processors()
    if let anchor = try arguments.anchor(), let size = targetSize {
      // What is to stay is only known once the whole picture is there.
      processors.insert(ImageProcessors.Resize(size, anchor: anchor), at: 0)
      targetSize = nil
    }
    encoding = try arguments.encodingOptions(quality: try arguments.integer("quality", in: 1...100) ?? 85)
    isStill = arguments.has("still")
    isDeep = arguments.has("deep")
    if isDeep, !processors.isEmpty {
      throw UsageError("--deep excludes processors and --anchor, which work on 8 bits")
    }
    keepsProfile = arguments.has("keep-profile")
    if keepsProfile, try arguments.isolation() != .inProcess {
      throw UsageError("--keep-profile needs --isolation in-process: what a sandboxed worker decodes is sRGB")
    }
    let isChanged = targetSize != nil || !processors.isEmpty || isStill || isDeep
    if let asked = try arguments.choice("format", Format.self) {
      if asked == .original, isChanged {
        throw UsageError(
          "--format original keeps the bytes as they are: it excludes --size, --still, --deep and processors")
      }
      format = asked
    } else if let path, let named = PictureFile.format(of: path) {
      guard ImageEncoder.formats.contains(named) else {
        let writable = ImageEncoder.formats.map { "." + PictureFile.ending($0) }
        throw UsageError(
          "\(path): \(named.rawValue) cannot be written; \(Arguments.alternatives(writable)) can, and --format original keeps the bytes as they are"
        )
      }
      format = .fixed(named)
    } else {
      format = isChanged || arguments.asksForEncoding ? .automatic : .original
    }
  }

  /// All that changes the file, as a text: the same for the same bytes.
  var identity: String {
    var text = ImageRequest(
      url: URL(fileURLWithPath: "/"), targetSize: targetSize, processors: processors, isStill: isStill,
      isDeep: isDeep
    ).cacheKey.variant
    if keepsProfile { text += " profile" }
    switch format {
    case .original: text += " original"
    case .automatic: text += " automatic \(encodingText)"
    case .fixed(let format): text += " \(format.rawValue) \(encodingText)"
    }
    return text
  }

  private var encodingText: String {
    let usual = ImageEncodingOptions(format: encoding.format, quality: encoding.quality)
    if encoding == usual { return "\(encoding.quality)" }
    return
      "\(encoding.quality) \(encoding.isLossless) \(encoding.isProgressive) \(encoding.chroma) \(encoding.effort)"
  }

  /// How to write a picture in a format.
  func encodingOptions(_ format: ImageFormat) -> ImageEncodingOptions {
    var options = encoding
    options.format = format
    return options
  }

  /// A picture as a file: with all its frames where it is animated and the format can hold them.
  func file(_ container: ImageContainer) throws(ImageEncodingError) -> (data: Data, format: ImageFormat) {
    let format = fileFormat(for: container)
    var options = encodingOptions(format)
    if let animation = container.animation, ImageEncoder.animatedFormats.contains(format) {
      return (try ImageEncoder().encode(animation, options: options), format)
    }
    if let deep = container.deepBitmap, ImageEncoder.deepFormats.contains(format) {
      return (try ImageEncoder().encode(deep, options: options), format)
    }
    options.profile = container.profile
    return (try ImageEncoder().encode(container.bitmap, options: options), format)
  }

  /// Makes the picture of a file's bytes.
  func picture(of data: Data, _ decoder: any ImageDecoding) throws -> ImageContainer {
    let options = ImageDecodingOptions(targetSize: targetSize, isDeep: isDeep, keepsProfile: keepsProfile)
    var container = try decoder.decode(data, options: options, cancellation: CancellationFlag())
    container.bitmap = try ImageProcessors.apply(processors, to: container.bitmap)
    if container.frameCount > 1, !isStill {
      container.animation = decoder.animation(of: data, options: options)
      container.animation?.processors = processors
    }
    return container
  }

  /// The format to write a picture of a given origin in.
  func fileFormat(for container: ImageContainer) -> ImageFormat {
    if case .fixed(let format) = format { return format }
    // Of the formats that hold animations, this is the one that every browser shows.
    if container.animation != nil, container.format == .gif { return .webp }
    if container.deepBitmap != nil, container.format != .avif { return .png }
    if let own = container.format, ImageEncoder.formats.contains(own) {
      // A processor may have made an opaque photo's corners clear, which JPEG cannot show.
      return own == .jpeg && !container.bitmap.isOpaque ? .png : own
    }
    return .png
  }
}

extension Arguments {
  /// The processors, in the order that their options were given in.
  func processors() throws -> [any ImageProcessing] {
    let known = Set(ImageProcessors.options.map(\.name))
    let given = options.filter { known.contains($0.name) }
    do throws(ImageProcessingError) {
      return try ImageProcessors.processors(
        options: given.map { ($0.name, $0.value.isEmpty ? nil : $0.value) })
    } catch {
      throw UsageError("\(error)")
    }
  }
}
