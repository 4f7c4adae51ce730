import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Ports and plain requests on 127.0.0.1.
public enum Loopback {
  /// Ports that nothing listened on a moment ago, all different.
  public static func freePorts(_ count: Int) throws -> [UInt16] {
    // All stay bound until the last is found, so that none is handed out twice.
    var sockets: [Int32] = []
    defer { for socket in sockets { close(socket) } }
    return try (0..<count).map { _ in
      let descriptor = socket(AF_INET, streamType, 0)
      guard descriptor >= 0 else { throw LoopbackError(call: "socket", code: errno) }
      sockets.append(descriptor)
      var address = address(port: 0)
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let status = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
        }
      }
      guard status == 0 else { throw LoopbackError(call: "bind", code: errno) }
      return UInt16(bigEndian: address.sin_port)
    }
  }

  /// Waits until a GET of a path is answered with a body, at most 10 seconds.
  ///
  /// - Parameter condition: Waiting ends, with `false`, once this no longer holds.
  static func waitForAnswer(port: UInt16, path: String, body: String, while condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now + .seconds(10)
    while ContinuousClock.now < end, condition() {
      if get(path, port: port)?.hasSuffix(body) == true { return true }
      usleep(2000)
    }
    return false
  }

  /// The whole answer to an HTTP/1.0 GET, or `nil` where nobody answers.
  private static func get(_ path: String, port: UInt16) -> String? {
    let descriptor = socket(AF_INET, streamType, 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var address = address(port: port)
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard connected else { return nil }
    var limit = timeval(tv_sec: 2, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let request = Array("GET \(path) HTTP/1.0\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, sendFlags) == request.count else { return nil }
    var answer: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(descriptor, &piece, piece.count, 0)
      guard count > 0 else { break }
      answer += piece[..<count]
    }
    return String(decoding: answer, as: UTF8.self)
  }

  private static func address(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  #if os(Linux)
    // Closed on exec, so that a child of another test does not hold the port, or a lifeline's end.
    fileprivate static let streamType = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    private static let sendFlags = Int32(MSG_NOSIGNAL)
  #else
    fileprivate static let streamType = SOCK_STREAM
    private static let sendFlags: Int32 = 0
  #endif
}

/// A system call on a socket that failed.
public struct LoopbackError: Error, CustomStringConvertible, Sendable {
  /// The call.
  public var call: String
  /// Its `errno`.
  public var code: Int32
  /// The call and the system's words.
  public var description: String { "\(call): \(String(cString: strerror(code)))" }
}

/// A pair of sockets whose other end a child process reads: the child sees its end when this side is cut, also by the
/// death of this process.
final class Lifeline: Sendable {
  /// For the child's standard input.
  let readEnd: FileHandle
  private let writeEnd: Mutex<Int32?>

  init() throws {
    var ends: [Int32] = [0, 0]
    guard socketpair(AF_UNIX, Loopback.streamType, 0, &ends) == 0 else {
      throw LoopbackError(call: "socketpair", code: errno)
    }
    readEnd = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    writeEnd = Mutex(ends[1])
  }

  deinit { _ = cut() }

  /// Closes this process's copy of the child's end.
  func closeReadEnd() { try? readEnd.close() }

  /// Cuts the line; `false` where it was cut before.
  func cut() -> Bool {
    writeEnd.withLock { descriptor in
      guard let open = descriptor else { return false }
      close(open)
      descriptor = nil
      return true
    }
  }
}
