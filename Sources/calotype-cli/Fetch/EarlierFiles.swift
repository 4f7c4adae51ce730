import Calotype
import Foundation

/// The stems of the names that stood in a folder when it was looked at.
///
/// To look for a file under each extension that it may have costs more than to write a new one.
struct EarlierFiles: Sendable {
  /// Hashes of the stems; `nil` where there were too many to keep.
  private let stems: Set<UInt64>?
  /// Beyond this many names, 40 MB of hashes, each is looked for on the disk.
  private static let maximumCount = 1 << 20

  init(in path: String) { stems = Self.read(path) }

  private static func read(_ path: String) -> Set<UInt64>? {
    guard let folder = opendir(path) else { return nil }
    defer { closedir(folder) }
    var stems = Set<UInt64>()
    while let entry = readdir(folder) {
      guard stems.count < maximumCount else { return nil }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      stems.insert(Digest.stableHash(PictureFile.stem(of: name)))
    }
    return stems
  }

  /// Whether a file of this stem, with some extension, may have been there.
  func mayHold(_ stem: String) -> Bool { stems?.contains(Digest.stableHash(stem)) ?? true }
}
