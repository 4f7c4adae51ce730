import Calotype
import Foundation

/// The contact sheet as one HTML file: nothing in it is loaded from outside.
///
/// Cells come in any order and are kept in a temporary file until the end, so that a sheet of thousands of
/// pictures takes no memory.
final class HTMLSheet: ContactSheet {
  private struct State {
    var cells: [(row: Int, offset: Int, length: Int)] = []
    var length = 0
    var failures = 0
  }

  private let path: String
  private let title: String
  private let spool: FileHandle
  private let state = Lock(State())

  init(path: String, title: String) throws {
    self.path = path
    self.title = title
    guard let file = tmpfile() else {
      throw Failure("no temporary file for the sheet: \(OutputFolder.message(errno))")
    }
    let descriptor = dup(fileno(file))
    fclose(file)
    spool = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  func add(_ cell: SheetCell) throws {
    let html = Data(try Self.html(cell).utf8)
    try state.withLock { state in
      try spool.write(contentsOf: html)
      state.cells.append((cell.row, state.length, html.count))
      state.length += html.count
      if cell.isFailure { state.failures += 1 }
    }
  }

  func finish(_ summary: String) throws {
    let (cells, failures) = state.withLock { ($0.cells.sorted { $0.row < $1.row }, $0.failures) }
    var html = Data(Self.head(title: title, summary: summary, count: cells.count, failures: failures).utf8)
    for cell in cells {
      try spool.seek(toOffset: UInt64(cell.offset))
      html += try spool.read(upToCount: cell.length) ?? Data()
    }
    html += Data(Self.foot.utf8)
    try OutputFolder.write(html, toPath: path)
  }

  private static func html(_ cell: SheetCell) throws -> String {
    let name = Escaping.html(cell.name), detail = Escaping.html(cell.detail)
    var picture = "<div class=\"none\" aria-hidden=\"true\">\(cell.isFailure ? "!" : "–")</div>"
    if let bitmap = cell.thumbnail {
      let format: ImageFormat = bitmap.isOpaque ? .jpeg : .png
      let data = try ImageEncoder().encode(
        bitmap, options: ImageEncodingOptions(format: format, quality: 85), cancellation: CancellationFlag())
      picture =
        "<img alt=\"\" width=\"\(bitmap.width)\" height=\"\(bitmap.height)\" loading=\"lazy\" src=\"data:image/\(format.rawValue);base64,\(data.base64EncodedString())\">"
    }
    return """
      <li class="\(cell.isFailure ? "failed" : "ok")" title="\(name)"><div class="picture">\(picture)</div>\
      <b dir="auto">\(name)</b><small dir="auto">\(detail)</small></li>

      """
  }

  private static func head(title: String, summary: String, count: Int, failures: Int) -> String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
    <meta name="generator" content="Calotype \(CalotypeVersion.string)">
    <title>\(Escaping.html(title))</title>
    <style>
    :root { color-scheme: light dark; --page: #f6f5f2; --card: #fff; --line: #e3e0d8; --text: #24221e; --dim: #77736a;
      --bad: #b3261e; --bad-card: #fdf0ee; --check: #efede8; }
    @media (prefers-color-scheme: dark) { :root { --page: #191816; --card: #232220; --line: #35332f; --text: #eceae4;
      --dim: #9b968b; --bad: #ff9a8f; --bad-card: #33201e; --check: #2b2a27; } }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--page); color: var(--text); font: 14px/1.4 system-ui, sans-serif; }
    header { padding: 28px clamp(16px, 4vw, 48px) 12px; }
    h1 { margin: 0; font-size: 22px; font-weight: 650; letter-spacing: -.01em; overflow-wrap: anywhere; }
    header p { margin: 4px 0 0; color: var(--dim); }
    header .bad { color: var(--bad); font-weight: 600; }
    ul { list-style: none; margin: 0; padding: 12px clamp(16px, 4vw, 48px) 48px; display: grid; gap: 12px;
      grid-template-columns: repeat(auto-fill, minmax(148px, 1fr)); }
    li { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px; min-width: 0;
      content-visibility: auto; contain-intrinsic-size: auto 176px; }
    .picture { height: 112px; display: grid; place-items: center; border-radius: 6px; margin-bottom: 8px;
      background: repeating-conic-gradient(var(--check) 0 25%, transparent 0 50%) 0 0 / 16px 16px; }
    img { max-width: 100%; max-height: 96px; object-fit: contain; }
    b, small { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; unicode-bidi: isolate; }
    b { font-weight: 550; }
    small { color: var(--dim); font-size: 12px; }
    .none { font-size: 32px; color: var(--dim); }
    .failed { background: var(--bad-card); border-color: color-mix(in srgb, var(--bad) 40%, transparent); }
    .failed small { color: var(--bad); white-space: normal; display: -webkit-box; -webkit-line-clamp: 2;
      -webkit-box-orient: vertical; }
    .failed .none { color: var(--bad); font-weight: 700; }
    .failed .picture { background: none; }
    </style>
    </head>
    <body>
    <header><h1 dir="auto">\(Escaping.html(title))</h1><p>\(Escaping.html(summary))\
    \(failures > 0 ? " · <span class=\"bad\">\(failures) failed</span>" : "")</p></header>
    <ul>

    """
  }

  private static let foot = "</ul>\n</body>\n</html>\n"
}
