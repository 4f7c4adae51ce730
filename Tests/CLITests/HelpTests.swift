import Foundation
import TestSupport
import Testing

@testable import calotype_cli

@Suite struct HelpTests {
  typealias Program = CLITests.Tool

  @Test func version() async throws {
    let result = try await Program()("--version")
    #expect(result.status == 0)
    #expect(result.text.wholeMatch(of: /calotype \d+\.\d+\.\d+\n/) != nil)
  }

  @Test(arguments: calotype_cli.Tool.commandNames)
  func everyCommandExplainsEachOfItsOptions(name: String) async throws {
    let command = try #require(calotype_cli.Tool.command(name))
    let tool = try Program()
    let help = try await tool(name, "--help")
    #expect(help.status == 0)
    #expect(help.errorText == "")
    #expect(help.text.hasPrefix(command.summary))
    let page = try await tool("man")
    for option in command.options {
      #expect(help.text.contains("--\(option.name)"))
      #expect(!option.help.isEmpty && !option.help.hasSuffix("."), "--\(option.name)")
      #expect(page.text.contains("\\-\\-\(option.name.replacing("-", with: "\\-"))"), "--\(option.name)")
    }
    #expect(Set(command.options.map(\.name)).count == command.options.count, "a name that is there twice")
    let letters = command.options.compactMap(\.letter)
    #expect(Set(letters).count == letters.count, "a letter that is there twice")
    #expect(try await tool("help", name).text == help.text)
    #expect(help.text.split(separator: "\n").allSatisfy { $0.count <= 100 || $0.contains("calotype ") })
  }

  /// What an option takes is said by the help, the man page and whoever refuses another word.
  @Test(arguments: ["fetch", "thumbnail", "info", "show", "get"])
  func theWordsThatAnOptionTakesAreNamed(name: String) async throws {
    let command = try #require(calotype_cli.Tool.command(name))
    let tool = try Program()
    let help = try await tool(name, "--help").text.replacing(/\s+/, with: " ")
    let page = try await tool("man").text.replacing("\\-", with: "-")
    let operands = name == "get" ? ["http://127.0.0.1:1/"] : name == "thumbnail" ? ["x", "-o", "y"] : ["x"]
    for option in command.options where !option.values.isEmpty {
      let words = option.values.joined(separator: ", ")
      #expect(help.contains("(\(option.argument ?? ""): \(words))"), "--\(option.name)")
      #expect(page.contains("(\(option.argument ?? ""): \(words))"), "--\(option.name)")
      let result = try await tool.run([name] + operands + ["--\(option.name)", "bogus"])
      #expect(result.status == 2, "--\(option.name)")
      let said = "--\(option.name) is \(Arguments.alternatives(option.values)), not bogus"
      #expect(result.errorText.contains(said), "\(result.errorText)")
    }
    let fixed = [
      "mode", "anchor", "format", "chroma", "effort", "cache-mode", "isolation", "list-format", "as",
    ]
    for option in command.options where fixed.contains(option.name) { #expect(!option.values.isEmpty) }
  }

  @Test func theOverviewNamesEveryCommand() async throws {
    let tool = try Program()
    let help = try await tool("--help")
    #expect(help.status == 0)
    for name in calotype_cli.Tool.commandNames { #expect(help.text.contains("\n  \(name) ")) }
    let bare = try await tool.run([])
    #expect(bare.status == 2)
    #expect(bare.errorText == help.text)
  }

  @Test func theManPageRenders() async throws {
    let tool = try Program()
    let page = try tool.folder.write(try await tool("man").output, to: "calotype.1")
    let renderers = [["mandoc", "-T", "utf8"], ["man", "-l"], ["groff", "-man", "-T", "utf8"]]
    var installed: [[String]] = []
    for renderer in renderers
    where try await runProcess("sh", ["-c", "command -v \(renderer[0])"]).status == 0 {
      installed.append(renderer)
    }
    let renderer = try #require(installed.first)
    let rendered = try await runProcess(
      renderer[0], renderer.dropFirst() + [page.path], environment: ["MANPAGER": "cat"])
    #expect(rendered.status == 0)
    // Bold letters are struck twice, with a step back between.
    let text = rendered.text.replacing(/.\u{8}/, with: "")
    #expect(text.contains("calotype fetch"))
    #expect(text.contains("EXIT STATUS"))
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func completionsAreWhatTheShellReads(shell: String) async throws {
    let tool = try Program()
    let script = try await tool("completions", shell)
    #expect(script.status == 0)
    #expect(script.text.contains("only-if-cached"))
    let file = try tool.folder.write(script.output, to: "completions")
    if try await runProcess("sh", ["-c", "command -v \(shell)"]).status == 0 {
      let check = try await runProcess(shell, ["-n", file.path])
      #expect(check.status == 0, "\(check.errorText)")
    }
  }

  @Test func bashCompletesCommandsOptionsAndValues() async throws {
    let tool = try Program()
    let file = try tool.folder.write(try await tool("completions", "bash").output, to: "completions")
    func complete(_ words: [String]) async throws -> [String] {
      let list = words.map { "'\($0)'" }.joined(separator: " ")
      let script =
        "source \(file.path); COMP_WORDS=(\(list)); COMP_CWORD=\(words.count - 1); _calotype; printf '%s\\n' \"${COMPREPLY[@]}\""
      return try await runProcess("bash", ["-c", script]).text.split(separator: "\n").map(String.init)
    }
    #expect(try await complete(["calotype", "fe"]) == ["fetch"])
    #expect(try await complete(["calotype", "fetch", "--mo"]) == ["--mode"])
    #expect(try await complete(["calotype", "fetch", "--mode", "f"]) == ["fit", "fill"])
    #expect(try await complete(["calotype", "cache", "ver"]).contains("verify"))
  }
}
