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
    if target == .pictureHeader || target == .picture {
      files += try self.files("Tests/CalotypeTests/Decoding/Fixtures").filter { $0.pathExtension != "rgba" }
    }
    #expect(!files.isEmpty)
    for file in files {
      let problems = target.problems(Array(try Data(contentsOf: file)))
      #expect(problems.isEmpty, "\(file.lastPathComponent): \(problems.joined(separator: "; "))")
    }
  }

  /// Each file cut at each of its bytes, and with each of some bytes changed.
  @Test(arguments: FuzzTarget.allCases.filter { $0 != .picture })
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
