import CXXHash

extension ImageProcessors {
  /// Draws another picture over this one: a watermark, a badge.
  public struct Overlay: RowProcessing {
    /// Where the other picture is.
    public enum Position: String, Hashable, Sendable, CaseIterable {
      /// The middle.
      case center
      /// The corner.
      case topLeft
      /// The corner.
      case topRight
      /// The corner.
      case bottomLeft
      /// The corner.
      case bottomRight
    }

    /// The picture that is drawn, at its own size.
    public let overlay: Bitmap
    /// Where it is.
    public let position: Position
    /// Pixels between it and the edges.
    public let margin: Int
    /// 0 for clear, 1 for the overlay as it is.
    public let opacity: Double
    private let content: String

    /// Creates the processor.
    public init(_ overlay: Bitmap, position: Position = .bottomRight, margin: Int = 0, opacity: Double = 1) {
      self.overlay = overlay
      self.position = position
      self.margin = margin
      self.opacity = opacity
      let hash = overlay.withUnsafeBytes { XXH3_128bits($0.baseAddress, $0.count) }
      content =
        "\(overlay.size.width)x\(overlay.size.height)-" + [hash.high64, hash.low64].map(Self.hex).joined()
    }

    /// For example `overlay(32x32-…,bottomRight,4,0.5)`: the picture goes in by its size and a hash of its
    /// pixels.
    public var identifier: String {
      "overlay(\(content),\(position.rawValue),\(margin),\(canonical(opacity)))"
    }

    func rowWork(for size: PixelSize, isOpaque: Bool) throws -> RowWork {
      guard opacity >= 0, opacity <= 1 else {
        throw ImageProcessingError.invalidParameter(
          processor: identifier, reason: "the opacity must be within 0 and 1")
      }
      let (left, top) = origin(in: size)
      let firstX = max(0, left)
      let endX = min(size.width, left + overlay.width)
      let share = UInt32((opacity * 255).rounded())
      return RowWork(size: size, isOpaque: isOpaque) { [overlay] source, target, row in
        if UnsafePointer(target) != source { target.update(from: source, count: size.width) }
        guard row >= top, row < top + overlay.height, firstX < endX else { return }
        overlay.withUnsafeBytes { bytes in
          guard let pixels = bytes.baseAddress else { return }
          let upper = (pixels + (row - top) * overlay.bytesPerRow).assumingMemoryBound(to: UInt32.self)
          for x in firstX..<endX {
            target[x] = PixelBlending.over(PixelBlending.scaled(upper[x - left], by: share), target[x])
          }
        }
      }
    }

    private func origin(in size: PixelSize) -> (x: Int, y: Int) {
      // No margin beyond any picture's size can matter, and none must overflow.
      let margin = min(max(self.margin, -1 << 31), 1 << 31)
      let right = size.width - overlay.width - margin
      let bottom = size.height - overlay.height - margin
      return switch position {
      case .center: ((size.width - overlay.width) / 2, (size.height - overlay.height) / 2)
      case .topLeft: (margin, margin)
      case .topRight: (right, margin)
      case .bottomLeft: (margin, bottom)
      case .bottomRight: (right, bottom)
      }
    }

    private static func hex(_ number: UInt64) -> String {
      let digits = String(number, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.Overlay {
  /// Draws another picture over this one.
  public static func overlay(
    _ overlay: Bitmap, position: ImageProcessors.Overlay.Position = .bottomRight, margin: Int = 0,
    opacity: Double = 1
  ) -> Self {
    Self(overlay, position: position, margin: margin, opacity: opacity)
  }
}
