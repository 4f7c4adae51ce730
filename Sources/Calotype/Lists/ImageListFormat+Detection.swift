extension ImageListFormat {
  /// Tells a list's format by its first bytes, then by its name.
  ///
  /// - Throws: ``ImageListError`` where the bytes are those of something that is no list.
  static func detect(_ start: [UInt8], name: String) throws(ImageListError) -> ImageListFormat {
    if start.starts(with: "bplist0".utf8) { return .binaryPropertyList }
    if let kind = otherKind(start) { throw ImageListError(list: name, reason: "is \(kind), not a list") }
    let byName = format(named: name)
    guard let first = start.first(where: { !($0 == 0x20 || (0x09...0x0D).contains($0)) }) else {
      // Nothing in it, or nothing yet: an empty list of addresses, but no JSON and no property list.
      return byName ?? .text
    }
    switch first {
    case UInt8(ascii: "<"):
      let text = String(decoding: start.prefix(2048), as: UTF8.self).lowercased()
      if text.contains("<html") || text.contains("<!doctype html") {
        throw ImageListError(list: name, reason: "is a web page, not a list")
      }
      if byName == .csv || byName == .text || byName == .tsv { break }
      return .xmlPropertyList
    case UInt8(ascii: "["): return byName == .jsonLines ? .jsonLines : .json
    case UInt8(ascii: "{"): return byName == .jsonLines || isJSONLines(start) ? .jsonLines : .json
    default: break
    }
    if let byName, byName != .text { return byName }
    return byName ?? (looksLikeTable(start) ? .csv : .text)
  }

  private static func format(named name: String) -> ImageListFormat? {
    let path = name.prefix { $0 != "?" && $0 != "#" }.lowercased()
    guard let dot = path.lastIndex(of: ".") else { return nil }
    switch path[path.index(after: dot)...] {
    case "plist": return .xmlPropertyList
    case "json": return .json
    case "jsonl", "ndjson": return .jsonLines
    case "csv": return .csv
    case "tsv", "tab": return .tsv
    case "txt", "text", "lst", "urls": return .text
    default: return nil
    }
  }

  private static func otherKind(_ start: [UInt8]) -> String? {
    let kinds: [([UInt8], String)] = [
      ([0x89, 0x50, 0x4E, 0x47], "a PNG picture"), ([0xFF, 0xD8, 0xFF], "a JPEG picture"),
      (Array("GIF8".utf8), "a GIF picture"), (Array("RIFF".utf8), "a WebP picture"),
      (Array("%PDF".utf8), "a PDF"), ([0x50, 0x4B, 0x03, 0x04], "a zip archive"),
      ([0x1F, 0x8B], "compressed with gzip (unpack it first)"),
      ([0x28, 0xB5, 0x2F, 0xFD], "compressed with zstd (unpack it first)"),
      ([0xFD, 0x37, 0x7A, 0x58], "compressed with xz (unpack it first)"),
    ]
    if let kind = kinds.first(where: { start.starts(with: $0.0) }) { return kind.1 }
    return start.contains(0) ? "binary data, or UTF-16 without a byte order mark" : nil
  }

  /// Whether the first line is a whole object and another begins behind it.
  private static func isJSONLines(_ start: [UInt8]) -> Bool {
    guard let lineEnd = start.firstIndex(of: 0x0A) else { return false }
    let line = start[..<lineEnd].filter { $0 > 0x20 }
    let next = start[lineEnd...].first { $0 > 0x20 }
    return line.last == UInt8(ascii: "}") && next == UInt8(ascii: "{")
  }

  /// Whether the first line is a header: has a separator, and is no address and no comment.
  private static func looksLikeTable(_ start: [UInt8]) -> Bool {
    let line = String(decoding: start.prefix { $0 != 0x0A }, as: UTF8.self).trimmingWhitespace()
    guard !line.hasPrefix("#"), !line.contains("://"), !line.hasPrefix("/"), !line.hasPrefix("."),
      !Escaping.isDataAddress(line)
    else { return false }
    return line.contains(",") || line.contains(";") || line.contains("\t")
  }
}
