import Foundation
import TestSupport

@testable import Calotype

/// What a cache has made of its folder.
extension TemporaryFolder {
  /// All files below, by path from here; folders are left out.
  var files: [String] { Self.files(in: path) }

  /// The same for any folder. Where something is mounted, it ends.
  static func files(in path: String) -> [String] {
    let all = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    return all.filter { file in
      var status = stat()
      return lstat(path + "/" + file, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
    }
  }

  /// The files that are entries.
  var entryFiles: [String] { Self.entryFiles(in: path) }

  static func entryFiles(in path: String) -> [String] {
    files(in: path).filter { file in
      let name = file.split(separator: "/").last ?? ""
      return name.count == 32 && name.allSatisfy(\.isHexDigit)
    }
  }

  /// The files that are neither entries nor the index nor the folder's tag.
  var leftovers: [String] {
    files.filter { file in
      let name = file.split(separator: "/").last ?? ""
      return name.hasPrefix("tmp-") || name.hasPrefix("writer-")
    }
  }
}

/// A clock that stands until it is moved.
final class ManualClock: Sendable {
  private let time: Lock<Double>

  init(_ start: Double = 1_800_000_000) { time = Lock(start) }

  var now: Double { time.withLock { $0 } }
  func advance(by seconds: Double) { time.withLock { $0 += seconds } }
}

/// Keeps what a hook was told.
final class Recorder<Element: Sendable>: Sendable {
  private let list = Lock<[Element]>([])

  func record(_ element: Element) { list.withLock { $0.append(element) } }
  var all: [Element] { list.withLock { $0 } }
}

func entry(
  _ text: String, url: String = "http://a/1", kind: DataCacheMetadata.Kind = .original, expires: Double? = nil
) -> DataCacheEntry {
  DataCacheEntry(metadata: DataCacheMetadata(kind: kind, url: url, expires: expires), body: Data(text.utf8))
}

func entry(bytes: Int, fill: UInt8 = 7, url: String = "http://a/1") -> DataCacheEntry {
  DataCacheEntry(
    metadata: DataCacheMetadata(kind: .original, url: url), body: Data(repeating: fill, count: bytes))
}
