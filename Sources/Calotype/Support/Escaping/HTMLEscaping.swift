extension Escaping {
  /// A text for HTML, between tags or inside an attribute's quotes: nothing in it is markup, and nothing
  /// in it reaches beyond its own element.
  ///
  /// Control characters become U+FFFD; bidirectional controls are left out, since they would turn the text
  /// that follows around.
  package static func html(_ text: String) -> String {
    var result = ""
    result.reserveCapacity(text.utf8.count + 16)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      case "\n", "\r", "\t": result += " "
      default:
        if !isUnsafeForDisplay(scalar) {
          result.unicodeScalars.append(scalar)
        } else if scalar.value < 0xA0 {
          result += "\u{FFFD}"
        }
      }
    }
    return result
  }
}
