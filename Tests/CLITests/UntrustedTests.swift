import Calotype
import Foundation
import TestSupport
import Testing

@Suite struct UntrustedTests {
  @Test func everyCommandRefusesPrivateAddresses() async throws {
    let picture = Array(try Picture.png())
    let server = try ScriptedServer { _ in .ok(picture, type: "image/png") }
    let tool = try Tool()
    let address = server.url("/a.png").absoluteString
    try Data((address + "\n").utf8).write(to: tool.folder.file("list.txt"))
    let port = ["--untrusted", "--ports", "80,\(server.port)"]
    for arguments in [
      ["get", address], ["info", address], ["show", address], ["thumbnail", address, "-o", "a.png"],
      ["fetch", "list.txt", "-o", "out", "--report", "r.jsonl"], ["fetch", address],
    ] {
      let result = try await tool.run(arguments + port)
      #expect(result.status == 1, "\(arguments): \(result.text)\(result.errorText)")
      #expect(
        result.errorText.contains("127.0.0.1 is a loopback address"), "\(arguments): \(result.errorText)")
    }
    let row = try #require(try tool.lines("r.jsonl").first)
    #expect(row["error"] as? String == "address_refused", "\(row)")
    #expect(server.connections.isEmpty)
    // Without it what is named is fetched, and then not shown to who may reach public addresses only.
    #expect(try await tool("get", address).status == 0)
    #expect(try await tool.run(["get", address] + port).status == 1)
    let allowed = try await tool.run(["get", address, "--allow-network", "127.0.0.0/8"] + port)
    #expect(allowed.output == Data(picture), "\(allowed.errorText)")
  }

  /// A proxy looks names up itself, out of the policy's sight: it is asked only where everything may be reached.
  @Test func aProxyOfTheEnvironmentIsNotAsked() async throws {
    let picture = Array(try Picture.png())
    let proxy = try ScriptedServer { _ in .ok(picture, type: "image/png") }
    let environment = ["http_proxy": proxy.url("").absoluteString, "all_proxy": proxy.url("").absoluteString]
    let address = "http://pictures.invalid/a.png"
    let refused = try await Tool()("get", address, "--untrusted", "--retries", "0", environment: environment)
    #expect(refused.status == 1)
    #expect(proxy.connections.isEmpty)
    let given = try await Tool()("get", address, environment: environment)
    #expect(given.output == Data(picture), "\(given.errorText)")
    #expect(proxy.requests.count == 1)
  }

  /// Of a file that may not be read nothing is asked of the system: an automounter is not woken.
  @Test(.enabled(if: Strace.canFollow, "\(Strace.why)"))
  func filesAreNotLookedAt() async throws {
    let tool = try Tool()
    let picture = try tool.folder.write(try Picture.png(), to: "hidden.png")
    try tool.folder.write(picture.absoluteString + "\n", to: "list.txt")
    for arguments in [
      ["fetch", "list.txt"], ["info", picture.absoluteString],
      ["thumbnail", picture.absoluteString, "-o", "a.png"],
    ] {
      for option in [["--untrusted"], []] {
        let trace = tool.folder.file("trace")
        let result = try await tool.trace(arguments + option, to: trace)
        #expect(result.status == (option.isEmpty ? 0 : 1), "\(result.errorText)")
        let calls = try String(contentsOf: trace, encoding: .utf8)
        let touched = calls.split(separator: "\n").filter {
          $0.contains("/hidden.png\"") && !$0.contains("exec")
        }
        #expect(touched.isEmpty == !option.isEmpty, "\(touched)")
      }
    }
  }

  /// Reports are looked at in terminals too: what would steer one is written as JSON writes it.
  @Test func reportsHoldNothingThatSteersATerminal() async throws {
    let picture = Array(try Picture.png())
    let server = try ScriptedServer { _ in .ok(picture, type: "image/png") }
    let tool = try Tool()
    let name = "a\u{202E}gnp\u{9B}31m\u{E0041}\u{2028}😀"
    try Data("\(server.url("/a.png").absoluteString)\t\(name)\n".utf8).write(to: tool.folder.file("l.txt"))
    let result = try await tool("fetch", "l.txt", "--report", "r.jsonl")
    #expect(result.status == 0, "\(result.errorText)")
    let report = String(decoding: try tool.data("r.jsonl"), as: UTF8.self)
    #expect(!report.unicodeScalars.contains { Escaping.isUnsafeForDisplay($0) && $0 != "\n" }, "\(report)")
    #expect(try tool.lines("r.jsonl").first?["name"] as? String == name)
  }

  @Test(arguments: [
    ["--untrusted", "--ports", "80,x"], ["--untrusted", "--ports", "0"], ["--ports", "80"],
    ["--allow-network", "example.com"], ["--allow-network", "10.0.0.0/40"],
  ])
  func wrongOptionsAreToldOf(options: [String]) async throws {
    let result = try await Tool().run(["get", "http://127.0.0.1:1/"] + options)
    #expect(result.status == 2, "\(result.errorText)")
  }
}

extension Tool {
  /// Runs the program and writes what calls with names of files it makes.
  fileprivate func trace(_ arguments: [String], to file: URL) async throws -> ProcessResult {
    try await runProcess(
      "strace", ["-f", "-q", "-e", "trace=file", "-o", file.path, Self.path] + arguments,
      environment: ["XDG_CACHE_HOME": folder.file("xdg").path], folder: folder.url)
  }
}
