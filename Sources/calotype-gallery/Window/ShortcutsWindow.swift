import CGtk
import CalotypeGTK

/// The keys, in GTK's own window for them.
@MainActor
enum ShortcutsWindow {
  static func present(over parent: UnsafeMutablePointer<GtkWindow>?) {
    let text = interface
    guard let builder = gtk_builder_new_from_string(text, gssize(text.utf8.count)) else { return }
    defer { g_object_unref(builder.address) }
    guard let window = gtk_builder_get_object(builder, "shortcuts") else { return }
    gtk_window_set_transient_for(window.cast(), parent)
    gtk_window_present(window.cast())
  }

  private static var groups: [(title: String, keys: [(name: String, keys: String)])] {
    [
      (
        tr("Lists"),
        [
          (tr("Open a list"), "<Control>o"), (tr("Open an address"), "<Control>l"),
          (tr("Reload"), "F5 <Control>r"),
          (tr("Search"), "<Control>f"), (tr("Show as a list"), "<Control>1"),
          (tr("Show as a grid"), "<Control>2"),
          (tr("Open the picture"), "Return"),
        ]
      ),
      (
        tr("Pictures"),
        [
          (tr("Back to the list"), "Escape <Alt>Left"), (tr("Next picture"), "Right Page_Down"),
          (tr("Previous picture"), "Left Page_Up"), (tr("Larger, smaller"), "plus minus"),
          (tr("Fit to window"), "0"), (tr("Full size"), "1"),
          (tr("Move over the picture"), "<Shift>Left <Shift>Right"),
          (tr("Information"), "i F9"), (tr("Copy"), "<Control>c"), (tr("Save as…"), "<Control>s"),
        ]
      ),
      (
        tr("Program"),
        [
          (tr("Full screen"), "F11"), (tr("Preferences"), "<Control>comma"), (tr("Main menu"), "F10"),
          (tr("Keyboard shortcuts"), "<Control>question"), (tr("Close the window"), "<Control>w"),
          (tr("Quit"), "<Control>q"),
        ]
      ),
    ]
  }

  private static var interface: String {
    let content = groups.map { group in
      let shortcuts = group.keys.map { key in
        """
        <child><object class="GtkShortcutsShortcut"><property name="title">\(escaped(key.name))</property>\
        <property name="accelerator">\(escaped(key.keys))</property></object></child>
        """
      }
      return """
        <child><object class="GtkShortcutsGroup"><property name="title">\(escaped(group.title))</property>
        \(shortcuts.joined(separator: "\n"))
        </object></child>
        """
    }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <interface><object class="GtkShortcutsWindow" id="shortcuts"><property name="modal">1</property>
      <child><object class="GtkShortcutsSection"><property name="section-name">all</property>
      <property name="max-height">12</property>
      \(content.joined(separator: "\n"))
      </object></child></object></interface>
      """
  }

  private static func escaped(_ text: String) -> String {
    guard let escaped = g_markup_escape_text(text, gssize(text.utf8.count)) else { return "" }
    defer { g_free(escaped) }
    return String(cString: escaped)
  }
}
