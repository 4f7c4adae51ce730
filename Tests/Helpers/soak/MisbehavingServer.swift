import Calotype
import Foundation
import TestSupport

/// Answers as a bad day's servers do: mostly well, at times late, short, with nonsense, or not at all.
final class MisbehavingServer: Sendable {
  private let server: ScriptedServer

  init(seed: UInt64) throws {
    let pictures = try (0..<200).map { number in
      try Array(
        ImageEncoder().encode(
          Bitmap(size: PixelSize(width: 64, height: 64), isOpaque: true) { pixels in
            for at in stride(from: 0, to: pixels.count, by: 4) {
              (pixels[at], pixels[at + 1], pixels[at + 2], pixels[at + 3]) = (Self.color(number), 90, 60, 255)
            }
          }, options: ImageEncodingOptions(format: .png), cancellation: CancellationFlag()))
    }
    let random = Lock(SoakRandom(state: seed &+ 1))
    server = try ScriptedServer { request in
      guard let number = Int(request.path.dropFirst().prefix { $0.isNumber }), number < 200 else {
        return .status(404)
      }
      return Self.answer(to: request, number, pictures[number], random.withLock { $0.next() })
    }
  }

  func url(_ number: Int) -> URL { server.url("/\(number).png") }

  /// The red of a picture.
  static func color(_ number: Int) -> UInt8 { UInt8(number + 20) }

  /// Lets the log of requests go, which would pass for a leak.
  func forget() { server.forgetRequests() }

  func stop() { server.stop() }

  private static func answer(
    to request: ScriptedServer.Request, _ number: Int, _ picture: [UInt8], _ dice: UInt64
  ) -> Script {
    let tag = "\"\(number)\""
    let lifetime = ["max-age=60", "no-cache", "max-age=0, stale-while-revalidate=60", "no-store"][
      Int(dice >> 8 & 3)]
    let fields = [("Cache-Control", lifetime), ("ETag", tag)]
    if request.header("If-None-Match") == tag, dice & 1 == 0 { return .status(304, headers: fields) }
    switch dice >> 16 % 32 {
    case 0: return .reset
    case 1: return .close
    case 2: return .truncated(Array(picture.prefix(picture.count / 2)), promising: picture.count)
    case 3: return .status(404, headers: [("Cache-Control", "max-age=1")])
    case 4: return .status(503, headers: [("Retry-After", "0")])
    case 5: return .status(500, body: picture)
    case 6: return .ok(Array("<html>no picture here</html>".utf8), type: "image/png")
    case 7: return .ok([])
    case 8: return [.raw("HTTP/1.1 2oo OK\r\n\r\nnonsense"), .close]
    case 9: return .redirect("/\(number).png?again")
    case 10: return .endless()
    case 11:
      return [.head(200, [("Content-Length", "\(picture.count)")]), .body(Array(picture.prefix(40))), .hang]
    case 12: return .gzip(picture, type: "image/png")
    case 13: return .chunked([picture], headers: [("Content-Type", "image/png")])
    case 14: return [.pause(milliseconds: 30), .response(200, fields, body: picture)]
    case 15:
      return [.head(200, fields + [("Content-Length", "\(picture.count)")]), .drip(picture, milliseconds: 1)]
    case 16: return .ok(Array(picture.dropLast(20)), type: "image/png", headers: fields)
    default: return .ok(picture, type: "image/png", headers: fields)
    }
  }
}

/// The same numbers for the same seed.
struct SoakRandom: RandomNumberGenerator, Sendable {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// What the process holds.
struct Measures: CustomStringConvertible, Sendable {
  var residentBytes = 0
  var files = 0
  var threads = 0

  var description: String { "\(residentBytes >> 10) KB resident, \(files) files, \(threads) threads" }

  static func now() -> Measures {
    var measures = Measures()
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    for line in status.split(separator: "\n") {
      let number = Int(line.split { !$0.isNumber }.first ?? "") ?? 0
      if line.hasPrefix("VmRSS:") { measures.residentBytes = number << 10 }
      if line.hasPrefix("Threads:") { measures.threads = number }
    }
    measures.files = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).count
    return measures
  }

  /// Gives free memory back; not every C library can.
  private static let trim = dlsym(nil, "malloc_trim").map {
    unsafeBitCast($0, to: (@convention(c) (Int) -> Int32).self)
  }

  /// After what was begun has ended and free memory has been given back.
  static func settled() async -> Measures {
    var last = now()
    for _ in 0..<20 {
      try? await Task.sleep(for: .milliseconds(500))
      _ = trim?(0)
      let next = now()
      if next.files == last.files, next.threads <= last.threads,
        next.residentBytes >= last.residentBytes - 65_536
      {
        return next
      }
      last = next
    }
    return last
  }
}
