import Foundation
import TestSupport
import Testing

@testable import Calotype

/// Going on with downloads that were broken off.
@Suite struct ResumeTests {
  /// Downloads the beginning and loses the connection.
  private func breakOff(_ fixture: HTTPFixture, _ path: String = "/a") async throws {
    let pipeline = fixture.pipeline()
    #expect(await pipeline.task(for: fixture.request(path)).outcome.errorCode == "connection_lost")
    await pipeline.flush()
    #expect(fixture.part(path) != nil)
  }

  @Test func progressContinuesWhereItStood() async throws {
    let picture = try ServedPicture.noise(side: 200, seed: 1)
    let fixture = try HTTPFixture { request in
      .resumable(picture, tag: "\"1\"", to: request, sending: request.index == 0 ? picture.count / 2 : nil)
    }
    try await breakOff(fixture)
    let pipeline = fixture.pipeline()
    let task = pipeline.task(for: fixture.request("/a"))
    var progress: [ImageTask.Progress] = []
    for await event in task.events { if case .progress(let value) = event { progress.append(value) } }
    _ = try await task.response
    let first = try #require(progress.first?.fraction)
    #expect(first >= 0.499)
    #expect(progress.allSatisfy { $0.total == picture.count && ($0.fraction ?? 2) <= 1 })
    #expect(fixture.server.requests[1].header("If-Range") == "\"1\"")
    await pipeline.flush()
    #expect(fixture.part("/a") == nil)
    #expect(try await pipeline.data(for: fixture.request("/a")).data == Data(picture))
    #expect(fixture.server.requests.count == 2)
  }

  /// Broken at random points, by losing the connection, with a new process's caches each time.
  @Test func tenBreaksCostLittleMoreThanNone() async throws {
    let length = 20 << 20
    let body = ServedPicture.bytes(length, seed: 2)
    var generator = SplitMix(state: 3)
    let cuts = (0..<10).map { _ in Int.random(in: 1...length / 6, using: &generator) }
    let fixture = try HTTPFixture { request in
      // What the server's system has not sent yet goes with a reset: it must not count as fetched.
      .resumable(
        body, tag: "\"1\"", to: request, sending: request.index < cuts.count ? cuts[request.index] : nil,
        then: request.index % 2 == 0 ? [.close] : [.pause(milliseconds: 300), .reset])
    }
    var response: ImagePipeline.DataResponse?
    for _ in 0...cuts.count where response == nil {
      let pipeline = fixture.pipeline()
      response = try? await pipeline.data(for: fixture.request("/a"))
      await pipeline.flush()
    }
    #expect(response.map { Array($0.data) } == body)
    let sent = fixture.server.connections.reduce(0) { $0 + $1.bytesSent }
    #expect(sent <= 21 << 20, "\(sent) bytes were sent")
    #expect(fixture.server.requests.count > 5)
  }

  /// A server that says no length and breaks each answer off: what they come to is held to the limit.
  @Test func aBodyThatGoesOnForEverIsHeldToTheLimit() async throws {
    let piece = 600_000
    let fixture = try HTTPFixture { request in
      let start = request.header("Range").flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
      var fields = [("ETag", "\"1\""), ("Content-Type", "image/png"), ("Transfer-Encoding", "chunked")]
      if start > 0 { fields.append(("Content-Range", "bytes \(start)-\(start + 9 * piece - 1)/*")) }
      let chunk = Array("\(String(piece, radix: 16))\r\n".utf8) + ServedPicture.bytes(piece, seed: 1)
      return Script([.head(start > 0 ? 206 : 200, fields), .body(chunk), .close])
    }
    var codes: [String?] = []
    for _ in 0..<2 {
      let pipeline = fixture.pipeline { $0.maximumOriginalSize = 1 << 20 }
      codes.append(await pipeline.task(for: fixture.request("/a")).outcome.errorCode)
      await pipeline.flush()
    }
    #expect(codes == ["connection_lost", "response_too_large"])
    #expect(fixture.server.requests.last?.header("Range") != nil)
    #expect(fixture.part("/a") == nil)
  }

  /// A part that a larger limit allowed is not gone on with under a smaller one.
  @Test func aPartOverTheLimitIsDropped() async throws {
    let picture = try ServedPicture.noise(side: 200, seed: 1)
    let fixture = try HTTPFixture { request in
      .resumable(picture, tag: "\"1\"", to: request, sending: picture.count / 2, then: [.close])
    }
    try await breakOff(fixture)
    let pipeline = fixture.pipeline { $0.maximumOriginalSize = picture.count / 4 }
    #expect(await pipeline.task(for: fixture.request("/a")).outcome.errorCode == "response_too_large")
    #expect(fixture.server.requests.last?.header("Range") == nil)
    await pipeline.flush()
    #expect(fixture.part("/a") == nil)
  }

