/// The number that a text begins with or holds, such as a count of downloads or a size, for sorting.
enum Figure {
  /// The first number in a text with what multiplies it: `1,234`, `7.1 KB`, `3.2M`, `12万`. `nil` where there is
  /// none.
  static func value(of text: String) -> Double? {
    var digits = "", rest = text.unicodeScalars[...]
    var isNegative = false
    while let scalar = rest.first, !isDigit(scalar) {
      isNegative = scalar == "-" || scalar == "−"
      rest.removeFirst()
    }
    while let scalar = rest.first {
      let next = rest.dropFirst().first
      if isDigit(scalar) {
        digits.unicodeScalars.append(scalar)
      } else if scalar == ".", next.map(isDigit) == true, !digits.contains(".") {
        digits.append(".")
      } else if separators.contains(scalar), next.map(isDigit) == true {
        // A separator of thousands.
      } else {
        break
      }
      rest.removeFirst()
    }
    guard let number = Double(digits) else { return nil }
    while rest.first == " " || rest.first == "\u{A0}" || rest.first == "\u{202F}" { rest.removeFirst() }
    return (isNegative ? -number : number) * factor(rest)
  }

  private static let separators: Set<Unicode.Scalar> = [",", "'", "’", "_", "\u{A0}", "\u{202F}"]

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

  private static func factor(_ rest: Substring.UnicodeScalarView) -> Double {
    guard let first = rest.first else { return 1 }
    switch first {
    case "万", "萬": return 1e4
    case "亿", "億": return 1e8
    default: break
    }
    // A letter alone or before the B of bytes: "5 Mars" is five.
    let unit = String(
      String.UnicodeScalarView(rest.prefix { ("a"..."z").contains($0) || ("A"..."Z").contains($0) }))
    switch unit.lowercased() {
    case "k", "kb": return 1e3
    case "kib": return 1024
    case "m", "mb": return 1e6
    case "mib": return 1_048_576
    case "g", "gb", "bn": return 1e9
    case "gib": return 1_073_741_824
    case "t", "tb": return 1e12
    default: return 1
    }
  }
}
