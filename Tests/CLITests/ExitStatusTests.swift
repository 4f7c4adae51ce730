import Calotype
import Foundation
import TestSupport
import Testing

/// What the README says of exit statuses, held against the tool.
@Suite struct ExitStatusTests {
  /// Files, a server, and command lines by the status that each is to leave with.
  private struct Bench {
    let tool: Tool
    let server: ScriptedServer

    init() throws {
      tool = try Tool()
      let picture = try Picture.png()
      server = try ScriptedServer { request in
        switch request.path {
        case "/a.png": .ok(picture, headers: [("Cache-Control", "max-age=600")])
        case "/l.json": .ok(Array("[{\"icon\":\"a.png\"}]".utf8))
        case "/hang": .hang
        default: .status(404)
        }
      }
      try tool.folder.write(picture, to: "a.png")
      try tool.folder.write("text", to: "text.png")
      try tool.folder.write("\(server.url("/a.png").absoluteString)\n", to: "good.txt")
      try tool.folder.write("\(server.url("/404").absoluteString)\n", to: "bad.txt")
      try tool.folder.write("[{\"icon\":null}]", to: "row.json")
      try tool.folder.write("\(server.url("/hang").absoluteString)\n", to: "hang.txt")
      try tool.folder.write("", to: "empty.txt")
      try tool.folder.write("null", to: "null.json")
    }

    var lines: [Int32: [[String]]] {
      let good = server.url("/a.png").absoluteString, gone = server.url("/404").absoluteString
      return [
        0: [
          ["--version"], ["--help"], ["help", "fetch"], ["fetch", "--help"], ["man"],
          ["completions", "fish"],
          ["fetch", "good.txt"], ["fetch", server.url("/l.json").absoluteString], ["fetch", "empty.txt"],
          // The server's answer is what was asked for, whatever it says.
          ["get", good], ["get", gone], ["thumbnail", "a.png", "-o", "b.png"], ["info", "a.png", good],
          ["show", "a.png"], ["cache", "info"], ["cache", "list"], ["cache", "path"], ["cache", "verify"],
          ["cache", "trim", "1G"], ["cache", "remove", good], ["cache", "clear"], ["doctor"],
        ],
        1: [
          ["fetch", "bad.txt"], ["fetch", "row.json"], ["fetch", "null.json"], ["fetch", "missing.txt"],
          ["fetch", gone], ["fetch", "good.txt", "-o", "a.png/x"],
          ["fetch", "good.txt", "--report", "a.png/x"], ["fetch", "good.txt", "--sheet", "a.png/x.html"],
          ["get", "http://127.0.0.1:1/"], ["get", "http://127.0.0.1:1/", "--cache-mode", "only-if-cached"],
          ["get", good, "-o", "a.png/x"], ["get", good, "--body", "missing"],
          ["thumbnail", "text.png", "-o", "c.png"], ["thumbnail", "a.png", "missing", "-o", "out"],
          ["thumbnail", "a.png", "-o", "a.png/x.png"], ["info", "text.png"], ["info", "a.png", "missing"],
          ["show", "missing"], ["info", "/proc/self/mem"],
          ["cache", "remove", "http://127.0.0.1:1/never"],
          ["doctor", "--cache-dir", "a.png/x"],
        ],
        2: [
          [], ["fecth"], ["--bogus"], ["fetch"], ["fetch", ""], ["fetch", "-", "-"],
          ["fetch", "good.txt", "-o", "-"], ["fetch", "good.txt", "--report", "-"],
          ["fetch", "good.txt", "--sheet", "x.jpg"], ["fetch", "good.txt", "--sheet", "-"],
          ["fetch", "good.txt", "--report", "x", "--har", "./x"],
          ["fetch", "--page-url", "http://h/{page}", "--first-page", "3", "--last-page", "1"],
          ["fetch", "--page-url", "http://h/{page}", "--last-page", "0"],
          ["get"], ["get", "a.png"], ["get", good, "-o", "-", "--json"], ["get", good, "-o", ""],
          ["thumbnail", "a.png"], ["thumbnail", "a.png", "a.png", "-o", "-"],
          ["thumbnail", "a.png", "-o", "-", "--json"], ["thumbnail", "a.png", "-o", "b.gif"],
          ["thumbnail", "", "-o", "c.png"], ["info"], ["info", ""], ["show", ""], ["cache"], ["cache", "x"],
          ["doctor", "x"], ["completions"], ["man", "x"],
        ],
      ]
    }
  }

  @Test(arguments: [Int32(0), 1, 2]) func everyCommandLeavesWithTheStatusThatIsDocumented(status: Int32)
    async throws
  {
    let bench = try Bench()
    for line in try #require(bench.lines[status]) {
      let result = try await bench.tool.run(line)
      #expect(result.status == status, "\(line): \(result.errorText)")
      // Whatever is not well is said, on standard error; doctor's findings are its output.
      #expect(
        result.errorText.isEmpty == (status == 0) || line.first == "doctor" || line == ["fetch", "empty.txt"]
          || line.starts(with: ["cache", "remove"]), "\(line): \(result.errorText)")
    }
  }

  @Test(arguments: [
    ["fetch", "hang.txt"], ["get", "URL"], ["thumbnail", "URL", "-o", "x.png"],
  ]) func anInterruptedRunLeavesWith130(line: [String]) async throws {
    let bench = try Bench()
    let line = line.map { $0 == "URL" ? bench.server.url("/hang").absoluteString : $0 }
    let process = try SpawnedProgram(Tool.path, line + ["--no-cache"], folder: bench.tool.folder.url.path)
    try await bench.server.waitForRequests(1)
    process.signal(SIGINT)
    #expect(await process.ended() == 130, "\(line)")
  }

  @Test func theREADMEDocumentsTheseAndNoOthers() throws {
    let readme = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("README.md")
    let statuses = try String(contentsOf: readme, encoding: .utf8).matches(of: /\n\| (\d+) \|/).map(\.1)
    #expect(statuses == ["0", "1", "2", "130"])
  }

  @Test func outputThatCannotBeWrittenIsAFailure() async throws {
    let tool = try Tool()
    try tool.folder.write(try Picture.png(), to: "a.png")
    for line in ["info a.png", "thumbnail a.png -o -", "man", "--help", "cache info"] {
      let full = try await runProcess(
        "sh", ["-c", "'\(Tool.path)' \(line) >/dev/full"], folder: tool.folder.url)
      #expect(full.status == 1, "\(line)")
      #expect(full.errorText.contains("standard output: No space left on device"), "\(line)")
      let closed = try await runProcess("sh", ["-c", "'\(Tool.path)' \(line) >&-"], folder: tool.folder.url)
      #expect(closed.status == 1, "\(line)")
      #expect(closed.errorText.contains("standard output: Bad file descriptor"), "\(line)")
    }
  }
}