  /// What the server does with the question for the rest; always one whole version comes of it.
  @Test(arguments: ["new tag", "from 0", "416", "200", "short", "weak", "other total"])
  func neverAMixture(_ answer: String) async throws {
    let one = try ServedPicture.noise(side: 200, seed: 1)
    let two = try ServedPicture.noise(side: 210, seed: 2)
    let kept = 40_000
    let fixture = try HTTPFixture { request in
      guard request.header("Range") != nil else {
        return request.index == 0
          ? .resumable(one, tag: "\"1\"", to: request, sending: kept)
          : .ok(two, type: "image/png", headers: [("ETag", "\"2\"")])
      }
      func part(_ bytes: ArraySlice<UInt8>, from start: Int, of total: Int, _ tag: String) -> Script {
        .status(
          206,
          headers: [
            ("ETag", tag), ("Content-Range", "bytes \(start)-\(start + bytes.count - 1)/\(total)"),
          ], body: bytes)
      }
      let start = Int(request.header("Range")!.dropFirst(6).dropLast())!
      switch answer {
      case "new tag": return part(two[start...], from: start, of: two.count, "\"2\"")
      case "from 0": return part(two[...], from: 0, of: two.count, "\"2\"")
      case "416": return .status(416, headers: [("Content-Range", "bytes */10")])
      case "200": return .ok(two, type: "image/png", headers: [("ETag", "\"2\"")])
      case "short":
        let end = min(start + 30_000, one.count)
        return part(one[start..<end], from: start, of: one.count, "\"1\"")
      case "weak": return part(two[start...], from: start, of: two.count, "W/\"1\"")
      default: return part(two[start...], from: start, of: two.count, "\"1\"")
      }
    }
    try await breakOff(fixture)
    let pipeline = fixture.pipeline()
    let data = try await pipeline.data(for: fixture.request("/a")).data
    #expect(Array(data) == (answer == "short" ? one : two))
    #expect(fixture.server.requests[1].header("Range") == "bytes=\(kept)-")
    await pipeline.flush()
    #expect(fixture.part("/a") == nil)
    #expect(try await fixture.pipeline().data(for: fixture.request("/a")).data == data)
  }

  /// All bytes were there, but not the end of the message, when the wait was given up.
  @Test func cancelledBeforeTheEnd() async throws {
    let picture = try ServedPicture.noise(side: 200, seed: 1)
    let fixture = try HTTPFixture { request in
      if request.header("Range") != nil { return .status(416) }
      if request.index > 0 { return .ok(picture, type: "image/png") }
      return [
        .head(200, [("Transfer-Encoding", "chunked"), ("ETag", "\"1\"")]), .chunk(picture), .hang,
      ]
    }
    let first = fixture.pipeline()
    let task = first.task(for: fixture.request("/a"))
    for await progress in task.progress where progress.completed == picture.count { task.cancel() }
    #expect(await task.outcome.errorCode == "cancelled")
    try await waitUntil("the part") { fixture.part("/a")?.body.count == picture.count }
    let second = fixture.pipeline()
    #expect(try await second.data(for: fixture.request("/a")).data == Data(picture))
    #expect(fixture.server.requests.count == 3)
    #expect(fixture.server.requests[2].header("Range") == nil)
  }

  /// A long download is on the disk while it comes.
  @Test func whatComesIsKeptAtOnce() async throws {
    let body = ServedPicture.bytes(1 << 20, seed: 4)
    let fixture = try HTTPFixture { request in
      .resumable(body, tag: "\"1\"", to: request, sending: 700_000, then: [.hang])
    }
    let pipeline = fixture.pipeline()
    let task = Task { try await pipeline.data(for: fixture.request("/a")) }
    try await waitUntil("the part") { (fixture.part("/a")?.body.count ?? 0) >= 700_000 - (64 << 10) }
    let part = try #require(fixture.part("/a")).body
    #expect(Array(part) == Array(body[..<part.count]))
    task.cancel()
    try await waitUntil("the rest of the part") { fixture.part("/a")?.body.count == 700_000 }
    // Parts count and are listed like everything else.
    try await waitUntil("the index") { fixture.cache().entries().contains { $0.kind == .partial } }
    fixture.cache().remove(url: fixture.url("/a"))
    #expect(fixture.part("/a") == nil)
  }

  @Test func whatCannotBeGoneOnWithIsNotKept() async throws {
    let body = ServedPicture.bytes(1 << 20, seed: 5)
    let fixture = try HTTPFixture { request in
      [
        .head(
          200, [("Content-Length", "\(body.count)"), ("ETag", request.path == "/weak" ? "W/\"1\"" : "")]),
        .body(Array(body[..<500_000])), .reset,
      ]
    }
    for path in ["/weak", "/none"] {
      let pipeline = fixture.pipeline()
      #expect(await pipeline.task(for: fixture.request(path)).outcome.errorCode == "connection_lost")
      #expect(await fixture.entryCount(pipeline) == 0)
    }
  }

  @Test func nothingIsKeptForARequestThatStoresNothing() async throws {
    let body = ServedPicture.bytes(1 << 20, seed: 5)
    let fixture = try HTTPFixture { .resumable(body, tag: "\"1\"", to: $0, sending: 500_000) }
    for (policy, storage) in [
      (ImageRequest.CachePolicy.noStore, ImageRequest.StorageOptions.all), (.default, .memory),
    ] {
      let pipeline = fixture.pipeline()
      let request = ImageRequest(url: fixture.url("/a"), cachePolicy: policy, storage: storage)
      #expect(await pipeline.task(for: request).outcome.errorCode == "connection_lost")
      #expect(await fixture.entryCount(pipeline) == 0)
    }
  }
}
