import CGtk
import Calotype
import CalotypeGTK
import Foundation

/// A widget of any kind.
typealias Widget = UnsafeMutablePointer<GtkWidget>

// What most of the program's widgets are made of, in few words.

@MainActor
func column(_ spacing: Int32 = 0, _ children: Widget...) -> Widget {
  filled(gtk_box_new(GTK_ORIENTATION_VERTICAL, spacing), children)
}

@MainActor
func row(_ spacing: Int32 = 0, _ children: Widget...) -> Widget {
  filled(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, spacing), children)
}

@MainActor
private func filled(_ box: Widget, _ children: [Widget]) -> Widget {
  for child in children { gtk_box_append(box.cast(), child) }
  return box
}

/// A label of one line that is cut where it is too long, or of many.
@MainActor
func label(_ text: String = "", classes: String..., wraps: Bool = false, x: Float = 0) -> Widget {
  let widget = gtk_label_new(text)!
  gtk_label_set_xalign(widget.opaque, x)
  if wraps {
    gtk_label_set_wrap(widget.opaque, 1)
    gtk_label_set_wrap_mode(widget.opaque, PANGO_WRAP_WORD_CHAR)
  } else {
    gtk_label_set_ellipsize(widget.opaque, PANGO_ELLIPSIZE_END)
  }
  widget.add(classes)
  return widget
}

/// A button with a picture alone; its name is shown beside the pointer and read out.
@MainActor
func iconButton(_ icon: String, _ name: String, action: String, classes: String...) -> Widget {
  let widget = gtk_button_new_from_icon_name(icon)!
  gtk_widget_set_tooltip_text(widget, name)
  setAccessible(widget.opaque, label: name)
  gtk_actionable_set_action_name(widget.opaque, action)
  widget.add(classes)
  return widget
}

/// A button with a text, whose underlined letter is its key.
@MainActor
func textButton(_ text: String = "", classes: String..., pressed: @escaping @MainActor () -> Void = {})
  -> Widget
{
  let widget = gtk_button_new_with_mnemonic(text)!
  connect(widget, "clicked") { pressed() }
  widget.add(classes)
  nameByContent(widget)
  return widget
}

/// Lets a button be named for a screen reader by the label in it alone: GTK 4.8 would read its text out twice, once
/// with the mark for its key.
@MainActor
func nameByContent(_ button: Widget) {
  gtk_accessible_reset_property(button.opaque, GTK_ACCESSIBLE_PROPERTY_LABEL)
}

/// Pages of which one is shown. The others are hidden from screen readers too, which a stack alone does not do.
@MainActor
final class Pages {
  let widget: Widget
  private var pages: [String: Widget] = [:]
  private(set) var current: String?

  /// Creates pages that change at once, or by sliding.
  init(slides: Bool = false) {
    widget = gtk_stack_new()
    gtk_stack_set_transition_type(
      widget.opaque, slides ? GTK_STACK_TRANSITION_TYPE_SLIDE_LEFT_RIGHT : GTK_STACK_TRANSITION_TYPE_NONE)
    gtk_stack_set_transition_duration(widget.opaque, 180)
    widget.expanding(x: true, y: true)
    connect(widget, "notify::transition-running") { [weak self] in self?.hideOthers() }
  }

  func add(_ name: String, _ page: Widget) {
    pages[name] = page
    gtk_stack_add_named(widget.opaque, page, name)
    page.isShown = false
  }

  func show(_ name: String) {
    guard name != current, let page = pages[name] else { return }
    current = name
    page.isShown = true
    gtk_stack_set_visible_child(widget.opaque, page)
    hideOthers()
  }

  private func hideOthers() {
    guard gtk_stack_get_transition_running(widget.opaque) == 0 else { return }
    for (name, page) in pages where name != current { page.isShown = false }
  }
}

extension UnsafeMutablePointer where Pointee == GtkWidget {
  @MainActor
  func add(_ classes: [String]) {
    for name in classes { gtk_widget_add_css_class(self, name) }
  }

  @MainActor
  @discardableResult
  func margins(_ all: Int32) -> Self { margins(all, all) }

  /// The same margin above and below, and another at the sides.
  @MainActor
  @discardableResult
  func margins(_ vertical: Int32, _ sides: Int32) -> Self {
    gtk_widget_set_margin_top(self, vertical)
    gtk_widget_set_margin_bottom(self, vertical)
    gtk_widget_set_margin_start(self, sides)
    gtk_widget_set_margin_end(self, sides)
    return self
  }

  @MainActor
  @discardableResult
  func expanding(x: Bool = false, y: Bool = false) -> Self {
    if x { gtk_widget_set_hexpand(self, 1) }
    if y { gtk_widget_set_vexpand(self, 1) }
    return self
  }

  @MainActor
  @discardableResult
  func aligned(x: GtkAlign? = nil, y: GtkAlign? = nil) -> Self {
    if let x { gtk_widget_set_halign(self, x) }
    if let y { gtk_widget_set_valign(self, y) }
    return self
  }

  @MainActor
  var isShown: Bool {
    get { gtk_widget_get_visible(self) != 0 }
    nonmutating set { if newValue != isShown { gtk_widget_set_visible(self, newValue ? 1 : 0) } }
  }

  /// A label's text; texts from outside cannot steer its layout.
  @MainActor
  var text: String {
    get { gtk_label_get_text(opaque).map { String(cString: $0) } ?? "" }
    nonmutating set { if newValue != text { gtk_label_set_text(opaque, newValue) } }
  }
}

/// Sizes as the desktop writes them, such as 7.1 kB.
func formatted(bytes: Int) -> String {
  guard let text = g_format_size(guint64(max(0, bytes))) else { return "\(bytes)" }
  defer { g_free(text) }
  return String(cString: text)
}
