import Testing

@testable import Calotype

@Suite struct SystemMemoryTests {
  private func limit(_ files: [String: String]) -> Int? {
    SystemMemory.controlGroupLimit { files[$0] }
  }

  @Test func theLowestOfTheGroupsAboveCounts() {
    let files = [
      "/proc/self/cgroup": "0::/system.slice/app.service\n",
      "/sys/fs/cgroup/system.slice/app.service/memory.max": "max\n",
      "/sys/fs/cgroup/system.slice/memory.max": "268435456\n",
    ]
    #expect(limit(files) == 268_435_456)
  }

  @Test func insideAContainerTheRootsOwnLimitCounts() {
    #expect(limit(["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "1000000\n"]) == 1_000_000)
    let files = [
      "/proc/self/cgroup": "5:cpu,memory:/docker/0123\n0::/\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000\n",
    ]
    #expect(limit(files) == 2_000_000)
  }

  @Test func noLimitIsNone() {
    #expect(limit([:]) == nil)
    #expect(limit(["/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "max\n"]) == nil)
    // Version 1's way of saying it.
    let files = [
      "/proc/self/cgroup": "4:memory:/\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    ]
    #expect(limit(files) == nil)
    #expect(limit(["/proc/self/cgroup": "nonsense\n::\n0::\n"]) == nil)
  }

  @Test func thisMachineHasMemory() {
    #expect(SystemMemory.limit > 1 << 20)
    #expect(MemoryCache.defaultCostLimit <= 512 << 20)
  }
}
