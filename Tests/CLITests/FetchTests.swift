import Calotype
import Foundation
import TestSupport
import Testing

@Suite struct FetchTests {
  /// Serves a red, a green and a blue picture, each with an hour to live.
  private func server() throws -> ScriptedServer {
    let server = try ScriptedServer(routes: [:])
    for (path, green) in [("/a.png", 0), ("/b.png", 100), ("/c.png", 200)] {
      server.route(
        path,
        .ok(
          try Picture.png(green: UInt8(green)), type: "image/png",
          headers: [("Cache-Control", "max-age=3600")]))
    }
    return server
  }

  private func list(_ server: ScriptedServer, _ rows: [(String, String)]) -> Data {
    Data(("name,icon\n" + rows.map { "\($0.0),\(server.url($0.1).absoluteString)\n" }.joined()).utf8)
  }

  @Test func downloadsOnceWritesEachAndDoesNothingTheSecondTime() async throws {
    let server = try server(), tool = try Tool()
    try tool.folder.write(
      list(server, [("A", "/a.png"), ("计算器", "/b.png"), ("Again", "/a.png"), ("a", "/c.png")]), to: "l.csv")
    for run in 1...2 {
      let result = try await tool("fetch", "l.csv", "-o", "out", "--size", "32", "--report", "r.jsonl")
      #expect(result.status == 0, "\(result.errorText)")
      #expect(result.text.hasPrefix("4 of 4 pictures"))
      #expect(result.errorText == "")
      #expect(tool.names("out") == ["A.png", "Again.png", "a-2.png", "计算器.png"])
      #expect(server.requests.count == 3)
      #expect(try tool.info("out/A.png").displaySize == PixelSize(width: 32, height: 24))
      #expect(try tool.data("out/A.png") == tool.data("out/Again.png"))
      let report = try tool.lines("r.jsonl").sorted { ($0["row"] as? Int ?? 0) < ($1["row"] as? Int ?? 0) }
      #expect(report.map { $0["name"] as? String } == ["A", "计算器", "Again", "a"])
      #expect(report.map { $0["status"] as? String } == ["ok", "ok", "ok", "ok"])
      #expect(report.map { $0["file"] as? String } == ["A.png", "计算器.png", "Again.png", "a-2.png"])
      #expect(report[0]["source"] as? String == (run == 1 ? "network" : "disk"))
      #expect(report.map { $0["width"] as? Int } == [32, 32, 32, 32])
      #expect(
        report.map { $0["bytes"] as? Int }
          == (try tool.lines("r.jsonl").isEmpty
            ? [] : ["A.png", "计算器.png", "Again.png", "a-2.png"].map { try tool.data("out/\($0)").count }))
      let sum = try await runProcess("sha256sum", [tool.folder.file("out/A.png").path]).text.prefix(64)
      #expect(report[0]["sha256"] as? String == String(sum))
    }
  }

  @Test func aMissingFileIsMadeAgainWithoutARequestAndAChangedOneToo() async throws {
    let server = try server(), tool = try Tool()
    let input = list(server, [("A", "/a.png"), ("B", "/b.png"), ("C", "/c.png")])
    _ = try await tool("fetch", "-", "-o", "out", "--size", "32", input: input)
    let first = try tool.data("out/A.png")
    try FileManager.default.removeItem(at: tool.folder.file("out/A.png"))
    try tool.folder.write("spoilt", to: "out/B.png")
    let again = try await tool("fetch", "-", "-o", "out", "--size", "32", input: input)
    #expect(again.text.contains("2 from the cache, 1 already there"))
    #expect(try tool.data("out/A.png") == first)
    #expect(try tool.info("out/B.png").displaySize.width == 32)
    #expect(server.requests.count == 3)
    // Another size is another file's content.
    let other = try await tool("fetch", "-", "-o", "out", "--size", "16", input: input)
    #expect(other.text.contains("3 from the cache"))
    #expect(try tool.info("out/C.png").displaySize.width == 16)
  }

  @Test func withoutACacheOnlyWhatIsMissingIsAskedFor() async throws {
    let server = try server(), tool = try Tool()
    let input = list(server, [("A", "/a.png"), ("B", "/b.png")])
    _ = try await tool("fetch", "-", "-o", "out", "--no-cache", input: input)
    #expect(try tool.data("out/A.png") == Picture.png(green: 0))
    try FileManager.default.removeItem(at: tool.folder.file("out/A.png"))
    _ = try await tool("fetch", "-", "-o", "out", "--no-cache", input: input)
    #expect(server.requests("/a.png").count == 2)
    #expect(server.requests("/b.png").count == 1)
    #expect(tool.names("xdg") == [])
  }

  @Test func eachFailureIsNamedWithItsReason() async throws {
    let server = try server(), tool = try Tool()
    server.route("/404", .status(404))
    server.route("/html", .ok(Array("<html>no</html>".utf8), type: "image/png"))
    server.route("/cut", .ok(try Picture.encoded(.jpeg).dropLast(200)))
    var input = list(
      server,
      [
        ("A", "/a.png"), ("None \u{1B}[31m", "/404"), ("Page", "/html"), ("Cut", "/cut"),
        ("None again", "/404"),
      ])
    input += Data("No address,\n".utf8)
    let result = try await tool(
      "fetch", "-", "-o", "out", "--size", "8", "--report", "r.jsonl", "--retries", "0", input: input)
    #expect(result.status == 1)
    #expect(result.text.hasPrefix("1 of 6 pictures"))
    #expect(tool.names("out") == ["A.png"])
    for name in ["None \\u{1B}[31m", "Page", "Cut", "None again"] {
      #expect(result.errorText.contains("failed: \(name) <"))
    }
    #expect(result.errorText.contains("the server answered 404 [http_404]"))
    #expect(result.errorText.contains("standard input: row 6, line 7: has no address"))
    let report = try tool.lines("r.jsonl")
    #expect(
      Set(report.compactMap { $0["error"] as? String }) == [
        "http_404", "not_an_image", "truncated", "invalid_row",
      ])
    #expect(report.count { $0["status"] as? String == "failed" } == 4)
    #expect(server.requests("/404").count == 1)
  }

  @Test func formatsModesAndQuality() async throws {
    let server = try server(), tool = try Tool()
    let input = list(server, [("A", "/a.png")])
    for (arguments, name, format, size) in [
      (["--format", "webp"], "A.webp", ImageFormat.webp, PixelSize(width: 64, height: 48)),
      (
        ["-f", "jpeg", "--quality", "20", "-s", "20x20", "--mode", "fill"], "A.jpg", .jpeg,
        PixelSize(width: 20, height: 20)
      ),
      (["-f", "png", "-s", "20x30", "-m", "exact"], "A.png", .png, PixelSize(width: 20, height: 30)),
      (["-s", "128", "--upscale"], "A.png", .png, PixelSize(width: 128, height: 96)),
      (["-f", "original"], "A.png", .png, PixelSize(width: 64, height: 48)),
    ] {
      let folder = "out\(arguments.joined())"
      let result = try await tool.run(["fetch", "-", "-o", folder] + arguments, input: input)
      #expect(result.status == 0, "\(arguments): \(result.errorText)")
      #expect(tool.names(folder) == [name])
      if format != .webp {
        let info = try tool.info("\(folder)/\(name)")
        #expect(info.format == format)
        #expect(info.displaySize == size, "\(arguments)")
      }
    }
    #expect(server.requests.count == 1)
  }

  @Test func listsFromAnAddressAndInPages() async throws {
    let server = try server(), tool = try Tool()
    server.route("/d/list.txt", .ok(Array("../a.png\n../b.png\tB\n".utf8)))
    let result = try await tool("fetch", server.url("/d/list.txt").absoluteString, "-o", "out")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(tool.names("out") == ["B.png", "a.png"])
    func page(_ path: String) -> Script {
      .ok(Array("{\"data\":{\"list\":[{\"nickname\":\"N\",\"photo\":\"\(path)\"}]}}".utf8))
    }
    server.route("/p/3", page("/a.png"))
    server.route("/p/4", .status(503), page("/b.png"))
    server.route("/p/5", .ok(Array("{\"data\":{\"list\":[]}}".utf8)))
    let paged = try await tool(
      "fetch", "--page-url", server.url("/p").absoluteString + "/{page}", "--first-page", "3", "--items",
      "data.list", "-o",
      "pages")
    #expect(paged.status == 0, "\(paged.errorText)")
    #expect(tool.names("pages") == ["N-2.png", "N.png"])
    let last = try await tool(
      "fetch", "--page-url", server.url("/p").absoluteString + "/{page}", "--first-page", "3",
      "--last-page", "3", "--items",
      "data.list", "-o", "last")
    #expect(last.status == 0)
    #expect(tool.names("last") == ["N.png"])
  }

  @Test func namesOfFieldsAndTheListsFormatAreTaken() async throws {
    let server = try server(), tool = try Tool()
    let text = "titel\tbild\tzeile\nX\t/a.png\tY\n"
    let result = try await tool(
      "fetch", "-", "-o", "out", "--list-format", "tsv", "--name-key", "titel", "--image-key", "bild",
      "--subtitle-key", "zeile",
      "--base-url", server.url("/").absoluteString, input: Data(text.utf8))
    #expect(result.status == 0, "\(result.errorText)")
    #expect(tool.names("out") == ["X.png"])
  }

  @Test func headersCacheModesAndJSON() async throws {
    let server = try server(), tool = try Tool()
    let input = list(server, [("A", "/a.png")])
    let none = try await tool("fetch", "-", "--cache-mode", "only-if-cached", "--json", input: input)
    #expect(none.status == 1)
    #expect(try jsonLines(none.output).first?["error"] as? String == "not_cached")
    #expect(server.requests.isEmpty)
    let first = try await tool(
      "fetch", "-", "--json", "-H", "X-Test: one", "--cache-dir", "cache", input: input)
    #expect(first.status == 0)
    #expect(try jsonLines(first.output).first?["source"] as? String == "network")
    #expect(server.requests.first?.header("X-Test") == "one")
    #expect(tool.names("cache") == ["v1"])
    let reload = try await tool(
      "fetch", "-", "--json", "--cache-mode", "reload", "--cache-dir", "cache", input: input)
    #expect(try jsonLines(reload.output).first?["source"] as? String == "network")
    let quiet = try await tool("fetch", "-", "--quiet", "--cache-dir", "cache", input: input)
    #expect(quiet.text == "")
    #expect(quiet.errorText == "")
  }

  @Test func noMoreAtOnceThanIsAskedFor() async throws {
    let gate = Gate()
    let picture = try Picture.png()
    let server = try ScriptedServer { _ in Script.ok(picture).after(gate) }
    let tool = try Tool()
    let input = list(server, (0..<40).map { ("N\($0)", "/\($0).png") })
    async let result = tool(
      "fetch", "-", "--concurrency", "3", "--per-host", "2", "--timeout", "60", input: input)
    try await server.waitForRequests(2)
    #expect(server.openConnectionCount == 2)
    gate.open()
    #expect(try await result.status == 0)
    #expect(server.requests.count == 40)
    #expect(server.connections.count <= 3)
  }

  @Test func aTimeoutEndsADownload() async throws {
    let gate = Gate()
    let server = try ScriptedServer { _ in Script.ok([1]).after(gate) }
    defer { gate.open() }
    let result = try await Tool()(
      "fetch", "-", "--timeout", "0.2", "--retries", "0", input: list(server, [("A", "/a.png")]))
    #expect(result.status == 1)
    #expect(result.errorText.contains("[timed_out]"))
  }

  @Test func interruptedItEndsCleanlyAndTheNextRunDoesTheRest() async throws {
    let gate = Gate()
    let picture = try Picture.png()
    // The first two that are asked for, whichever they are, are answered at once.
    let answered = Lock<[String]>([])
    let server = try ScriptedServer { request in
      let isFirst = answered.withLock { paths in
        if paths.count < 2 { paths.append(request.path) }
        return paths.contains(request.path)
      }
      return isFirst ? .ok(picture) : Script.ok(picture).after(gate)
    }
    let tool = try Tool()
    let input = try tool.folder.write(list(server, (0..<20).map { ("N\($0)", "/\($0).png") }), to: "l.csv")
    let process = try SpawnedProgram(
      Tool.path,
      [
        "fetch", input.path, "-o", tool.folder.file("out").path, "--cache-dir",
        tool.folder.file("cache").path,
      ])
    try await server.waitForRequests(8)
    let start = ContinuousClock.now
    process.signal(SIGINT)
    #expect(await process.ended() == 130)
    #expect(ContinuousClock.now - start < .seconds(20))
    let paths = answered.withLock { $0 }
    let names = tool.names("out")
    #expect(Set(names).isSubset(of: paths.map { "N" + $0.dropFirst() }))
    gate.open()
    // What has been written is not asked for again.
    func asked() -> Int { names.reduce(0) { $0 + server.requests("/" + $1.dropFirst()).count } }
    let before = asked()
    let rest = try await tool("fetch", input.path, "-o", "out", "--cache-dir", "cache")
    #expect(rest.status == 0, "\(rest.errorText)")
    #expect(tool.names("out").count == 20)
    #expect(asked() == before)
  }

  @Test(arguments: ["download", "print", "list", "pipe", "page"])
  func interruptedItSaysWhatIsDone(waitingFor what: String) async throws {
    let picture = try Picture.png()
    let server = try ScriptedServer { request in request.path == "/0.png" ? .ok(picture) : .hang }
    let tool = try Tool(), errors = tool.folder.file("errors")
    let first = server.url("/0.png").absoluteString, second = server.url("/1.png").absoluteString
    let list = try tool.folder.write("\(first)\n\(second)\n", to: "l.txt").path
    let operands =
      switch what {
      case "download": [list]
      case "print": [list, "--size", "9"]
      case "list": [list, second]
      case "pipe": [list, "-"]
      default: [list, "--page-url", "\(server.url("/p").absoluteString)/{page}", "--retries", "99"]
      }
    // A pipe that stays open and gives nothing.
    let pipe = Pipe(), output = open(errors.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(output) }
    let process = try SpawnedProgram(
      Tool.path, ["fetch"] + operands + ["--no-cache", "--report", tool.folder.file("r").path],
      input: pipe.fileHandleForReading.fileDescriptor, errorOutput: output)
    try await server.waitForRequests(2)
    process.signal(SIGINT)
    #expect(await process.ended() == 130)
    try pipe.fileHandleForWriting.close()
    let said = String(decoding: try Data(contentsOf: errors), as: UTF8.self)
    #expect(said.contains("interrupted: "), "\(said)")
    let report = try tool.lines("r")
    #expect(report.count <= 1 && report.allSatisfy { $0["address"] as? String == first })
  }

  @Test func hostileNamesStayInTheFolder() async throws {
    let server = try server(), tool = try Tool()
    let names = [
      "../../evil", "/etc/passwd", "-rf", ".hidden", "CON", "a\u{202E}gnp", "..", "", "A/B", "a:b",
      String(repeating: "长", count: 200),
    ]
    let json = try JSONSerialization.data(
      withJSONObject: names.map { ["name": $0, "icon": server.url("/a.png").absoluteString] })
    let result = try await tool("fetch", "-", "-o", "deep/out", input: json)
    #expect(result.status == 0, "\(result.errorText)")
    #expect(tool.names("deep") == ["out"])
    let written = tool.names("deep/out")
    #expect(written.count == names.count)
    #expect(written.allSatisfy { !$0.hasPrefix("-") && !$0.hasPrefix(".") && $0.utf8.count <= 200 })
    #expect(written.contains("_CON.png"))
  }

  @Test func aLinkInTheFolderIsReplacedNotFollowed() async throws {
    let server = try server(), tool = try Tool()
    try tool.folder.write("precious", to: "elsewhere")
    try FileManager.default.createDirectory(at: tool.folder.file("out"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      at: tool.folder.file("out/A.png"), withDestinationURL: tool.folder.file("elsewhere"))
    let result = try await tool("fetch", "-", "-o", "out", input: list(server, [("A", "/a.png")]))
    #expect(result.status == 0)
    #expect(try tool.data("elsewhere") == Data("precious".utf8))
    #expect(try tool.info("out/A.png").format == .png)
  }

  @Test func contactSheets() async throws {
    let server = try server(), tool = try Tool()
    server.route("/404", .status(404))
    let json = try JSONSerialization.data(
      withJSONObject: [
        ["name": "<script>alert('x')</script> & \"q\"", "icon": server.url("/a.png").absoluteString],
        ["name": "计算器", "icon": server.url("/404").absoluteString],
      ])
    let result = try await tool("fetch", "-", "--sheet", "s.html", "--size", "200", input: json)
    #expect(result.status == 1)
    let html = String(decoding: try tool.data("s.html"), as: UTF8.self)
    #expect(html.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;q&quot;"))
    #expect(!html.contains("<script"))
    #expect(html.contains("src=\"data:image/jpeg;base64,"))
    #expect(html.contains("计算器"))
    #expect(html.contains("the server answered 404"))
    #expect(!html.contains("http://127.0.0.1"))
    #expect(html.contains("64×48"))
    _ = try await tool("fetch", "-", "--sheet", "s.png", input: json)
    let sheet = try ImageDecoder().decode(try tool.data("s.png")).bitmap
    #expect(sheet.width > 300)
    // The red picture is in the middle of the first cell.
    #expect(sheet[28 + 74, 28 + 64 + 62].red == 200)
  }
}
