import Calotype

/// How pictures' files are named: a stem that stands for the picture, a dot, and the extension that stands for its
/// format.
enum PictureFile {
  /// A file's name.
  static func name(_ stem: String, _ format: ImageFormat) -> String { "\(stem).\(ending(format))" }

  /// A name without its extension, where it has one.
  static func stem(of name: String) -> String {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return name }
    return String(name[..<dot])
  }

  /// The extension that a format's files have.
  static func ending(_ format: ImageFormat) -> String { format == .jpeg ? "jpg" : format.rawValue }

  /// The format that a name's extension stands for.
  static func format(of name: String) -> ImageFormat? {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
    let ending = name[name.utf8.index(after: dot)...].lowercased()
    return ending == "jpg" || ending == "jpe" ? .jpeg : ImageFormat(rawValue: ending)
  }
}
