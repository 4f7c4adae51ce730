import CGtk
import CalotypeGTK

/// A window's upper edge: what is shown, and what can be done with it.
@MainActor
final class HeaderBar {
  let widget: Widget
  /// Told when the search button was pressed.
  var onSearch: (@MainActor (Bool) -> Void)?

  private let title: Widget
  private let subtitle: Widget
  private let search: Widget
  private let forList: [Widget]
  private let forPicture: [Widget]

  init() {
    widget = gtk_header_bar_new()
    title = label(classes: "title", x: 0.5)
    subtitle = label(classes: "subtitle", x: 0.5)
    gtk_header_bar_set_title_widget(
      widget.opaque, column(0, title, subtitle).aligned(y: GTK_ALIGN_CENTER))
    search = gtk_toggle_button_new()
    gtk_button_set_icon_name(search.cast(), "edit-find-symbolic")
    gtk_widget_set_tooltip_text(search, tr("Search"))
    setAccessible(search.opaque, label: tr("Search"))
    let back = iconButton("go-previous-symbolic", tr("Back to the list"), action: "win.back")
    let copy = iconButton("edit-copy-symbolic", tr("Copy"), action: "win.copy")
    let save = iconButton("document-save-symbolic", tr("Save as…"), action: "win.save")
    let details = iconButton("help-about-symbolic", tr("Information"), action: "win.details")
    let layout = Self.layoutButtons()
    let sort = Menu.button(
      icon: "view-sort-ascending-symbolic", name: tr("Sort"),
      [
        .section(
          tr("Sort by"),
          [
            .item(tr("_List order"), action: "win.order::list"),
            .item(tr("_Name"), action: "win.order::name"),
            .item(tr("_Figure"), action: "win.order::figure"),
          ]), .section(nil, [.item(tr("_Descending"), action: "win.descending")]),
      ])
    forList = [search, layout, sort]
    forPicture = [back, copy, save, details]
    for button in [back, search] { gtk_header_bar_pack_start(widget.opaque, button) }
    gtk_header_bar_pack_end(widget.opaque, Self.mainMenu())
    for button in [sort, layout, details, save, copy] { gtk_header_bar_pack_end(widget.opaque, button) }
    connect(search, "toggled") { [weak self] in self.map { $0.onSearch?($0.isSearching) } }
  }

  var isSearching: Bool {
    get { gtk_toggle_button_get_active(search.cast()) != 0 }
    set { gtk_toggle_button_set_active(search.cast(), newValue ? 1 : 0) }
  }

  func show(title text: String, subtitle detail: String, isPicture: Bool) {
    title.text = text
    subtitle.text = detail
    subtitle.isShown = !detail.isEmpty
    for button in forList { button.isShown = !isPicture }
    for button in forPicture { button.isShown = isPicture }
  }

  /// Two buttons of which one is pressed: list or grid.
  private static func layoutButtons() -> Widget {
    let box = row(0)
    box.add(["linked"])
    for (layout, icon, name) in [
      ("list", "view-list-symbolic", tr("List")), ("grid", "view-grid-symbolic", tr("Grid")),
    ] {
      let button = gtk_toggle_button_new()!
      gtk_button_set_icon_name(button.cast(), icon)
      gtk_widget_set_tooltip_text(button, name)
      setAccessible(button.opaque, label: name)
      gtk_actionable_set_detailed_action_name(button.opaque, "win.layout::\(layout)")
      gtk_box_append(box.cast(), button)
    }
    return box
  }

  private static func mainMenu() -> Widget {
    Menu.button(
      icon: "open-menu-symbolic", name: tr("Main menu"),
      [
        .section(
          nil,
          [
            .item(tr("_Open a List…"), action: "win.open"),
            .item(tr("Open an _Address…"), action: "win.open-address"),
            .item(tr("_Bundled List"), action: "win.bundled"),
          ]),
        .section(
          nil,
          [.item(tr("_Reload"), action: "win.reload"), .item(tr("_Work Off-line"), action: "win.offline")]),
        .section(
          nil,
          [
            .item(tr("_Preferences"), action: "app.preferences"),
            .item(tr("_Keyboard Shortcuts"), action: "app.shortcuts"),
            .item(tr("_About Calotype Gallery"), action: "app.about"),
          ]),
      ], isPrimary: true)
  }
}

/// A few words over the page that go by themselves.
@MainActor
final class Toast {
  let widget: Widget
  private let text: Widget
  private var number = 0

  init() {
    widget = gtk_revealer_new()
    gtk_revealer_set_transition_type(widget.opaque, GTK_REVEALER_TRANSITION_TYPE_CROSSFADE)
    text = label(x: 0.5)
    let frame = row(0, text)
    frame.add(["osd", "toast"])
    gtk_revealer_set_child(widget.opaque, frame)
    widget.aligned(x: GTK_ALIGN_CENTER, y: GTK_ALIGN_END)
    gtk_widget_set_margin_bottom(widget, 72)
    gtk_widget_set_can_target(widget, 0)
  }

  func show(_ message: String) {
    text.text = message
    gtk_revealer_set_reveal_child(widget.opaque, 1)
    number += 1
    let shown = number
    after(milliseconds: 3000) { [weak self] in
      if let self, number == shown { gtk_revealer_set_reveal_child(widget.opaque, 0) }
      return false
    }
  }
}
