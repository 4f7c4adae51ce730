/// A control group that holds this process and accounts for its memory (cgroups(7)).
struct ControlGroup: Hashable {
  /// Which of the kernel's two interfaces the group has.
  enum Version: Hashable { case one, two }

  /// The interface.
  var version: Version
  /// The group's folder and those of the groups above it, the own first. Inside a container the path may be
  /// the host's while the root is the container's own group, so all are to be tried.
  var folders: [String]

  /// The groups that hold this process.
  ///
  /// - Parameter read: Gives a small file's text, or `nil`.
  static func ofThisProcess(read: (String) -> String? = FileSystem.smallFile) -> [ControlGroup] {
    (read("/proc/self/cgroup") ?? "").split(separator: "\n").flatMap { line -> [ControlGroup] in
      // hierarchy:controllers:path; version 2's hierarchy is 0 and has no controllers.
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { return [] }
      if parts[0] == "0", parts[1].isEmpty {
        // Beside version 1, version 2 is in a folder of its own.
        return ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map {
          ControlGroup(version: .two, folders: folders(from: $0, to: parts[2]))
        }
      }
      guard parts[1].split(separator: ",").contains("memory") else { return [] }
      return [ControlGroup(version: .one, folders: folders(from: "/sys/fs/cgroup/memory", to: parts[2]))]
    }
  }

  private static func folders(from root: String, to path: Substring) -> [String] {
    let parts = path.split(separator: "/").filter { $0 != ".." }
    return (0...parts.count).reversed().map { count in
      ([Substring(root)] + parts.prefix(count)).joined(separator: "/")
    }
  }
}
