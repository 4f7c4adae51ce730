import Foundation

import struct TestSupport.ProcessResult
import func TestSupport.runProcess

@testable import Calotype

/// Workers for tests: the real helper, and one that answers as it is told.
enum IsolationFixture {
  /// The sandbox is off where a sanitizer needs more than it allows.
  static let isSandboxOn = !DecodingWorkerProcess.hasSanitizer
  static let whyNot = "the sandbox is off in builds with a sanitizer"

  /// A program that lies beside the tests.
  static func helper(_ name: String) -> String {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    while folder.path != "/" {
      folder.deleteLastPathComponent()
      let helper = folder.appendingPathComponent(name).path
      if FileManager.default.isExecutableFile(atPath: helper) { return helper }
    }
    return name
  }

  /// The real helper's workers.
  static func workers(
    _ change: (inout DecodingWorkers.Configuration) -> Void = { _ in }
  ) -> DecodingWorkers {
    var configuration = DecodingWorkers.Configuration()
    configuration.program = .path(helper(DecodingWorkers.helperName))
    change(&configuration)
    return DecodingWorkers(configuration: configuration)
  }

  /// Workers that do what their pictures say; see `fake-worker`.
  static func fakeWorkers(
    _ introduction: [String] = [CalotypeVersion.string, "0", "0", "0", "0"],
    _ change: (inout DecodingWorkers.Configuration) -> Void = { _ in }
  ) -> DecodingWorkers {
    workers { configuration in
      configuration.program = .command(helper("fake-worker"), ["worker"] + introduction)
      change(&configuration)
    }
  }

  /// A picture by its first bytes, and behind them what a fake worker is to do.
  static func order(_ text: String) -> Data { Data("GIF89a\(text)".utf8) }

  /// A picture that takes seconds to decode: its rows are many, and it looks at the cancellation.
  static let slowPicture = Bombs.png(width: 40_000, height: 8_000, bitDepth: 1)
  static let slowOptions = ImageDecodingOptions(
    targetSize: TargetSize(width: 8, height: 8), limits: .init(maximumPixelCount: .max, maximumSeconds: 3600))
}

/// Runs a closure on a thread of its own, and waits for it without holding one of Swift's.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: work()) }
  }
}

extension IsolatedImageDecoder {
  /// What came of a picture.
  func result(
    _ data: Data, options: ImageDecodingOptions = .init(), cancellation: CancellationFlag = CancellationFlag()
  ) -> Result<ImageContainer, ImageDecodingError> {
    Result { () throws(ImageDecodingError) in
      try decode(data, options: options, cancellation: cancellation)
    }
  }

  /// What came of a picture that a fake worker takes for a text.
  func result(_ text: String) -> Result<ImageContainer, ImageDecodingError> {
    result(IsolationFixture.order(text))
  }
}

extension Result {
  var error: Failure? { if case .failure(let error) = self { error } else { nil } }
  var value: Success? { if case .success(let value) = self { value } else { nil } }
}
