import Calotype
import Foundation
import TestSupport
import Testing

/// `calotype get` whose process is killed, or that answers before it is done.
@Suite struct InterruptedGetTests {
  /// Kills the process at ten random points of a long download.
  @Test func tenKillsCostLittleMoreThanNone() async throws {
    let length = 20 << 20
    var body = [UInt8](repeating: 0, count: length)
    var generator = SystemRandomNumberGenerator()
    for at in stride(from: 0, to: length, by: 97) { body[at] = UInt8.random(in: 0...255, using: &generator) }
    let whole = body
    let cuts = (0..<10).map { _ in Int.random(in: 1...length / 8, using: &generator) }
    let process = Lock<Int32>(0)
    let server = try ScriptedServer { request in
      var start = 0
      if request.header("If-Range") == "\"1\"", let range = request.header("Range") {
        start = Int(range.dropFirst(6).dropLast()) ?? 0
      }
      var headers = [
        ("ETag", "\"1\""), ("Content-Length", "\(length - start)"), ("Cache-Control", "max-age=60"),
      ]
      if start > 0 { headers.append(("Content-Range", "bytes \(start)-\(length - 1)/\(length)")) }
      var steps: [TestSupport.Step] = [.head(start > 0 ? 206 : 200, headers)]
      let end = request.index < cuts.count ? min(length, start + cuts[request.index]) : length
      while start < end {
        let next = min(start + (32 << 10), end)
        // As a network does it, and not all at once.
        steps += [.body(Array(whole[start..<next])), .pause(milliseconds: 4)]
        start = next
      }
      if end < length {
        // On a machine with much to do the program may be behind what was sent; that is not counted here.
        steps += [.pause(milliseconds: 150), .run { kill(process.withLock { $0 }, SIGKILL) }, .close]
      }
      return Script(steps)
    }
    let folder = try TemporaryFolder()
    let arguments = [
      "get", server.url("/a").absoluteString, "--cache-dir", folder.file("cache").path, "--output",
      folder.file("out").path,
    ]
    for _ in 0...cuts.count {
      let tool = Process()
      tool.executableURL = URL(fileURLWithPath: Tool.path)
      tool.arguments = arguments
      tool.standardOutput = FileHandle.nullDevice
      try tool.run()
      process.withLock { $0 = tool.processIdentifier }
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          tool.waitUntilExit()
          continuation.resume()
        }
      }
      if tool.terminationReason == .exit { break }
    }
    #expect(try Data(contentsOf: folder.file("out")) == Data(whole))
    let sent = server.connections.reduce(0) { $0 + $1.bytesSent }
    #expect(sent <= 21 << 20, "\(sent) bytes were sent in \(server.requests.count) tries")
    #expect(server.requests.count > 3)
    #expect(DiskCache(directory: folder.file("cache")).verify().damaged.isEmpty)
    // The parts are gone now that the whole is there.
    #expect(!DiskCache(directory: folder.file("cache")).entries().contains { $0.kind == .partial })
  }

  /// The stale answer is there while the server still thinks about what is asked behind it.
  @Test func aStaleAnswerDoesNotWait() async throws {
    let gate = Gate()
    let server = try ScriptedServer { request in
      let headers = [("Cache-Control", "max-age=0, stale-while-revalidate=600"), ("ETag", "\"1\"")]
      let script = Script.ok(Array("body \(request.index)".utf8), headers: headers)
      return request.index == 0 ? script : script.after(gate)
    }
    let tool = try Tool()
    let url = server.url("/a").absoluteString
    _ = try await tool("get", url, "--cache-dir", "cache")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Tool.path)
    process.arguments = ["get", url, "--cache-dir", tool.folder.file("cache").path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    // Read to the end of the output, which comes before the end of the process.
    let output = try pipe.fileHandleForReading.readToEnd()
    #expect(output == Data("body 0".utf8))
    #expect(process.isRunning)
    try await server.waitForRequests(2)
    gate.open()
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        process.waitUntilExit()
        continuation.resume()
      }
    }
    #expect(process.terminationStatus == 0)
    #expect(
      try await tool("get", url, "--cache-dir", "cache", "--cache-mode", "only-if-cached").text == "body 1")
  }

  /// What may not be shown stale is an error where there is no way to the server.
  @Test(arguments: [
    "max-age=2, must-revalidate", "no-cache", "max-age=0, must-revalidate, stale-if-error=60",
  ])
  func nothingIsShownThatMayNotBe(_ control: String) async throws {
    let server = try ScriptedServer { request in
      request.index == 0
        ? .ok(Array("body".utf8), headers: [("Cache-Control", control), ("Age", "5")]) : .close
    }
    let tool = try Tool()
    let url = server.url("/a").absoluteString
    #expect(try await tool("get", url, "--cache-dir", "cache").text == "body")
    let result = try await tool("get", url, "--cache-dir", "cache")
    #expect(result.status == 1)
    #expect(result.output.isEmpty)
  }

  /// 25 processes at once on one folder, as many addresses, each twice.
  @Test func manyProcessesShareAFolder() async throws {
    let server = try ScriptedServer { request in
      .ok(Array(request.path.utf8), headers: [("Cache-Control", "max-age=600")])
    }
    let tool = try Tool()
    for _ in 0..<2 {
      await withTaskGroup(of: Void.self) { group in
        for index in 0..<25 {
          group.addTask {
            let result = try? await tool(
              "get", server.url("/\(index)").absoluteString, "--cache-dir", "cache")
            #expect(result?.text == "/\(index)", "\(result?.errorText ?? "")")
          }
        }
      }
    }
    #expect(server.requests.count == 25)
    let report = DiskCache(directory: tool.folder.file("cache")).verify()
    #expect(report.isClean)
    #expect(report.entries == 25)
  }
}
