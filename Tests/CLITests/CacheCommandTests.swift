import Foundation
import TestSupport
import Testing

@Suite struct CacheCommandTests {
  private func filled(_ tool: Tool) async throws -> ScriptedServer {
    let server = try ScriptedServer(routes: [:])
    for name in ["a", "b", "c"] {
      server.route("/\(name).png", .ok(try Picture.png(), headers: [("Cache-Control", "max-age=9999")]))
    }
    let list = ["a", "b", "c"].map { server.url("/\($0).png").absoluteString + "\n" }.joined()
    let result = try await tool("fetch", "-", "--cache-dir", "cache", input: Data(list.utf8))
    #expect(result.status == 0, "\(result.errorText)")
    return server
  }

  private func json(_ tool: Tool, _ arguments: String...) async throws -> [[String: Any]] {
    try jsonLines(try await tool.run(["cache", "--json", "--cache-dir", "cache"] + arguments).output)
  }

  @Test func infoListPathRemoveTrimAndClear() async throws {
    let tool = try Tool()
    let server = try await filled(tool)
    #expect(try await json(tool, "info").first?["entries"] as? Int == 3)
    let list = try await json(tool, "list")
    #expect(
      Set(list.compactMap { $0["url"] as? String })
        == Set(["a", "b", "c"].map { server.url("/\($0).png").absoluteString }))
    #expect(list.allSatisfy { $0["kind"] as? String == "original" })
    let plain = try await tool("cache", "list", "--cache-dir", "cache")
    #expect(plain.text.split(separator: "\n").count == 3)
    let path = try #require(try await json(tool, "path").first?["path"] as? String)
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(try await tool("cache", "path", "--cache-dir", "cache").text == path + "\n")
    #expect(
      try await json(tool, "remove", server.url("/a.png").absoluteString).first?["removed"] as? Int == 1)
    #expect(
      try await tool("cache", "remove", server.url("/a.png").absoluteString, "--cache-dir", "cache").status
        == 1)
    #expect(try await json(tool, "trim", "4Ki").first?["entries"] as? Int == 1)
    #expect(try await json(tool, "clear").first?["entries"] as? Int == 0)
    #expect(try await tool("cache", "info", "--cache-dir", "cache").text.contains("entries  0"))
  }

  /// Where nothing can be removed, nothing is claimed.
  @Test(.enabled(if: geteuid() == 0, "only root may mount a file system"))
  func onAReadOnlyDiskNothingIsSaidToBeRemoved() async throws {
    let tool = try Tool()
    let server = try await filled(tool)
    let folder = tool.folder.file("cache").path
    try #require(try await runProcess("mount", ["--bind", folder, folder]).status == 0)
    let turned = try await runProcess("mount", ["-o", "remount,bind,ro", folder])
    for action in [["remove", server.url("/a.png").absoluteString], ["trim", "0"], ["clear"]] {
      let result = try await tool.run(["cache"] + action + ["--cache-dir", "cache"])
      #expect(result.status == 1, "\(action): \(result.text)")
      #expect(result.errorText.contains("Read-only file system") || result.errorText.contains("readonly"))
    }
    let facts = try await json(tool, "remove", server.url("/a.png").absoluteString).first
    #expect(facts?["removed"] as? Int == 0)
    #expect(facts?["remaining"] as? Int == 1)
    #expect(try await json(tool, "info").first?["entries"] as? Int == 3)
    _ = try await runProcess("umount", ["-l", folder])
    #expect(turned.status == 0)
    #expect(try await json(tool, "clear").first?["entries"] as? Int == 0)
  }

  @Test func verifyFindsWhatIsDamaged() async throws {
    let tool = try Tool()
    _ = try await filled(tool)
    #expect(try await json(tool, "verify").first?["clean"] as? Bool == true)
    let path = try #require(try await json(tool, "path").first?["path"] as? String)
    let files = try #require(FileManager.default.enumerator(atPath: path)).compactMap { $0 as? String }
    let entry = try #require(
      files.first { $0.contains("/") && ($0 as NSString).lastPathComponent.count >= 32 })
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path + "/" + entry))
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path + "/" + entry))
    let result = try await tool("cache", "verify", "--cache-dir", "cache")
    #expect(result.status == 1)
    #expect(result.text.contains("damaged, dropped: "))
    #expect(try await json(tool, "verify").first?["clean"] as? Bool == true)
  }
}
