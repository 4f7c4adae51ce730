import Calotype
import Foundation

/// A program that runs beside the tests.
///
/// It stands in for Foundation's `Process`, which on Linux may wait for ever for a program that has ended,
/// when it waits on any but the main thread, and which passes on the signals that Dispatch's threads block.
public final class SpawnedProgram: Sendable {
  /// Why a program could not be started.
  public struct Failure: Error, CustomStringConvertible {
    /// The program, and what the system says.
    public let description: String
  }

  /// The system's number for it.
  public let processIdentifier: pid_t
  private let status = Lock<Int32?>(nil)

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - program: Its path, or a name that the PATH finds.
  ///   - arguments: Its arguments.
  ///   - environment: Variables to add to this process's own.
  ///   - folder: Where it runs; here by default.
  ///   - input: Its standard input; empty by default.
  ///   - output: Its standard output; thrown away by default.
  ///   - errorOutput: Its standard error; thrown away by default.
  public init(
    _ program: String, _ arguments: [String], environment: [String: String] = [:], folder: String? = nil,
    input: Int32? = nil, output: Int32? = nil, errorOutput: Int32? = nil
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (descriptor, target, mode) in [
      (input, Int32(0), O_RDONLY), (output, 1, O_WRONLY), (errorOutput, 2, O_WRONLY),
    ] {
      if let descriptor {
        posix_spawn_file_actions_adddup2(&actions, descriptor, target)
      } else {
        posix_spawn_file_actions_addopen(&actions, target, "/dev/null", mode, 0)
      }
    }
    _ = Self.closeFrom?(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let variables = ProcessInfo.processInfo.environment.merging(environment) { _, added in added }
    // Of several ways to begin in another folder, env's works with every C library.
    let command = folder.map { ["env", "-C", $0, program] } ?? [program]
    let words = (command + arguments).map { strdup($0) } + [nil]
    let settings = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in words + settings { free(text) } }
    var identifier = pid_t()
    let error = posix_spawnp(&identifier, command[0], &actions, &attributes, words, settings)
    guard error == 0 else { throw Failure(description: "\(program): \(String(cString: strerror(error)))") }
    processIdentifier = identifier
  }

  /// Closes all files from a number on in the program; the C library's module does not show it.
  private static let closeFrom = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
    unsafeBitCast(
      $0, to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32).self)
  }

  /// Sends a signal, unless it has ended and has been waited for.
  public func signal(_ number: Int32) {
    status.withLock { if $0 == nil { kill(processIdentifier, number) } }
  }

  /// Waits for its end on this thread: the exit status, or a signal's number plus 128.
  @discardableResult
  public func wait() -> Int32 {
    // Not under the lock: the wait may be long, and somebody may want to end it.
    var information = siginfo_t()
    while waitid(P_PID, id_t(processIdentifier), &information, WEXITED | WNOWAIT) == -1, errno == EINTR {}
    return status.withLock { known in
      if let known { return known }
      var raw: Int32 = 0
      while waitpid(processIdentifier, &raw, 0) == -1, errno == EINTR {}
      let result = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : 128 + (raw & 0x7F)
      known = result
      return result
    }
  }

  /// Waits for its end without holding a thread of Swift's.
  @discardableResult
  public func ended() async -> Int32 {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: self.wait()) }
    }
  }
}
