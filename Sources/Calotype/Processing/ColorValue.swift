/// A colour as straight red, green, blue and alpha in sRGB.
///
/// Components may be outside of 0...1, as those of a wide-gamut colour are; they are cut to what a pixel can
/// hold only where they are drawn, so that two colours never share an identifier.
public struct ColorValue: Hashable, Sendable, CustomStringConvertible {
  /// 0 for none, 1 for full.
  public var red: Double
  /// 0 for none, 1 for full.
  public var green: Double
  /// 0 for none, 1 for full.
  public var blue: Double
  /// 0 for clear, 1 for opaque.
  public var alpha: Double

  /// Creates a colour.
  public init(red: Double, green: Double, blue: Double, alpha: Double = 1) {
    self.red = red
    self.green = green
    self.blue = blue
    self.alpha = alpha
  }

  /// Creates a colour from bytes, as `ColorValue(0x33, 0x99, 0xFF)`.
  public init(_ red: UInt8, _ green: UInt8, _ blue: UInt8, alpha: UInt8 = 255) {
    self.init(
      red: Double(red) / 255, green: Double(green) / 255, blue: Double(blue) / 255, alpha: Double(alpha) / 255
    )
  }

  /// Black.
  public static let black = ColorValue(0, 0, 0)
  /// White.
  public static let white = ColorValue(255, 255, 255)
  /// Wholly clear.
  public static let clear = ColorValue(0, 0, 0, alpha: 0)

  /// The same colour with another alpha.
  public func withAlpha(_ alpha: Double) -> ColorValue {
    ColorValue(red: red, green: green, blue: blue, alpha: alpha)
  }

  /// `#rrggbb` or `#rrggbbaa` where bytes say it exactly, else the components.
  public var description: String {
    let components = [red, green, blue, alpha]
    let bytes = components.compactMap { component -> UInt8? in
      guard component >= 0, component <= 1 else { return nil }
      let byte = UInt8((component * 255).rounded())
      return Double(byte) / 255 == component ? byte : nil
    }
    if bytes.count == 4 {
      let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
      return "#" + digits.prefix(bytes[3] == 255 ? 3 : 4).joined()
    }
    return "rgba(\(components.map(canonical).joined(separator: ",")))"
  }

  /// Premultiplied components of 0 to 255, cut to what a pixel can hold.
  var premultiplied: SIMD4<Float> {
    func cut(_ value: Double) -> Float { value > 0 ? Float(min(value, 1)) : 0 }
    let alpha = cut(alpha)
    return SIMD4(cut(red), cut(green), cut(blue), 1) * (alpha * 255)
  }

  /// Whether a pixel of the colour is opaque.
  var isOpaque: Bool { alpha >= 1 }
}

/// A number as it stands in an identifier: the shortest text that gives the same number, whole numbers
/// without a point.
func canonical(_ number: Double) -> String {
  if number == number.rounded(), abs(number) < 1e15 { return String(Int64(number)) }
  return number.description
}
