import Calotype
import Foundation

/// `calotype cache`.
enum CacheCommand {
  static let actions = ["info", "list", "path", "verify", "remove", "trim", "clear"]

  static func command() -> Command {
    Command(
      name: "cache", summary: "Look at the cache on disk, check it, and make room",
      operands: "info|list|path|verify|remove URL...|trim SIZE|clear",
      details: """
        info: how much it holds and may hold. list: its entries' addresses, the last used first. path: where it is. verify: read and check every entry; what is damaged is dropped, and the exit status is then 1. remove: drop all that is stored for addresses. trim: drop what was used longest ago until the rest takes at most SIZE, such as 100M. clear: drop everything.
        """,
      groups: [
        OptionGroup(
          title: "Options",
          options: [
            Option(
              "cache-dir", nil, "DIR", isPath: true, "The cache's folder; $XDG_CACHE_HOME/calotype by default"
            ),
            Option("json", help: "Write JSON, an object a line"),
          ])
      ],
      examples: [
        ("calotype cache list", "The addresses that are stored"), ("calotype cache trim 100M", "Make room"),
      ],
      operandValues: actions, run: run)
  }

  @Sendable private static func run(_ arguments: Arguments) async throws -> Int32 {
    guard let action = arguments.operands.first else {
      throw UsageError("say what: \(actions.joined(separator: ", "))")
    }
    guard actions.contains(action) else {
      let near = OptionParser.nearest(to: action, in: actions).map { "; did you mean \($0)?" } ?? ""
      throw UsageError("cache has no \(action)\(near)")
    }
    let operands = Array(arguments.operands.dropFirst())
    let takes = action == "remove" ? 1...Int.max : action == "trim" ? 1...1 : 0...0
    guard takes.contains(operands.count) else {
      throw UsageError(
        takes.upperBound == 0
          ? "\(action) takes no arguments" : action == "trim" ? "trim takes a SIZE" : "remove takes a URL")
    }
    let isUnusable = Lock(false)
    let made = try Session.diskCache(arguments) { warning in
      if case .unusableFolder = warning { isUnusable.withLock { $0 = true } }
    }
    guard let cache = made else { return 1 }
    let status = try run(action, operands, cache, isJSON: arguments.has("json"))
    return status == 0 && isUnusable.withLock { $0 } ? 1 : status
  }

  private static func run(
    _ action: String, _ operands: [String], _ cache: DiskCache, isJSON: Bool
  ) throws -> Int32 {
    switch action {
    case "path": show(isJSON, [("path", .text(cache.path))], cache.path)
    case "list": list(cache, isJSON)
    case "verify": return verify(cache, isJSON)
    case "remove":
      let urls = try operands.map(Arguments.address)
      var total = DiskCache.Removal()
      for url in urls {
        let removal = cache.remove(url: url)
        complain(removal, Escaping.address(url.absoluteString))
        total.removed += removal.removed
        total.remaining += removal.remaining
        total.reason = total.reason ?? removal.reason
      }
      cache.flush()
      show(
        isJSON, [("removed", .number(total.removed))] + members(total), "\(entries(total.removed)) removed")
      return total.removed > 0 && total.reason == nil ? 0 : 1
    case "trim":
      guard let bytes = size(operands[0]) else {
        throw UsageError("\(operands[0]) is no size: 500000, 100M, 2G")
      }
      return conclude(cache.trim(toSize: bytes), cache, isJSON)
    case "clear": return conclude(cache.clear(), cache, isJSON)
    default: info(cache, isJSON)
    }
    return 0
  }

  /// Says what came of removing entries, and what there is now.
  private static func conclude(_ removal: DiskCache.Removal, _ cache: DiskCache, _ isJSON: Bool) -> Int32 {
    complain(removal, cache.path)
    cache.flush()
    info(cache, isJSON, members(removal))
    return removal.reason == nil ? 0 : 1
  }

  private static func complain(_ removal: DiskCache.Removal, _ what: String) {
    guard let reason = removal.reason else { return }
    let text =
      removal.remaining > 0
      ? "\(entries(removal.remaining)) could not be removed: \(reason)"
      : "the index cannot be used: \(reason)"
    Terminal.standardError.line(Escaping.displaySafe("calotype cache: \(what): \(text)"))
  }

  private static func entries(_ count: Int) -> String { Format.count(count, "entry", "entries") }

  private static func members(_ removal: DiskCache.Removal) -> [(String, Value)] {
    guard let reason = removal.reason else { return [] }
    return [("remaining", .number(removal.remaining)), ("reason", .text(reason))]
  }

  private enum Value {
    case text(String), number(Int)
  }

