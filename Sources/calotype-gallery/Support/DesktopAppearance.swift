import CGtk
import CalotypeGTK

/// Light or dark, as the desktop's settings say or as the person has chosen here.
///
/// GTK alone follows only the older of the two settings that desktops have; the newer one is asked of the settings
/// portal, which tells of changes too.
@MainActor
final class DesktopAppearance {
  var wish: Preferences.Appearance { didSet { apply() } }

  /// What the portal says: 1 is dark, 2 light, 0 no preference.
  private var portalScheme: UInt32 = 0
  /// What GTK's own setting was before this program touched it.
  private let gtkPrefersDark: Bool
  private static weak var current: DesktopAppearance?

  init(_ wish: Preferences.Appearance) {
    self.wish = wish
    gtkPrefersDark =
      gtk_settings_get_default().map { property($0, "gtk-application-prefer-dark-theme") } ?? false
    Self.current = self
    apply()
    // A bus that answers late holds up nothing.
    g_bus_get(
      G_BUS_TYPE_SESSION, nil,
      { _, result, _ in
        guard let bus = g_bus_get_finish(result, nil) else { return }
        nonisolated(unsafe) let connection = bus
        MainActor.assumeIsolated { DesktopAppearance.current?.watch(connection) }
      }, nil)
  }

  private func apply() {
    guard let settings = gtk_settings_get_default() else { return }
    let isDark =
      switch wish {
      case .dark: true
      case .light: false
      case .system: portalScheme == 1 || (portalScheme == 0 && gtkPrefersDark)
      }
    // Setting it to what it is would have GTK read its whole theme again.
    let name = "gtk-application-prefer-dark-theme"
    if property(settings, name, as: Bool.self) != isDark { setProperty(settings, name, to: isDark) }
  }

  private static let portal = "org.freedesktop.portal.Desktop"
  private static let path = "/org/freedesktop/portal/desktop"
  private static let interface = "org.freedesktop.portal.Settings"

  private func watch(_ bus: OpaquePointer) {
    g_dbus_connection_signal_subscribe(
      bus, Self.portal, Self.interface, "SettingChanged", Self.path, "org.freedesktop.appearance",
      G_DBUS_SIGNAL_FLAGS_NONE,
      { _, _, _, _, _, parameters, _ in
        nonisolated(unsafe) let parameters = parameters
        MainActor.assumeIsolated { DesktopAppearance.current?.settingChanged(parameters) }
      }, nil, nil)
    let arguments = g_variant_parse(nil, "('org.freedesktop.appearance', 'color-scheme')", nil, nil, nil)
    g_dbus_connection_call(
      bus, Self.portal, Self.path, Self.interface, "Read", arguments, nil, G_DBUS_CALL_FLAGS_NO_AUTO_START,
      2000, nil,
      { source, result, _ in
        guard let source, let answer = g_dbus_connection_call_finish(OpaquePointer(source), result, nil)
        else { return }
        nonisolated(unsafe) let value = g_variant_get_child_value(answer, 0)
        MainActor.assumeIsolated { DesktopAppearance.current?.take(value) }
        g_variant_unref(value)
        g_variant_unref(answer)
      }, nil)
    if let arguments { g_variant_unref(arguments) }
  }

  private func settingChanged(_ parameters: OpaquePointer?) {
    guard let parameters, g_variant_n_children(parameters) == 3 else { return }
    let (name, value) = (g_variant_get_child_value(parameters, 1), g_variant_get_child_value(parameters, 2))
    if let name, let text = g_variant_get_string(name, nil), String(cString: text) == "color-scheme" {
      take(value)
    }
    for part in [name, value] { if let part { g_variant_unref(part) } }
  }

  /// A number in as many boxes as the portal's version puts around it.
  private func take(_ value: OpaquePointer?) {
    guard let value else { return }
    let type = String(cString: g_variant_get_type_string(value))
    if type == "v" {
      let inner = g_variant_get_variant(value)
      take(inner)
      if let inner { g_variant_unref(inner) }
    } else if type == "u" {
      portalScheme = g_variant_get_uint32(value)
      apply()
    }
  }
}
