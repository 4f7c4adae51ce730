/// How a stored picture is turned to be upright: the EXIF tag 0x0112 (CIPA DC-008, 4.6.5).
public enum ImageOrientation: UInt8, Hashable, Sendable, CaseIterable {
  /// Upright as stored.
  case up = 1
  /// Mirrored left to right.
  case upMirrored = 2
  /// Turned by 180 degrees.
  case down = 3
  /// Mirrored top to bottom.
  case downMirrored = 4
  /// Mirrored along the diagonal from top left.
  case leftMirrored = 5
  /// To be turned 90 degrees clockwise.
  case right = 6
  /// Mirrored along the diagonal from top right.
  case rightMirrored = 7
  /// To be turned 90 degrees counter-clockwise.
  case left = 8

  /// Whether width and height are exchanged when the picture is made upright.
  public var isTransposed: Bool { rawValue >= 5 }
}
