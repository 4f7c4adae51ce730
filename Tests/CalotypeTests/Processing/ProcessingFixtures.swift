import Foundation
import Testing

@testable import Calotype

/// The pictures beside this file, and what another program made of them.
enum ProcessingFixtures {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Fixtures")

  static func data(_ name: String) throws -> Data {
    try Data(contentsOf: folder.appendingPathComponent(name))
  }

  static func picture(_ name: String) throws -> Bitmap {
    try ImageDecoder().decode(data("\(name).png")).bitmap
  }

  /// The mean difference a component from a file of pixels of the same size, and the largest.
  static func difference(of bitmap: Bitmap, from name: String) throws -> (mean: Double, most: Int) {
    let expected = try data("\(name).rgba")
    try #require(expected.count == bitmap.byteCount)
    return difference(bitmap.withUnsafeBytes { Data($0) }, expected)
  }

  static func difference(_ left: Data, _ right: Data) -> (mean: Double, most: Int) {
    var sum = 0
    var most = 0
    for (one, other) in zip(left, right) {
      let distance = abs(Int(one) - Int(other))
      sum += distance
      most = max(most, distance)
    }
    return (Double(sum) / Double(left.count), most)
  }
}
