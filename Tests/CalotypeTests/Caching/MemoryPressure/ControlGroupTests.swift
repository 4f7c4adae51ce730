import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct ControlGroupTests {
  private func groups(_ text: String) -> [ControlGroup] {
    ControlGroup.ofThisProcess { $0 == "/proc/self/cgroup" ? text : nil }
  }

  @Test func theOwnGroupComesBeforeThoseAboveIt() {
    #expect(
      groups("4:cpu,memory:/a/b\n") == [
        ControlGroup(
          version: .one,
          folders: ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"])
      ])
    #expect(
      groups("0::/app.service\n") == [
        ControlGroup(version: .two, folders: ["/sys/fs/cgroup/app.service", "/sys/fs/cgroup"]),
        ControlGroup(
          version: .two, folders: ["/sys/fs/cgroup/unified/app.service", "/sys/fs/cgroup/unified"]),
      ])
  }

  @Test func nonsenseIsPassedOver() {
    #expect(groups("").isEmpty)
    #expect(groups("nonsense\n::\n3:cpu:/a\n").isEmpty)
    // A path may hold colons, and never leads upwards.
    #expect(groups("4:memory:/a:b/../c\n").first?.folders.first == "/sys/fs/cgroup/memory/a:b/c")
  }

  private func read(_ version: ControlGroup.Version, _ files: [String: String]) -> ControlGroupUse? {
    ControlGroupUse(version: version, folder: "/g") { files[$0] }
  }

  @Test func filesThatCanBeDroppedDoNotCount() throws {
    let files = [
      "/g/memory.current": "1000\n", "/g/memory.max": "1000\n", "/g/memory.high": "max\n",
      "/g/memory.stat": "anon 100\nfile 900\ninactive_file 700\n",
    ]
    let full = try #require(read(.two, files))
    #expect(full.workingSet == 300)
    #expect(full.limit == 1000)
    #expect(!full.isTight)
    let tight = try #require(read(.two, files.merging(["/g/memory.high": "350\n"]) { _, new in new }))
    #expect(tight.limit == 350)
    #expect(tight.isTight)
  }

  @Test func aGroupAboveMayHaveTheLimit() throws {
    let files = [
      "/g/memory.usage_in_bytes": "900\n", "/g/memory.limit_in_bytes": "9223372036854771712\n",
      "/g/memory.stat": "inactive_file 5\nhierarchical_memory_limit 1000\ntotal_inactive_file 50\n",
    ]
    let use = try #require(read(.one, files))
    #expect(use.workingSet == 850)
    #expect(use.limit == 1000)
    #expect(use.isTight)
  }

  @Test func withoutALimitTheKernelsWordHasToDo() throws {
    let use = try #require(read(.two, ["/g/memory.current": "1\n", "/g/memory.max": "max\n"]))
    #expect(use.limit == nil)
    #expect(use.isTight)
    #expect(read(.two, [:]) == nil)
  }

  #if os(Linux)
    @Test func theCountersOfAllLimitsCount() {
      #expect(ControlGroupEventsSource.count("low 7\nhigh 2\nmax 30\noom 1\noom_kill 1\n") == 33)
      #expect(ControlGroupEventsSource.count("") == 0)
    }

    @Test func whatCannotBeOpenedIsLeftOut() throws {
      let folder = try TemporaryFolder()
      let groups = [ControlGroup.Version.one, .two].map { ControlGroup(version: $0, folders: [folder.path]) }
      #expect(ControlGroupPressureSource.open(groups: groups) == nil)
      #expect(ControlGroupEventsSource.open(groups: groups) == nil)
      #expect(PressureStallSource(path: folder.path + "/memory.pressure") == nil)
    }

    /// A real group with a limit, and a program in it that fills its memory: it has to be warned before the
    /// kernel ends it.
    @Test(
      .enabled("needs the right to make a control group") { LimitedGroup.isAllowed },
      .disabled(if: Sanitizer.isOn, "a sanitizer's own memory fills the group"))
    func aProgramInALimitedGroupIsWarnedAndGivesBack() async throws {
      let folder = try TemporaryFolder()
      let group = try LimitedGroup(bytes: 96 << 20)
      let result = try await group.run("memory-hog", ["80", folder.path + "/file"])
      #expect(result.text.contains("watches "))
      // One picture may have been on its way.
      let ends = ["warned, holds 0 MiB", "warned, holds 1 MiB"]
      #expect(ends.contains { result.text.contains($0) }, "\(result.status) \(result.text)")
      #expect(result.status == 0)
    }

    /// Files fill the group to its limit; that is no want of memory.
    @Test(.enabled("needs the right to make a control group") { LimitedGroup.isAllowed })
    func aProgramThatOnlyWritesFilesIsLeftAlone() async throws {
      let folder = try TemporaryFolder()
      let group = try LimitedGroup(bytes: 96 << 20)
      let result = try await group.run("memory-hog", ["1", folder.path + "/file"])
      #expect(result.text.contains("not warned"), "\(result.status) \(result.text)")
    }
  #endif
}

#if os(Linux)
  /// A control group below this process's own, with a limit on its memory. It goes with its last reference.
  private final class LimitedGroup {
    private let path: String
    private let version: ControlGroup.Version

    init(bytes: Int) throws {
      guard let (folder, version) = Self.parent else { throw POSIXError(.EPERM) }
      self.version = version
      path = folder + "/calotype-test-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      try "\(bytes)".write(
        toFile: path + (version == .two ? "/memory.max" : "/memory.limit_in_bytes"), atomically: false,
        encoding: .utf8)
    }

    deinit { rmdir(path) }

    /// Where a group may be made whose memory can be limited.
    private static let parent: (String, ControlGroup.Version)? = {
      for group in ControlGroup.ofThisProcess() {
        guard let folder = group.folders.first(where: { access($0, W_OK) == 0 }) else { continue }
        let trial = folder + "/calotype-test-\(UUID().uuidString)"
        guard mkdir(trial, 0o755) == 0 else { continue }
        defer { rmdir(trial) }
        let file = trial + (group.version == .two ? "/memory.max" : "/memory.limit_in_bytes")
        if access(file, W_OK) == 0 { return (folder, group.version) }
      }
      return nil
    }()

    static var isAllowed: Bool { parent != nil }

    /// Runs a program of this package's in the group: a shell joins the group and becomes the program.
    func run(_ name: String, _ arguments: [String]) async throws -> ProcessResult {
      let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      let program = tests.deletingLastPathComponent().appendingPathComponent(name).path
      return try await runProcess(
        "/bin/sh",
        ["-c", #"echo $$ > "$1/cgroup.procs" && shift && exec "$@""#, "sh", path, program] + arguments)
    }
  }
#endif
