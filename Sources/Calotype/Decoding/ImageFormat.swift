/// A kind of image file.
public enum ImageFormat: String, Hashable, Sendable, CaseIterable {
  /// JPEG (ITU-T T.81), baseline and progressive.
  case jpeg
  /// PNG (W3C), also animated.
  case png
  /// GIF 87a and 89a.
  case gif
  /// WebP, lossy, lossless and animated.
  case webp
  /// AVIF.
  case avif
  /// Windows bitmap.
  case bmp
  /// Windows icon.
  case ico
  /// HEIC and HEIF; needs the `HEIF` trait.
  case heif
  /// JPEG XL; needs the `JXL` trait.
  case jxl
  /// TIFF; needs the `TIFF` trait.
  case tiff
  /// SVG, told but not decoded.
  case svg
  /// PDF, told but not decoded.
  case pdf
}
