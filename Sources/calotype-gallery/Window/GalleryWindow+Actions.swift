import CGtk
import Calotype
import CalotypeGTK
import Foundation

extension GalleryWindow {
  /// What keys do in every window; the shortcuts window names the same.
  static let keys: [(action: String, keys: [String])] = [
    ("win.open", ["<Control>o"]), ("win.open-address", ["<Control>l"]), ("win.reload", ["F5", "<Control>r"]),
    ("win.search", ["<Control>f"]), ("win.layout::list", ["<Control>1"]),
    ("win.layout::grid", ["<Control>2"]),
    ("win.back", ["<Alt>Left"]), ("win.copy", ["<Control>c"]), ("win.save", ["<Control>s"]),
    ("win.details", ["<Alt>Return", "F9"]),
    ("win.zoom-in", ["<Control>plus", "<Control>equal", "<Control>KP_Add"]),
    ("win.zoom-out", ["<Control>minus", "<Control>KP_Subtract"]), ("win.fullscreen", ["F11"]),
    ("window.close", ["<Control>w"]), ("app.preferences", ["<Control>comma"]),
    ("app.shortcuts", ["<Control>question"]),
    ("app.quit", ["<Control>q"]),
  ]

  func addActions() {
    let wishes = application.preferences.value
    actions.add("open") { [weak self] in self?.chooseFile() }
    actions.add("open-address") { [weak self] in self?.askForAddress() }
    actions.add("bundled") { [weak self] in GallerySource.bundled.map { self?.show($0) } }
    actions.add("reload") { [weak self] in self?.reload() }
    actions.add("offline", isOn: isOffline) { [weak self] in self?.setOffline($0) }
    actions.add("search") { [weak self] in self?.browse.isSearching.toggle() }
    actions.add("layout", choice: wishes.layout.rawValue) { [weak self] name in
      if let layout = Preferences.Layout(rawValue: name) {
        self?.application.preferences.value.layout = layout
      }
    }
    actions.add("order", choice: wishes.order.rawValue) { [weak self] name in
      guard let self, let order = RowOrder(rawValue: name) else { return }
      model.query.order = order
      application.preferences.value.order = order
      listWantsKeys()
    }
    actions.add("descending", isOn: wishes.isDescending) { [weak self] isDescending in
      guard let self else { return }
      model.query.isDescending = isDescending
      application.preferences.value.isDescending = isDescending
      listWantsKeys()
    }
    actions.add("fullscreen") { [weak self] in
      guard let window = self?.window else { return }
      if gtk_window_is_fullscreen(window) != 0 {
        gtk_window_unfullscreen(window)
      } else {
        gtk_window_fullscreen(window)
      }
    }
    addPictureActions()
  }

  /// Gives the list the keyboard once a menu has gone, which would give it back to its button.
  private func listWantsKeys() {
    after(milliseconds: 100) { [weak self] in
      self?.browse.focusList()
      return false
    }
  }

  private func addPictureActions() {
    actions.add("back") { [weak self] in self?.back() }
    actions.add("next") { [weak self] in self?.picture.move(by: 1) }
    actions.add("previous") { [weak self] in self?.picture.move(by: -1) }
    actions.add("zoom-in") { [weak self] in self?.picture.view.step(1) }
    actions.add("zoom-out") { [weak self] in self?.picture.view.step(-1) }
    actions.add("zoom-fit") { [weak self] in self?.picture.view.set(.fit) }
    actions.add("zoom-full") { [weak self] in self?.picture.view.set(.factor(1)) }
    actions.add("details") { [weak self] in self?.picture.details.isOpen.toggle() }
    actions.add("copy") { [weak self] in
      if self?.picture.copy() == true { self?.say(tr("Copied")) }
    }
    actions.add("save") { [weak self] in self?.savePicture() }
  }

  /// Keys without Control, which are for letters while a list is shown, and for the picture while one is.
  func addPictureKeys() {
    let keys = gtk_event_controller_key_new()!
    gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE)
    connectAnswering(keys, "key-pressed") { [weak self] arguments in
      self?.pictureKey(UInt32(arguments.uint(0)), GdkModifierType(arguments.flags(2))) ?? false
    }
    gtk_widget_add_controller(widget, keys)
  }

  private func pictureKey(_ key: UInt32, _ modifiers: GdkModifierType) -> Bool {
    guard isShowingPicture else { return false }
    let held =
      modifiers.rawValue & (GDK_CONTROL_MASK.rawValue | GDK_ALT_MASK.rawValue | GDK_SHIFT_MASK.rawValue)
    if held == GDK_SHIFT_MASK.rawValue, let way = panKeys[Int32(key)] {
      picture.view.pan(x: way.x, y: way.y)
      return true
    }
    guard held == 0 || (held == GDK_SHIFT_MASK.rawValue && key == UInt32(GDK_KEY_plus)) else { return false }
    let name: String
    switch Int32(key) {
    case GDK_KEY_Escape, GDK_KEY_BackSpace: name = "back"
    case GDK_KEY_Right, GDK_KEY_Page_Down: name = "next"
    case GDK_KEY_Left, GDK_KEY_Page_Up: name = "previous"
    case GDK_KEY_plus, GDK_KEY_equal, GDK_KEY_KP_Add: name = "zoom-in"
    case GDK_KEY_minus, GDK_KEY_KP_Subtract: name = "zoom-out"
    case GDK_KEY_0, GDK_KEY_KP_0: name = "zoom-fit"
    case GDK_KEY_1, GDK_KEY_KP_1: name = "zoom-full"
    case GDK_KEY_i: name = "details"
    default: return false
    }
    g_action_group_activate_action(window.opaque, name, nil)
    return true
  }

  private var panKeys: [Int32: (x: Double, y: Double)] {
    [
      GDK_KEY_Left: (-0.2, 0), GDK_KEY_Right: (0.2, 0), GDK_KEY_Up: (0, -0.2), GDK_KEY_Down: (0, 0.2),
    ]
  }

  private func savePicture() {
    FileDialog.save(name: picture.fileName, over: window) { [weak self] file in
      guard let self else { return }
      Task { [weak self] in
        do {
          try await self?.picture.save(to: file)
          self?.say(tr("Saved as {name}", ["name": Escaping.displaySafe(file.lastPathComponent)]))
        } catch {
          let reason = (error as? ImagePipeline.Error)?.message ?? error.localizedDescription
          self?.say(tr("Could not be saved: {reason}", ["reason": Escaping.displaySafe(reason)]))
        }
      }
    }
  }
}
