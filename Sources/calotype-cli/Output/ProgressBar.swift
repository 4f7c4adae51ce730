import Calotype
import Dispatch
import Foundation

/// What a person sees of a long run: a bar on a terminal, a plain line now and then elsewhere.
final class ProgressBar: Sendable {
  /// What there is to show.
  struct Counts {
    var done = 0
    var failed = 0
    var bytes = 0
    /// `nil` while the list has not been read to its end; then `known` is a lower limit.
    var total: Int?
    var known = 0
  }

  private struct State {
    var counts = Counts()
    var isDrawn = false
    var isStopped = false
    var lastPlainLine = DispatchTime.now()
  }

  private let state = Lock(State())
  private let terminal: Terminal
  private let isQuiet: Bool
  private let isBar: Bool
  private let hasColors: Bool
  private let started = DispatchTime.now()
  /// Where it is drawn: a terminal that is held would hold up the timers.
  private let queue = DispatchQueue(label: "calotype.progress")
  private static let interval = 0.1
  private static let plainInterval = 5.0

  init(isQuiet: Bool, terminal: Terminal = .standardError) {
    self.terminal = terminal
    self.isQuiet = isQuiet
    isBar = !isQuiet && terminal.isInteractive
    hasColors = terminal.hasColors
  }

  /// Begins to draw.
  func start() {
    guard !isQuiet else { return }
    Timers.shared.after(Self.interval) { [self] in
      queue.async { [self] in if tick() { start() } }
    }
  }

  /// Changes what is shown.
  func update(_ change: (inout Counts) -> Void) { state.withLock { change(&$0.counts) } }

  /// Writes a line for the person, above the bar.
  func message(_ text: String) {
    state.withLock { state in
      if state.isDrawn { terminal.write("\r\u{1B}[K") }
      terminal.line(Escaping.displaySafe(text))
      if state.isDrawn { draw(state.counts) }
    }
  }

  /// Ends the bar and removes it.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      if state.isDrawn { terminal.write("\r\u{1B}[K\u{1B}[?25h") }
      state.isDrawn = false
    }
  }

  /// Seconds since the start.
  var elapsed: Double { Double(DispatchTime.now().uptimeNanoseconds - started.uptimeNanoseconds) / 1e9 }

  /// Draws; whether that goes on.
  private func tick() -> Bool {
    state.withLock { state in
      if state.isStopped { return false }
      if isBar {
        if !state.isDrawn { terminal.write("\u{1B}[?25l") }
        state.isDrawn = true
        draw(state.counts)
      } else if Double(DispatchTime.now().uptimeNanoseconds - state.lastPlainLine.uptimeNanoseconds) / 1e9
        >= Self.plainInterval
      {
        state.lastPlainLine = .now()
        terminal.line(summary(state.counts))
      }
      return true
    }
  }

  private func summary(_ counts: Counts) -> String {
    let total = counts.total.map(String.init) ?? "\(counts.known)+"
    let seconds = max(elapsed, 0.001)
    var text = "\(counts.done + counts.failed)/\(total)"
    text += "  \(Format.decimal(Double(counts.done) / seconds, 0)) images/s"
    text += "  \(Format.bytes(Int(Double(counts.bytes) / seconds)))/s"
    if let total = counts.total, counts.done + counts.failed > 0 {
      let rest = Double(total - counts.done - counts.failed) * seconds / Double(counts.done + counts.failed)
      text += "  \(Format.duration(rest)) left"
    }
    if counts.failed > 0 { text += "  \(counts.failed) failed" }
    return text
  }

  private func draw(_ counts: Counts) {
    let text = summary(counts)
    let width = min(40, terminal.columns - text.count - 5)
    var line = "\r"
    if width >= 8 {
      let share = counts.total.map { $0 == 0 ? 1 : Double(counts.done + counts.failed) / Double($0) } ?? 0
      let eighths = Int(Double(width * 8) * min(1, share))
      let bar =
        String(repeating: "█", count: eighths / 8)
        + (eighths % 8 == 0 ? "" : String(Array("▏▎▍▌▋▊▉")[eighths % 8 - 1]))
      let body = bar.padded(to: width)
      line += hasColors ? "\u{1B}[36m▕\(body)▏\u{1B}[0m " : "▕\(body)▏ "
    }
    line += String(text.prefix(max(0, terminal.columns - (width >= 8 ? width + 4 : 1))))
    terminal.write(line + "\u{1B}[K")
  }
}
