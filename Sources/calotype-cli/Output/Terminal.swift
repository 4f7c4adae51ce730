import Calotype
import Foundation
import Synchronization

/// Standard output or standard error: whole lines, written at once.
struct Terminal: Sendable {
  static let standardOutput = Terminal(descriptor: 1)
  static let standardError = Terminal(descriptor: 2)

  /// Why standard output could not be written, or 0.
  static let outputError = Atomic<Int32>(0)

  let descriptor: Int32

  /// Puts something in the place of standard input, output and error where the program was started without them:
  /// the next file that is opened, such as the cache's index, would be taken for them. What stands there cannot be
  /// read or written, so that a command that needs it fails.
  static func keepDescriptors() {
    for (descriptor, mode) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_WRONLY)]
    where fcntl(descriptor, F_GETFD) == -1 {
      // The lowest free number is this one.
      _ = open("/dev/null", mode)
    }
  }

  /// Whether a person sees it, on a terminal that can be drawn on.
  var isInteractive: Bool {
    isatty(descriptor) == 1
      && ProcessInfo.processInfo.environment["TERM"].map { $0 != "dumb" && !$0.isEmpty } == true
  }

  /// Whether colours are wanted (no-color.org).
  var hasColors: Bool {
    isInteractive && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
  }

  /// Columns, 80 where that is not known.
  var columns: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Writes a text as it is.
  func write(_ text: String) { write(bytes: Array(text.utf8)) }

  /// Writes a text and a line end.
  func line(_ text: String) { write(text + "\n") }

  /// Writes bytes, all of them, unless the reader has gone.
  func write(bytes: [UInt8]) {
    bytes.withUnsafeBytes { buffer in
      var at = 0
      while at < buffer.count {
        let count = Glibc.write(descriptor, buffer.baseAddress.map { $0 + at }, buffer.count - at)
        if count < 0, errno == EINTR { continue }
        if count <= 0 {
          // A reader that has gone has read what it wanted; a full disk is a failure.
          if errno != EPIPE, descriptor == 1 { Self.outputError.store(errno, ordering: .relaxed) }
          return
        }
        at += count
      }
    }
  }
}

/// Texts for people.
enum Format {
  /// For example `1.2 MB`; units of 1000.
  static func bytes(_ count: Int) -> String {
    if count < 1000 { return "\(count) B" }
    var value = Double(count)
    for unit in ["kB", "MB", "GB", "TB", "PB"] {
      value /= 1000
      if value < 999.5 || unit == "PB" { return decimal(value, value < 9.95 ? 1 : 0) + " " + unit }
    }
    return "\(count) B"
  }

  /// For example `1 picture` or `2 pictures`.
  static func count(_ count: Int, _ one: String, _ several: String) -> String {
    "\(count) \(count == 1 ? one : several)"
  }

  /// For example `1:05` or `2:03:04`.
  static func duration(_ seconds: Double) -> String {
    guard seconds.isFinite, seconds < 360_000 else { return "–" }
    let whole = Int(seconds.rounded(.up))
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60)
    let two = rest < 10 ? "0\(rest)" : "\(rest)"
    if hours == 0 { return "\(minutes):\(two)" }
    return "\(hours):\(minutes < 10 ? "0" : "")\(minutes):\(two)"
  }

  /// A number with so many digits after the point.
  static func decimal(_ value: Double, _ digits: Int) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "–" }
    var factor = 1.0
    for _ in 0..<digits { factor *= 10 }
    let scaled = Int((abs(value) * factor).rounded())
    let text = String(scaled)
    let sign = value < 0 && scaled != 0 ? "-" : ""
    if digits == 0 { return sign + text }
    let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
    return sign + padded.dropLast(digits) + "." + padded.suffix(digits)
  }
}
