import CGtk
import CalotypeGTK

/// A page that says why there are no rows, and what can be done.
@MainActor
final class StatusPage {
  let widget: Widget
  private let title: Widget
  private let message: Widget
  private let firstButton: Widget?

  init(icon: String, title text: String, message detail: String = "", buttons: [Widget] = []) {
    firstButton = buttons.first
    let image = gtk_image_new_from_icon_name(icon)!
    gtk_image_set_pixel_size(image.opaque, 96)
    image.add(["dim-label"])
    title = label(text, classes: "title-2", wraps: true, x: 0.5)
    message = label(detail, classes: "dim-label", wraps: true, x: 0.5)
    for text in [title, message] {
      gtk_label_set_justify(text.opaque, GTK_JUSTIFY_CENTER)
      gtk_label_set_max_width_chars(text.opaque, 48)
    }
    let line = row(8).aligned(x: GTK_ALIGN_CENTER)
    gtk_widget_set_margin_top(line, 12)
    for button in buttons {
      button.add(["pill"])
      gtk_box_append(line.cast(), button)
    }
    widget = column(12, image, title, message, line).aligned(x: GTK_ALIGN_CENTER, y: GTK_ALIGN_CENTER)
    widget.margins(24)
    widget.expanding(x: true, y: true)
  }

  /// Gives the keyboard to the way out.
  func takeFocus() { if let firstButton { gtk_widget_grab_focus(firstButton) } }

  func say(_ text: String, _ detail: String) {
    title.text = text
    message.text = detail
  }
}
