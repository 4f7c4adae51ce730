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
