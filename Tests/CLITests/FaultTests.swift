import Calotype
import Foundation
import TestSupport
import Testing

/// The whole tool while system calls fail, clocks are set, and it is killed.
@Suite struct FaultTests {
  private static let canSetClock: Bool =
    !Sanitizer.isOn && (try? SpawnedProgram("faketime", ["-f", "-1d", "true"]))?.wait() == 0

  private static let isWhole = ProcessInfo.processInfo.environment["CALOTYPE_FAULTS"] == "whole"

  private func server() throws -> ScriptedServer {
    let picture = Array(try Picture.png())
    return try ScriptedServer { _ in
      .ok(picture, type: "image/png", headers: [("Cache-Control", "max-age=3600"), ("ETag", "\"1\"")])
    }
  }

  private func list(_ server: ScriptedServer, _ count: Int) -> Data {
    Data((0..<count).map { "\(server.url("/\($0).png").absoluteString)\tPicture \($0)\n" }.joined().utf8)
  }

  /// One failing call costs at most the pictures that it struck; the next run completes the folder.
  @Test(.enabled(if: Strace.canFollow, "\(Strace.why)"))
  func aFetchInWhichACallFails() async throws {
    let server = try server(), tool = try Tool()
    try tool.folder.write(list(server, 6), to: "list.txt")
    var faults: [(String, String)] = []
    for what in ["error=ENOSPC", "error=EIO", "error=EINTR", "signal=SIGKILL"] {
      for (calls, numbers) in [
        ("openat", Self.isWhole ? Array(1...30) : [1, 2, 5]),
        ("write,writev,pwrite64", Self.isWhole ? Array(1...30) : [2, 9]),
        ("renameat,renameat2,linkat", Self.isWhole ? Array(1...12) : [3]), ("fsetxattr", [1]),
      ] {
        for number in numbers { faults.append((calls, "inject=\(calls):\(what):when=\(number)")) }
      }
    }
    for (number, (calls, injection)) in faults.enumerated() {
      let folder = "out\(number)"
      // Of opening, only what is opened in our folders counts, not the program's libraries.
      var paths: [String] = []
      if calls == "openat" {
        try FileManager.default.createDirectory(
          at: tool.folder.file(folder), withIntermediateDirectories: false)
        paths = [folder, "cache", "cache/v1", "cache/v1/images"].flatMap {
          ["-P", tool.folder.file($0).path]
        }
      }
      _ = try await runProcess(
        "strace",
        paths + [
          "-f", "-q", "-o", "/dev/null", "-e", "trace=\(calls)", "-e", "signal=none", "-e", injection,
          Tool.path,
          "fetch", "list.txt", "-o", folder, "--size", "20", "--cache-dir", "cache",
        ], folder: tool.folder.url)
      // What stands in the folder is whole, whatever happened.
      for name in tool.names(folder) where !name.hasPrefix(".") {
        #expect(try tool.info("\(folder)/\(name)").displaySize.width == 20, "\(injection): \(name)")
      }
      let again = try await tool("fetch", "list.txt", "-o", folder, "--size", "20", "--cache-dir", "cache")
      #expect(again.status == 0, "\(injection): \(again.errorText)")
      #expect(tool.names(folder).filter { !$0.hasPrefix(".") }.count == 6, "\(injection)")
    }
    let verify = try await tool("cache", "verify", "--cache-dir", "cache")
    #expect(verify.status == 0, "\(verify.text)")
  }

  /// K15, through the tool.
  @Test func fetchesThatShareACacheAndAreKilled() async throws {
    let server = try server(), tool = try Tool()
    try tool.folder.write(list(server, 200), to: "list.txt")
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<4 {
      let programs = try (0..<4).map { number in
        try SpawnedProgram(
          Tool.path,
          ["fetch", "list.txt", "-o", "out\(number)", "--size", "20", "--cache-dir", "cache", "--quiet"],
          folder: tool.folder.path)
      }
      for program in programs {
        usleep(UInt32.random(in: 10_000...150_000, using: &generator))
        program.signal(SIGKILL)
      }
      for program in programs { await program.ended() }
    }
    let verify = try await tool("cache", "verify", "--cache-dir", "cache", "--json")
    #expect(verify.status == 0, "\(verify.text)")
    for number in 0..<4 {
      let result = try await tool(
        "fetch", "list.txt", "-o", "out\(number)", "--size", "20", "--cache-dir", "cache")
      #expect(result.status == 0, "\(result.errorText)")
      #expect(tool.names("out\(number)").filter { $0.hasSuffix(".png") }.count == 200)
    }
  }

  /// A clock that is set back, or forward and back: nothing stale passes for fresh, nothing is thrown away.
  @Test(.enabled(if: canSetClock, "faketime is not there, or a sanitizer is on"))
  func clocksThatAreSet() async throws {
    let server = try server(), tool = try Tool()
    let address = server.url("/a.png").absoluteString
    func source(_ offset: String?) async throws -> String? {
      let arguments = ["get", "--json", "--cache-dir", "cache", address]
      let result =
        if let offset {
          try await runProcess(
            "faketime", ["-f", offset, Tool.path] + arguments,
            environment: ["FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"], folder: tool.folder.url)
        } else {
          try await tool.run(arguments)
        }
      #expect(result.status == 0, "\(offset ?? "now"): \(result.errorText)")
      return try jsonLines(result.output).first?["source"] as? String
    }
    func entries() async throws -> Int? {
      let result = try await tool("cache", "info", "--json", "--cache-dir", "cache")
      return try jsonLines(result.output).first?["entries"] as? Int
    }
    #expect(try await source(nil) == "network")
    #expect(try await source(nil) == "disk")
    // Stored in what is now the future: how old it is cannot be told.
    #expect(try await source("-1d") != "disk")
    // Confirmed yesterday, as it seems: stale today.
    #expect(try await source(nil) != "disk")
    #expect(try await source(nil) == "disk")
    #expect(try await source("+10d") != "disk")
    #expect(try await source(nil) != "disk")
    #expect(try await entries() == 1)
  }

  @Test(.enabled(if: geteuid() == 0, "only root may mount a file system"))
  func aFullDiskServesFromMemory() async throws {
    let server = try server(), tool = try Tool()
    try FileManager.default.createDirectory(at: tool.folder.file("full"), withIntermediateDirectories: false)
    let mount = tool.folder.file("full").path
    let mounted = try await runProcess("mount", ["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", mount])
    try #require(mounted.status == 0)
    _ = try await runProcess("dd", ["if=/dev/zero", "of=\(mount)/filler", "bs=4k"])
    try tool.folder.write(list(server, 6), to: "list.txt")
    let result = try await tool(
      "fetch", "list.txt", "-o", "out", "--size", "20", "--cache-dir", "full/cache")
    _ = try await runProcess("umount", ["-l", mount])
    #expect(result.status == 0, "\(result.errorText)")
    #expect(tool.names("out").count == 6)
    #expect(result.errorText.split(separator: "\n").count == 1, "\(result.errorText)")
  }
}
