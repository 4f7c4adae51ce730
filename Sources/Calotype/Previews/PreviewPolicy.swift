/// Whether a picture is shown while it comes: a progressive JPEG scan by scan, an interlaced PNG pass by pass,
/// the first of them blurred.
///
/// Previews are made only for tasks of which somebody hears: ``ImageTask/events``, or a ``RowLoader``. They are at
/// the target size, upright, in sRGB and processed as the print will be, and are never stored. A preview is made of
/// the newest that has come, by a thread that has nothing better to do; where none is free it is left out.
public enum PreviewPolicy: Hashable, Sendable {
  /// No previews.
  case off
  /// The default: up to four a second, and none for prints of at most 160 pixels a side. Those are made
  /// for lists, where a preview costs about as much as the print, and more is gained by the next row.
  case automatic
  /// A preview for every scan or pass, as far as threads are free.
  case on
  /// Up to a number of previews a second.
  case atMost(perSecond: Double)

  /// The longer side, in pixels, up to which a print counts as small.
  static let smallSide = 160

  /// The nanoseconds from one preview to the next at least; `nil` for none at all.
  func interval(for target: TargetSize?) -> UInt64? {
    switch self {
    case .off: return nil
    case .on: return 0
    case .atMost(let rate):
      guard rate > 0 else { return nil }
      return UInt64(min(1e9 / rate, 1e18))
    case .automatic:
      if let size = target?.pixelSize, max(size.width, size.height) <= Self.smallSide { return nil }
      return 250_000_000
    }
  }
}
