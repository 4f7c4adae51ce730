import Calotype

/// Writes JSON objects whose names keep their order, a line each.
struct JSONText {
  private(set) var text = "{"

  /// Adds a member; `nil` is written as null.
  mutating func add(_ name: String, _ value: String?) { member(name, value.map(Self.quoted) ?? "null") }
  /// Adds a member; `nil` is written as null.
  mutating func add(_ name: String, _ value: Int?) { member(name, value.map(String.init) ?? "null") }
  /// Adds a member.
  mutating func add(_ name: String, _ value: Bool) { member(name, value ? "true" : "false") }
  /// Adds a member that is JSON already.
  mutating func add(_ name: String, json: String) { member(name, json) }

  /// The whole object.
  var object: String { text + "}" }

  private mutating func member(_ name: String, _ json: String) {
    if text.utf8.count > 1 { text += "," }
    text += Self.quoted(name)
    text += ":"
    text += json
  }

  /// A text in quotes. What would steer a terminal or turn letters around is escaped, also the two line
  /// separators that break JavaScript.
  static func quoted(_ text: String) -> String {
    var result = "\""
    result.reserveCapacity(text.utf8.count + 2)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default:
        if Escaping.isUnsafeForDisplay(scalar) {
          // JSON names what is beyond the first plane by the two halves that UTF-16 has for it.
          for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
            let hex = String(unit, radix: 16)
            result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
          }
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    return result + "\""
  }
}
