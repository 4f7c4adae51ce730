import CCairo
import CChafa
import Calotype
import Foundation

/// `calotype doctor`.
enum DoctorCommand {
  static func command() -> Command {
    Command(
      name: "doctor", summary: "Say what this installation can do, and what is wrong with it", operands: "",
      details:
        "Versions, formats, limits and the cache's folder. The exit status is 1 where something is wrong.",
      groups: [
        OptionGroup(
          title: "Options",
          options: [
            Option(
              "cache-dir", nil, "DIR", isPath: true, "The cache's folder; $XDG_CACHE_HOME/calotype by default"
            ),
            Option("json", help: "Write one object of JSON"),
          ])
      ],
      run: run)
  }

  @Sendable private static func run(_ arguments: Arguments) async throws -> Int32 {
    guard arguments.operands.isEmpty else { throw UsageError("doctor takes no arguments") }
    let cacheProblem = problem(with: Session.cacheDirectory(arguments).path)
    guard let cache = try Session.diskCache(arguments) else { return 1 }
    let info = cache.info
    let isolation = Session.decoder(.whenAvailable).status
    let problems = libraryProblems
    let facts: [(String, String)] = [
      ("version", CalotypeVersion.string), ("system", ProcessInfo.processInfo.operatingSystemVersionString),
      ("processors", "\(ProcessInfo.processInfo.activeProcessorCount)"),
      ("libraries", problems.isEmpty ? "ok" : problems.joined(separator: "; ")),
      ("cairo", cairoVersion ?? "missing"),
      ("chafa", "\(CHAFA_MAJOR_VERSION).\(CHAFA_MINOR_VERSION).\(CHAFA_MICRO_VERSION)"),
      ("decodes", ImageDecoder.supportedFormats.map(\.rawValue).joined(separator: " ")),
      ("encodes", ImageEncoder.formats.map(\.rawValue).joined(separator: " ")),
      ("largest_picture", "\(ImageDecodingLimits().maximumPixelCount) pixels"),
      ("largest_original", Format.bytes(HTTPRequest.defaultMaximumResponseSize)),
      ("isolation", isolation.summary), ("memory_pressure", memoryPressure),
      ("memory_cache_limit", Format.bytes(MemoryCache.defaultCostLimit)),
      ("cache_folder", info.path),
      ("cache_holds", "\(Format.count(info.count, "entry", "entries")), \(Format.bytes(info.bytes))"),
      ("cache_limit", CacheCommand.limit(info)), ("cache_state", cacheProblem ?? "ok"),
    ]
    if arguments.has("json") {
      var json = JSONText()
      for (name, value) in facts { json.add(name, value) }
      json.add("sandbox", json: "[\(isolation.holding.map { "\"\($0.rawValue)\"" }.joined(separator: ","))]")
      json.add("ok", cacheProblem == nil && problems.isEmpty)
      Terminal.standardOutput.line(json.object)
    } else {
      for (name, value) in facts {
        Terminal.standardOutput.line(
          Escaping.displaySafe(name.replacing("_", with: " ").padded(to: 20) + value))
      }
    }
    return cacheProblem == nil && problems.isEmpty ? 0 : 1
  }

  private static var cairoVersion: String? {
    (try? ToolLibrary.cairo.load()).map { String(cString: cairo_version_string()) }
  }

  /// What keeps the libraries that are loaded when they are needed from being used.
  private static var libraryProblems: [String] {
    var problems = LateLibraries.problems
    for library in [ToolLibrary.cairo, .crypto] {
      do { try library.load() } catch { problems.append(error.message) }
    }
    return problems
  }

  /// What says that memory is short.
  private static var memoryPressure: String {
    let sources = MemoryPressureMonitor.shared.sources
    return sources.isEmpty ? "not told by this system" : sources.map(\.description).joined(separator: "; ")
  }

  /// What keeps the cache's folder, or the one that it would be made in, from being written.
  private static func problem(with path: String) -> String? {
    var url = URL(fileURLWithPath: path)
    var status = stat()
    while stat(url.path, &status) != 0, url.path != "/" { url.deleteLastPathComponent() }
    if status.st_mode & S_IFMT != S_IFDIR { return "\(url.path) is no folder" }
    return access(url.path, W_OK | X_OK) == 0
      ? nil : "\(url.path) cannot be written: \(OutputFolder.message(errno))"
  }
}
