import Foundation
import TestSupport
import Testing

@testable import Calotype

/// The real helper, in its sandbox.
@Suite(.enabled(if: IsolationFixture.isSandboxOn, "the sandbox is off in builds with a sanitizer"))
struct IsolatedDecodingTests {
  private static let workers = IsolationFixture.workers()
  private let decoder = IsolatedImageDecoder(.required, workers: Self.workers)

  @Test func everythingHoldsHere() async {
    let status = await onThread { Self.workers.status(for: .required) }
    #expect(status.isIsolated, "\(status.summary)")
    #expect(status.holding == DecodingIsolationStatus.Layer.allCases)
  }

  /// Without a word the helper is found beside the executable, or below it.
  @Test func theHelperIsFound() async {
    #expect(await onThread { DecodingWorkers().status(for: .required).isIsolated })
  }

  /// Every fixture gives the same picture, pixel by pixel, or the same error; those of the formats behind traits too,
  /// where they are built.
  @Test(arguments: DecodingFixtures.names() + TraitFormatTests.pictures)
  func everyPictureIsTheSame(name: String) async throws {
    let isOfTrait = TraitFormatTests.pictures.contains(name)
    let folder = isOfTrait ? TraitFormatTests.folder : DecodingFixtures.folder
    let data = try Data(contentsOf: folder.appending(path: name))
    let decoder = decoder
    for target in [nil, DecodingFixtures.half, TargetSize(width: 20, height: 20, mode: .fill)] {
      let options = ImageDecodingOptions(targetSize: target)
      let here = Result { () throws(ImageDecodingError) in try ImageDecoder().decode(data, options: options) }
      let there = await onThread { decoder.result(data, options: options) }
      #expect(there.error == here.error)
      #expect(there.value?.bitmap == here.value?.bitmap)
      #expect(there.value?.bitmap.isOpaque == here.value?.bitmap.isOpaque)
      #expect(there.value?.format == here.value?.format)
      #expect(there.value?.originalSize == here.value?.originalSize)
      #expect(there.value?.frameCount == here.value?.frameCount)
    }
    let info = await onThread { try? decoder.inspect(data) }
    #expect(info == (try ImageDecoder().inspect(data)))
    var size = await onThread { try? decoder.inspectSize(data) }
    size?.profile = info?.profile
    #expect(size == info)
  }

  /// Every animation plays the same, frame by frame, also where it takes several requests.
  @Test(arguments: DecodingFixtures.names().filter { $0.contains("animated") })
  func everyAnimationIsTheSame(name: String) async throws {
    let data = try DecodingFixtures.data(name)
    let decoder = decoder
    for target in [nil, DecodingFixtures.half] {
      let options = ImageDecodingOptions(targetSize: target)
      let here = try #require(ImageDecoder().animation(of: data, options: options))
      let there = try #require(await onThread { decoder.animation(of: data, options: options) })
      #expect(there.isolated != nil && here.isolated == nil)
      #expect(there.storedDelays == here.storedDelays && there.info == here.info)
      #expect(await onThread { Self.frames(of: there) } == Self.frames(of: here))
    }
  }

  /// More frames than one request brings: workers go on where they were, or catch up.
  @Test func aLongAnimationComesInParts() async throws {
    // The frames of a file over and over.
    let short = try DecodingFixtures.data("animated.gif")
    let flags = Int(short[10])
    let start = 13 + (flags & 0x80 != 0 ? 3 << ((flags & 7) + 1) : 0)
    var data = Data(short.prefix(start))
    for _ in 0..<700 { data += short[start..<short.count - 1] }
    data.append(0x3B)
    let file = data
    let decoder = decoder
    let here = try #require(ImageDecoder().animation(of: file))
    let expected = Self.frames(of: here)
    let batch = WorkerFrames.batchSize / (DecodingFixtures.size.pixelCount * 4)
    #expect(here.frameCount > 2 * batch)
    let animation = try #require(await onThread { decoder.animation(of: file) })
    // Two players at once, with the same workers.
    async let first = onThread { Self.frames(of: animation) }
    async let second = onThread { Self.frames(of: animation) }
    #expect(await first == expected)
    #expect(await second == expected)
  }

