import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Calotype

@Suite struct LocalSourceTests {
  private func png(red: UInt8) throws -> Data {
    let bitmap = try bitmap(width: 8, height: 8) { _, _ in .init(red: red, green: 0, blue: 0) }
    return try ImageEncoder().encode(bitmap, options: ImageEncodingOptions(format: .png))
  }

  /// A pipeline with real decoding and no network.
  private func fixture(configure: @escaping (inout ImagePipeline.Configuration) -> Void = { _ in })
    -> PipelineFixture
  {
    PipelineFixture(
      disk: true,
      configure: {
        $0.decoder = ImageDecoder()
        $0.diskStorage = .all
        configure(&$0)
      }
    ) { _ in .fail(.invalidAddress) }
  }

  private let small = TargetSize(width: 2, height: 2)

  @Test func aFileIsReadSharedAndNotCopied() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appendingPathComponent("a picture.png")
    try png(red: 100).write(to: file)
    let fixture = fixture()
    let request = ImageRequest(url: file, targetSize: small)
    let response = try await fixture.pipeline.task(for: request).response
    #expect(response.source == .local)
    #expect(response.image.size == PixelSize(width: 2, height: 2))
    #expect(response.image[0, 0].red == 100)
    #expect(try await fixture.pipeline.task(for: request).response.source == .memory)
    await fixture.pipeline.flush()
    // The print is kept on disk, the original is not.
    #expect(fixture.disk.keys == [request.cacheKey.text])
    fixture.memory.removeAll()
    #expect(try await fixture.pipeline.task(for: request).response.source == .disk)
    #expect(try await fixture.pipeline.data(for: ImageRequest(url: file)).data == png(red: 100))
    #expect(fixture.transport.requests.isEmpty)
  }

  /// RFC 8089, section 2: the host is the machine that the file is on.
  @Test func aFileOfAnotherMachineIsRefused() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appendingPathComponent("a.png")
    try png(red: 100).write(to: file)
    let pipeline = fixture().pipeline
    for host in ["", "localhost", "LocalHost"] {
      let url = try #require(URL(string: "file://\(host)\(file.path)"))
      #expect(try await pipeline.image(for: url).width == 8, "\(host)")
    }
    for host in ["otherhost", "localhost.example", "127.0.0.1", "user@localhost", "localhost:80"] {
      let url = try #require(URL(string: "File://\(host)\(file.path)"))
      for request in [ImageRequest(url: url), ImageRequest(url: url, targetSize: small)] {
        let error = await #expect(throws: ImagePipeline.Error.self) { try await pipeline.data(for: request) }
        #expect(error?.code == "not_read")
        #expect(error?.message.contains("it is a file of another machine, \(host): ") == true)
        await #expect(throws: ImagePipeline.Error.self) { try await pipeline.task(for: request).response }
      }
    }
  }

  @Test func aChangedFileIsAnotherPicture() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appendingPathComponent("a.png")
    try png(red: 100).write(to: file)
    let fixture = fixture()
    let old = ImageRequest(url: file, targetSize: small)
    _ = try await fixture.pipeline.image(for: old)
    await fixture.pipeline.flush()
    try png(red: 200).write(to: file)
    var times = [timespec(tv_sec: 1_000_000_000, tv_nsec: 5), timespec(tv_sec: 1_000_000_000, tv_nsec: 5)]
    #expect(utimensat(AT_FDCWD, file.path, &times, 0) == 0)
    let new = ImageRequest(url: file, targetSize: small)
    #expect(new.cacheKey != old.cacheKey)
    #expect(try await fixture.pipeline.image(for: new)[0, 0].red == 200)
    await fixture.pipeline.flush()
    // A request from before reads what the file is now, but nothing is kept under its name.
    fixture.memory.removeAll()
    fixture.disk.removeAll()
    #expect(try await fixture.pipeline.image(for: old)[0, 0].red == 200)
    await fixture.pipeline.flush()
    #expect(fixture.memory.count == 0)
    #expect(fixture.disk.keys.isEmpty)
  }

  @Test func whatIsNoFileIsAnErrorThatSaysSo() async throws {
    let folder = try TemporaryFolder()
    let fixture = fixture { $0.maximumOriginalSize = 10 }
    let pipe = folder.url.appendingPathComponent("pipe")
    #expect(mkfifo(pipe.path, 0o600) == 0)
    let large = folder.url.appendingPathComponent("large")
    try Data(count: 11).write(to: large)
    for (url, words) in [
      (folder.url.appendingPathComponent("missing"), "No such file"), (folder.url, "no file"),
      (pipe, "no file"), (large, "over the limit of 10"),
    ] {
      let task = fixture.pipeline.task(for: url)
      let error = await #expect(throws: ImagePipeline.Error.self) { try await task.response }
      #expect(error?.code == "not_read")
      #expect(error?.message.contains(words) == true)
      #expect(error?.stage == .read)
    }
  }

  @Test func dataAddressesAreReadInBothForms() async throws {
    let fixture = fixture()
    let picture = try png(red: 7)
    let base64 = picture.base64EncodedString()
    let percent = picture.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let unpadded = String(base64.prefix { $0 != "=" })
    for text in [
      "data:image/png;base64,\(base64)", "DATA:;charset=x;BASE64,\(unpadded)", "data:,\(percent)",
      "data:text/html;base64,\(base64.replacingOccurrences(of: "+", with: "%2B").prefix(20))%0A\(base64.replacingOccurrences(of: "+", with: "%2B").dropFirst(20))",
    ] {
      let url = try #require(URL(string: text))
      let response = try await fixture.pipeline.task(for: ImageRequest(url: url, targetSize: small)).response
      #expect(response.image[0, 0].red == 7)
    }
    let key = ImageRequest(url: try #require(URL(string: "data:image/png;base64,\(base64)"))).cacheKey
    #expect(key.address.count < 80)
    await fixture.pipeline.flush()
    // Its key holds for this process only.
    #expect(fixture.disk.keys.isEmpty)
    for text in ["data:image/png", "data:;base64,%%%", "data:;base64,a"] {
      guard let url = URL(string: text) else { continue }
      #expect(await fixture.pipeline.task(for: url).outcome.errorCode == "not_read")
    }
    #expect(
      await fixture.pipeline.task(for: try #require(URL(string: "data:,hello"))).outcome.errorCode
        == "not_an_image")
  }

  @Test func bytesAreNamedByTheirKey() async throws {
    let fixture = fixture()
    let one = ImageRequest(data: try png(red: 1), key: "one", targetSize: small)
    #expect(try await fixture.pipeline.task(for: one).response.source == .local)
    #expect(try await fixture.pipeline.image(for: one)[0, 0].red == 1)
    let two = ImageRequest(data: try png(red: 2), key: "two")
    #expect(try await fixture.pipeline.image(for: two)[0, 0].red == 2)
    #expect(fixture.memory.count == 2)
    // An address from elsewhere is never taken for it.
    let forged = ImageRequest(url: one.url, targetSize: small)
    #expect(forged.cacheKey != one.cacheKey)
    #expect(await fixture.pipeline.task(for: forged).outcome.errorCode != nil)
  }

  @Test func aClosureIsCalledOnceForAllWhoWait() async throws {
    let fixture = fixture()
    let calls = Atomic<Int>(0)
    let (gate, opener) = AsyncStream.makeStream(of: Void.self)
    let picture = try png(red: 3)
    let load: @Sendable () async throws -> Data = {
      calls.add(1, ordering: .relaxed)
      for await _ in gate { break }
      return picture
    }
    let sizes = [2.0, 4, 4].map { TargetSize(width: $0, height: $0) }
    let tasks = sizes.map {
      fixture.pipeline.task(for: ImageRequest(identifier: "row 7", targetSize: $0, load: load))
    }
    // Two prints, of which one has two tasks.
    while fixture.pipeline.core.withLock({ $0.originals.first?.waiters.count }) != 2 {
      await Task.yield()
    }
    opener.finish()
    for (task, size) in zip(tasks, sizes) { #expect(try await task.response.image.width == Int(size.width)) }
    #expect(calls.load(ordering: .relaxed) == 1)
    struct Refused: Error {}
    let failing = fixture.pipeline.task(for: ImageRequest(identifier: "other") { throw Refused() })
    #expect(await failing.outcome.errorCode == "not_read")
  }

  @Test func aClosureIsCancelledWithItsLastTask() async throws {
    let fixture = fixture()
    let (told, teller) = AsyncStream.makeStream(of: String.self)
    var words = told.makeAsyncIterator()
    let task = fixture.pipeline.task(
      for: ImageRequest(identifier: "slow") {
        teller.yield("begun")
        await withTaskCancellationHandler {
          for await _ in AsyncStream<Void>.makeStream().stream {}
        } onCancel: {
          teller.yield("cancelled")
        }
        throw CancellationError()
      })
    #expect(await words.next() == "begun")
    task.cancel()
    #expect(await words.next() == "cancelled")
    #expect(task.result?.errorCode == "cancelled")
    await fixture.pipeline.flush()
  }
}
