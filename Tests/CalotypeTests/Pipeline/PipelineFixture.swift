import Foundation
import TestSupport

@testable import Calotype

/// A pipeline on stubs, with its parts at hand.
struct PipelineFixture {
  let transport: StubTransport
  let decoder: StubDecoder
  let memory = StubMemoryCache()
  let disk = StubDataCache()
  let pipeline: ImagePipeline

  init(
    decoder: StubDecoder = StubDecoder(), memory: Bool = true, disk: Bool = false,
    configure: (inout ImagePipeline.Configuration) -> Void = { _ in },
    _ answer: @escaping @Sendable (HTTPRequest) -> StubTransport.Answer
  ) {
    transport = StubTransport(answer)
    self.decoder = decoder
    var configuration = ImagePipeline.Configuration(
      transport: transport, memoryCache: memory ? self.memory : nil, diskCache: disk ? self.disk : nil,
      decoder: decoder, encoder: StubEncoder())
    configuration.retry = .never
    // A busy machine's want of memory must not empty a cache that a test looks into.
    configuration.respondsToMemoryPressure = false
    configure(&configuration)
    pipeline = ImagePipeline(configuration: configuration)
  }
}

func url(_ path: String) -> URL { URL(string: "http://pictures.test" + path)! }

func request(
  _ path: String, priority: ImageRequest.Priority = .normal, policy: ImageRequest.CachePolicy = .default
) -> ImageRequest {
  ImageRequest(url: url(path), priority: priority, cachePolicy: policy)
}

extension Result where Success == ImageResponse, Failure == ImagePipeline.Error {
  /// `nil` on success.
  var errorCode: String? { if case .failure(let error) = self { error.code } else { nil } }
}

extension ImageTask {
  /// The end, without throwing.
  var outcome: Result<ImageResponse, ImagePipeline.Error> {
    get async {
      do throws(ImagePipeline.Error) { return .success(try await response) } catch { return .failure(error) }
    }
  }
}

/// Holds threads until it is opened.
final class Gate: Sendable {
  private let group: DispatchGroup = {
    let group = DispatchGroup()
    group.enter()
    return group
  }()

  func wait() { group.wait() }
  func open() { group.leave() }
}

struct TestProcessor: ImageProcessing {
  let identifier: String
  let body: @Sendable (Bitmap, CancellationFlag) throws -> Bitmap

  func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
    try body(image, cancellation)
  }
}

/// The same numbers for the same seed.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
