import Foundation
import Testing

@testable import Calotype

/// The formats behind the package's traits; `scripts/test --formats` builds with them.
@Suite struct TraitFormatTests {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "TraitFixtures")

  /// The pictures that this build decodes, by file name.
  static let pictures: [String] = {
    var names: [String] = []
    #if HEIF
      names += ["heif-photo.heic", "heif-alpha.heic"]
    #endif
    #if JXL
      names += ["jxl-lossless.jxl", "jxl-alpha.jxl", "jxl-lossy.jxl", "jxl-gray.jxl"]
    #endif
    #if TIFF
      names += ["rgb", "lzw", "alpha", "gray", "palette", "bilevel", "turned"].map { "tiff-\($0).tiff" }
    #endif
    return names
  }()
  static let isEnabled = !pictures.isEmpty

  private func data(_ name: String) throws -> Data { try Data(contentsOf: Self.folder.appending(path: name)) }

  private func reference(_ file: String, _ size: PixelSize) throws -> Bitmap {
    let ending = size == DecodingFixtures.halfSize ? ".half.rgba" : ".rgba"
    let pixels = try data((file as NSString).deletingPathExtension + ending)
    try #require(pixels.count == size.pixelCount * 4)
    return try Bitmap(size: size, isOpaque: false) { target in _ = pixels.copyBytes(to: target) }
  }

  @Test(.enabled(if: isEnabled), arguments: pictures)
  func comesOutAsAnotherProgramSays(file: String) throws {
    for (target, size) in [
      (nil, DecodingFixtures.size), (DecodingFixtures.half, DecodingFixtures.halfSize),
    ] {
      let container = try DecodingFixtures.decode(data(file), target: target)
      #expect(container.bitmap.size == size)
      #expect(container.originalSize == DecodingFixtures.size)
      #expect(container.bitmap.isOpaque == !file.contains("alpha"))
      let expected = try reference(file, size)
      #expect(PixelDifference.meanDeltaE(container.bitmap, expected) < 2)
      #expect(PixelDifference.meanAbsoluteError(container.bitmap, expected) < 1.5)
    }
  }

  @Test(.enabled(if: isEnabled), arguments: pictures)
  func theHeaderTells(file: String) throws {
    let info = try ImageDecoder().inspect(data(file), limits: .init())
    #expect(info.displaySize == DecodingFixtures.size)
    #expect(file.hasPrefix(info.format.rawValue))
    #expect(info.orientation == (file.contains("turned") ? .right : .up))
  }

  @Test(.enabled(if: isEnabled), arguments: pictures)
  func aPictureThatIsTooLargeIsRefused(file: String) throws {
    let bytes = try data(file)
    #expect {
      try DecodingFixtures.decode(bytes, limits: ImageDecodingLimits(maximumPixelCount: 1000))
    } throws: { error in
      if case .limitExceeded? = error as? ImageDecodingError { true } else { false }
    }
  }

  /// Cut anywhere it is an error, damaged anywhere a picture or an error.
  @Test(.enabled(if: isEnabled), arguments: pictures)
  func cutAndDamagedBytesAreSurvived(file: String) throws {
    let whole = try data(file)
    for length in stride(from: 0, to: whole.count - 16, by: max(1, whole.count / 40)) {
      #expect(throws: ImageDecodingError.self) { try DecodingFixtures.decode(whole.prefix(length)) }
    }
    var numbers = SplitMix(state: 7)
    for _ in 0..<60 {
      var bytes = whole
      for _ in 0..<3 {
        bytes[Int.random(in: 0..<bytes.count, using: &numbers)] = UInt8.random(in: 0...255, using: &numbers)
      }
      _ = try? DecodingFixtures.decode(bytes)
    }
  }

  @Test(.enabled(if: isEnabled), arguments: pictures)
  func aCancelledDecodeEnds(file: String) throws {
    let flag = CancellationFlag()
    flag.cancel()
    let bytes = try data(file)
    #expect(throws: ImageDecodingError.cancelled) {
      try ImageDecoder().decode(bytes, options: .init(), cancellation: flag)
    }
  }
}
