/// Reads a text file of addresses: one a line, a name behind a tab or not. Empty lines and lines that begin
/// with `#` are passed over.
final class AddressListReader: ImageListReading {
  private let bytes: ListByteReader
  private let limits: ImageListLimits
  private var text: [UInt8] = []
  private var row = 0

  init(_ bytes: ListByteReader, limits: ImageListLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  var isReady: Bool { bytes.isReady }

  func next() throws(ImageListError) -> ImageListRecord? {
    while true {
      let line = bytes.line
      guard try bytes.readLine(into: &text, limit: limits.maximumRowLength) else { return nil }
      guard let first = text.first(where: { $0 != 0x20 && $0 != 0x09 }), first != UInt8(ascii: "#") else {
        continue
      }
      row += 1
      let place = ImageListPlace(row: row, line: line)
      if text.count > limits.maximumRowLength { return .unreadable(RowText.tooLong(limits), at: place) }
      guard let line = RowText.string(text[...]) else { return .unreadable(RowText.notUTF8, at: place) }
      guard let tab = line.firstIndex(of: "\t") else {
        return .fields([.init(name: "url", value: line)], at: place)
      }
      let rest = line[line.index(after: tab)...].split(
        separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
      var fields: [ImageListItem.Field] = [.init(name: "url", value: String(line[..<tab]))]
      for (name, value) in zip(["name", "subtitle"], rest) where !value.isEmpty {
        fields.append(.init(name: name, value: String(value)))
      }
      return .fields(fields, at: place)
    }
  }
}

/// What the readers of text share.
enum RowText {
  static let notUTF8 = "is not UTF-8; convert the list, for example with iconv -f GB18030 -t UTF-8"

  static func tooLong(_ limits: ImageListLimits) -> String {
    "is longer than \(limits.maximumRowLength) bytes"
  }

  /// The text, or `nil` where the bytes are not UTF-8. A NUL is no text either.
  static func string(_ bytes: ArraySlice<UInt8>) -> String? {
    bytes.withUnsafeBufferPointer { buffer in
      String(validating: buffer, as: UTF8.self)
    }
  }
}
