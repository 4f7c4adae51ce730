import Foundation
import TestSupport
import Testing

/// What costs a program time to start is loaded only where it is needed. The system's linker tells what is.
@Suite struct LateLibraryTests {
  private let late = ["libcurl.so", "libavif.so", "libcairo.so", "libcrypto.so"]

  /// Which of the late libraries a run of the tool loads, in the order of their names.
  private func loaded(_ tool: Tool, _ arguments: String...) async throws -> [String] {
    let result = try await tool.run(arguments, environment: ["LD_DEBUG": "files"])
    #expect(result.status == 0, "\(arguments)")
    return late.filter { result.errorText.contains("file=\($0)") }
  }

  @Test func aHitInTheCacheNeedsNone() async throws {
    let server = try ScriptedServer(routes: [
      "/x": [.ok(Array("body".utf8), headers: [("Cache-Control", "max-age=60")])]
    ])
    let (tool, address) = (try Tool(), server.url("/x").absoluteString)
    #expect(try await loaded(tool, "get", address, "-o", "first").contains("libcurl.so"))
    #expect(try await loaded(tool, "get", address, "-o", "second") == [])
    #expect(try tool.data("second") == Data("body".utf8))
    #expect(server.requests.count == 1)
    #expect(try await loaded(tool, "--version") == [])
  }

  @Test func aPictureLoadsItsCodecAlone() async throws {
    let tool = try Tool()
    try tool.folder.write(Picture.png(), to: "a.png")
    let inProcess = "--isolation=in-process"
    #expect(try await loaded(tool, "thumbnail", inProcess, "a.png", "-o", "b.webp") == [])
    #expect(
      try await loaded(tool, "thumbnail", inProcess, "a.png", "-o", "b.avif").contains("libavif.so"))
    #expect(try await loaded(tool, "info", inProcess, "b.avif").contains("libavif.so"))
  }

  /// The libraries are not taken apart at the end, while threads that use them may still run.
  @Test func theEndLeavesTheLibrariesAlone() async throws {
    let server = try ScriptedServer(routes: ["/x": [.ok(Array("body".utf8))]])
    let tool = try Tool()
    for arguments in [["get", server.url("/x").absoluteString, "-o", "x"], ["help"]] {
      let result = try await tool.run(arguments, environment: ["LD_DEBUG": "files"])
      #expect(result.status == 0)
      #expect(result.errorText.contains("calling init: "))
      #expect(!result.errorText.contains("calling fini: "))
    }
    #expect(try tool.data("x") == Data("body".utf8))
  }

  /// A library that cannot be loaded fails what needs it, with its name and the system's reason.
  @Test func aDamagedLibraryIsNamed() async throws {
    let server = try ScriptedServer(routes: ["/x": [.ok(Array("body".utf8))]])
    let tool = try Tool()
    for name in ["libcurl.so.4", "libcairo.so.2"] { try tool.folder.write("damaged", to: "lib/\(name)") }
    let environment = ["LD_LIBRARY_PATH": tool.folder.file("lib").path]

    let get = try await tool("get", server.url("/x").absoluteString, environment: environment)
    #expect(get.status == 1)
    #expect(get.errorText.contains("libcurl.so.4 cannot be loaded: "), "\(get.errorText)")
    #expect(server.requests.isEmpty)

    let list = Data("\(server.url("/x").absoluteString)\n".utf8)
    let sheet = try await tool(
      "fetch", "-", "--sheet", "sheet.png", input: list, environment: environment)
    #expect(sheet.status == 1)
    #expect(sheet.errorText.contains("libcairo.so.2 cannot be loaded: "), "\(sheet.errorText)")

    let doctor = try await tool("doctor", environment: environment)
    #expect(doctor.status == 1)
    #expect(doctor.text.contains("libcurl.so.4 cannot be loaded: "), "\(doctor.text)")
    #expect(doctor.text.contains("cairo               missing"), "\(doctor.text)")
  }
}
