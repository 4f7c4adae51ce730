import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Calotype

/// The real decoder, counted.
private final class CountingDecoder: ImageDecoding {
  private let count = Atomic<Int>(0)
  private let decoder = ImageDecoder()

  var decodeCount: Int { count.load(ordering: .relaxed) }

  func inspect(_ data: Data, limits: ImageDecodingLimits) throws(ImageDecodingError) -> ImageInfo {
    try decoder.inspect(data, limits: limits)
  }

  func decode(
    _ data: Data, options: ImageDecodingOptions, cancellation: CancellationFlag
  ) throws(ImageDecodingError) -> ImageContainer {
    count.add(1, ordering: .relaxed)
    return try decoder.decode(data, options: options, cancellation: cancellation)
  }
}

@Suite struct LargerPrintTests {
  /// A photo of 144×96 pixels.
  private let photo: Data
  private let decoder = CountingDecoder()

  init() throws { photo = try ProcessingFixtures.data("photo.png") }

  private func fixture(configure: @escaping (inout ImagePipeline.Configuration) -> Void = { _ in })
    -> PipelineFixture
  {
    PipelineFixture(
      disk: true,
      configure: { [decoder] in
        $0.decoder = decoder
        $0.encoder = ImageEncoder()
        configure(&$0)
      }
    ) { [photo] _ in .respond(headers: ["Cache-Control": "max-age=100"], body: photo) }
  }

  private func request(
    _ width: Double?, _ height: Double? = nil, _ mode: TargetSize.Mode = .fit,
    _ processors: [any ImageProcessing] = [],
    policy: ImageRequest.CachePolicy = .default
  ) -> ImageRequest {
    let size = width.map { TargetSize(width: $0, height: height ?? $0, mode: mode) }
    return ImageRequest(url: url("/photo"), targetSize: size, processors: processors, cachePolicy: policy)
  }

  /// The print as it is made from the original.
  private func reference(_ request: ImageRequest) throws -> Bitmap {
    let bitmap = try ImageDecoder().decode(photo, targetSize: request.targetSize).bitmap
    return try ImageProcessors.apply(request.processors, to: bitmap)
  }

  /// A larger shape, a smaller one, and the mean difference that the eye lets pass.
  private static let served:
    [(
      larger: (Double?, Double?, TargetSize.Mode, [any ImageProcessing]),
      smaller: (Double?, Double?, TargetSize.Mode, [any ImageProcessing])
    )] = [
      ((nil, nil, .fit, []), (48, 48, .fit, [])),
      ((nil, nil, .fit, []), (40, 40, .fill, [.blur(radius: 2), .circle])),
      ((nil, nil, .fit, []), (130, 90, .exact, [.roundedCorners(radius: 9)])),
      ((96, 96, .fit, []), (48, 48, .fit, [])),
      ((96, 96, .fit, []), (32, 32, .fill, [.circle])),
      ((90, 60, .fill, []), (45, 30, .fill, [.sharpen()])),
      ((90, 90, .fill, [.circle]), (30, 30, .fill, [.circle])),
      (
        (96, 96, .fit, [.rotate(quarters: 1), .grey, .circle]),
        (48, 48, .fit, [.rotate(quarters: 1), .grey, .circle])
      ),
      (
        (96, 96, .fit, [.tint(ColorValue(255, 0, 0, alpha: 100))]),
        (48, 48, .fit, [.tint(ColorValue(255, 0, 0, alpha: 100))])
      ),
    ]

  @Test(arguments: served.indices) func servesTheSmallerOne(index: Int) async throws {
    let fixture = fixture()
    let (larger, smaller) = Self.served[index]
    let pipeline = fixture.pipeline
    _ = try await pipeline.image(for: request(larger.0, larger.1, larger.2, larger.3))
    let wanted = request(smaller.0, smaller.1, smaller.2, smaller.3)
    let response = try await pipeline.task(for: wanted).response
    #expect(response.source == .memory)
    #expect(decoder.decodeCount == 1)
    let reference = try reference(wanted)
    #expect(response.image.size == reference.size)
    #expect(response.image.isOpaque == reference.isOpaque)
    #expect(PixelDifference.meanAbsoluteError(response.image, reference) < 2)
    #expect(response.container.originalSize == PixelSize(width: 144, height: 96))
    #expect(pipeline.cachedImage(for: wanted) != nil)
    await pipeline.flush()
    #expect(fixture.transport.requests.count == 1)
  }

