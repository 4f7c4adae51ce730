import Calotype
import Foundation
import TestSupport
import Testing

/// What people and reports see of addresses: no passwords, no pages of Base64.
@Suite struct ShownAddressTests {
  private func withPassword(_ url: URL) -> String {
    url.absoluteString.replacing("http://", with: "http://user:secret@")
  }

  @Test func passwordsAreSentAndNeverShown() async throws {
    let picture = try Picture.png()
    let server = try ScriptedServer { request in
      request.path == "/l.csv"
        ? .ok(Array("name,icon\nA,a.png\nB,/404\n".utf8))
        : request.path == "/404"
          ? .status(404) : .ok(picture, headers: [("Cache-Control", "max-age=600")])
    }
    let tool = try Tool()
    let list = withPassword(server.url("/l.csv")), page = withPassword(server.url("/404"))
    let url = withPassword(server.url("/a.png")), missing = page
    try tool.folder.write("\(url)\n\(missing)\n", to: "list.txt")
    try tool.folder.write("name,ftp://user:secret@host/a.png\na,b\n", to: "header.csv")
    var seen = ""
    for line in [
      ["fetch", "list.txt", list, "--json"],
      ["fetch", list, "-o", "o", "--report", "r.jsonl", "--sheet", "s.html", "--har", "h.har"],
      ["fetch", "--page-url", page + "{page}", "--retries", "0"], ["fetch", missing],
      ["fetch", "list.txt", "--base-url", "user:secret@"], ["fetch", "header.csv"],
      ["get", "-i", missing, "-o", "body"], ["get", missing, "--cache-mode", "only-if-cached"],
      ["get", "http://user:se/secret@host/"], ["get", "ftp://user:secret@host/"],
      ["info", url, missing], ["info", url, missing, "--json"], ["show", url, missing],
      ["thumbnail", url, missing, "-o", "t", "--size", "9"], ["thumbnail", url, "-o", "u/", "--json"],
      ["cache", "list"], ["cache", "list", "--json"], ["cache", "remove", url], [url],
    ] {
      let result = try await tool.run(line)
      seen += result.text + result.errorText
    }
    for file in ["r.jsonl", "s.html", "h.har"] {
      seen += String(decoding: try tool.data(file), as: UTF8.self)
    }
    #expect(!seen.contains("secret"), "\(seen.split(separator: "\n").filter { $0.contains("secret") })")
    #expect(seen.contains("http://user:***@127.0.0.1:"))
    #expect(!tool.names("o").isEmpty)
    #expect(
      server.requests.filter { $0.path != "/4041" }.allSatisfy {
        $0.header("Authorization") == "Basic dXNlcjpzZWNyZXQ="
      })
  }

  /// Prints vary with the headers that they were asked for with, so those are part of their keys.
  @Test func secretHeadersAreNotFoundInTheCache() async throws {
    let picture = try Picture.png()
    let server = try ScriptedServer { _ in .ok(picture, headers: [("Cache-Control", "max-age=600")]) }
    let tool = try Tool(), url = server.url("/a.png")
    func run(_ secret: String) async throws {
      let result = try await tool(
        "thumbnail", url.absoluteString, "-o", "t/", "--size", "9", "--cache-dir", "c", "-H",
        "Authorization: Bearer \(secret)", "-H", "X-Api-Key: \(secret)", "-H", "Accept-Language: fr")
      #expect(result.status == 0, "\(result.errorText)")
    }
    try await run("topsecret")
    try await run("othersecret")
    #expect(server.requests.count == 2, "each has its own")
    let list = try await tool("cache", "list", "--json", "--cache-dir", "c")
    #expect(list.text.contains("accept-language:fr") && !list.text.contains("secret"), "\(list.text)")
    let found = try await runProcess("grep", ["-rl", "secret", tool.folder.file("c").path])
    #expect(found.text == "")
    func key(_ secret: String) -> ImageCacheKey {
      ImageRequest(url: url, headers: ["Authorization": secret]).cacheKey
    }
    #expect(key("a") == key("a") && key("a") != key("b"))
  }

  @Test func rowsOfDataHaveShortNamesAndAddresses() async throws {
    let tool = try Tool()
    let base64 = try Picture.png(width: 31, height: 17).base64EncodedString()
    let address = "data:image/png;base64,\(base64)"
    let broken = "data:image/png;base64," + String(repeating: "QUJD", count: 303)
    let result = try await tool(
      "fetch", "-", "-o", "out", "--report", "r", input: Data("\(address)\n\(broken)\n\(address)\n".utf8))
    #expect(result.status == 1)
    let names = tool.names("out")
    #expect(names.count == 2)
    let name = try #require(names.last)
    #expect(name.wholeMatch(of: /data-[0-9a-f]{8}\.png/) != nil)
    #expect(
      result.errorText.contains("<data:image/png;base64,… (1,234 characters)>: "), "\(result.errorText)")
    let seen = result.text + result.errorText + String(decoding: try tool.data("r"), as: UTF8.self)
    #expect(!seen.contains(base64.prefix(40)))
    #expect(!seen.contains("QUJDQUJD"))
    // The same name from run to run, and from command to command.
    let thumbnail = try await tool("thumbnail", address, "-o", "two/")
    #expect(tool.names("two") == [name])
    #expect(thumbnail.text.hasPrefix("two/\(name): "), "\(thumbnail.text)")
    let info = try await tool("info", address)
    #expect(info.text.hasPrefix("data:image/png;base64,… ("))
  }

  @Test func aFileOfAnotherMachineIsRefused() async throws {
    let tool = try Tool()
    let file = try tool.folder.write(try Picture.png(), to: "a.png").path
    for (command, extra) in [("info", []), ("show", []), ("thumbnail", ["-o", "out.png"])] {
      let result = try await tool.run([command, "file://otherhost\(file)"] + extra)
      #expect(result.status == 1, "\(command)")
      #expect(result.errorText.contains("it is a file of another machine, otherhost"), "\(result.errorText)")
      #expect(try await tool.run([command, "file://localhost\(file)"] + extra).status == 0)
    }
    try tool.folder.write("\(file)\n", to: "l.txt")
    let folder = tool.folder.url.path
    let lists = ["fetch", "--base-url", "file:///"]
    #expect(try await tool.run(lists + ["file://\(folder)/l.txt"]).text.hasPrefix("1 of 1 picture"))
    let other = try await tool.run(lists + ["file://otherhost\(folder)/l.txt"])
    #expect(other.status == 2 && other.errorText.contains("is no file of this machine"))
    let list = try await tool("fetch", "-", input: Data("file://otherhost\(file)\n".utf8))
    #expect(list.status == 1)
    #expect(list.errorText.contains("[not_read]"))
  }
}
