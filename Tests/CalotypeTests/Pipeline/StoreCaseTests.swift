import Foundation
import TestSupport
import Testing

@testable import Calotype

/// Faults of the field that have to do with keys, stores and cancelling, on a real server, transport and disk.
@Suite struct StoreCaseTests {
  /// A server whose pictures' red is told by the query, or else by the path.
  private func colored() throws -> HTTPFixture {
    let red = try ServedPicture.png(red: 250, green: 0, blue: 0)
    let blue = try ServedPicture.png(red: 0, green: 0, blue: 250)
    return try HTTPFixture { $0.target.hasSuffix("b") ? .ok(blue) : .ok(red) }
  }

  private func load(_ pipeline: ImagePipeline, _ url: URL) async throws -> Bitmap.Pixel {
    try await pipeline.image(for: ImageRequest(url: url))[0, 0]
  }

  @Test("K1: the query is part of the address") func queries() async throws {
    let fixture = try colored()
    let pipeline = fixture.pipeline(memory: true)
    #expect(try await load(pipeline, fixture.url("/t?f=a")).red == 250)
    #expect(try await load(pipeline, fixture.url("/t?f=b")).blue == 250)
    #expect(fixture.server.requests.map(\.target) == ["/t?f=a", "/t?f=b"])
    #expect(await fixture.entryCount(pipeline) == 2)
  }

