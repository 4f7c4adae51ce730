import Foundation

/// A new empty folder that is removed, with all in it, when the last reference goes.
public final class TemporaryFolder: Sendable {
  /// The folder.
  public let url: URL
  /// The folder's path.
  public var path: String { url.path }

  /// Creates a folder that only this user may read.
  public init() throws {
    url = FileManager.default.temporaryDirectory
      .appendingPathComponent("calotype-test-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The place of a name in the folder, whether or not something is there.
  public func file(_ name: String) -> URL { url.appendingPathComponent(name) }

  /// Writes bytes to a name in the folder; folders on the way are made.
  @discardableResult
  public func write(_ data: Data, to name: String) throws -> URL {
    let file = file(name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: file)
    return file
  }

  /// Writes a text to a name in the folder as UTF-8.
  @discardableResult
  public func write(_ text: String, to name: String) throws -> URL {
    try write(Data(text.utf8), to: name)
  }
}
