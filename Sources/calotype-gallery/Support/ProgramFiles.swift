import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Finds what belongs to the program: its style, icons and translations, and the bundled list.
///
/// They lie beside a program that was just built, and in `../share/calotype-gallery` of one that is installed.
enum ProgramFiles {
  /// Where the program itself is.
  private static let programFolder: URL = {
    let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let file = URL(fileURLWithPath: path.isEmpty ? CommandLine.arguments.first ?? "" : path)
    return file.deletingLastPathComponent()
  }()

  private static let shareFolders: [URL] = [
    programFolder.appendingPathComponent("Calotype_calotype-gallery.resources/share"),
    programFolder.appendingPathComponent("../share/calotype-gallery").standardizedFileURL,
  ]

  /// The path of one of the program's files or folders; `nil` where it is missing.
  static func path(_ name: String) -> String? {
    shareFolders.map { $0.appendingPathComponent(name).path }
      .first { FileManager.default.fileExists(atPath: $0) }
  }

  /// The path of one of the program's folders.
  static func folder(_ name: String) -> String? { path(name) }

  /// The bundled list. A program that was just built finds it in the sources' folder.
  static let bundledList: String? = {
    let list = "Examples/apps.json"
    if let installed = path(list) { return installed }
    var folder = programFolder
    for _ in 0..<5 {
      folder.deleteLastPathComponent()
      let candidate = folder.appendingPathComponent(list).path
      if FileManager.default.fileExists(atPath: candidate) { return candidate }
    }
    return nil
  }()
}

/// The folders that the XDG base directory specification gives a program for its own files.
enum UserFolders {
  /// For settings: `$XDG_CONFIG_HOME/calotype`.
  static var config: URL { folder("XDG_CONFIG_HOME", otherwise: ".config") }
  /// For what can be had again: `$XDG_CACHE_HOME/calotype`.
  static var cache: URL { folder("XDG_CACHE_HOME", otherwise: ".cache") }

  private static func folder(_ variable: String, otherwise place: String) -> URL {
    let base =
      ProcessInfo.processInfo.environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
      ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(place).path
    return URL(fileURLWithPath: base, isDirectory: true).appendingPathComponent("calotype", isDirectory: true)
  }
}

/// Writes a file whole or not at all: beside its place first, then by renaming.
func writeAtomically(_ data: Data, to file: URL) throws {
  let folder = file.deletingLastPathComponent()
  try FileManager.default.createDirectory(
    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  try data.write(to: file, options: .atomic)
}
