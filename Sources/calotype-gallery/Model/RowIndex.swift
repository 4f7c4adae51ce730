import CGtk
import Calotype
import Foundation

/// The order in which a list's rows are shown.
enum RowOrder: String, Codable, Sendable, CaseIterable {
  /// As the list has them.
  case list
  /// By title, as the user's language sorts.
  case name
  /// By the number in the second line.
  case figure
}

/// What of a list is shown, and how.
struct RowQuery: Equatable, Sendable {
  /// Words that must all be in a row's texts; whether letters are large or have accents does not count.
  var text = ""
  var order = RowOrder.list
  var isDescending = false

  /// Whether it is the list as it is.
  var isPlain: Bool { order == .list && !isDescending && words.isEmpty }
  var words: [Substring] { text.split(whereSeparator: \.isWhitespace) }
}

/// Searches and sorts a list's rows away from the main thread.
actor RowIndex {
  private var texts: [[UInt8]] = []
  private var figures: [Double?] = []
  private var titles: [String] = []
  /// What titles sort by; filled when that is first wanted.
  private var sortKeys: [[UInt8]] = []

  /// Adds rows at the end.
  func append(_ items: [ImageListItem]) {
    for item in items {
      // A second line that is a figure is for sorting: "app 5" does not mean every row with a 5 in its count.
      let words = item.subtitle.flatMap { Figure.value(of: $0) == nil ? $0 : nil } ?? ""
      texts.append(Self.folded("\(item.title)\n\(words)"))
      titles.append(item.title)
      figures.append(
        item.subtitle.flatMap(Figure.value)
          ?? item.fields.lazy.compactMap { Figure.value(of: $0.value) }.first)
    }
  }

  /// The rows that a query wants, in its order.
  func select(_ query: RowQuery) -> [Int32] {
    let words = query.words.map { Self.folded(String($0)) }
    var found: [Int32] = []
    found.reserveCapacity(words.isEmpty ? texts.count : 256)
    for (index, text) in texts.enumerated() where words.allSatisfy({ Self.contains(text, $0) }) {
      found.append(Int32(index))
    }
    switch query.order {
    case .list: if query.isDescending { found.reverse() }
    case .name: sortByName(&found, query.isDescending)
    case .figure: sortByFigure(&found, query.isDescending)
    }
    return found
  }

  private func sortByName(_ rows: inout [Int32], _ isDescending: Bool) {
    for title in titles[sortKeys.count...] {
      let key = g_utf8_collate_key_for_filename(title, gssize(title.utf8.count))
      sortKeys.append(
        key.map { Array(UnsafeBufferPointer(start: $0, count: strlen($0)).map(UInt8.init(bitPattern:))) }
          ?? [])
      g_free(key)
    }
    rows.sort { left, right in
      let (a, b) = (sortKeys[Int(left)], sortKeys[Int(right)])
      if a == b { return left < right }
      return isDescending ? b.lexicographicallyPrecedes(a) : a.lexicographicallyPrecedes(b)
    }
  }

  private func sortByFigure(_ rows: inout [Int32], _ isDescending: Bool) {
    rows.sort { left, right in
      switch (figures[Int(left)], figures[Int(right)]) {
      case (let a?, let b?) where a != b: isDescending ? a > b : a < b
      // Rows without a number come last either way.
      case (_?, nil): true
      case (nil, _?): false
      default: left < right
      }
    }
  }

  /// A text as it is compared, with a zero at its end.
  private static func folded(_ text: String) -> [UInt8] {
    if text.utf8.allSatisfy({ (1..<0x80).contains($0) }) {
      return text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } + [0]
    }
    let folded = text.folding(
      options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
    return folded.utf8.filter { $0 != 0 } + [0]
  }

  private static func contains(_ text: [UInt8], _ word: [UInt8]) -> Bool {
    // Both end in a zero, and have no other.
    text.withUnsafeBytes { text in
      word.withUnsafeBytes { word in
        guard let text = text.baseAddress, let word = word.baseAddress else { return false }
        return strstr(text.assumingMemoryBound(to: CChar.self), word.assumingMemoryBound(to: CChar.self))
          != nil
      }
    }
  }
}
