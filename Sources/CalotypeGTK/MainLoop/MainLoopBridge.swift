package import CGtk

#if canImport(Glibc)
  import Glibc
#endif

/// Makes GLib's main loop run Swift's main thread as well: `@MainActor`, `Task { @MainActor in }`,
/// `DispatchQueue.main` with its timers, and `OperationQueue.main`.
///
/// ```swift
/// MainLoopBridge.start()
/// exit(g_application_run(application, 0, nil))
/// ```
///
/// The main queue's descriptor becomes a source of the default main context, so nothing polls and an idle
/// program sleeps. Call it from a `main` that is not `async`: an `async` main keeps the thread for itself.
///
/// Two things of Foundation's do **not** work, as nobody runs its run loop: `Timer` never fires, and what is
/// given to `RunLoop.main` never runs. Use `Task.sleep` or `DispatchQueue.main.asyncAfter`.
///
/// A task, and anything else on the main queue, must not run a GLib loop of its own, as one does for a dialog
/// that is to be answered before the next line: the queue goes on only when that task does. Ask for such a loop
/// with ``outsideMainQueue(_:)``. A signal handler may run one as it is.
@MainActor
public enum MainLoopBridge {
  private static var source: guint = 0

  /// Starts it; a second call does nothing. From then on the desktop's warnings of low memory reach the pipelines
  /// as well (``Calotype/MemoryPressureMonitor``).
  ///
  /// The source has GLib's default priority, that of input events, so frames and input take turns with what is
  /// sent to the main thread. Whatever is on the queue when its turn comes runs in one go: keep each piece short.
  public static func start() {
    guard source == 0 else { return }
    let descriptor = _dispatch_get_main_queue_handle_4CF()
    source = g_unix_fd_add_full(
      G_PRIORITY_DEFAULT, descriptor, G_IO_IN,
      { descriptor, _, _ in
        // The descriptor is an event counter: reading it says that its news was taken.
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
        let start = MainActor.assumeIsolated { WorkMeter.start() }
        _dispatch_main_queue_callback_4CF(nil)
        MainActor.assumeIsolated { WorkMeter.end(start) }
        return 1
      }, nil, nil)
    // Finding the desktop's service takes a moment that the first frame should not wait for.
    onIdle { MemoryWarnings.start() }
  }

  /// Runs GLib's loop until the last window has been closed, for programs without a `GtkApplication`.
  public static func runUntilLastWindowCloses() {
    start()
    while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
  }

  /// Runs a closure from GLib's loop itself rather than from the main queue, so that it may run a loop of its
  /// own, such as a modal dialog's, while tasks and the main queue go on.
  ///
  /// ```swift
  /// let answer = await MainLoopBridge.outsideMainQueue { dialog.run() }
  /// ```
  public static func outsideMainQueue<Value: Sendable>(
    _ body: @escaping @MainActor () -> Value
  ) async -> Value {
    await withCheckedContinuation { continuation in
      onIdle(priority: G_PRIORITY_DEFAULT) { continuation.resume(returning: body()) }
    }
  }
}

private final class ClosureBox {
  let body: @MainActor () -> Bool
  init(_ body: @escaping @MainActor () -> Bool) { self.body = body }

  /// What GLib calls, with a box as its data.
  static let call: GSourceFunc = { data in
    guard let data else { return 0 }
    nonisolated(unsafe) let box = Unmanaged<ClosureBox>.fromOpaque(data).takeUnretainedValue()
    return MainActor.assumeIsolated { box.body() } ? 1 : 0
  }

  static let release: GDestroyNotify = { data in
    if let data { Unmanaged<ClosureBox>.fromOpaque(data).release() }
  }
}

/// Something that GLib's loop calls; it goes on when this is dropped, until it is cancelled or says that it is
/// done.
@MainActor
package struct LoopSource {
  fileprivate let identifier: guint
  /// Ends it; of one that has ended by itself this must not be asked.
  package func cancel() { g_source_remove(identifier) }
}

/// Calls a closure once, when the loop has nothing to do that is more urgent.
@MainActor
@discardableResult
package func onIdle(priority: Int32 = G_PRIORITY_DEFAULT_IDLE, _ body: @escaping @MainActor () -> Void)
  -> LoopSource
{
  let box = ClosureBox {
    body()
    return false
  }
  return LoopSource(
    identifier: g_idle_add_full(
      priority, ClosureBox.call, Unmanaged.passRetained(box).toOpaque(), ClosureBox.release))
}

/// Calls a closure after so many milliseconds, and again and again for as long as it answers `true`.
@MainActor
@discardableResult
package func after(milliseconds: Int, _ body: @escaping @MainActor () -> Bool) -> LoopSource {
  LoopSource(
    identifier: g_timeout_add_full(
      G_PRIORITY_DEFAULT, guint(clamping: milliseconds), ClosureBox.call,
      Unmanaged.passRetained(ClosureBox(body)).toOpaque(), ClosureBox.release))
}

/// What a shortcut does; the closure says whether it did anything.
@MainActor
package func callbackAction(_ body: @escaping @MainActor () -> Bool) -> OpaquePointer? {
  let action = gtk_callback_action_new(
    { _, _, data in
      guard let data else { return 0 }
      nonisolated(unsafe) let box = Unmanaged<ClosureBox>.fromOpaque(data).takeUnretainedValue()
      return MainActor.assumeIsolated { box.body() } ? 1 : 0
    }, Unmanaged.passRetained(ClosureBox(body)).toOpaque(), ClosureBox.release)
  return action
}

private final class TickBox {
  let body: @MainActor (Double) -> Bool
  init(_ body: @escaping @MainActor (Double) -> Bool) { self.body = body }
}

/// Calls a closure before each frame of a widget, with the frame's time in seconds, for as long as it answers
/// `true`. While a widget is not on screen there are no frames.
@MainActor
@discardableResult
package func onEachFrame(
  _ widget: UnsafeMutablePointer<GtkWidget>, _ body: @escaping @MainActor (Double) -> Bool
)
  -> TickCallback
{
  let box = Unmanaged.passRetained(TickBox(body)).toOpaque()
  let identifier = gtk_widget_add_tick_callback(
    widget,
    { _, clock, data in
      guard let data else { return 0 }
      nonisolated(unsafe) let box = Unmanaged<TickBox>.fromOpaque(data).takeUnretainedValue()
      let seconds = Double(gdk_frame_clock_get_frame_time(clock)) / 1e6
      return MainActor.assumeIsolated { box.body(seconds) } ? 1 : 0
    }, box, { data in if let data { Unmanaged<TickBox>.fromOpaque(data).release() } })
  return TickCallback(widget: widget, identifier: identifier)
}

/// A closure that is called before each frame.
@MainActor
package struct TickCallback {
  fileprivate let widget: UnsafeMutablePointer<GtkWidget>
  fileprivate let identifier: guint
  /// Ends it; of one that has ended by itself this must not be asked.
  package func cancel() { gtk_widget_remove_tick_callback(widget, identifier) }
}