  private static func frames(of animation: ImageAnimation) -> Result<[Bitmap], ImageDecodingError> {
    Result { () throws(ImageDecodingError) in
      let reader = try animation.makeReader()
      var frames: [Bitmap] = []
      while let frame = try reader.nextFrame(CancellationFlag()) { frames.append(frame) }
      return frames
    }
  }

  @Test(arguments: ["rgb16.png", "rgba16.png", "p3.png", "p3.avif", "rgb.png"])
  func depthIsTheSame(name: String) async throws {
    let data = try DecodingFixtures.data(name)
    let decoder = decoder
    for target in [nil, DecodingFixtures.half] {
      let options = ImageDecodingOptions(targetSize: target, isDeep: true)
      let here = try ImageDecoder().decode(data, options: options)
      let there = await onThread { decoder.result(data, options: options).value }
      #expect(there?.bitmap == here.bitmap)
      #expect(there?.deepBitmap == here.deepBitmap)
      #expect(there?.deepBitmap?.isOpaque == here.deepBitmap?.isOpaque)
    }
  }

  @Test func largePicturesGrowTheMemory() async throws {
    let decoder = decoder
    for side in [100, 900, 3000, 64] {
      let size = PixelSize(width: side, height: side)
      var random = SeededGenerator(seed: UInt64(side))
      let bitmap = try Bitmap(size: size, isOpaque: false) { pixels in
        for at in stride(from: 0, to: pixels.count, by: 4) {
          let alpha = UInt8.random(in: 0...255, using: &random)
          pixels[at] = min(alpha, UInt8(truncatingIfNeeded: at / 7))
          (pixels[at + 1], pixels[at + 2], pixels[at + 3]) = (alpha / 2, alpha, alpha)
        }
      }
      let data = try ImageEncoder().encode(
        bitmap, options: .init(format: .png), cancellation: CancellationFlag())
      let here = try ImageDecoder().decode(data).bitmap
      #expect(await onThread { decoder.result(data).value?.bitmap } == here)
    }
  }

  @Test func errorsAreTheSame() async {
    let decoder = decoder
    for data in [Data(), Data("<html>".utf8), Data([0xFF, 0xD8, 0xFF, 0xE0]), Data("GIF89a".utf8)] {
      let here = Result { () throws(ImageDecodingError) in try ImageDecoder().decode(data) }.error
      #expect(await onThread { decoder.result(data).error } == here)
    }
    let bad = ImageDecodingOptions(targetSize: TargetSize(width: -1, height: 5))
    #expect(await onThread { decoder.result(Data([1]), options: bad).error?.code } == "invalid_size")
  }

