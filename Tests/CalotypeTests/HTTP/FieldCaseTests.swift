import Foundation
import TestSupport
import Testing

@testable import Calotype

/// Faults that image loaders have shipped, each tried from outside: over a real connection, with what is
/// stored in a real folder.
@Suite struct FieldCaseTests {
  @Test func aConfirmedPictureKeepsItsHeadersAndIsAskedAboutAgain() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { request in
      request.header("If-None-Match") == "\"1\""
        ? .status(304, headers: [("ETag", "\"1\""), ("X-New", "\(request.index)")])
        : .ok(
          picture, type: "image/png",
          headers: [
            ("ETag", "\"1\""), ("Cache-Control", "max-age=0"), ("X-Kept", "yes"),
          ])
    }
    for (index, source) in [ImageResponse.Source.network, .revalidated, .revalidated].enumerated() {
      let pipeline = fixture.pipeline()
      let response = try await pipeline.data(for: fixture.request("/a"))
      #expect(response.source == source)
      #expect(response.status == 200)
      #expect(Array(response.data) == picture)
      #expect(response.headers["X-Kept"] == "yes")
      #expect(response.headers["X-New"] == (index == 0 ? nil : "\(index)"))
      await pipeline.flush()
    }
    #expect(fixture.server.requests.map { $0.header("If-None-Match") } == [nil, "\"1\"", "\"1\""])
  }

  @Test(arguments: [0, 100])
  func freshForAsLongAsTheServerSays(age: Int) async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { _ in
      .ok(
        picture, type: "image/png",
        headers: [
          ("Cache-Control", "max-age=200"), ("Age", "\(age)"), ("ETag", "\"1\""),
        ])
    }
    func load() async throws -> Int {
      let pipeline = fixture.pipeline()
      _ = try await pipeline.image(for: fixture.request("/a"))
      await pipeline.flush()
      return fixture.server.requests.count
    }
    #expect(try await load() == 1)
    // What it came with counts: a response that was 100 seconds old is fresh for 100 seconds less.
    try fixture.letTimePass(50, for: "/a")
    #expect(try await load() == 1)
    try fixture.letTimePass(60, for: "/a")
    #expect(try await load() == (age == 100 ? 2 : 1))
    try fixture.letTimePass(300, for: "/a")
    #expect(try await load() == (age == 100 ? 3 : 2))
    #expect(fixture.server.requests.last?.header("If-None-Match") == "\"1\"")
  }

  @Test func failuresAreNotRemembered() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { request in
      switch request.path {
      case "/gone": .status(404, headers: [("Cache-Control", "max-age=100")])
      case "/broken" where request.index < 5: .status(500, headers: [("Cache-Control", "max-age=60")])
      case "/reset" where request.index == 0: .reset
      default: .ok(picture, type: "image/png")
      }
    }
    let pipeline = fixture.pipeline()
    func code(_ path: String) async -> String? {
      let code = await pipeline.task(for: fixture.request(path)).outcome.errorCode
      await pipeline.flush()
      return code
    }
    // First of all, on a connection of its own: one that was used before is tried again at once.
    #expect(await code("/reset") == "connection_lost")
    #expect(await code("/reset") == nil)
    #expect(await code("/gone") == "http_404")
    #expect(await code("/gone") == "http_404")
    #expect(fixture.server.requests.count == 3)
    try fixture.letTimePass(101, for: "/gone")
    #expect(await code("/gone") == "http_404")
    #expect(fixture.server.requests.count == 4)
    #expect(await code("/broken") == "http_500")
    #expect(await code("/broken") == nil)
    fixture.server.stop()
    #expect(await code("/refused") == "connection_failed")
  }

  @Test func whatIsNoPictureIsAnErrorAndIsNotStored() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { request in
      switch request.path {
      case "/missing": .status(404, body: picture)
      case "/empty": .ok([UInt8](), type: "image/png")
      case "/page": .ok(Array("<html>not here</html>".utf8), type: "text/html")
      default: .ok(picture, type: "image/jpeg")
      }
    }
    let pipeline = fixture.pipeline()
    var codes: [String?] = []
    for path in ["/missing", "/empty", "/page"] {
      codes.append(await pipeline.task(for: fixture.request(path)).outcome.errorCode)
    }
    #expect(codes[0] == "http_404")
    #expect(codes[1] != nil && codes[2] != nil)
    #expect(await fixture.entryCount(pipeline) == 0)
    let image = try await pipeline.image(for: fixture.request("/mislabelled"))
    #expect(image[0, 0].red == 200)
    #expect(await fixture.entryCount(pipeline) == 1)
  }

  @Test func eachHopHasItsOwnCaching() async throws {
    let pictures = [try ServedPicture.png(red: 10), try ServedPicture.png(red: 20)]
    let fixture = try HTTPFixture { request in
      switch request.path {
      case "/now":
        .status(
          302,
          headers: [
            ("Location", request.index == 0 ? "/v1" : "/v2"), ("Cache-Control", "no-store"),
          ])
      default:
        .ok(
          pictures[request.path == "/v1" ? 0 : 1], type: "image/png",
          headers: [
            ("Cache-Control", "max-age=60")
          ])
      }
    }
    for red in [UInt8(10), 20, 20] {
      let pipeline = fixture.pipeline(memory: true)
      #expect(try await pipeline.image(for: fixture.request("/now"))[0, 0].red == red)
      await pipeline.flush()
    }
    #expect(fixture.server.requests.map(\.path) == ["/now", "/v1", "/now", "/v2", "/now"])
  }

  @Test func credentialsStayWithTheirOrigin() async throws {
    let picture = try ServedPicture.png()
    let other = try ScriptedServer { _ in .ok(picture, type: "image/png") }
    let fixture = try HTTPFixture { request in
      switch request.path {
      case "/elsewhere": .redirect(other.url("/x").absoluteString)
      case "/here": .redirect("/x")
      default: .ok(picture, type: "image/png")
      }
    }
    let pipeline = fixture.pipeline { $0.secretHeaders = ["x-key"] }
    let headers: HTTPHeaders = ["Authorization": "Bearer 1", "Cookie": "a=b", "X-Key": "2", "X-Open": "3"]
    for path in ["/elsewhere", "/here"] {
      _ = try await pipeline.image(for: fixture.request(path, headers: headers))
    }
    let passedOn = try #require(other.requests.first)
    for name in ["Authorization", "Cookie", "X-Key"] { #expect(passedOn.header(name) == nil) }
    #expect(passedOn.header("X-Open") == "3")
    let kept = try #require(fixture.server.requests("/x").first)
    for name in ["Authorization", "Cookie", "X-Key"] { #expect(kept.header(name) != nil) }
  }

  /// A redirect is no failure: what fails behind two of them is tried again as often as without.
  @Test func whatFailsBehindRedirectsIsTriedAgain() async throws {
    let picture = try ServedPicture.png()
    let failures = Lock(2)
    let fixture = try HTTPFixture { request in
      switch request.path {
      case "/1": return .redirect("/2")
      case "/2": return .redirect("/3")
      default:
        let fails = failures.withLock { left in
          left -= 1
          return left >= 0
        }
        return fails ? .status(503) : .ok(picture)
      }
    }
    let pipeline = fixture.pipeline { $0.retry = RetryPolicy(maximumTries: 3, baseDelay: 0.001) }
    let outcome = await pipeline.task(for: fixture.request("/1")).outcome
    #expect(outcome.errorCode == nil)
    #expect(fixture.server.requests.map(\.path).filter { $0 == "/3" }.count == 3)
  }

  @Test func tooManyRedirectsAreAnError() async throws {
    let fixture = try HTTPFixture { request in .redirect("/\(request.index + 1)") }
    let pipeline = fixture.pipeline()
    #expect(await pipeline.task(for: fixture.request("/0")).outcome.errorCode == "too_many_redirects")
    #expect(fixture.server.requests.count == 11)
  }

  @Test func aCompressedPictureComesWhole() async throws {
    let picture = try ServedPicture.noise(side: 100, seed: 1)
    let fixture = try HTTPFixture { _ in .gzip(picture, type: "image/png") }
    let pipeline = fixture.pipeline()
    let task = pipeline.task(for: fixture.request("/a"))
    let events = task.events
    var fractions: [Double] = []
    for await event in events {
      if case .progress(let progress) = event, let fraction = progress.fraction { fractions.append(fraction) }
    }
    #expect(try await task.response.image.size == PixelSize(width: 100, height: 100))
    #expect(fractions.allSatisfy { $0 <= 1 })
    await pipeline.flush()
    #expect(try await pipeline.data(for: fixture.request("/a")).data == Data(picture))
    #expect(fixture.server.requests.count == 1)
  }

  @Test func anEndlessBodyIsStopped() async throws {
    let fixture = try HTTPFixture { _ in .endless() }
    let pipeline = fixture.pipeline { $0.maximumOriginalSize = 1 << 20 }
    #expect(await pipeline.task(for: fixture.request("/a")).outcome.errorCode == "response_too_large")
    try await fixture.server.waitForAllClosed()
    // What the system's buffers on the way hold comes on top.
    #expect(fixture.server.connections[0].bytesSent < 32 << 20)
    #expect(await fixture.entryCount(pipeline) == 0)
  }

  @Test func aServersOwnTimeForAnotherTryIsKept() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { request in
      switch (request.path, request.index) {
      case ("/reset", 0): .reset
      case ("/busy", 2): .status(503, headers: [("Retry-After", "2")])
      default: .ok(picture, type: "image/png")
      }
    }
    let pipeline = fixture.pipeline { $0.retry = RetryPolicy(maximumTries: 2, baseDelay: 0.01) }
    #expect(try await pipeline.task(for: fixture.request("/reset")).response.metrics.tries == 2)
    #expect(try await pipeline.task(for: fixture.request("/busy")).response.metrics.tries == 2)
    let times = fixture.server.requests.map(\.time)
    #expect(times[3] - times[2] >= .seconds(2))
  }

  @Test func aSlowHostHoldsOnlyItsOwnPlaces() async throws {
    let picture = try ServedPicture.png()
    let gate = TestSupport.Gate()
    let slow = try ScriptedServer { _ in Script.ok(picture, type: "image/png").after(gate) }
    let fixture = try HTTPFixture { _ in .ok(picture, type: "image/png") }
    let pipeline = fixture.pipeline()
    let slowTasks = (0..<100).map { pipeline.task(for: ImageRequest(url: slow.url("/\($0)"))) }
    let fastTasks = (0..<100).map { pipeline.task(for: fixture.request("/\($0)")) }
    for task in fastTasks { _ = try await task.response }
    #expect(slowTasks.allSatisfy { $0.result == nil })
    gate.open()
    for task in slowTasks { _ = try await task.response }
  }
}
