import Calotype
import Foundation
import TestSupport

/// A built snippet, with a cache folder of its own.
struct Snippet: Sendable {
  let name: String
  private let folder: TemporaryFolder

  init(_ name: String) throws {
    self.name = name
    folder = try TemporaryFolder()
  }

  /// Where Swift puts programs: beside the tests.
  private var program: URL {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    while folder.path != "/" {
      folder.deleteLastPathComponent()
      let program = folder.appendingPathComponent(name)
      if FileManager.default.isExecutableFile(atPath: program.path) { return program }
    }
    return URL(fileURLWithPath: name)
  }

  private var environment: [String: String] { ["XDG_CACHE_HOME": folder.path] }

  /// Runs it to its end.
  func run(_ arguments: String...) async throws -> (status: Int32, lines: [String]) {
    let result = try await runProcess(program.path, arguments, environment: environment)
    return (result.status, result.text.split(separator: "\n").map(String.init))
  }

  /// Starts it.
  func start(_ arguments: String...) throws -> RunningSnippet {
    let output = Pipe()
    let writer = output.fileHandleForWriting
    let process = try SpawnedProgram(
      program.path, arguments, environment: environment, output: writer.fileDescriptor,
      errorOutput: writer.fileDescriptor)
    try writer.close()
    return RunningSnippet(process, output)
  }
}

/// A snippet that runs, and what it has written.
// Sound as Sendable: what changes is touched only on the queue.
final class RunningSnippet: @unchecked Sendable {
  private let process: SpawnedProgram
  private let output: Pipe
  private let queue = DispatchQueue(label: "snippet")
  private var text = ""

  init(_ process: SpawnedProgram, _ output: Pipe) {
    self.process = process
    self.output = output
  }

  deinit { process.signal(SIGKILL) }

  /// Sends it a signal.
  func signal(_ number: Int32) { process.signal(number) }

  /// Waits until it has written a text, or has ended, and gives all that it has written.
  func output(until end: String) async -> String {
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        while !text.contains(end) {
          let data = output.fileHandleForReading.availableData
          guard !data.isEmpty else { break }
          text += String(decoding: data, as: UTF8.self)
        }
        continuation.resume(returning: text)
      }
    }
  }

  /// Waits for its end. Gives its status and all that it has written.
  func end() async -> (status: Int32, text: String) {
    let text = await output(until: "what no program writes")
    return (await process.ended(), text)
  }
}

/// Counts how many are in a place at once.
final class Crowd: Sendable {
  private let counts = Lock((now: 0, most: 0))

  /// The most that were there at once.
  var most: Int { counts.withLock { $0.most } }

  /// Goes in. Returns how many are there now.
  @discardableResult
  func enter() -> Int {
    counts.withLock { counts in
      counts.now += 1
      counts.most = max(counts.most, counts.now)
      return counts.now
    }
  }

  func leave() { counts.withLock { $0.now -= 1 } }
}

/// Pictures to serve.
enum Picture {
  /// A PNG of noise, about 4 bytes a pixel.
  static func png(width: Int = 64, height: Int = 64) throws -> Data {
    var state: UInt32 = 1
    let bitmap = try Bitmap(size: PixelSize(width: width, height: height), isOpaque: true) { pixels in
      for at in pixels.indices {
        state = state &* 1_664_525 &+ 1_013_904_223
        pixels[at] = at % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: state >> 24)
      }
    }
    return try ImageEncoder().encode(bitmap, options: .init(format: .png), cancellation: CancellationFlag())
  }
}
