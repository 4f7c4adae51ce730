internal import CGtk
internal import Calotype

/// GLib's memory monitor, which hears from the desktop's own service, passed on to
/// ``Calotype/MemoryPressureMonitor``, and so to every pipeline.
@MainActor
enum MemoryWarnings {
  private(set) static var monitor: OpaquePointer?

  static func start() {
    guard monitor == nil, let monitor = g_memory_monitor_dup_default() else { return }
    self.monitor = monitor
    connect(monitor, "low-memory-warning") { MemoryPressureMonitor.shared.warn() }
  }
}
