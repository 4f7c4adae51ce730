import Foundation
import Testing

@testable import Calotype

/// Broken pictures give a picture or a typed error within their time, here and in a worker, and the same in
/// both; the workers live through it.
@Suite(.enabled(if: IsolationFixture.isSandboxOn, "the sandbox is off in builds with a sanitizer"))
struct BrokenPictureTests {
  private static let workers = IsolationFixture.workers { $0.deadline = 60 }
  private let decoder = IsolatedImageDecoder(.required, workers: Self.workers)
  // Changed sizes are not what is tried here.
  private let options = ImageDecodingOptions(limits: .init(maximumPixelCount: 1 << 22))

  @Test(arguments: HostileBytesTests.samples)
  func changedBytes(name: String) async throws {
    let whole = try DecodingFixtures.data(name)
    var random = SeededGenerator(seed: 2026)
    var files: [Data] = []
    for _ in 0..<25 {
      var changed = whole
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      files.append(changed)
    }
    for percentage in [1, 10, 50, 90, 99] { files.append(whole.prefix(whole.count * percentage / 100)) }
    // A part of the file twice, and a part of it missing.
    files.append(whole.prefix(whole.count / 2) + whole.dropFirst(whole.count / 4))
    files.append(whole.prefix(whole.count / 3) + whole.dropFirst(whole.count / 2))
    await compare(files.map { (name, Data($0)) })
  }

  /// A folder of broken pictures, such as the test images of another library, may be named by
  /// `CALOTYPE_TEST_PICTURES`.
  @Test(.enabled(if: folder != nil, "CALOTYPE_TEST_PICTURES names no folder"))
  func aFolderOfPictures() async throws {
    let folder = try #require(Self.folder)
    var files: [(String, Data)] = []
    for case let path as String in FileManager.default.enumerator(atPath: folder) ?? .init() {
      var status = stat()
      let full = folder + "/" + path
      guard stat(full, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        let data = FileManager.default.contents(atPath: full)
      else { continue }
      files.append((path, data))
    }
    #expect(!files.isEmpty)
    let outcomes = await compare(files)
    print("broken pictures: \(files.count) files: \(outcomes.sorted { $0.value > $1.value })")
  }

  private static let folder = ProcessInfo.processInfo.environment["CALOTYPE_TEST_PICTURES"]

  @discardableResult
  private func compare(_ files: [(name: String, data: Data)]) async -> [String: Int] {
    var outcomes: [String: Int] = [:]
    for (name, data) in files {
      let decoder = decoder, options = options
      let here = await onThread {
        Result { () throws(ImageDecodingError) in try ImageDecoder().decode(data, options: options) }
      }
      let there = await onThread { decoder.result(data, options: options) }
      #expect(there.error == here.error, "\(name), \(data.count) bytes")
      #expect(there.value?.bitmap == here.value?.bitmap, "\(name), \(data.count) bytes")
      outcomes[here.error?.code ?? "a picture", default: 0] += 1
    }
    return outcomes
  }
}
