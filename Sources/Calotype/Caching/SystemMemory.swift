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
    for line in (read("/proc/self/cgroup") ?? "").split(separator: "\n") {
      // hierarchy:controllers:path; version 2's hierarchy is 0 and has no controllers.
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let root: String
      let file: String
      if parts[0] == "0", parts[1].isEmpty {
        (root, file) = ("/sys/fs/cgroup", "memory.max")
      } else if parts[1].split(separator: ",").contains("memory") {
        (root, file) = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
      } else {
        continue
      }
      // Inside a container the path may be the host's while the root is the container's own group, so
      // every level is tried, and the root itself.
      var path = parts[2].split(separator: "/").filter { $0 != ".." }
      while true {
        let folder = ([Substring(root)] + path).joined(separator: "/")
        if let text = read(folder + "/" + file), let limit = parseLimit(text) {
          lowest = min(lowest ?? .max, limit)
        }
        if path.isEmpty { break }
        path.removeLast()
      }
    }
    return lowest
  }

  /// A limit file's number, or `nil` for "no limit" in either version's way of saying it.
  private static func parseLimit(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let value = Int(digits), value > 0, value < 1 << 60 else { return nil }
    return value
  }
}
