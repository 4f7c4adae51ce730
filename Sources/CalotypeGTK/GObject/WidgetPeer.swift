public import CGtk

/// The Swift side of a widget: kept alive by the widget for as long as anybody else holds the widget, and
/// keeping the widget alive for as long as it is held itself.
///
/// So a program may keep either: drop the Swift object once its widget is in a window, or keep the object and
/// put the widget in later.
@MainActor
public class WidgetPeer {
  /// The widget, to put into a container.
  public let widget: UnsafeMutablePointer<GtkWidget>
  /// The peer itself while others hold the widget: a cycle that ends with the last of them.
  private var keptByWidget: WidgetPeer?

  /// Takes over a widget that was just made.
  package init(of widget: UnsafeMutablePointer<GtkWidget>) {
    self.widget = widget
    g_object_ref_sink(widget)
    g_object_add_toggle_ref(widget.cast(), Self.toggled, Unmanaged.passUnretained(self).toOpaque())
    // From here on the toggle reference alone is ours.
    g_object_unref(widget)
  }

  isolated deinit {
    willLetGo()
    g_object_remove_toggle_ref(widget.cast(), Self.toggled, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Called before the widget is let go, when nobody else holds it.
  package func willLetGo() {}

  private static let toggled: GToggleNotify = { data, _, isLast in
    guard let data else { return }
    let peer = Unmanaged<WidgetPeer>.fromOpaque(data).takeUnretainedValue()
    MainActor.assumeIsolated { peer.keptByWidget = isLast != 0 ? nil : peer }
  }
}
