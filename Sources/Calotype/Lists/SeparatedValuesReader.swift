/// Reads comma-, semicolon- and tab-separated values with a header (RFC 4180): quoted values may hold
/// separators, line ends and doubled quotes; lines end in LF or CRLF; white space belongs to a value.
///
/// A row with fewer values than the header lacks its last fields; one with more is unreadable, since a
/// quote is missing somewhere in it. A name that the header has twice means its first column; the further
/// ones are called `name.2`, `name.3`.
final class SeparatedValuesReader: ImageListReading {
  private let bytes: ListByteReader
  private let limits: ImageListLimits
  private let separator: UInt8
  private var header: [String] = []
  private var hasHeader = false
  private var row = 0
  private var line = 1
  private var text: [UInt8] = []
  private var ends: [Int] = []

  /// - Parameter separator: The separator, or `nil` to tell it by the header in `start`.
  init(_ bytes: ListByteReader, separator: UInt8?, start: [UInt8], limits: ImageListLimits) {
    self.bytes = bytes
    self.limits = limits
    self.separator = separator ?? Self.separator(of: start)
  }

  var isReady: Bool { bytes.isReady }

  func next() throws(ImageListError) -> ImageListRecord? {
    if !hasHeader { try readHeader() }
    while try readValues() {
      if ends.count == 1, text.isEmpty { continue }
      row += 1
      return record(at: ImageListPlace(row: row, line: line))
    }
    return nil
  }

  /// The separator that the first line has most of.
  static func separator(of start: [UInt8]) -> UInt8 {
    let line = start.prefix { $0 != 0x0A }
    let candidates = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]
    let counts = candidates.map { candidate in line.count { $0 == candidate } }
    guard let most = counts.max(), let index = counts.firstIndex(of: most) else { return candidates[0] }
    return candidates[index]
  }

  private func record(at place: ImageListPlace) -> ImageListRecord {
    if text.count > limits.maximumRowLength { return .unreadable(RowText.tooLong(limits), at: place) }
    if ends.count > header.count {
      return .unreadable(
        "has \(ends.count) values, and the header \(header.count): is a quote missing?", at: place)
    }
    var fields: [ImageListItem.Field] = []
    fields.reserveCapacity(ends.count)
    var start = 0
    for (index, end) in ends.enumerated() {
      guard let value = RowText.string(text[start..<end]) else {
        return .unreadable(RowText.notUTF8, at: place)
      }
      if !value.isEmpty { fields.append(.init(name: header[index], value: value)) }
      start = end
    }
    return .fields(fields, at: place)
  }

  private func readHeader() throws(ImageListError) {
    hasHeader = true
    while try readValues() {
      if ends.count == 1, text.isEmpty { continue }
      let place = ImageListPlace(line: line)
      if ends.count > limits.maximumFieldCount || text.count > limits.maximumRowLength {
        throw ImageListError(list: bytes.name, place: place, reason: "the header is too long for a list")
      }
      var seen: [String: Int] = [:]
      var start = 0
      for end in ends {
        guard let value = RowText.string(text[start..<end]) else {
          throw ImageListError(list: bytes.name, place: place, reason: "the header " + RowText.notUTF8)
        }
        start = end
        let name = value.trimmingWhitespace()
        if name.hasPrefix("http://") || name.hasPrefix("https://") {
          throw ImageListError(
            list: bytes.name, place: place,
            reason: "the first line is no header, it holds an address: put the columns' names above it")
        }
        seen[name, default: 0] += 1
        header.append(seen[name] == 1 ? name : "\(name).\(seen[name] ?? 2)")
      }
      return
    }
  }

  /// Reads one row's values, end to end, into `text`, and where each ends into `ends`. A row over the limit
  /// is read to its end and not kept.
  private func readValues() throws(ImageListError) -> Bool {
    text.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    line = bytes.line
    guard try bytes.peek() != nil else { return false }
    let separator = separator
    while true {
      if try bytes.peek() == UInt8(ascii: "\"") { try readQuoted() }
      // The rest of a value: all of it where it is not quoted.
      while true {
        bytes.appendRun(until: { $0 == separator || $0 == 0x0A }, to: &text)
        try checkLength()
        if let byte = try bytes.peek(), byte != separator, byte != 0x0A { continue }
        break
      }
      let byte = try bytes.next()
      if byte == separator {
        if ends.count <= limits.maximumFieldCount { ends.append(text.count) }
        continue
      }
      if text.last == 0x0D, text.count > (ends.last ?? 0) { text.removeLast() }
      ends.append(text.count)
      return true
    }
  }

  private func readQuoted() throws(ImageListError) {
    let opened = bytes.line
    _ = try bytes.next()
    while true {
      bytes.appendRun(until: { $0 == UInt8(ascii: "\"") }, to: &text)
      if text.count > limits.maximumRowLength {
        throw ImageListError(
          list: bytes.name, place: ImageListPlace(line: opened),
          reason:
            "a quoted value is longer than \(limits.maximumRowLength) bytes: its closing quote is missing?")
      }
      guard let byte = try bytes.peek() else {
        throw ImageListError(
          list: bytes.name, place: ImageListPlace(line: opened),
          reason: "the quote that opens here is never closed: the list is cut off, or a quote is missing")
      }
      guard byte == UInt8(ascii: "\"") else { continue }
      _ = try bytes.next()
      guard try bytes.peek() == UInt8(ascii: "\"") else { return }
      _ = try bytes.next()
      text.append(UInt8(ascii: "\""))
    }
  }

  /// Keeps a row that is too long from growing: what it holds is of no use any more.
  private func checkLength() throws(ImageListError) {
    let limit = limits.maximumRowLength + 1
    if text.count > limit + (1 << 16) { text.removeLast(text.count - limit - 1) }
    if let last = ends.last, last > text.count { ends = ends.map { min($0, text.count) } }
  }
}

extension StringProtocol {
  /// The text without white space at its ends.
  func trimmingWhitespace() -> String {
    var rest = self[...]
    while let first = rest.first, first.isWhitespace { rest = rest.dropFirst() }
    while let last = rest.last, last.isWhitespace { rest = rest.dropLast() }
    return String(rest)
  }
}
