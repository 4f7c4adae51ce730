import Calotype
import Foundation
import TestSupport
import Testing

/// `fetch --har`, held against the structure of HTTP Archive 1.2.
@Suite struct HTTPArchiveTests {
  typealias Object = [String: Any]

  private func log(_ tool: Tool, _ path: String) throws -> Object {
    let top = try #require(try JSONSerialization.jsonObject(with: try tool.data(path)) as? Object)
    #expect(Set(top.keys) == ["log"])
    let log = try #require(top["log"] as? Object)
    #expect(Set(log.keys) == ["version", "creator", "entries"])
    #expect(log["version"] as? String == "1.2")
    let creator = try #require(log["creator"] as? Object)
    #expect(creator["name"] as? String == "Calotype")
    #expect(creator["version"] as? String == CalotypeVersion.string)
    for entry in try #require(log["entries"] as? [Object]) { try check(entry) }
    return log
  }

  private func check(_ object: Object, has members: [String: (Any) -> Bool]) {
    for (name, isRight) in members {
      #expect(object[name].map(isRight) == true, "\(name): \(String(describing: object[name]))")
    }
    // What the format does not name begins with an underscore.
    for name in object.keys where members[name] == nil {
      #expect(name.hasPrefix("_") || ["comment", "serverIPAddress"].contains(name), "\(name)")
    }
  }

  private func check(_ entry: Object) throws {
    let isText: (Any) -> Bool = { $0 is String }, isNumber: (Any) -> Bool = { $0 is NSNumber }
    let isObject: (Any) -> Bool = { $0 is Object }
    let isPairs: (Any) -> Bool = {
      ($0 as? [[String: String]])?.allSatisfy { Set($0.keys) == ["name", "value"] } == true
    }
    check(
      entry,
      has: [
        "startedDateTime": {
          ($0 as? String)?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil
        },
        "time": isNumber, "request": isObject, "response": isObject, "cache": isObject, "timings": isObject,
      ])
    check(
      try #require(entry["request"] as? Object),
      has: [
        "method": isText, "url": { ($0 as? String).flatMap(URL.init(string:)) != nil }, "httpVersion": isText,
        "cookies": isPairs, "headers": isPairs, "queryString": isPairs, "headersSize": isNumber,
        "bodySize": isNumber,
      ])
    let response = try #require(entry["response"] as? Object)
    check(
      response,
      has: [
        "status": { $0 is Int }, "statusText": isText, "httpVersion": isText, "cookies": isPairs,
        "headers": isPairs, "content": isObject, "redirectURL": isText, "headersSize": isNumber,
        "bodySize": isNumber,
      ])
    check(try #require(response["content"] as? Object), has: ["size": isNumber, "mimeType": isText])
    let timings = try #require(entry["timings"] as? [String: Double])
    let isPhase: (Any) -> Bool = { ($0 as? Double).map { $0 == -1 || $0 >= 0 } == true }
    let isTime: (Any) -> Bool = { ($0 as? Double).map { $0 >= 0 } == true }
    check(
      timings,
      has: [
        "blocked": isPhase, "dns": isPhase, "connect": isPhase, "ssl": isPhase, "send": isTime,
        "wait": isTime, "receive": isTime,
      ])
    // "time" is the sum of the phases that occurred; TLS is in the connecting.
    let sum = timings.filter { $0.key != "ssl" && $0.value > 0 }.values.reduce(0, +)
    #expect(abs((entry["time"] as? Double ?? -1) - sum) < 0.01)
  }

  @Test func tellsOfEachRequestAndOfNoSecret() async throws {
    let picture = try Picture.png()
    let server = try ScriptedServer { request in
      switch request.path {
      case "/a.png", "/b.png": .ok(picture, headers: [("Cache-Control", "max-age=0"), ("ETag", "\"1\"")])
      case "/closed.png": [.close]
      default: .status(404)
      }
    }
    let tool = try Tool()
    let paths = ["/a.png?size=9&q=a%20b", "/b.png", "/a.png?size=9&q=a%20b", "/404", "/closed.png"]
    let list = paths.map { server.url("/").absoluteString + $0.dropFirst() + "\n" }.joined()
      .replacing("/b.png", with: "/b.png#x").replacing("http://", with: "http://user:secret@")
    try tool.folder.write(list, to: "list.txt")
    let line = [
      "fetch", "list.txt", "--har", "new/h.har", "--retries", "0", "-H", "Authorization: Bearer secret", "-H",
      "X-Api-Key: secret", "-H", "Accept-Language: fr",
    ]
    #expect(try await tool.run(line).status == 1)
    let entries = try #require(try log(tool, "new/h.har")["entries"] as? [Object])
    #expect(entries.count == 4, "a row that is there twice is asked for once")
    func entry(_ path: String) throws -> (request: Object, response: Object, whole: Object) {
      let found = try #require(
        entries.first { (($0["request"] as? Object)?["url"] as? String)?.contains(path) == true })
      return (found["request"] as? Object ?? [:], found["response"] as? Object ?? [:], found)
    }
    let first = try entry("/a.png")
    #expect((first.request["url"] as? String)?.contains("user:***@127.0.0.1") == true)
    #expect(
      first.request["queryString"] as? [[String: String]] == [
        ["name": "size", "value": "9"], ["name": "q", "value": "a b"],
      ])
    #expect(
      first.request["headers"] as? [[String: String]] == [["name": "Accept-Language", "value": "fr"]])
    #expect(first.request["httpVersion"] as? String == "HTTP/1.1")
    #expect(first.response["status"] as? Int == 200)
    #expect((first.response["content"] as? Object)?["size"] as? Int == picture.count)
    #expect((first.response["content"] as? Object)?["mimeType"] as? String == "image/png")
    #expect(first.whole["serverIPAddress"] as? String == "127.0.0.1")
    #expect(try entry("/404").response["status"] as? Int == 404)
    #expect(try entry("/closed.png").response["status"] as? Int == 0)
    #expect(!String(decoding: try tool.data("new/h.har"), as: UTF8.self).contains("secret"))
    // What is asked about and has not changed.
    #expect(try await tool.run(line).status == 1)
    let again = try #require(try log(tool, "new/h.har")["entries"] as? [Object])
    let statuses = again.compactMap { ($0["response"] as? Object)?["status"] as? Int }.sorted()
    #expect(statuses == [0, 200, 200, 404] || statuses == [0, 304, 304, 404], "\(statuses)")
  }

  @Test func isWholeWhereNothingIsAskedOrTheRunIsInterrupted() async throws {
    let tool = try Tool()
    #expect(try await tool("fetch", "-", "--har", "empty.har").status == 0)
    #expect((try log(tool, "empty.har")["entries"] as? [Object])?.isEmpty == true)
    let server = try ScriptedServer { _ in .hang }
    let process = try SpawnedProgram(
      Tool.path, ["fetch", "--no-cache", "--har", "cut.har", "list.txt"],
      folder: tool.folder.write(server.url("/a.png").absoluteString, to: "list.txt")
        .deletingLastPathComponent().path)
    try await server.waitForRequests(1)
    process.signal(SIGINT)
    #expect(await process.ended() == 130)
    #expect((try log(tool, "cut.har")["entries"] as? [Object])?.isEmpty == true)
  }
}