  private static func show(_ isJSON: Bool, _ members: [(String, Value)], _ text: String) {
    guard isJSON else { return Terminal.standardOutput.line(Escaping.displaySafe(text)) }
    var json = JSONText()
    for (name, value) in members {
      switch value {
      case .text(let text): json.add(name, text)
      case .number(let number): json.add(name, number)
      }
    }
    Terminal.standardOutput.line(json.object)
  }

  private static func info(_ cache: DiskCache, _ isJSON: Bool, _ more: [(String, Value)] = []) {
    let info = cache.info
    if isJSON {
      show(
        true,
        [
          ("path", .text(info.path)), ("entries", .number(info.count)), ("bytes", .number(info.bytes)),
          ("index_bytes", .number(info.indexBytes)), ("limit", .number(info.sizeLimit)),
        ] + more, "")
      return
    }
    Terminal.standardOutput.write(
      """
      path     \(Escaping.displaySafe(info.path))
      entries  \(info.count)
      size     \(Format.bytes(info.bytes)), and \(Format.bytes(info.indexBytes)) for the index
      limit    \(limit(info))

      """)
  }

  /// The limit in words: it goes by the free disk when the folder is made.
  static func limit(_ info: DiskCache.Info) -> String {
    info.sizeLimit > 0 ? Format.bytes(info.sizeLimit) : "2 % of the free disk, 64 MB to 1 GB"
  }

  private static func list(_ cache: DiskCache, _ isJSON: Bool) {
    let lines = LineWriter(standardOutput: .standardOutput)
    for entry in cache.entries().sorted(by: { $0.lastUsed > $1.lastUsed }) {
      let kind =
        switch entry.kind {
        case .original: "original"
        case .encodedPrint, .rawPrint: "print"
        case .partial: "partial"
        }
      if isJSON {
        var json = JSONText()
        json.add("url", Escaping.address(entry.url))
        json.add("key", Escaping.address(entry.key))
        json.add("kind", kind)
        json.add("bytes", entry.bytes)
        json.add("stored", Int(entry.stored))
        json.add("last_used", Int(entry.lastUsed))
        json.add("expires", entry.expires.map { Int($0) })
        lines.write(json.object)
      } else {
        lines.write(
          Escaping.displaySafe(
            "\(kind.padded(to: 9))\(Format.bytes(entry.bytes).padded(to: 9))\(Escaping.address(entry.url))"))
      }
    }
    lines.flush()
  }

  private static func verify(_ cache: DiskCache, _ isJSON: Bool) -> Int32 {
    let report = cache.verify()
    if isJSON {
      var json = JSONText()
      json.add("clean", report.isClean)
      json.add("entries", report.entries)
      json.add("bytes", report.bytes)
      json.add("damaged", json: "[\(report.damaged.map(JSONText.quoted).joined(separator: ","))]")
      json.add("leftovers", report.leftovers)
      json.add("unindexed", report.unindexed)
      json.add("vanished", report.vanished)
      if !report.undropped.isEmpty {
        json.add("undropped", json: "[\(report.undropped.map(JSONText.quoted).joined(separator: ","))]")
      }
      json.add("index_problem", report.indexProblem)
      Terminal.standardOutput.line(json.object)
    } else {
      let undropped = Set(report.undropped)
      for path in report.damaged {
        let what = undropped.contains(path) ? "damaged, and could not be dropped" : "damaged, dropped"
        Terminal.standardOutput.line(Escaping.displaySafe("\(what): \(path)"))
      }
      let found =
        report.damaged.isEmpty && report.leftovers == 0
        ? "all whole" : "\(report.damaged.count) damaged, \(report.leftovers) left behind by killed writers"
      Terminal.standardOutput.line("\(entries(report.entries)), \(Format.bytes(report.bytes)): \(found)")
      if report.unindexed + report.vanished > 0 || report.indexProblem != nil {
        let end = report.indexProblem.map { "it could not be mended: \($0)" } ?? "it has been mended"
        Terminal.standardOutput.line(
          Escaping.displaySafe(
            "the index lacked \(entries(report.unindexed)) and had \(report.vanished) that are gone; \(end)"))
      }
    }
    return report.isClean ? 0 : 1
  }

  /// A size in bytes, with k, M, G (of 1000) or Ki, Mi, Gi (of 1024) behind it or not.
  static func size(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int(digits) else { return nil }
    var unit = text[digits.endIndex...].lowercased()
    if unit.hasSuffix("b") { unit.removeLast() }
    let factors = [
      "": 1, "k": 1000, "m": 1_000_000, "g": 1_000_000_000, "t": 1_000_000_000_000, "ki": 1 << 10,
      "mi": 1 << 20,
      "gi": 1 << 30, "ti": 1 << 40,
    ]
    guard let factor = factors[unit] else { return nil }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
    return overflow ? nil : bytes
  }
}
