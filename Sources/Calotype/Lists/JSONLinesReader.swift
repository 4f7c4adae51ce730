/// Reads a JSON value a line. A line that is wrong is a row that cannot be read; the others are read.
final class JSONLinesReader: ImageListReading {
  private let bytes: ListByteReader
  private let limits: ImageListLimits
  private let lineBytes: ListByteReader
  private let tokens: JSONTokenizer
  private var text: [UInt8] = []
  private var row = 0

  init(_ bytes: ListByteReader, limits: ImageListLimits) {
    self.bytes = bytes
    self.limits = limits
    lineBytes = ListByteReader(DataSource(.init()), name: bytes.name)
    tokens = JSONTokenizer(lineBytes, limits: limits)
  }

  var isReady: Bool { bytes.isReady }

  func next() throws(ImageListError) -> ImageListRecord? {
    while true {
      let line = bytes.line
      guard try bytes.readLine(into: &text, limit: limits.maximumRowLength) else { return nil }
      if text.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { continue }
      row += 1
      let place = ImageListPlace(row: row, line: line)
      if text.count > limits.maximumRowLength { return .unreadable(RowText.tooLong(limits), at: place) }
      lineBytes.restart(with: text, line: line)
      tokens.restart()
      do throws(ImageListError) {
        let record = try TreeListReader.readRow(tokens, limits: limits, at: place)
        while try tokens.next() != nil {}
        return record
      } catch {
        return .unreadable(error.reason, at: place)
      }
    }
  }
}
