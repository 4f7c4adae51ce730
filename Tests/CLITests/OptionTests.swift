import Calotype
import Foundation
import TestSupport
import Testing

/// The options that every command with addresses has, through each of those commands but `get`.
@Suite struct OptionTests {
  enum Subject: String, CaseIterable, Sendable {
    case fetch, thumbnail, info, show

    /// A command line that loads an address.
    func line(_ url: URL) -> [String] {
      switch self {
      case .fetch: ["fetch", "list.txt", "--quiet"]
      case .thumbnail: ["thumbnail", url.absoluteString, "-o", "out.png"]
      case .info: ["info", url.absoluteString]
      case .show: ["show", url.absoluteString, "--as", "symbols", "--columns", "4"]
      }
    }
  }

  /// A tool with a list of one address.
  private func tool(_ url: URL) throws -> CLITests.Tool {
    let tool = try CLITests.Tool()
    try tool.folder.write("\(url.absoluteString)\n", to: "list.txt")
    return tool
  }

  @Test(arguments: Subject.allCases) func cacheOptions(subject: Subject) async throws {
    let picture = try Picture.png()
    let server = try ScriptedServer { _ in .ok(picture, headers: [("Cache-Control", "max-age=600")]) }
    let url = server.url("/a.png"), tool = try tool(url), line = subject.line(url)
    #expect(try await tool.run(line + ["--no-cache"]).status == 0)
    #expect(tool.names("xdg") == [], "--no-cache keeps nothing")
    #expect(try await tool.run(line + ["--cache-dir", "c", "--cache-mode", "only-if-cached"]).status == 1)
    #expect(server.requests.count == 1)
    #expect(try await tool.run(line + ["--cache-dir", "c"]).status == 0)
    #expect(tool.names("c") == ["v1"])
    #expect(try await tool.run(line + ["--cache-dir", "c", "--cache-mode", "only-if-cached"]).status == 0)
    #expect(server.requests.count == 2, "the second time it came from the cache")
    #expect(try await tool.run(line + ["--cache-dir", "c", "--cache-mode", "reload"]).status == 0)
    #expect(server.requests.count == 3)
    #expect(try await tool.run(line + ["--cache-dir", "d", "--cache-mode", "no-store"]).status == 0)
    #expect(try await tool.run(line + ["--cache-dir", "d", "--cache-mode", "force-cache"]).status == 0)
    #expect(server.requests.count == 5, "no-store stored nothing")
  }

  @Test(arguments: Subject.allCases) func networkOptions(subject: Subject) async throws {
    let picture = try Picture.png()
    let server = try ScriptedServer(routes: [
      "/twice.png": [.status(503), .status(503), .ok(picture)], "/a.png": [.ok(picture)],
      "/hang.png": [.hang],
    ])
    let twice = server.url("/twice.png")
    let failed = try await tool(twice).run(subject.line(twice) + ["--retries", "0"])
    #expect(failed.status == 1)
    #expect(server.requests("/twice.png").count == 1)
    let done = try await tool(twice).run(subject.line(twice) + ["--retries", "1"])
    #expect(done.status == 0, "\(done.errorText)")
    #expect(server.requests("/twice.png").count == 3)
    let hang = server.url("/hang.png")
    let late = try await tool(hang).run(subject.line(hang) + ["--timeout", "0.2", "--retries", "0"])
    #expect(late.status == 1)
    #expect(late.errorText.contains("hang.png"))
    let plain = server.url("/a.png")
    let sent = try await tool(plain).run(
      subject.line(plain) + ["--header", "X-Test: one", "-H", "X-Other: two"] + [
        "-c", "2", "--per-host", "1",
      ])
    #expect(sent.status == 0, "\(sent.errorText)")
    #expect(server.requests("/a.png").first?.header("X-Test") == "one")
    #expect(server.requests("/a.png").first?.header("X-Other") == "two")
  }

  @Test func headersStayWithTheirOrigin() async throws {
    let picture = try Picture.png()
    let other = try ScriptedServer(routes: ["/l.txt": [.ok(Array("a.png\n".utf8))], "/a.png": [.ok(picture)]])
    let server = try ScriptedServer(routes: [
      "/l.txt": [.redirect(other.url("/l.txt").absoluteString)],
      "/p1": [.redirect(other.url("/l.txt").absoluteString)],
    ])
    let secrets = ["-H", "X-Api-Key: k", "-H", "Authorization: Bearer t", "-H", "Accept-Language: fr"]
    for line in [
      [server.url("/l.txt").absoluteString],
      [
        "--page-url", server.url("/p{page}").absoluteString.removingPercentEncoding ?? "", "--last-page", "1",
      ],
    ] {
      let result = try await CLITests.Tool().run(["fetch"] + line + secrets)
      #expect(result.status == 0, "\(result.errorText)")
    }
    for request in server.requests {
      #expect(request.header("X-Api-Key") == "k", "\(request.target)")
      #expect(request.header("Authorization") == "Bearer t", "\(request.target)")
    }
    #expect(server.requests.count == 2)
    #expect(other.requests("/l.txt").count == 2)
    for request in other.requests("/l.txt") {
      #expect(request.header("X-Api-Key") == nil)
      #expect(request.header("Authorization") == nil)
      #expect(request.header("Accept-Language") == "fr", "what is no secret goes along")
    }
  }

