/// Something of the system's that says when memory is short: a descriptor to poll. Each is used by one thread
/// at a time and closes its descriptors when it goes.
package protocol MemoryPressureWatching: AnyObject {
  /// What it is, for people.
  var source: MemoryPressureMonitor.Source { get }
  /// What to poll.
  var descriptor: Int32 { get }
  /// What to poll for (poll(2)).
  var pollEvents: Int16 { get }
  /// Takes what made the descriptor ready. Returns whether it means that memory is short.
  func takeEvent() -> Bool
}

/// How much of a control group's memory is taken by what cannot simply be dropped.
///
/// Files that are read or written fill a limited group to its limit, and the kernel then says so each time it
/// drops some of them. That is no want of memory: only what remains without them counts.
struct ControlGroupUse: Hashable {
  /// From which share of the limit memory counts as short.
  static let tightShare = 0.8

  /// Bytes in use without file pages that are next to go.
  var workingSet: Int
  /// The limit in bytes, or `nil` for none.
  var limit: Int?

  /// Whether memory is short; where there is no limit the kernel's word has to do.
  var isTight: Bool {
    guard let limit else { return true }
    return Double(workingSet) >= Double(limit) * Self.tightShare
  }

  /// Reads a group's use.
  init?(
    version: ControlGroup.Version, folder: String, read: (String) -> String? = FileSystem.smallFile
  ) {
    let isSecond = version == .two
    guard
      let total = read(folder + (isSecond ? "/memory.current" : "/memory.usage_in_bytes")),
      let used = Int(total.prefix { $0.isASCII && $0.isNumber })
    else { return nil }
    let statistics = Self.fields(read(folder + "/memory.stat") ?? "")
    // Version 1 gives the group's own figure and, as "total_", that with the groups below it.
    let droppable = statistics[isSecond ? "inactive_file" : "total_inactive_file"] ?? 0
    workingSet = max(0, used - droppable)
    let limits =
      isSecond
      ? [read(folder + "/memory.max"), read(folder + "/memory.high")].map {
        $0.flatMap(SystemMemory.parseLimit)
      }
      : [
        read(folder + "/memory.limit_in_bytes").flatMap(SystemMemory.parseLimit),
        statistics["hierarchical_memory_limit"].flatMap { $0 < 1 << 60 ? $0 : nil },
      ]
    limit = limits.compactMap { $0 }.min()
  }

  /// The lines "name number" of one of the kernel's files.
  static func fields(_ text: String) -> [Substring: Int] {
    var fields: [Substring: Int] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ")
      if parts.count == 2, let value = Int(parts[1]) { fields[parts[0]] = value }
    }
    return fields
  }
}