  @Test(
    arguments: [
      // A print never serves a larger one, nor one that is hardly smaller.
      ((48, 48, .fit, []), (96, 96, .fit, [])),
      ((60, 60, .fit, []), (48, 48, .fit, [])),
      // Part of the picture is not the whole of it.
      ((90, 90, .fill, []), (40, 40, .fit, [])),
      ((90, 90, .fill, []), (45, 30, .fill, [])),
      // What counts in pixels of the print does not scale.
      ((96, 96, .fit, [.blur(radius: 3)]), (48, 48, .fit, [.blur(radius: 3)])),
      (
        (96, 96, .fit, [.circle(border: ImageBorder(width: 2, color: .white))]),
        (48, 48, .fit, [.circle(border: ImageBorder(width: 2, color: .white))])
      ),
      ((96, 96, .fit, [.grey]), (48, 48, .fit, [])),
      ((96, 96, .fit, [.circle]), (48, 48, .fit, [.grey])),
    ]
      as [(
        (Double?, Double?, TargetSize.Mode, [any ImageProcessing]),
        (Double?, Double?, TargetSize.Mode, [any ImageProcessing])
      )])
  func othersAreMadeFromTheOriginal(
    larger: (Double?, Double?, TargetSize.Mode, [any ImageProcessing]),
    smaller: (Double?, Double?, TargetSize.Mode, [any ImageProcessing])
  ) async throws {
    let fixture = fixture()
    _ = try await fixture.pipeline.image(for: request(larger.0, larger.1, larger.2, larger.3))
    await fixture.pipeline.flush()
    let wanted = request(smaller.0, smaller.1, smaller.2, smaller.3)
    let image = try await fixture.pipeline.image(for: wanted)
    #expect(decoder.decodeCount == 2)
    #expect(image == (try reference(wanted)))
    await fixture.pipeline.flush()
  }

  @Test func aPrintOnDiskServesWithoutTheOriginal() async throws {
    let fixture = fixture { $0.diskStorage = .prints }
    _ = try await fixture.pipeline.image(for: request(96))
    await fixture.pipeline.flush()
    // Another run that has the disk only, and knows which sizes the program uses.
    let later = ImagePipeline(
      configuration: {
        var configuration = fixture.pipeline.configuration
        configuration.memoryCache = StubMemoryCache()
        configuration.printSizes = [TargetSize(width: 96, height: 96), TargetSize(width: 48, height: 48)]
        return configuration
      }())
    let wanted = request(48, 48, .fit, [.circle])
    let response = try await later.task(for: wanted).response
    #expect(response.source == .disk)
    #expect(decoder.decodeCount == 1)
    #expect(PixelDifference.meanAbsoluteError(response.image, try reference(wanted)) < 2)
    await later.flush()
    #expect(fixture.transport.requests.count == 1)
  }

  @Test func whatIsAskedAnewIsNotServed() async throws {
    let fixture = fixture()
    _ = try await fixture.pipeline.image(for: request(96))
    await fixture.pipeline.flush()
    #expect(try await fixture.pipeline.task(for: request(48, policy: .reload)).response.source == .network)
    #expect(fixture.transport.requests.count == 2)
    await fixture.pipeline.flush()
  }

  @Test func aStalePrintDoesNotServe() async throws {
    let fixture = fixture { $0.freshness = .http }
    _ = try await fixture.pipeline.image(for: request(96))
    await fixture.pipeline.flush()
    let key = request(96).cacheKey
    var stale = try #require(fixture.memory.image(for: key))
    stale.freshUntil = 1
    fixture.memory.store(stale, for: key)
    #expect(try await fixture.pipeline.task(for: request(48)).response.source == .disk)
    #expect(decoder.decodeCount == 2)
    await fixture.pipeline.flush()
  }

  @Test func anAnimationsPrintDoesNotServe() async throws {
    let animation = try DecodingFixtures.data("animated.gif")
    let fixture = PipelineFixture(configure: { [decoder] in $0.decoder = decoder }) { _ in
      .respond(body: animation)
    }
    _ = try await fixture.pipeline.image(for: ImageRequest(url: url("/photo")))
    _ = try await fixture.pipeline.image(for: request(16))
    #expect(decoder.decodeCount == 2)
    await fixture.pipeline.flush()
  }

  @Test @MainActor func aSmallerOneIsShownUntilTheRightOneIsHere() async throws {
    let fixture = fixture()
    _ = try await fixture.pipeline.image(for: request(24))
    let (updates, teller) = AsyncStream.makeStream(of: RowPicture.self)
    var updated = updates.makeAsyncIterator()
    let loader = RowLoader<Int>(pipeline: fixture.pipeline) { _, picture in teller.yield(picture) }
    let first = loader.bind(0, to: request(96))
    if case .image(let container, let source) = first {
      #expect(container.isPreview && source == .memory)
      #expect(container.bitmap.size == PixelSize(width: 24, height: 16))
    } else {
      Issue.record("nothing was shown")
    }
    #expect(await updated.next()?.bitmap?.size == PixelSize(width: 96, height: 64))
    let preview = fixture.pipeline.previewImage(for: request(24))
    #expect(preview?.bitmap.size == PixelSize(width: 96, height: 64))
    #expect(fixture.pipeline.previewImage(for: request(24, 24, .fit, [.circle])) == nil)
    // A preview is never taken for the print.
    #expect(fixture.pipeline.cachedImage(for: request(50)) == nil)
    await fixture.pipeline.flush()
  }

  @Test func aCancelledOneLeavesTheQueueInOrder() async throws {
    let fixture = fixture()
    _ = try await fixture.pipeline.image(for: request(nil))
    for size in 10..<40 { fixture.pipeline.task(for: request(Double(size))).cancel() }
    await fixture.pipeline.flush()
    #expect(try await fixture.pipeline.image(for: request(20)).width == 20)
    await fixture.pipeline.flush()
    #expect(fixture.pipeline.core.withLock { $0.isIdle })
  }
}