  @Test("K2: odd addresses are stored apart, and found again") func oddAddresses() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { _ in .ok(picture) }
    let addresses = [
      "/m?c=48.8,2.3&s=1", "/i@2x.png", "/x." + String(repeating: "e", count: 300), "/one/icon.png",
      "/two/icon.png",
    ]
    for _ in 0..<2 {
      // Another run each time, with nothing in memory.
      let pipeline = fixture.pipeline()
      for address in addresses { _ = try await load(pipeline, fixture.url(address)) }
      await pipeline.flush()
    }
    #expect(fixture.server.requests.map(\.target) == addresses)
    #expect(await fixture.entryCount(fixture.pipeline()) == addresses.count)
  }

  @Test("K3: what makes no difference to HTTP makes none to the caches") func normalForms() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { _ in .ok(picture) }
    let pipeline = fixture.pipeline(memory: true)
    let base = fixture.url("").absoluteString
    for text in [base + "/a#1", base.uppercased() + "/a", base + "/a", base + "/a/"] {
      _ = try await load(pipeline, try #require(URL(string: text)))
    }
    #expect(fixture.server.requests.map(\.target) == ["/a", "/a/"])
    #expect(ImageRequest.normalizedAddress("HTTP://Host:80/a#1") == "http://host/a")
    #expect(ImageRequest.normalizedAddress("https://host:443") == "https://host/")
    #expect(ImageRequest.normalizedAddress("https://host:80/A?q#f") == "https://host:80/A?q")
    #expect(ImageRequest.normalizedAddress("http://User@Host/a") == "http://User@host/a")
    #expect(ImageRequest.normalizedAddress("http://host:8080/a") == "http://host:8080/a")
    #expect(ImageRequest.normalizedAddress("http://host:80/a#b") == "http://host/a")
    #expect(ImageRequest.normalizedAddress("https://host:443/a") == "https://host/a")
    #expect(ImageRequest.normalizedAddress("https://host:8443") == "https://host:8443/")
    #expect(ImageRequest.normalizedAddress("http://host:8080/a#b") == "http://host:8080/a")
  }

  @Test("K4: each language gets its own") func languages() async throws {
    let pictures = ["en": try ServedPicture.png(red: 1), "fr": try ServedPicture.png(red: 2)]
    let fixture = try HTTPFixture { request in
      .ok(
        pictures[request.header("Accept-Language") ?? ""] ?? [],
        headers: [("Vary", "Accept-Language"), ("Cache-Control", "max-age=60")])
    }
    for run in 0..<2 {
      let pipeline = fixture.pipeline()
      let tasks = ["en", "fr"].map {
        pipeline.task(for: fixture.request("/a", headers: ["Accept-Language": $0]))
      }
      for (index, task) in tasks.enumerated() {
        #expect(try await task.response.image[0, 0].red == UInt8(index + 1))
      }
      await pipeline.flush()
      #expect(fixture.server.requests.count == 2, "run \(run)")
    }
  }

  @Test("K6: a body that ends too early is an error, and is asked for again") func endsTooEarly() async throws
  {
    let picture = try ServedPicture.png()
    let isBroken = Lock(true)
    let fixture = try HTTPFixture { _ in
      isBroken.withLock { $0 }
        ? .truncated(Array(picture.prefix(40)), promising: picture.count) : .ok(picture)
    }
    let pipeline = fixture.pipeline(memory: true)
    let code = await pipeline.task(for: fixture.request("/a")).outcome.errorCode
    #expect(code == "connection_lost")
    #expect(await fixture.entryCount(pipeline) == 0)
    isBroken.withLock { $0 = false }
    #expect(try await load(pipeline, fixture.url("/a")).red == 200)
    #expect(fixture.server.requests.count == 2)
  }

  @Test("K8: the folder is deleted while the program runs") func deletedFolder() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { _ in .ok(picture) }
    let pipeline = fixture.pipeline()
    for (run, source) in [ImageResponse.Source.network, .network, .disk].enumerated() {
      if run == 1 {
        for file in try FileManager.default.contentsOfDirectory(
          at: fixture.folder.url, includingPropertiesForKeys: nil)
        {
          try FileManager.default.removeItem(at: file)
        }
      }
      #expect(try await pipeline.task(for: fixture.request("/a")).response.source == source)
      await pipeline.flush()
    }
  }

  @Test("K13: a damaged entry is a miss, never wrong pixels") func damagedEntry() async throws {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { _ in .ok(picture) }
    var pipeline = fixture.pipeline()
    _ = try await load(pipeline, fixture.url("/a"))
    await pipeline.flush()
    let files = try #require(
      FileManager.default.enumerator(at: fixture.folder.url, includingPropertiesForKeys: nil))
    for case let file as URL in files where file.lastPathComponent.count == 32 {
      var bytes = try Data(contentsOf: file)
      bytes[bytes.count / 2] ^= 1
      try bytes.write(to: file)
    }
    pipeline = fixture.pipeline()
    let response = try await pipeline.task(for: fixture.request("/a")).response
    #expect(response.source == .network)
    #expect(response.image[0, 0].red == 200)
  }

  @Test("O1: the connection is closed when the last has cancelled") func closesTheConnection() async throws {
    let gate = TestSupport.Gate()
    defer { gate.open() }
    let fixture = try HTTPFixture { _ in
      [.head(200, [("Content-Length", "1000")]), .body("half"), .wait(gate)]
    }
    let pipeline = fixture.pipeline()
    let tasks = (0..<3).map { _ in pipeline.task(for: fixture.request("/a")) }
    try await fixture.server.waitForRequests(1)
    for task in tasks { task.cancel() }
    try await fixture.server.waitForAllClosed(timeout: .seconds(5))
    #expect(fixture.server.requests.count == 1)
    await pipeline.flush()
  }

  @Test("O2: started, cancelled and fetched again, it always succeeds") func cancelledAndFetchedAgain()
    async throws
  {
    let picture = try ServedPicture.png()
    let fixture = try HTTPFixture { _ in .ok(picture, headers: [("Cache-Control", "no-store")]) }
    let pipeline = fixture.pipeline()
    var generator = SplitMix(state: 2)
    for _ in 0..<200 {
      let first = pipeline.task(for: fixture.request("/a"))
      for _ in 0..<generator.next() % 20 { await Task.yield() }
      first.cancel()
      #expect(await pipeline.task(for: fixture.request("/a")).outcome.errorCode == nil)
    }
    await pipeline.flush()
    #expect(pipeline.core.withLock { $0.isIdle })
  }

  @Test("P1: a turned picture is upright after a restart, as print and as original", arguments: 1...8)
  func uprightAfterARestart(orientation: Int) async throws {
    let bytes = Array(try DecodingFixtures.data("orientation-\(orientation).jpg"))
    let fixture = try HTTPFixture { _ in .ok(bytes) }
    for source in [ImageResponse.Source.network, .disk] {
      let pipeline = fixture.pipeline { $0.diskStorage = .all }
      let whole = try await pipeline.task(for: fixture.request("/a")).response
      #expect(PixelDifference.meanAbsoluteError(whole.image, try DecodingFixtures.reference("upright")) < 2)
      let small = try await pipeline.task(
        for: ImageRequest(url: fixture.url("/a"), targetSize: DecodingFixtures.half)
      ).response
      let reference = try DecodingFixtures.reference("upright", size: DecodingFixtures.halfSize)
      #expect(PixelDifference.meanAbsoluteError(small.image, reference) < 2)
      #expect(whole.source == source)
      #expect(small.container.originalSize == DecodingFixtures.size)
      await pipeline.flush()
    }
    #expect(fixture.server.requests.count == 1)
  }

  @Test("P6: an opaque photo's stored print stays opaque and is no PNG") func opaquePrints() async throws {
    let side = 400
    let photo = try ServedPicture.noise(side: side, seed: 6)
    let fixture = try HTTPFixture { _ in .ok(photo) }
    let request = ImageRequest(url: fixture.url("/a"), targetSize: .init(width: 200, height: 200))
    for source in [ImageResponse.Source.network, .disk] {
      let pipeline = fixture.pipeline { $0.diskStorage = .prints }
      let response = try await pipeline.task(for: request).response
      #expect(response.source == source)
      #expect(response.image.isOpaque)
      #expect(response.image.size == PixelSize(width: 200, height: 200))
      await pipeline.flush()
    }
    let print = try #require(fixture.cache().entry(for: request.cacheKey.text))
    #expect(print.metadata.kind == .encodedPrint)
    #expect([.jpeg, .webp].contains(ImageFormat.detect(print.body)))
  }

  @Test("P6: an animation has all its frames after a restart", arguments: ["gif", "webp", "png", "avif"])
  func animationsKeepTheirFrames(kind: String) async throws {
    let bytes = Array(try DecodingFixtures.data("animated.\(kind)"))
    let frames = try ImageDecoder().inspect(Data(bytes)).frameCount
    #expect(frames > 1)
    let fixture = try HTTPFixture { _ in .ok(bytes) }
    for _ in 0..<2 {
      let pipeline = fixture.pipeline { $0.diskStorage = .automatic }
      let response = try await pipeline.task(for: fixture.request("/a")).response
      #expect(response.container.frameCount == frames)
      #expect(try await pipeline.data(for: fixture.request("/a")).data == Data(bytes))
      await pipeline.flush()
    }
    #expect(fixture.server.requests.count == 1)
  }

  @Test func printsAreKeptApartByThePipelinesCredentials() async throws {
    let disk = StubDataCache(), memory = StubMemoryCache()
    func pipeline(_ who: UInt8, memory: StubMemoryCache? = nil) -> ImagePipeline {
      PipelineFixture(configure: {
        $0.memoryCache = memory
        $0.diskCache = disk
        $0.diskStorage = .all
        $0.headers["Authorization"] = "Bearer \(who)"
      }) { request in
        guard request.url.path != "/missing" else { return .respond(status: 404, body: Data()) }
        let red = request.headers["Authorization"].flatMap { UInt8($0.dropFirst(7)) } ?? 0
        return .respond(headers: ["Cache-Control": "max-age=60"], body: Data([red]))
      }.pipeline
    }
    let wanted = ImageRequest(url: url("/a"), targetSize: .init(width: 9, height: 9))
    var elsewhere = ImageRequest(url: url("/missing"), targetSize: .init(width: 8, height: 8))
    elsewhere.alternatives = [url("/b")]
    for who: UInt8 in [1, 2, 1] {
      for request in [wanted, elsewhere] {
        let onDisk = pipeline(who)
        #expect(try await onDisk.task(for: request).response.image[0, 0].red == who)
        await onDisk.flush()
        let inMemory = pipeline(who, memory: memory)
        #expect(try await inMemory.task(for: request).response.image[0, 0].red == who)
        await inMemory.flush()
      }
      #expect(pipeline(who, memory: memory).cachedImage(for: wanted)?.bitmap[0, 0].red == who)
    }
    #expect(!disk.keys.contains { $0.contains("Bearer") })
    let one = pipeline(1).completed(wanted)
    #expect(pipeline(1).completed(one).cacheKey == one.cacheKey)
    #expect(PipelineFixture { _ in .hold }.pipeline.completed(wanted).cacheKey == wanted.cacheKey)
    let file = ImageRequest(url: URL(fileURLWithPath: "/etc/hostname"))
    #expect(pipeline(1).completed(file).cacheKey == file.cacheKey)
  }
}