  /// Killed in the middle of a picture, by the kernel or a person: another worker takes it over.
  @Test func aKilledWorkerCostsNoPicture() async throws {
    let workers = IsolationFixture.workers { $0.maximumCount = 1 }
    let decoder = IsolatedImageDecoder(.required, workers: workers)
    let good = try DecodingFixtures.data("rgb.png")
    // The second picture has the worker in reserve started, which takes over.
    for _ in 0..<2 { #expect(await onThread { decoder.result(good).value != nil }) }
    while workers.idleProcessIdentifiers.count < 2 { await Task.yield() }
    let both = Set(workers.idleProcessIdentifiers)
    let flag = CancellationFlag()
    async let slow = onThread {
      decoder.result(
        IsolationFixture.slowPicture, options: IsolationFixture.slowOptions, cancellation: flag)
    }
    while workers.idleProcessIdentifiers.count == 2 { await Task.yield() }
    let worker = try #require(both.subtracting(workers.idleProcessIdentifiers).first)
    kill(worker, SIGKILL)
    // Its number is free only when its parent has asked for its status.
    while kill(worker, 0) == 0 { await Task.yield() }
    flag.cancel()
    #expect(await slow.error == .cancelled, "it was not tried again")
    #expect(await onThread { decoder.result(good).value != nil })
  }

  /// Rows are taken while the next are made; the picture is the same, also where one follows the other.
  @Test func largePicturesComeInParts() async throws {
    let decoder = decoder
    let size = PixelSize(width: 1201, height: 901)
    var generator = SeededGenerator(seed: 9)
    for format in [ImageFormat.jpeg, .png] {
      for isOpaque in format == .jpeg ? [true] : [true, false] {
        let bitmap = try Bitmap(size: size, isOpaque: isOpaque) { pixels in
          for at in stride(from: 0, to: pixels.count, by: 4) {
            let alpha = isOpaque ? 255 : UInt8.random(in: 0...255, using: &generator)
            (pixels[at], pixels[at + 1]) = (min(alpha, UInt8(truncatingIfNeeded: at / 9)), alpha / 2)
            (pixels[at + 2], pixels[at + 3]) = (alpha / 3, alpha)
          }
        }
        let data = try ImageEncoder().encode(bitmap, options: .init(format: format), cancellation: .init())
        let here = try ImageDecoder().decode(data).bitmap
        for _ in 0..<3 {
          let there = await onThread { decoder.result(data).value?.bitmap }
          #expect(there == here && there?.isOpaque == here.isOpaque, "\(format)")
        }
      }
    }
  }

  @Test func aPictureThatTakesTooLongIsEnded() async throws {
    let decoder = IsolatedImageDecoder(.required, workers: IsolationFixture.workers { $0.deadline = 0.05 })
    let error = await onThread {
      decoder.result(IsolationFixture.slowPicture, options: IsolationFixture.slowOptions).error
    }
    #expect(error == .timedOut(seconds: 0.05))
    let good = try DecodingFixtures.data("rgb.png")
    #expect(await onThread { decoder.result(good).value != nil })
  }

  /// A cancel reaches the codec in the worker, which lives on.
  @Test func cancellingReachesTheWorker() async throws {
    let workers = IsolationFixture.workers { $0.maximumCount = 1 }
    let decoder = IsolatedImageDecoder(.required, workers: workers)
    let good = try DecodingFixtures.data("rgb.png")
    #expect(await onThread { decoder.result(good).value != nil })
    let worker = try #require(workers.idleProcessIdentifiers.first)
    let flag = CancellationFlag()
    async let error = onThread {
      decoder.result(
        IsolationFixture.slowPicture, options: IsolationFixture.slowOptions, cancellation: flag
      ).error
    }
    while workers.idleProcessIdentifiers.contains(worker) { await Task.yield() }
    flag.cancel()
    #expect(await error == .cancelled)
    #expect(workers.idleProcessIdentifiers.contains(worker), "it was not ended for that")
    #expect(await onThread { decoder.result(good).value != nil })
  }

  /// A picture that takes more memory than a worker may have.
  @Test func memoryIsBounded() async throws {
    let decoder = IsolatedImageDecoder(
      .required, workers: IsolationFixture.workers { $0.memoryLimit = 600 << 20 })
    let wide = Bombs.png(width: 16_000, height: 12_000, bitDepth: 1)
    let options = ImageDecodingOptions(limits: .init(maximumPixelCount: .max))
    let error = await onThread { decoder.result(wide, options: options).error }
    #expect(error == .outOfMemory(PixelSize(width: 16_000, height: 12_000)))
    let good = try DecodingFixtures.data("rgb.png")
    #expect(await onThread { decoder.result(good).value != nil })
  }

  @Test func aWorkerIsReplacedAfterItsPictures() async throws {
    let workers = IsolationFixture.workers {
      $0.picturesPerWorker = 3
      $0.maximumCount = 1
    }
    let decoder = IsolatedImageDecoder(.required, workers: workers)
    let good = try DecodingFixtures.data("rgb.png")
    var seen: Set<pid_t> = []
    for _ in 0..<10 {
      #expect(await onThread { decoder.result(good).value != nil })
      seen.formUnion(workers.idleProcessIdentifiers)
    }
    #expect(seen.count >= 3)
  }

  @Test func idleWorkersEnd() async throws {
    let workers = IsolationFixture.workers { $0.idleTime = 0 }
    let decoder = IsolatedImageDecoder(.required, workers: workers)
    let good = try DecodingFixtures.data("rgb.png")
    #expect(await onThread { decoder.result(good).value != nil })
    while !workers.idleProcessIdentifiers.isEmpty { await Task.yield() }
    #expect(await onThread { decoder.result(good).value != nil }, "another is started when it is needed")
  }

  @Test func manyAtOnce() async throws {
    let decoder = decoder
    let pictures = try DecodingFixtures.names().map { try DecodingFixtures.data($0) }
    let failures = await withTaskGroup(of: Int.self) { group in
      for start in 0..<6 {
        group.addTask {
          await onThread {
            (0..<60).count { decoder.result(pictures[($0 + start * 9) % pictures.count]).value == nil }
          }
        }
      }
      return await group.reduce(0, +)
    }
    let expected = pictures.count { (try? ImageDecoder().decode($0)) == nil }
    #expect(expected > 0 || failures == 0)
  }

  /// A worker has nothing of its parent's but the connection.
  @Test func nothingIsHandedDown() async throws {
    let good = try DecodingFixtures.data("rgb.png")
    setenv("CALOTYPE_TEST_SECRET", "s3cret", 1)
    let file = open("/etc/hostname", O_RDONLY)
    defer { close(file) }
    let workers = IsolationFixture.workers()
    let decoder = IsolatedImageDecoder(.required, workers: workers)
    #expect(await onThread { decoder.result(good).value != nil })
    let worker = try #require(workers.idleProcessIdentifiers.first)
    let environment = FileManager.default.contents(atPath: "/proc/\(worker)/environ")
    let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(worker)/fd")
    // Only the superuser may look: a worker cannot be dumped.
    if getuid() == 0 {
      #expect(names?.sorted() == ["0", "1", "2", "3"])
      #expect(environment.map { String(decoding: $0, as: UTF8.self).contains("s3cret") } == false)
    } else {
      #expect(environment == nil && names == nil)
    }
  }

  /// The parent is killed while the worker is busy. The worker stands still by then, so that it cannot go by itself:
  /// the system ends it.
  @Test(.timeLimit(.minutes(1))) func aWorkerDiesWithItsParent() async throws {
    let folder = try TemporaryFolder()
    let picture = URL(fileURLWithPath: folder.path).appendingPathComponent("slow.png")
    try IsolationFixture.slowPicture.write(to: picture)
    let output = Pipe()
    let parent = try SpawnedProgram(
      IsolationFixture.helper("fake-worker"),
      ["parent", IsolationFixture.helper(DecodingWorkers.helperName), picture.path],
      output: output.fileHandleForWriting.fileDescriptor)
    try output.fileHandleForWriting.close()
    let text = await onThread { String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) }
    let worker = try #require(Int32(text.trimmingCharacters(in: .newlines)), "\(text)")
    #expect(kill(worker, SIGSTOP) == 0)
    parent.signal(SIGKILL)
    await parent.ended()
    // It is gone, or has ended and nobody has asked for its status.
    func lives() -> Bool {
      guard let status = try? String(contentsOfFile: "/proc/\(worker)/stat", encoding: .utf8) else {
        return false
      }
      return !status.contains(") Z ") && !status.contains(") X ")
    }
    while lives() { await Task.yield() }
  }

