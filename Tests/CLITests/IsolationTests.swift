import Calotype
import Foundation
import TestSupport
import Testing

/// Where the tool decodes, and that it says so.
@Suite struct IsolationTests {
  /// In a build with a sanitizer the sandbox is off, and that is said too.
  private let isOn = !DecodingWorkerProcess.hasSanitizer

  @Test func doctorSaysWhatHolds() async throws {
    let tool = try Tool()
    let result = try await tool("doctor", "--json")
    let facts = try #require(try jsonLines(result.output).first)
    let isolation = try #require(facts["isolation"] as? String)
    let sandbox = try #require(facts["sandbox"] as? [String])
    if isOn {
      #expect(sandbox == DecodingIsolationStatus.Layer.allCases.map(\.rawValue))
      #expect(isolation.hasPrefix("sandboxed worker"))
    } else {
      #expect(sandbox == [])
      #expect(isolation.contains("sanitizer"), "\(isolation)")
    }
    #expect(try await tool("doctor").text.contains(isolation))
  }

  @Test func reportsSayWhereItWasDecoded() async throws {
    let tool = try Tool()
    try tool.folder.write(try Picture.png(), to: "a.png")
    for (mode, expected) in [
      ("when-available", isOn ? "sandboxed" : "in-process"), ("in-process", "in-process"),
    ] {
      let info = try await tool("info", "a.png", "--json", "--isolation", mode)
      #expect(try jsonLines(info.output).first?["isolation"] as? String == expected)
      let print = try await tool("thumbnail", "a.png", "-o", "b.png", "--json", "--isolation", mode)
      #expect(try jsonLines(print.output).first?["isolation"] as? String == expected)
      let isWarned = info.errorText.contains("without a sandbox")
      #expect(isWarned == (mode == "when-available" && !isOn), "a fall-back is said, and nothing else")
    }
    let address = tool.folder.file("a.png").absoluteString
    try tool.folder.write("\(address)\n", to: "list.txt")
    let fetched = try await tool("fetch", "list.txt", "--json")
    #expect(
      try jsonLines(fetched.output).first?["isolation"] as? String == (isOn ? "sandboxed" : "in-process"),
      "\(fetched.text) \(fetched.errorText)")
  }

  @Test func requiredIsKeptTo() async throws {
    let tool = try Tool()
    try tool.folder.write(try Picture.png(), to: "a.png")
    let result = try await tool("info", "a.png", "--json", "--isolation", "required")
    #expect(result.status == (isOn ? 0 : 1))
    if !isOn { #expect(try jsonLines(result.output).first?["error"] as? String == "isolation_unavailable") }
  }

  @Test func anotherModeIsAMistake() async throws {
    let result = try await Tool()("info", "a.png", "--isolation", "sometimes")
    #expect(result.status == 2)
    #expect(result.errorText.contains("required"))
  }

  /// The private argument is of no use to a person, and says so.
  @Test func theWorkersArgumentIsPrivate() async throws {
    let tool = try Tool()
    for line in [[DecodingWorkerProcess.argument], [DecodingWorkerProcess.argument, "1000000000", "60"]] {
      let result = try await tool.run(line)
      #expect(result.status == 2)
      #expect(result.errorText.contains("starts by itself"))
    }
    #expect(!(try await tool("--help").text.contains(DecodingWorkerProcess.argument)))
  }
}
