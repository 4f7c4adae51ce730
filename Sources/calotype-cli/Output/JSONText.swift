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

  /// A text in quotes. Control characters, and the two line separators that break JavaScript, are escaped.
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
        if scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x2028
          || scalar.value == 0x2029
        {
          let hex = String(scalar.value, radix: 16)
          result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    return result + "\""
  }
}
