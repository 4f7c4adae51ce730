import Calotype
import Foundation

/// What `fetch` writes beside the cache: a folder of pictures, a report, a contact sheet, an archive of what went over
/// the network.
struct FetchFiles: Sendable {
  var folder: OutputFolder?
  var report: LineWriter?
  var sheet: (any ContactSheet)?
  var archive: HTTPArchive?

  /// Checks all of them before the first is written or emptied.
  ///
  /// - Parameter title: The contact sheet's.
  init(_ arguments: Arguments, title: String) throws {
    try Self.check(arguments)
    for name in Self.names {
      if let path = arguments[name] { try OutputFolder.prepare(path, isEmptied: name != "sheet") }
    }
    sheet = try arguments["sheet"].map { path -> any ContactSheet in
      Self.ending(path) == "png"
        ? try PNGSheet(path: path, title: title) : try HTMLSheet(path: path, title: title)
    }
    folder = try arguments["output"].map(OutputFolder.init(path:))
    report = try arguments["report"].map(LineWriter.init(path:))
    archive = try arguments["har"].map(HTTPArchive.init(path:))
  }

  /// Writes the rest of what is written by the line; what could not be written, or `nil`.
  func finishLines() -> String? {
    let isReported = report?.flush() ?? true, isArchived = archive?.finish() ?? true
    return isReported ? (isArchived ? nil : "archive") : "report"
  }

  private static let names = ["report", "sheet", "har"]

  private static func check(_ arguments: Arguments) throws {
    if arguments["output"] == "-" {
      throw UsageError("-o takes a folder: pictures would run into each other on standard output")
    }
    if arguments["report"] == "-" {
      throw UsageError("--report takes a file; --json writes to standard output")
    }
    for name in ["sheet", "har"] where arguments[name] == "-" {
      throw UsageError("--\(name) takes a file's name, not -")
    }
    if let path = arguments["sheet"], !["", "html", "htm", "png"].contains(ending(path)) {
      throw UsageError("--sheet writes .html, .htm or .png, not .\(ending(path)): \(path)")
    }
    let lists = Set(arguments.operands.compactMap(place(ofList:)))
    var named: [String: String] = [:]
    for name in names {
      guard let path = arguments[name] else { continue }
      var status = stat()
      if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG { continue }
      let place = OutputDestination.place(path)
      if lists.contains(place) {
        throw UsageError("--\(name) names a list that is read, and would be lost: \(path); name another file")
      }
      if let other = named.updateValue(name, forKey: place) {
        throw UsageError("--\(other) and --\(name) name one file: \(path)")
      }
    }
  }

  /// The place of a list that is a file of this machine; `nil` for any other.
  private static func place(ofList operand: String) -> String? {
    if operand == "-" {
      var status = stat()
      return fstat(0, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? FileIdentity(status).text : nil
    }
    if Arguments.isAddress(operand) { return nil }
    let isURL = operand.lowercased().hasPrefix("file:")
    return (isURL ? URL(string: operand)?.path : operand).map(OutputDestination.place)
  }

  private static func ending(_ path: String) -> String {
    URL(fileURLWithPath: path).pathExtension.lowercased()
  }
}
