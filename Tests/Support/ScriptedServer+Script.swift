import Calotype
import Foundation

/// What a ``ScriptedServer`` does for one request: steps, one after the other.
public struct Script: Sendable, ExpressibleByArrayLiteral {
  /// The steps.
  public var steps: [Step]

  /// Creates a script.
  public init(_ steps: [Step]) { self.steps = steps }
  /// Creates a script.
  public init(arrayLiteral elements: Step...) { steps = elements }

  /// 200 with a body, its length, and a media type.
  public static func ok(
    _ body: some Sequence<UInt8>, type: String = "application/octet-stream",
    headers: [(String, String)] = []
  ) -> Script {
    [.response(200, [("Content-Type", type)] + headers, body: Array(body))]
  }

  /// A status with a body and its length.
  public static func status(
    _ status: Int, headers: [(String, String)] = [], body: some Sequence<UInt8> = []
  ) -> Script {
    [.response(status, headers, body: Array(body))]
  }

  /// A redirect.
  public static func redirect(
    _ location: String, status: Int = 302, headers: [(String, String)] = []
  ) -> Script {
    [.response(status, [("Location", location)] + headers, body: [])]
  }

  /// 200 with a body, compressed for the way.
  public static func gzip(_ body: [UInt8], type: String = "application/octet-stream") -> Script {
    [.response(200, [("Content-Type", type), ("Content-Encoding", "gzip")], body: Gzip.wrap(body))]
  }

  /// 200 with a body in pieces, chunked, with a pause before each piece.
  public static func chunked(
    _ pieces: [[UInt8]], headers: [(String, String)] = [], pauseMilliseconds: Int = 0
  ) -> Script {
    var steps: [Step] = [.head(200, [("Transfer-Encoding", "chunked")] + headers)]
    for piece in pieces {
      if pauseMilliseconds > 0 { steps.append(.pause(milliseconds: pauseMilliseconds)) }
      steps.append(.chunk(piece))
    }
    return Script(steps + [.lastChunk])
  }

  /// Promises a length, sends fewer bytes, and closes.
  public static func truncated(_ body: [UInt8], promising length: Int) -> Script {
    [.head(200, [("Content-Length", "\(length)")]), .body(body), .close]
  }

  /// A body without length or end: pieces until the peer closes.
  public static func endless(piece: [UInt8] = [UInt8](repeating: 0x61, count: 16 << 10)) -> Script {
    [.head(200, [("Connection", "close")]), .endless(piece), .close]
  }

  /// Resets the connection without an answer.
  public static let reset: Script = [.reset]
  /// Closes the connection without an answer.
  public static let close: Script = [.close]
  /// Never answers; ends when the peer closes.
  public static let hang: Script = [.hang]

  /// This script after a pause.
  public func after(milliseconds: Int) -> Script { Script([.pause(milliseconds: milliseconds)] + steps) }

  /// This script after the gate has been opened.
  public func after(_ gate: Gate) -> Script { Script([.wait(gate)] + steps) }
}

/// One thing that a ``ScriptedServer`` does.
public enum Step: Sendable {
  /// A whole answer: status line, the given headers, Content-Length, and the body (not for HEAD).
  case response(Int, [(String, String)] = [], body: [UInt8])
  /// A status line and headers as given, nothing added.
  case head(Int, [(String, String)])
  /// Bytes as they are: a head of one's own, nonsense, anything.
  case raw([UInt8])
  /// Bytes of the body.
  case body([UInt8])
  /// The body, one byte after the other with a pause between.
  case drip([UInt8], milliseconds: Int)
  /// One chunk of a chunked body.
  case chunk([UInt8])
  /// The end of a chunked body.
  case lastChunk
  /// The same bytes again and again until the peer closes.
  case endless([UInt8])
  /// Nothing for a while.
  case pause(milliseconds: Int)
  /// Nothing until the test opens the gate.
  case wait(Gate)
  /// Opens a gate, so that the test knows how far the script is.
  case open(Gate)
  /// Runs a closure on the connection's thread.
  case run(@Sendable () -> Void)
  /// Ends the connection in order (FIN).
  case close
  /// Ends the connection with a reset (RST).
  case reset
  /// Nothing until the peer closes.
  case hang

  /// Text as it is, its line breaks to be written as `\r\n`.
  public static func raw(_ text: String) -> Step { .raw(Array(text.utf8)) }
  /// Text as the body.
  public static func body(_ text: String) -> Step { .body(Array(text.utf8)) }
}

/// Stays shut until it is opened, once and for all. Scripts and tests wait at it.
public final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var continuations: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Lock(State())
  // Becomes readable when the gate opens, so that a thread can wait for it and a socket together.
  let descriptor: Int32
  private let writer: Int32

  /// Creates a gate that is shut.
  public init() {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0, "no pipe: \(String(cString: strerror(errno)))")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    descriptor = ends[0]
    writer = ends[1]
  }

  deinit {
    Glibc.close(descriptor)
    Glibc.close(writer)
  }

  /// Whether it has been opened.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Lets everybody through.
  public func open() {
    let waiting: [CheckedContinuation<Void, Never>]? = state.withLock { state in
      guard !state.isOpen else { return nil }
      state.isOpen = true
      defer { state.continuations = [] }
      return state.continuations
    }
    guard let waiting else { return }
    var byte: UInt8 = 1
    _ = Glibc.write(writer, &byte, 1)
    for continuation in waiting { continuation.resume() }
  }

  /// Waits until it is open.
  public func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.continuations.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}

/// The gzip format (RFC 1952) without compressing: stored blocks. For bodies that have to be small when
/// they travel, compress with the system's `gzip`.
public enum Gzip {
  /// Wraps bytes.
  public static func wrap(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
    var start = 0
    repeat {
      let end = min(start + 65_535, bytes.count)
      let count = UInt16(end - start)
      result.append(end == bytes.count ? 1 : 0)
      result += [UInt8(count & 0xFF), UInt8(count >> 8), UInt8(~count & 0xFF), UInt8(~count >> 8)]
      result += bytes[start..<end]
      start = end
    } while start < bytes.count
    for number in [checksum(bytes), UInt32(truncatingIfNeeded: bytes.count)] {
      result += (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    return result
  }

  /// CRC-32 as gzip has it.
  static func checksum(_ bytes: [UInt8]) -> UInt32 {
    var value: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
      value ^= UInt32(byte)
      for _ in 0..<8 { value = value & 1 == 1 ? (value >> 1) ^ 0xEDB8_8320 : value >> 1 }
    }
    return ~value
  }
}