  @Test func aListRedirectedForEverIsGivenUp() async throws {
    let server = try ScriptedServer { _ in .redirect("/again") }
    let result = try await CLITests.Tool()("fetch", server.url("/l.json").absoluteString)
    #expect(result.status == 1)
    #expect(result.errorText.contains("more than 10 redirects"), "\(result.errorText)")
    #expect(server.requests.count == 11)
  }

  @Test func columnsAndRowsBoundWhatIsShown() async throws {
    let tool = try CLITests.Tool()
    try tool.folder.write(try Picture.png(width: 100, height: 100), to: "a.png")
    func size(_ options: String...) async throws -> (columns: Int, rows: Int) {
      let result = try await tool.run(
        ["show", "a.png", "--as", "symbols"] + options, environment: ["TERM": "xterm", "NO_COLOR": "1"])
      #expect(result.status == 0, "\(result.errorText)")
      let lines = result.text.replacing(#/\u{1B}\[[0-9;?]*[a-zA-Z]/#, with: "").split(separator: "\n")
      return (lines.map(\.count).max() ?? 0, lines.count)
    }
    // A cell is twice as high as it is wide.
    let narrow = try await size("--columns", "10", "--rows", "100")
    #expect(narrow.columns <= 10 && narrow.rows == 5)
    let low = try await size("--columns", "100", "--rows", "3")
    #expect(low.columns <= 6 && low.rows == 3)
  }

  @Test func thumbnailTakesModeUpscaleFormatAndQuality() async throws {
    let tool = try CLITests.Tool()
    try tool.folder.write(try Picture.png(width: 40, height: 20), to: "a.png")
    func size(_ options: String...) async throws -> ImageInfo {
      let result = try await tool.run(["thumbnail", "a.png", "-o", "-"] + options)
      #expect(result.status == 0, "\(result.errorText)")
      return try ImageDecoder().inspect(result.output)
    }
    #expect(try await size("--size", "80").displaySize == PixelSize(width: 40, height: 20))
    #expect(try await size("--size", "80", "--upscale").displaySize == PixelSize(width: 80, height: 40))
    #expect(
      try await size("--size", "10x20", "--mode", "exact").displaySize == PixelSize(width: 10, height: 20))
    let webp = try await size("--size", "10x10", "--mode", "fill", "--format", "webp", "--quality", "20")
    #expect(webp.displaySize == PixelSize(width: 10, height: 10))
    #expect(webp.format == .webp)
  }

  @Test func infoSaysWhyInCodes() async throws {
    let server = try ScriptedServer(routes: ["/gone": [.status(404)]])
    let tool = try CLITests.Tool()
    let result = try await tool("info", "--json", server.url("/gone").absoluteString, "missing", "/dev/null")
    #expect(result.status == 1)
    let codes = try jsonLines(result.output).map { $0["error"] as? String }
    #expect(codes == ["http_404", "not_read", "empty"])
  }

  @Test func aFileWithoutAnEndIsNotReadForEver() async throws {
    let result = try await CLITests.Tool()("info", "/dev/zero")
    #expect(result.status == 1)
    #expect(result.errorText.contains("/dev/zero: is larger than 1.1 GB"), "\(result.errorText)")
  }

  @Test func aPipeIsWrittenIntoNotReplaced() async throws {
    let tool = try CLITests.Tool()
    try tool.folder.write(try Picture.png(), to: "a.png")
    let fifo = tool.folder.file("pipe").path
    #expect(mkfifo(fifo, 0o600) == 0)
    async let read = runProcess("cat", [fifo])
    let result = try await tool("thumbnail", "a.png", "-o", "pipe", "--size", "9", "--format", "png")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try ImageDecoder().inspect(try await read.output).displaySize.width == 9)
  }

  @Test func aFullDiskBehindStandardOutputIsAFailure() async throws {
    let tool = try CLITests.Tool()
    try tool.folder.write(try Picture.png(), to: "a.png")
    let result = try await runProcess(
      "/bin/sh", ["-c", "'\(CLITests.Tool.path)' info '\(tool.folder.file("a.png").path)' >/dev/full"])
    #expect(result.status == 1)
    #expect(result.errorText.contains("standard output: No space left on device"))
  }

  @Test func aRepeatedAddressTakesTheRoomOfOneFile() async throws {
    let picture = try Picture.png()
    let server = try ScriptedServer { _ in .ok(picture) }
    let tool = try CLITests.Tool(), address = server.url("/a.png").absoluteString
    try tool.folder.write("name,icon\n" + (0..<50).map { "N\($0),\(address)\n" }.joined(), to: "l.csv")
    try FileManager.default.createDirectory(at: tool.folder.file("out"), withIntermediateDirectories: true)
    try tool.folder.write("mine", to: "out/N7.png")
    let result = try await tool("fetch", "l.csv", "-o", "out", "--report", "r", "--sheet", "s.html")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(tool.names("out").count == 50)
    let numbers = try (0..<50).map {
      let path = tool.folder.file("out/N\($0).png").path
      return try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    }
    #expect(Set(numbers).count == 1)
    #expect(try tool.data("out/N7.png") == picture)
    let sums = Set(try tool.lines("r").map { $0["sha256"] as? String })
    #expect(sums.count == 1 && sums.first??.count == 64)
    #expect(server.requests.count == 1)
  }
}
