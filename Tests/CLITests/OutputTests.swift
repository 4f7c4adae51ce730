import Calotype
import Foundation
import TestSupport
import Testing

@testable import calotype_cli

/// Where results are written, and what is said where they cannot be.
@Suite struct OutputTests {
  typealias Program = CLITests.Tool

  @Test func reportAndSheetMakeTheirFolders() async throws {
    let server = try ScriptedServer(routes: ["/a.png": [.ok(try Picture.png())]])
    let tool = try Program()
    try tool.folder.write("\(server.url("/a.png").absoluteString)\n", to: "l")
    let result = try await tool("fetch", "l", "--report", "a/b/r", "--sheet", "c/d/s.HTM", "--har", "e/h")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(tool.names("a/b") == ["r"] && tool.names("c/d") == ["s.HTM"] && tool.names("e") == ["h"])
    #expect(try tool.data("c/d/s.HTM").starts(with: Data("<!DOCTYPE html>".utf8)))
  }

  @Test(arguments: [
    ["fetch", "l", "--report", "file/r", "--sheet", "s.html"],
    ["fetch", "l", "--report", "r", "--sheet", "file/s.html"],
    ["fetch", "l", "--report", "r", "--sheet", "folder"], ["fetch", "l", "--report", "folder/"],
    ["fetch", "l", "--report", "r", "--har", "file/x/h"], ["get", "URL", "-o", "folder"],
    ["get", "URL", "-o", "file/x"], ["thumbnail", "URL", "-o", "file/x.png"],
  ]) func whatCannotBeWrittenIsSaidBeforeTheWork(line: [String]) async throws {
    let server = try ScriptedServer(routes: ["/a.png": [.ok(try Picture.png())]])
    let tool = try Program()
    try tool.folder.write("\(server.url("/a.png").absoluteString)\n", to: "l")
    try tool.folder.write("", to: "file")
    try tool.folder.write("earlier", to: "r")
    try FileManager.default.createDirectory(at: tool.folder.file("folder"), withIntermediateDirectories: true)
    let line = line.map { $0 == "URL" ? server.url("/a.png").absoluteString : $0 }
    let result = try await tool.run(line)
    #expect(result.status == 1, "\(result.errorText)")
    #expect(
      result.errorText.contains("file: the folder cannot be made") || result.errorText.contains("folder"))
    #expect(server.requests.isEmpty)
    #expect(try tool.data("r") == Data("earlier".utf8), "an earlier report is not emptied for nothing")
  }

  @Test func dashIsStandardOutputForOneResult() async throws {
    let picture = try Picture.png()
    let server = try ScriptedServer(routes: ["/a.png": [.ok(picture)]])
    let tool = try Program()
    let result = try await tool("get", server.url("/a.png").absoluteString, "-o", "-")
    #expect(result.output == picture)
    #expect(tool.names("") == ["xdg"])
  }

  /// What is open already, as by a shell's `>>`, is written to: what stands there stays.
  @Test(arguments: [
    "fetch l --quiet --report /dev/stdout", "fetch l --quiet --sheet /dev/stdout",
    "fetch l --quiet --har /dev/stdout", "get URL -o /dev/stdout", "get URL -o log",
    "fetch l --quiet --report log",
    "fetch l --quiet --report /dev/fd/1", "thumbnail URL --format png -o /proc/self/fd/1",
    "fetch l --quiet --har /dev/stderr 2>> log",
  ]) func standardOutputIsNotEmptied(line: String) async throws {
    let server = try ScriptedServer(routes: ["/a.png": [.ok(try Picture.png())]])
    let tool = try Program(), address = server.url("/a.png").absoluteString
    try tool.folder.write("\(address)\n", to: "l")
    try tool.folder.write("earlier\n", to: "log")
    let command = "exec '\(Program.path)' \(line.replacingOccurrences(of: "URL", with: address))"
    let result = try await runProcess(
      "/bin/sh", ["-c", "echo first >> log; \(command) >> log"],
      environment: ["XDG_CACHE_HOME": tool.folder.file("xdg").path], folder: tool.folder.url)
    #expect(result.status == 0, "\(result.errorText)")
    let log = try tool.data("log")
    #expect(log.starts(with: Data("earlier\nfirst\n".utf8)), "\(String(decoding: log, as: UTF8.self))")
    #expect(log.count > 40)
    #expect(tool.names("") == ["l", "log", "xdg"])
  }

  /// A link is followed where the kernel follows it for writing.
  @Test func linksAreFollowedAsTheKernelFollowsThem() async throws {
    let picture = try Picture.png()
    let server = try ScriptedServer(routes: ["/a.png": [.ok(picture)]])
    let tool = try Program(), address = server.url("/a.png").absoluteString
    let manager = FileManager.default
    for name in ["own", "locked"] {
      try tool.folder.write("earlier", to: "folder/\(name)")
      try manager.createSymbolicLink(
        atPath: tool.folder.file("to-\(name)").path, withDestinationPath: "folder/\(name)")
    }
    let result = try await tool("get", address, "-o", "to-own")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try tool.data("folder/own") == picture)
    #expect(try manager.destinationOfSymbolicLink(atPath: tool.folder.file("to-own").path) == "folder/own")
    // The folder would let it be replaced, and the kernel does not let it be written. Root is let all but what
    // this refuses, too.
    try manager.setAttributes(
      [.posixPermissions: 0o444], ofItemAtPath: tool.folder.file("folder/locked").path)
    for arguments in [["get", address, "-o", "to-locked"], ["fetch", "-", "--sheet", "to-locked"]] {
      let drops = geteuid() == 0
      if drops {
        for path in [tool.folder.path, tool.folder.file("folder").path, tool.folder.file("xdg").path] {
          try manager.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
        }
      }
      let result = try await runProcess(
        drops ? "setpriv" : Program.path,
        (drops ? ["--reuid=65534", "--regid=65534", "--clear-groups", Program.path] : []) + arguments
          + ["--no-cache"], environment: ["HOME": tool.folder.path], folder: tool.folder.url)
      #expect(result.status == 1)
      #expect(
        result.errorText.contains(
          "to-locked: the file that this link leads to cannot be written: Permission"),
        "\(result.errorText)")
      #expect(try tool.data("folder/locked") == Data("earlier".utf8))
    }
  }

  /// What the link led to when it was asked for is what is replaced.
  @Test func aFileThatHasComeInItsPlaceIsLeftAlone() throws {
    let folder = try TemporaryFolder()
    try folder.write("old", to: "old")
    try folder.write("other", to: "other")
    var status = stat()
    try #require(stat(folder.file("old").path, &status) == 0)
    let output = try OutputFolder(path: folder.path)
    #expect(throws: Failure.self) {
      try output.write(Data("new".utf8), to: "other", replacing: FileIdentity(status))
    }
    #expect(throws: Failure.self) {
      try output.write(Data("new".utf8), to: "missing", replacing: FileIdentity(status))
    }
    try output.write(Data("new".utf8), to: "old", replacing: FileIdentity(status))
    #expect(try Data(contentsOf: folder.file("other")) == Data("other".utf8))
    #expect(try Data(contentsOf: folder.file("old")) == Data("new".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
  }

  /// A list that is named as an output is not lost, by whatever name.
  @Test(arguments: [
    "fetch l.json --report l.json", "fetch l.json --har ./l.json", "fetch hard --report l.json",
    "fetch l.json --report soft", "fetch - --report l.json < l.json", "fetch file://$PWD/l.json --har l.json",
  ]) func aListIsNotWritten(line: String) async throws {
    let tool = try Program()
    try tool.folder.write("[]", to: "l.json")
    let result = try await runProcess(
      "/bin/sh", ["-c", "ln -s l.json soft; ln l.json hard; exec '\(Program.path)' \(line)"],
      environment: ["XDG_CACHE_HOME": tool.folder.file("xdg").path], folder: tool.folder.url)
    #expect(result.status == 2)
    #expect(result.errorText.contains("names a list that is read"), "\(result.errorText)")
    #expect(try tool.data("l.json") == Data("[]".utf8))
  }

  @Test(arguments: ["--report s --har soft", "--report s --har hard", "--report s --sheet soft.html"])
  func oneFileByTwoNamesIsNoPlaceForTwoOutputs(options: String) async throws {
    let tool = try Program()
    try tool.folder.write("[]", to: "l.json")
    let result = try await runProcess(
      "/bin/sh",
      [
        "-c",
        "echo old > s; ln -s s soft; ln -s s soft.html; ln s hard; exec '\(Program.path)' fetch l.json \(options)",
      ], environment: ["XDG_CACHE_HOME": tool.folder.file("xdg").path], folder: tool.folder.url)
    #expect(result.status == 2)
    #expect(result.errorText.contains("name one file"), "\(result.errorText)")
    #expect(try tool.data("s") == Data("old\n".utf8))
  }

  /// What is written to a standard output that was closed would be lost.
  @Test(arguments: [
    "get URL -o /dev/stdout >&-", "get URL -o /dev/fd/1 >&-", "fetch l --report /dev/stdout >&-",
    "fetch l --sheet /dev/stdout >&-",
  ]) func aClosedStandardOutputIsSaid(line: String) async throws {
    let server = try ScriptedServer(routes: ["/a.png": [.ok(try Picture.png())]])
    let tool = try Program(), address = server.url("/a.png").absoluteString
    try tool.folder.write("\(address)\n", to: "l")
    let result = try await runProcess(
      "/bin/sh",
      ["-c", "exec '\(Program.path)' \(line.replacingOccurrences(of: "URL", with: address))"],
      environment: ["XDG_CACHE_HOME": tool.folder.file("xdg").path], folder: tool.folder.url)
    #expect(result.status == 1)
    #expect(result.errorText.contains("Bad file descriptor"), "\(result.errorText)")
    #expect(server.requests.isEmpty)
  }

  /// All are checked before the first is emptied.
  @Test func anOutputThatCannotBeWrittenCostsTheOthersNothing() async throws {
    let tool = try Program()
    try tool.folder.write("[]", to: "l.json")
    try tool.folder.write("old", to: "report")
    try tool.folder.write("old", to: "har")
    let manager = FileManager.default
    for (path, mode) in [("", 0o777), ("report", 0o666), ("har", 0o444)] {
      try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: tool.folder.file(path).path)
    }
    let drops = geteuid() == 0
    let result = try await runProcess(
      drops ? "setpriv" : Program.path,
      (drops ? ["--reuid=65534", "--regid=65534", "--clear-groups", Program.path] : [])
        + ["fetch", "l.json", "--no-cache", "--report", "report", "--har", "har"],
      environment: ["HOME": tool.folder.path], folder: tool.folder.url)
    #expect(result.status == 1)
    #expect(result.errorText.contains("har: Permission denied"), "\(result.errorText)")
    #expect(try tool.data("report") == Data("old".utf8))
  }

  @Test func aSocketIsNoFile() throws {
    let folder = try TemporaryFolder(), path = folder.file("s").path
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    try #require(path.utf8.count < 100)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
    #expect(throws: Failure.self) { try OutputFolder.prepare(path) }
  }

  /// One character may be made of any number of letters and be as wide as all of them: a title of that kind is cut.
  @Test(.timeLimit(.minutes(2))) func aTitleOfOneEndlessCharacterIsDrawn() async throws {
    let tool = try Program()
    let title = String(repeating: "\u{1100}", count: 60) + "b"
    try tool.folder.write(
      Data(#"[{"title": "\#(title)", "url": "http://127.0.0.1:1/x.png"}]"#.utf8), to: "a.json")
    _ = try await tool("fetch", "a.json", "--sheet", "sheet.png", "--retries", "0")
    #expect(try ImageDecoder().inspect(tool.data("sheet.png")).format == .png)
  }

  /// `--retries` holds for a list's own download.
  @Test func aListIsAskedForAgain() async throws {
    let address = "data:image/png;base64,\(try Picture.png().base64EncodedString())\n"
    let server = try ScriptedServer(routes: [
      "/l": [.status(503), .ok(Array(address.utf8))], "/never": [.status(503)],
    ])
    let tool = try Program()
    let result = try await tool("fetch", server.url("/l").absoluteString, "--retries", "1")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(server.requests.count == 2)
    let never = try await tool("fetch", server.url("/never").absoluteString, "--retries", "0")
    #expect(never.status == 1)
    #expect(server.requests.count == 3)
    let twice = try await tool("fetch", server.url("/never").absoluteString, "--retries", "1")
    #expect(twice.errorText.contains("(tried 2 times)"), "\(twice.errorText)")
    #expect(server.requests.count == 5)
  }

  @Test func aListWithoutRowsIsSaid() async throws {
    let server = try ScriptedServer(routes: ["/1": [.ok(Array("[]".utf8))]])
    let tool = try Program()
    try tool.folder.write("name,icon\n", to: "header.csv")
    for line in [
      ["-"], ["header.csv", "--quiet"], ["--page-url", server.url("/").absoluteString + "{page}"],
    ] {
      let result = try await tool.run(["fetch"] + line)
      #expect(result.status == 0)
      #expect(result.errorText.contains(": the list has no rows\n"), "\(result.errorText)")
    }
  }

  @Test func aNameKeyThatNoRowHasIsSaid() async throws {
    let tool = try Program()
    let address = "data:image/png;base64,\(try Picture.png().base64EncodedString())"
    let list = Data(
      "[{\"icon\":\"\(address)\",\"name\":\"A\"},{\"icon\":\"\(address)\",\"title\":\"B\"}]".utf8)
    let wrong = try await tool("fetch", "-", "--name-key", "bogus", input: list)
    #expect(wrong.status == 0)
    #expect(wrong.errorText.contains("no row has the field bogus of --name-key"), "\(wrong.errorText)")
    #expect(try await tool("fetch", "-", "--name-key", "title", input: list).errorText == "")
    #expect(try await tool("fetch", "-", input: list).errorText == "")
  }

  @Test func namesAndFormatsGoTogether() {
    for format in ImageFormat.allCases {
      let name = PictureFile.name("a.b", format)
      #expect(PictureFile.format(of: name) == format)
      #expect(PictureFile.stem(of: name) == "a.b")
    }
    #expect(PictureFile.format(of: "A.JPEG") == .jpeg)
    #expect(PictureFile.format(of: "a.jpe") == .jpeg)
    #expect(PictureFile.format(of: "png") == nil)
    #expect(PictureFile.stem(of: ".hidden") == ".hidden")
    #expect(PictureFile.stem(of: "名.") == "名")
    #expect(OutputFolder.path("out/", "a") == "out/a" && OutputFolder.path("out", "a") == "out/a")
    #expect(OutputFolder.path("/", "a") == "/a")
  }

  @Test func numbersAndTheirWordsAgree() {
    #expect(Format.count(1, "picture", "pictures") == "1 picture")
    #expect(Format.count(0, "picture", "pictures") == "0 pictures")
  }
}
