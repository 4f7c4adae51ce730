import Calotype
import Foundation
import TestSupport
import Testing

@Suite struct OperationSnippetTests {
  /// The package's folder of examples, which the snippets are made for.
  private static let examples = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Examples", isDirectory: true)

  @Test(arguments: [
    "SimpleOperation", "ConcurrentOperation", "BlockOperations", "PagedDownloads", "WaitingBox",
  ])
  func withoutAnAddressItSaysWhatItWants(name: String) async throws {
    let result = try await Snippet(name).run()
    #expect(result.lines == ["usage: \(name) ADDRESS"])
    #expect(result.status == 2)
  }

  @Test func simpleOperationsAskMemoryThenDiskThenTheNetwork() async throws {
    let server = try NginxServer(serving: Self.examples)
    let snippet = try Snippet("SimpleOperation")
    let first = try await snippet.run(server.url.absoluteString)
    #expect(first.status == 0)
    let lines = first.lines
    #expect(
      Array(lines.prefix(4)) == ["computer", "folder", "computer", "printer"].map { "placeholder \($0).png" })
    #expect(Set(lines.dropFirst(4).prefix(2)) == ["network computer.png", "network folder.png"])
    #expect(
      Array(lines.dropFirst(6)) == ["memory computer.png", "placeholder folder.png", "disk folder.png"])
    // Each address once, and never the one whose row had scrolled away.
    #expect(try server.requests().map(\.path).sorted() == ["/icons/computer.png", "/icons/folder.png"])

    let second = try await snippet.run(server.url.absoluteString)
    #expect(Set(second.lines.dropFirst(4).prefix(2)) == ["disk computer.png", "disk folder.png"])
    #expect(try server.requests().count == 2)
  }

  @Test func simpleOperationsThatFailSaySo() async throws {
    let server = try ScriptedServer()
    let result = try await Snippet("SimpleOperation").run(server.url("/").absoluteString)
    #expect(result.status == 0)
    #expect(result.lines.count { $0.hasPrefix("failed ") } == 4)
    // Tried again when the rows are shown again.
    #expect(server.requests("/icons/computer.png").count == 2)
    #expect(server.requests("/icons/printer.png").isEmpty)
  }

  @Test func concurrentOperationsRunTwoAtOnceAndGiveUpTheirPlaces() async throws {
    let picture = try Picture.png()
    let crowd = Crowd()
    let two = Gate()
    let server = try ScriptedServer { _ in
      if crowd.enter() == 2 { two.open() }
      // The first is answered when the second has asked as well.
      return [.wait(two), .run { crowd.leave() }, .response(200, [], body: Array(picture))]
    }
    let result = try await Snippet("ConcurrentOperation").run(server.url("/").absoluteString)
    #expect(result.status == 0)
    #expect(
      result.lines.sorted() == ["computer", "folder", "user-home"].map { "loaded \($0).png 64×64" })
    #expect(crowd.most == 2)
    #expect(server.requests.count == 3)
    #expect(server.requests("/icons/printer.png").isEmpty)
  }

  @Test func aConcurrentOperationThatFailsGivesUpItsPlaceToo() async throws {
    let server = try ScriptedServer()
    let result = try await Snippet("ConcurrentOperation").run(server.url("/").absoluteString)
    #expect(result.status == 0)
    #expect(result.lines.count == 3)
    #expect(result.lines.allSatisfy { $0.hasPrefix("failed ") && $0.contains("404") }, "\(result.lines)")
  }

  @Test func blockOperationsOverAPropertyList() async throws {
    let picture = try Picture.png()
    let names = ["One", "Two", "T\u{202E}hree", "Four"]
    let rows = names.enumerated().map { ["name": $1, "icon": "icons/\($0).png", "download": "\($0)"] }
    let list = try PropertyListSerialization.data(fromPropertyList: rows, format: .xml, options: 0)
    let server = try ScriptedServer(routes: ["/apps.plist": [.ok(list)]])
    for number in [0, 2, 3] { server.route("/icons/\(number).png", .ok(picture)) }
    server.route("/icons/1.png", .status(404), .ok(picture))

    let result = try await Snippet("BlockOperations").run(server.url("/").absoluteString)
    #expect(result.status == 0)
    // The name is not let loose on the terminal.
    let shown = names.map { $0.replacingOccurrences(of: "\u{202E}", with: "\\u{202e}") }
    func all(_ what: String, but left: Int? = nil) -> [String] {
      shown.indices.filter { $0 != left }.map { "\(what) \(shown[$0])" }
    }
    var lines = result.lines[...].map { $0.replacingOccurrences(of: "\\u{202E}", with: "\\u{202e}") }[...]
    func next(_ count: Int) -> [String] {
      defer { lines = lines.dropFirst(count) }
      return Array(lines.prefix(count))
    }
    #expect(next(4) == all("placeholder"))
    #expect(next(1) == ["memory warning: 4 cancelled"])
    #expect(next(4) == all("placeholder"))
    #expect(next(4).sorted() == (all("network", but: 1) + ["failed Two"]).sorted())
    #expect(next(4) == ["memory \(shown[0])", "placeholder Two", "memory \(shown[2])", "memory \(shown[3])"])
    #expect(next(1) == ["network Two"])
    #expect(next(1) == ["memory warning: 0 cancelled"])
    #expect(next(4) == all("placeholder"))
    #expect(next(4).sorted() == all("disk").sorted())
    #expect(lines.isEmpty)
    #expect(
      server.requests.map(\.path).sorted() == [
        "/apps.plist", "/icons/0.png", "/icons/1.png", "/icons/1.png", "/icons/2.png", "/icons/3.png",
      ])
  }

  @Test func pagedDownloadsThreeAtOnceAndNoPageTooEarly() async throws {
    let picture = try Picture.png()
    let crowd = Crowd()
    let three = Gate()
    let server = try ScriptedServer { request in
      if request.path.hasPrefix("/pages/") {
        let page = Int(request.path.dropFirst(7).prefix { $0.isNumber }) ?? 0
        let rows =
          page > 3 ? [] : (1...5).map { #"{"name": "P\#(page).\#($0)", "icon": "/i/\#(page)\#($0)"}"# }
        return .ok(Data(#"{"data": {"list": [\#(rows.joined(separator: ","))]}}"#.utf8))
      }
      if crowd.enter() == 3 { three.open() }
      let answer: Step =
        request.path == "/i/24" ? .response(404, [], body: []) : .response(200, [], body: Array(picture))
      return [.wait(three), .run { crowd.leave() }, answer]
    }
    let result = try await Snippet("PagedDownloads").run(server.url("/").absoluteString)
    #expect(result.status == 0)
    #expect(crowd.most == 3)
    for row in 1...15 {
      let lines = result.lines.filter { $0.hasPrefix("row \(row): ") }
      #expect(lines.count == 2, "each row is made once and refreshed once")
      #expect(lines.first == "row \(row): P\((row - 1) / 5 + 1).\((row - 1) % 5 + 1), placeholder")
      #expect(lines.last == (row == 9 ? "row 9: failed, http_404" : "row \(row): picture of 48×48"))
    }
    #expect(result.lines.count == 30)
    let paths = server.requests.map(\.path)
    #expect(paths.filter { $0.hasPrefix("/pages/") } == (1...4).map { "/pages/\($0).json" })
    // Ten rows lie before the third page, and no more than six wait at once.
    let third = try #require(paths.firstIndex(of: "/pages/3.json"))
    #expect(paths[..<third].count { $0.hasPrefix("/i/") } >= 4)
    #expect(Set(paths).count == paths.count)
  }
}
