#if os(Linux)
  import CSystem
  import Glibc

  /// The kernel's pressure stall information: it says when programs wait for memory
  /// (Documentation/accounting/psi.rst). It costs nothing while there is no pressure.
  final class PressureStallSource: MemoryPressureWatching {
    /// 150 ms of waiting within 2 s: a system that begins to feel slow. Programs without rights may only ask
    /// for windows of whole 2 seconds.
    static let trigger = "some 150000 2000000"

    let source: MemoryPressureMonitor.Source
    let descriptor: Int32
    let pollEvents = Int16(POLLPRI)

    /// The source for the process's own group, else for the whole system; `nil` where the kernel has none or
    /// does not allow it.
    static func open(groups: [ControlGroup]) -> PressureStallSource? {
      let own = groups.filter { $0.version == .two }.flatMap(\.folders).map { $0 + "/memory.pressure" }
      for path in own + ["/proc/pressure/memory"] {
        if let source = PressureStallSource(path: path) { return source }
      }
      return nil
    }

    init?(path: String) {
      let descriptor = openFile(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else { return nil }
      // The ending zero belongs to it.
      let length = Self.trigger.utf8.count + 1
      guard Self.trigger.withCString({ write(descriptor, $0, length) }) == length else {
        close(descriptor)
        return nil
      }
      self.descriptor = descriptor
      source = .pressureStall(path: path)
    }

    deinit { close(descriptor) }

    // Polling has taken it already.
    func takeEvent() -> Bool { true }
  }
#endif
