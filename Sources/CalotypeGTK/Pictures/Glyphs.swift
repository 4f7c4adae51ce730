internal import CGtk

/// Symbolic icons as pixels, drawn once for each size and colour: a list shows the same placeholder in every
/// row, and a symbolic icon costs many times what its pixels cost.
@MainActor
enum Glyphs {
  private struct Key: Hashable {
    var name: String
    var side: Int
    var scale: Int32
    var color: [Float]
  }

  private static var textures: [Key: OpaquePointer] = [:]

  /// An icon as a texture, or `nil` before the widget has a window. It belongs to the store.
  static func texture(
    _ name: String, side: Int, color: GdkRGBA, for widget: UnsafeMutablePointer<GtkWidget>
  ) -> OpaquePointer? {
    let scale = gtk_widget_get_scale_factor(widget)
    let key = Key(
      name: name, side: side, scale: scale, color: [color.red, color.green, color.blue, color.alpha])
    if let texture = textures[key] { return texture }
    guard let native = gtk_widget_get_native(widget), let renderer = gtk_native_get_renderer(native),
      let theme = gtk_icon_theme_get_for_display(gtk_widget_get_display(widget)),
      let icon = gtk_icon_theme_lookup_icon(
        theme, name, nil, Int32(side), scale, GTK_TEXT_DIR_NONE, GtkIconLookupFlags(rawValue: 0))
    else { return nil }
    defer { g_object_unref(icon.address) }
    let pixels = Double(side * Int(scale))
    let snapshot = gtk_snapshot_new()
    var colors = [color, color, color, color]
    gtk_symbolic_paintable_snapshot_symbolic(icon, snapshot, pixels, pixels, &colors, 4)
    guard let node = gtk_snapshot_free_to_node(snapshot) else { return nil }
    defer { gsk_render_node_unref(node) }
    var bounds = Rectangle(x: 0, y: 0, width: pixels, height: pixels).graphene
    guard let texture = gsk_renderer_render_texture(renderer, node, &bounds) else { return nil }
    // Themes and sizes are few; whatever changes them again and again must not fill the memory.
    if textures.count >= 64 {
      for old in textures.values { g_object_unref(old.address) }
      textures = [:]
    }
    textures[key] = texture
    return texture
  }
}
