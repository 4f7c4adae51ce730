import Foundation

/// Makes previews in this process.
final class PreviewMaker: PreviewMaking {
  /// A preview of one target, and what it shows.
  struct Preview {
    var bitmap: Bitmap
    var format: ImageFormat
    var originalSize: PixelSize
  }

  private enum State {
    /// The bytes so far, which do not tell yet.
    case unknown(Data)
    case reading(any PreviewReading)
    /// There is nothing to be shown before the end.
    case hopeless
  }

  private var state = State.unknown(Data())
  private let limits: ImageDecodingLimits
  private let colors: ColorConversionCache
  /// Looked at while a preview is made.
  var cancellation: CancellationFlag

  init(limits: ImageDecodingLimits, colors: ColorConversionCache, cancellation: CancellationFlag) {
    self.limits = limits
    self.colors = colors
    self.cancellation = cancellation
  }

  var isHopeless: Bool { if case .hopeless = state { true } else { false } }

  func append(_ bytes: Data, targets: [TargetSize?]) -> [Preview]? {
    do throws(ImageDecodingError) {
      switch state {
      case .hopeless: return nil
      case .unknown(var head):
        head.append(bytes)
        state = .unknown(head)
        guard let reader = try makeReader(head) else { return nil }
        state = .reading(reader)
        return try reader.append(head, targets: targets, cancellation)
      case .reading(let reader):
        return try reader.append(bytes, targets: targets, cancellation)
      }
    } catch {
      // Whether the file is damaged, and how, is told by the decode of the whole.
      state = .hopeless
      return nil
    }
  }

  /// The reader for a file that begins so, or `nil` while that is not known.
  private func makeReader(_ head: Data) throws(ImageDecodingError) -> (any PreviewReading)? {
    switch Kind(head) {
    case .unknown: return nil
    case .jpeg: return try JPEGPreviewReader(limits: limits, colors: colors)
    case .interlacedPNG: return try PNGPreviewReader(limits: limits, colors: colors)
    case .other: throw .unsupported(format: "", reason: "it has no previews")
    }
  }

  /// What a file is that begins with some bytes.
  enum Kind {
    case unknown, jpeg, interlacedPNG, other

    init(_ head: Data) {
      self = head.withUnsafeBytes { bytes in
        let view = ByteView(bytes)
        if view.count < 33 { return .unknown }
        if view[0] == 0x89, view.matches("PNG", at: 1) {
          guard let header = PNGHeader(view), header.isInterlaced else { return .other }
          return .interlacedPNG
        }
        return view[0] == 0xFF && view[1] == 0xD8 ? .jpeg : .other
      }
    }
  }
}

extension ImageDecodingLimits {
  /// How a preview for a target is made; throws where it would be over the limits.
  func previewPlan(for info: ImageInfo, _ target: TargetSize?) throws(ImageDecodingError) -> DecodePlan {
    let plan = try DecodePlan(info: info, targetSize: target)
    guard plan.outputSize.pixelCount <= maximumPixelCount else {
      throw .limitExceeded(size: plan.outputSize, frames: 1, maximumPixelCount: maximumPixelCount)
    }
    return plan
  }
}

/// Reads one format's files while they come. Throws where nothing will come of it.
protocol PreviewReading: AnyObject {
  /// Takes the next bytes; see ``PreviewMaker/append(_:targets:)``.
  func append(
    _ bytes: Data, targets: [TargetSize?], _ cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> [PreviewMaker.Preview]?
}

/// Makes soft what is known only in blocks.
enum PreviewBlur {
  /// Larger previews are left as they are: a blur would take longer than the next scan.
  private static let maximumPixelCount = 4_000_000

  /// - Parameters:
  ///   - block: The side of a block in the file's pixels.
  ///   - plan: What became of those pixels.
  static func soften(
    _ bitmap: Bitmap, block: Double, plan: DecodePlan, _ cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> Bitmap {
    let deviation = block / max(plan.reduction, 1e-9) * 0.6
    guard deviation > 0.4, bitmap.size.pixelCount <= maximumPixelCount else { return bitmap }
    do {
      let most = Double(max(bitmap.width, bitmap.height))
      return try GaussianBlur(deviation: min(deviation, most)).apply(to: bitmap, cancellation: cancellation)
    } catch is CancellationError {
      throw .cancelled
    } catch {
      throw .outOfMemory(bitmap.size)
    }
  }
}
