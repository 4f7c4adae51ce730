extension ImageProcessors {
  /// Brings the picture to another size.
  ///
  /// A request's ``ImageRequest/targetSize`` does the same while the picture is decoded, at less cost.
  public struct Resize: BuiltInProcessing, LimitedProcessing, Hashable {
    /// Which part stays where the picture is cropped to the target's shape.
    public enum Anchor: String, Hashable, Sendable, CaseIterable {
      /// The middle.
      case center
      /// The middle of the top edge.
      case top
      /// The middle of the bottom edge.
      case bottom
      /// The middle of the left edge.
      case left
      /// The middle of the right edge.
      case right
      /// The corner.
      case topLeft
      /// The corner.
      case topRight
      /// The corner.
      case bottomLeft
      /// The corner.
      case bottomRight
      /// Where most edges and strong colours are.
      case attention
    }

    /// The size, its mode and whether smaller pictures are enlarged.
    public var target: TargetSize
    /// Which part stays in ``TargetSize/Mode/fill``.
    public var anchor: Anchor
    /// How pixels are worked out.
    public var filter: ResamplingFilter

    /// Creates a resize.
    public init(_ target: TargetSize, anchor: Anchor = .center, filter: ResamplingFilter = .lanczos3) {
      self.target = target
      self.anchor = anchor
      self.filter = filter
    }

    /// For example `resize(48x48,fill,anchor:top)`.
    public var identifier: String {
      let size = target.pixelSize.map { "\($0.width)x\($0.height)" } ?? "invalid"
      var parts = [size, "\(target.mode)"]
      if target.mode == .fill { parts.append("anchor:\(anchor.rawValue)") }
      if target.allowsUpscaling { parts.append("up") }
      if filter != .lanczos3 { parts.append("\(filter)") }
      return "resize(\(parts.joined(separator: ",")))"
    }

    func process(
      _ image: Bitmap, limits: ImageDecodingLimits, cancellation: CancellationFlag
    ) throws -> Bitmap {
      guard let geometry = target.resolve(for: image.size) else {
        throw ImageProcessingError.invalidParameter(
          processor: "resize", reason: "\(target.width)×\(target.height) is no size")
      }
      let most = limits.maximumPixelCount
      guard geometry.size.pixelCount <= most else {
        throw ImageProcessingError.invalidParameter(
          processor: "resize",
          reason: "\(geometry.size.width)×\(geometry.size.height) is over the limit of \(most) pixels")
      }
      var crop = (
        x: geometry.cropX, y: geometry.cropY, width: geometry.cropWidth, height: geometry.cropHeight
      )
      let spareX = Double(image.width) - crop.width
      let spareY = Double(image.height) - crop.height
      if spareX > 0 || spareY > 0, let share = try share(of: image, crop: crop, cancellation: cancellation) {
        crop.x = spareX * share.x
        crop.y = spareY * share.y
      }
      return try image.resampled(crop: crop, to: geometry.size, filter: filter, cancellation: cancellation)
    }

    /// How much of what is cropped goes at the left and at the top; `nil` for half of it.
    private func share(
      of image: Bitmap, crop: (x: Double, y: Double, width: Double, height: Double),
      cancellation: CancellationFlag
    ) throws -> (x: Double, y: Double)? {
      switch anchor {
      case .center: nil
      case .top: (0.5, 0)
      case .bottom: (0.5, 1)
      case .left: (0, 0.5)
      case .right: (1, 0.5)
      case .topLeft: (0, 0)
      case .topRight: (1, 0)
      case .bottomLeft: (0, 1)
      case .bottomRight: (1, 1)
      case .attention:
        try AttentionMap(image, cancellation: cancellation).bestShare(
          width: crop.width / Double(image.width), height: crop.height / Double(image.height))
      }
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.Resize {
  /// Brings the picture to a size in pixels.
  public static func resize(
    width: Int, height: Int, mode: TargetSize.Mode = .fit, anchor: ImageProcessors.Resize.Anchor = .center,
    allowsUpscaling: Bool = false, filter: ResamplingFilter = .lanczos3
  ) -> Self {
    Self(
      TargetSize(
        width: Double(width), height: Double(height), mode: mode, allowsUpscaling: allowsUpscaling),
      anchor: anchor, filter: filter)
  }
}
