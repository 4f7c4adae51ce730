import Foundation
import FuzzTargets
import Testing

/// Gives every file of the fuzzers' corpus to its target: what was found once is not to come again.
@Suite struct FuzzCorpusTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private func files(_ folder: String) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(
      at: Self.root.appendingPathComponent(folder), includingPropertiesForKeys: nil)
  }

  @Test(arguments: FuzzTarget.allCases)
  func nothingOfTheCorpusIsAProblem(target: FuzzTarget) throws {
    var files = try files("Fuzz/corpus/\(target.rawValue)")
    if [.pictureHeader, .picture, .animation, .preview].contains(target) {
      for folder in ["Decoding", "Animation"] {
        files += try self.files("Tests/CalotypeTests/\(folder)/Fixtures")
          .filter { !["rgba", "frames"].contains($0.pathExtension) }
      }
    }
    #expect(!files.isEmpty)
    for file in files {
      let problems = target.problems(Array(try Data(contentsOf: file)))
      #expect(problems.isEmpty, "\(file.lastPathComponent): \(problems.joined(separator: "; "))")
    }
  }

  /// Each file cut at each of its bytes, and with each of some bytes changed.
  @Test(arguments: FuzzTarget.allCases.filter { ![.picture, .animation, .encoded].contains($0) })
  func nothingNearTheCorpusIsAProblem(target: FuzzTarget) throws {
    for file in try files("Fuzz/corpus/\(target.rawValue)") {
      let bytes = Array(try Data(contentsOf: file))
      for at in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 50)) {
        var problems = target.problems(Array(bytes[..<at]))
        for change: UInt8 in [0x01, 0x80, 0xFF] {
          var changed = bytes
          changed[at] ^= change
          problems += target.problems(changed)
        }
        #expect(problems.isEmpty, "\(file.lastPathComponent) at \(at): \(problems.joined(separator: "; "))")
      }
    }
  }
}
