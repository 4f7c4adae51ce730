import Foundation

/// One benchmark's rows, as the JSON file holds them.
struct BenchmarkResult: Codable, Sendable {
  var name: String
  var rows: [BenchmarkRow]
}

/// Rows as a table for people.
func table(of rows: [BenchmarkRow], title: String) -> String {
  let cells =
    [["what", "ours", "beside", "theirs", "ratio", "goal", "note"]]
    + rows.map { row in
      [
        row.title, "\(shown(row.value)) \(row.unit)", row.peer ?? "",
        row.peerValue.map { "\(shown($0)) \(row.unit)" } ?? "", row.ratio.map(shown) ?? "",
        row.goal.map(shown) ?? "", row.note ?? "",
      ]
    }
  let widths = cells[0].indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
  let lines = cells.map { row in
    zip(row, widths).enumerated().map { column, cell in
      let space = String(repeating: " ", count: cell.1 - cell.0.count)
      return (1...5).contains(column) && column != 2 ? space + cell.0 : cell.0 + space
    }.joined(separator: "  ").trimmingSuffix()
  }
  return "\(title)\n" + lines.map { "  \($0)" }.joined(separator: "\n") + "\n"
}

/// A number with three significant digits.
private func shown(_ value: Double) -> String {
  guard value.isFinite, value != 0 else { return "\(value)" }
  let digits = max(0, 2 - Int(floor(log10(abs(value)))))
  return String(format: "%.\(digits)f", value)
}

extension String {
  /// The text without spaces at its end.
  fileprivate func trimmingSuffix() -> String {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