  /// Once there has been isolation, nothing is decoded without it: not even where no worker can be had.
  @Test func isolationIsNotGivenUp() async throws {
    let folder = try TemporaryFolder()
    let program = folder.path + "/decoder"
    try FileManager.default.copyItem(
      atPath: IsolationFixture.helper(DecodingWorkers.helperName), toPath: program)
    let workers = IsolationFixture.workers {
      $0.program = .path(program)
      $0.maximumCount = 1
      $0.killerMemory = 0
    }
    let decoder = IsolatedImageDecoder(.whenAvailable, workers: workers)
    let good = try DecodingFixtures.data("rgb.png")
    #expect(await onThread { decoder.result(good).value != nil })
    try FileManager.default.removeItem(atPath: program)
    for worker in workers.idleProcessIdentifiers { kill(worker, SIGKILL) }
    for _ in 0..<2 {
      #expect(await onThread { decoder.result(good).error?.code } == "isolation_unavailable")
    }
    #expect(!decoder.decodesInProcess)
  }
}

/// Where no worker can be had, and what the pipeline makes of it.
@Suite struct IsolationModeTests {
  private let none = IsolationFixture.workers { $0.program = .path("/nonexistent/calotype-decoder") }

  @Test func whenAvailableFallsBackAndSaysSo() async throws {
    let good = try DecodingFixtures.data("rgb.png")
    let reasons = Lock<[String]>([])
    let decoder = IsolatedImageDecoder(.whenAvailable, workers: none) { reason in
      reasons.withLock { $0.append(reason) }
    }
    #expect(await onThread { decoder.result(good).value?.bitmap } == (try ImageDecoder().decode(good).bitmap))
    #expect(reasons.withLock { $0.count } == 1)
    let status = await onThread { decoder.status }
    #expect(!status.isIsolated)
    #expect(status.summary.hasPrefix("in this process: /nonexistent/calotype-decoder cannot be started"))
  }

