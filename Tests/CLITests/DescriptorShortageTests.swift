import Calotype
import Foundation
import TestSupport
import Testing

/// The tool where there are few descriptors, or none: every row ends, pictures stay in the sandbox, and Ctrl-C ends
/// the program.
@Suite(.disabled(if: Sanitizer.isOn, "a sanitizer needs descriptors of its own"))
struct DescriptorShortageTests {
  private static let rows = 40

  private func list(_ server: ScriptedServer) -> Data {
    Data((0..<Self.rows).map { "\(server.url("/\($0).png").absoluteString)\tPicture \($0)\n" }.joined().utf8)
  }

  /// A shell's words that run the tool with so many descriptors.
  private func words(_ limit: Int, _ arguments: [String]) -> [String] {
    ["-c", "ulimit -n \(limit) && exec \"$@\"", "sh", Tool.path] + arguments
  }

  @Test(arguments: [8, 12, 20, 26, 40])
  func everyRowEnds(limit: Int) async throws {
    let picture = Array(try Picture.png())
    let server = try ScriptedServer { _ in .ok(picture, type: "image/png") }
    let tool = try Tool()
    try tool.folder.write(list(server), to: "list.txt")
    let arguments = ["fetch", "list.txt", "-o", "out", "--size", "20", "--cache-dir", "cache", "--json"]
    let result = try await runProcess("sh", words(limit, arguments), folder: tool.folder.url)
    let lines = try jsonLines(result.output)
    if result.status == 0 {
      #expect(lines.count == Self.rows)
      #expect(tool.names("out").count == Self.rows)
    } else {
      #expect(result.status == 1, "\(limit): \(result.errorText)")
      #expect(result.errorText.contains("raise the limit (ulimit -n)"), "\(limit): \(result.errorText)")
    }
    // Where the list could be read at all, each row has an end of its own.
    #expect(lines.isEmpty && limit < 12 || lines.count == Self.rows, "\(limit): \(result.errorText)")
    for line in lines {
      let message = line["message"] as? String
      #expect(line["status"] as? String == "ok" || message?.contains("raise the limit") == true, "\(line)")
      if DecodingWorkerProcess.hasSanitizer == false { #expect(line["isolation"] as? String == "sandboxed") }
    }
    if limit >= 20 { #expect(result.status == 0, "\(limit): \(result.errorText)") }
  }

  /// Neither the end at Ctrl-C nor the wait for it needs a descriptor.
  @Test(arguments: [12, 16, 24]) func controlCEndsIt(limit: Int) async throws {
    let server = try ScriptedServer { _ in Script([.hang]) }
    let tool = try Tool()
    try tool.folder.write(list(server), to: "list.txt")
    let program = try SpawnedProgram(
      "sh", words(limit, ["fetch", "list.txt", "-o", "out", "--cache-dir", "cache", "--quiet"]),
      folder: tool.folder.path)
    try await server.waitForRequests(1)
    program.signal(SIGINT)
    #expect(await program.ended() == 130)
  }
}
