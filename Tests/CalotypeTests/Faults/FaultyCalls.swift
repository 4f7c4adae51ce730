import Foundation
import TestSupport

import class TestSupport.SpawnedProgram

/// Runs programs in which one system call fails: the n-th of its kind, by strace.
enum FaultyCalls {
  /// Whether the whole matrix is gone through, as scripts/faults asks for.
  static let isWhole = ProcessInfo.processInfo.environment["CALOTYPE_FAULTS"] == "whole"

  /// One field of the matrix.
  struct Fault: CustomStringConvertible, Sendable {
    var calls: String
    var number: Int
    /// `ENOSPC` and the like, or `SIGKILL`.
    var what: String
    var description: String { "\(what) at call \(number) of \(calls)" }

    var injection: String {
      what == "SIGKILL"
        ? "inject=\(calls):signal=SIGKILL:when=\(number)" : "inject=\(calls):error=\(what):when=\(number)"
    }
  }

  /// The calls that a store consists of.
  static func matrix() -> [Fault] {
    let numbers = isWhole ? Array(1...12) + [15, 20, 30, 50] : [1, 2, 4]
    var faults: [Fault] = []
    for what in ["ENOSPC", "EIO", "EINTR", "SIGKILL"] {
      for calls in [
        "openat", "write,writev,pwrite64", "rename,renameat,renameat2", "fsync,fdatasync", "unlink,unlinkat",
        "ftruncate", "mkdir,mkdirat", "close", "flock,fcntl",
      ]
      where isWhole || calls == "openat" || calls.contains("write") || calls.contains("rename")
        || calls.contains("unlink")
      {
        for number in numbers { faults.append(Fault(calls: calls, number: number, what: what)) }
      }
    }
    return faults
  }

  /// Starts a program in which a call fails. Of opening, only what is opened in some folders counts: a program
  /// opens a hundred libraries before anything of ours.
  static func start(
    _ fault: Fault, _ program: String, _ arguments: [String], environment: [String: String] = [:],
    in folders: [String]
  ) throws -> SpawnedProgram {
    let paths = fault.calls == "openat" ? folders.flatMap { ["-P", $0] } : []
    return try SpawnedProgram(
      "strace",
      paths + [
        "-f", "-q", "-o", "/dev/null", "-e", "trace=\(fault.calls)", "-e", "signal=none", "-e",
        fault.injection,
        program,
      ] + arguments, environment: environment)
  }

  /// A program that was built beside the tests.
  static func built(_ name: String) -> String {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent()
    while folder.path != "/" {
      let path = folder.appendingPathComponent(name).path
      if FileManager.default.isExecutableFile(atPath: path) { return path }
      folder.deleteLastPathComponent()
    }
    return name
  }
}