  @Test func requiredRefuses() async throws {
    let good = try DecodingFixtures.data("rgb.png")
    let decoder = IsolatedImageDecoder(.required, workers: none)
    #expect(await onThread { decoder.result(good).error?.code } == "isolation_unavailable")
    #expect(throws: ImageDecodingError.self) { try decoder.inspect(good) }
    // A size that this package reads itself needs no worker; that of another library's header does.
    #expect(try decoder.inspectSize(good).displaySize == ImageDecoder().inspect(good).displaySize)
    let foreign = try DecodingFixtures.data(
      try #require(DecodingFixtures.names().first { $0.hasSuffix("avif") }))
    #expect(throws: ImageDecodingError.self) { try decoder.inspectSize(foreign) }
    #expect(await onThread { decoder.status.summary.hasPrefix("nothing is decoded") })
  }

  @Test func aPipelineTakesTheDecoderThatItsIsolationAsksFor() async throws {
    var configuration = ImagePipeline.Configuration(
      transport: CurlTransport.shared, memoryCache: nil, diskCache: nil, decoder: ImageDecoder(),
      encoder: ImageEncoder())
    #expect(ImagePipeline(configuration: configuration).configuration.decoder is ImageDecoder)
    #expect(ImagePipeline(configuration: configuration).isolationStatus.isIsolated == false)
    configuration.isolation = .required
    configuration.decodingWorkers = IsolationFixture.fakeWorkers()
    let pipeline = ImagePipeline(configuration: configuration)
    #expect(pipeline.configuration.decoder is IsolatedImageDecoder)
    #expect(await onThread { pipeline.isolationStatus.isIsolated })
  }

  /// A decoder of the program's own cannot be isolated: it is refused where that is required.
  @Test func aDecoderOfOnesOwnIsRefusedWhereIsolationIsRequired() {
    struct OwnDecoder: ImageDecoding {
      func inspect(_ data: Data, limits: ImageDecodingLimits) throws(ImageDecodingError) -> ImageInfo {
        ImageInfo(format: .png, storedSize: PixelSize(width: 1, height: 1))
      }
      func decode(
        _ data: Data, options: ImageDecodingOptions, cancellation: CancellationFlag
      ) throws(ImageDecodingError) -> ImageContainer { throw .empty }
    }
    var configuration = ImagePipeline.Configuration(
      transport: CurlTransport.shared, memoryCache: nil, diskCache: nil, decoder: OwnDecoder(),
      encoder: ImageEncoder())
    configuration.isolation = .whenAvailable
    #expect(ImagePipeline(configuration: configuration).configuration.decoder is OwnDecoder)
    configuration.isolation = .required
    let pipeline = ImagePipeline(configuration: configuration)
    #expect {
      try pipeline.configuration.decoder.decode(Data([1]))
    } throws: {
      ($0 as? ImageDecodingError)?.code == "isolation_unavailable"
    }
    #expect(pipeline.isolationStatus.reason?.contains("own") == true)
  }
}
