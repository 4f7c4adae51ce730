#if os(Linux)
  import CSystem
  import Glibc

  /// Version 2 of control groups: the counters of `memory.events` tell of a group that has reached its limits.
  /// For containers that may read their group but not set a trigger in it.
  final class ControlGroupEventsSource: MemoryPressureWatching {
    let source: MemoryPressureMonitor.Source
    let descriptor: Int32
    let pollEvents = Int16(POLLIN)
    private let folder: String
    private var seen: Int

    /// The source for the nearest group that has a limit, else the own; `nil` where there is none to read.
    static func open(groups: [ControlGroup]) -> ControlGroupEventsSource? {
      let folders = groups.filter { $0.version == .two }.flatMap(\.folders)
        .filter { FileSystem.smallFile($0 + "/memory.events") != nil }
      let limited = folders.first {
        ControlGroupUse(version: .two, folder: $0)?.limit != nil
      }
      return (limited ?? folders.first).flatMap(ControlGroupEventsSource.init(folder:))
    }

    init?(folder: String) {
      let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
      guard descriptor >= 0 else { return nil }
      let path = folder + "/memory.events"
      guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
        close(descriptor)
        return nil
      }
      self.descriptor = descriptor
      self.folder = folder
      source = .controlGroupEvents(path: path)
      seen = Self.count(FileSystem.smallFile(path) ?? "")
    }

    deinit { close(descriptor) }

    func takeEvent() -> Bool {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while read(descriptor, &buffer, buffer.count) > 0 {}
      let count = Self.count(FileSystem.smallFile(folder + "/memory.events") ?? "")
      defer { seen = count }
      return count > seen && ControlGroupUse(version: .two, folder: folder)?.isTight ?? true
    }

    /// How often the group has come to one of its limits.
    static func count(_ text: String) -> Int {
      let fields = ControlGroupUse.fields(text)
      return ["high", "max", "oom"].reduce(0) { $0 &+ (fields[$1] ?? 0) }
    }
  }

  /// Version 1 of control groups: `memory.pressure_level`, by way of an event descriptor
  /// (Documentation/admin-guide/cgroup-v1/memory.rst, section 11).
  final class ControlGroupPressureSource: MemoryPressureWatching {
    let source: MemoryPressureMonitor.Source
    let descriptor: Int32
    let pollEvents = Int16(POLLIN)
    private let folder: String

    /// The source for the nearest group that allows it; mostly that takes the superuser's rights.
    static func open(groups: [ControlGroup]) -> ControlGroupPressureSource? {
      // Not by a lazy map's `first`: that would open each source twice, and trust that both go well.
      for folder in groups.filter({ $0.version == .one }).flatMap(\.folders) {
        if let source = ControlGroupPressureSource(folder: folder) { return source }
      }
      return nil
    }

    init?(folder: String) {
      let path = folder + "/memory.pressure_level"
      let level = openFile(path, O_RDONLY | O_CLOEXEC)
      guard level >= 0 else { return nil }
      defer { close(level) }
      let control = openFile(folder + "/cgroup.event_control", O_WRONLY | O_CLOEXEC)
      guard control >= 0 else { return nil }
      defer { close(control) }
      let descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
      guard descriptor >= 0 else { return nil }
      // "low" tells of every file that has to be dropped, which is looked into; where there is no limit to
      // measure by, only "medium" means anything: that the kernel finds little left to drop.
      let isLimited = ControlGroupUse(version: .one, folder: folder)?.limit != nil
      let text = "\(descriptor) \(level) \(isLimited ? "low" : "medium")"
      guard text.withCString({ write(control, $0, text.utf8.count) }) == text.utf8.count else {
        close(descriptor)
        return nil
      }
      self.descriptor = descriptor
      self.folder = folder
      source = .controlGroupPressure(path: path)
    }

    deinit { close(descriptor) }

    func takeEvent() -> Bool {
      var count: UInt64 = 0
      guard read(descriptor, &count, 8) == 8 else { return false }
      return ControlGroupUse(version: .one, folder: folder)?.isTight ?? true
    }
  }
#endif
