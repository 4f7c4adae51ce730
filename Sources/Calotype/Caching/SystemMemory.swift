#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// How much memory this process may use: the machine's, or less where it runs in a container.
enum SystemMemory {
  /// Bytes of memory that can be counted on. Control groups' limits count (versions 1 and 2), the process's
  /// own group's and those of the groups above it.
  static let limit: Int = {
    let pages = sysconf(Int32(_SC_PHYS_PAGES))
    let pageSize = sysconf(Int32(_SC_PAGESIZE))
    let physical =
      pages > 0 && pageSize > 0 ? Int(pages).multipliedReportingOverflow(by: Int(pageSize)) : (0, true)
    // Where the system does not say, a gigabyte is assumed: little enough for any machine.
    let machine = physical.1 ? 1 << 30 : physical.0
    return min(machine, controlGroupLimit(read: FileSystem.smallFile) ?? .max)
  }()

  /// The lowest limit among the control groups that hold this process, or `nil` where none is set.
  ///
  /// - Parameter read: Gives a small file's text, or `nil`.
  static func controlGroupLimit(read: (String) -> String?) -> Int? {
    var lowest: Int?
    for group in ControlGroup.ofThisProcess(read: read) {
      let file = group.version == .two ? "memory.max" : "memory.limit_in_bytes"
      for folder in group.folders {
        if let text = read(folder + "/" + file), let limit = parseLimit(text) {
          lowest = min(lowest ?? .max, limit)
        }
      }
    }
    return lowest
  }

  /// A limit file's number, or `nil` for "no limit" in either version's way of saying it.
  static func parseLimit(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let value = Int(digits), value > 0, value < 1 << 60 else { return nil }
    return value
  }
}
