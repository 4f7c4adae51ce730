import CGtk
import Calotype
import CalotypeGTK
import Foundation

extension GalleryWindow {
  /// Lets a person choose a list's file.
  func chooseFile() {
    FileDialog.open(over: window) { [weak self] file in self?.show(.file(file.path)) }
  }

  /// Lets a person type a list's address.
  func askForAddress() {
    AddressDialog(over: window) { [weak self] source in self?.show(source) }.present()
  }

  /// Takes files and links that are dropped on a widget.
  func acceptDrops(on widget: Widget) {
    let target = gtk_drop_target_new(GTypes.invalid, GDK_ACTION_COPY)!
    var types = [gdk_file_list_get_type(), g_file_get_type(), GTypes.string]
    gtk_drop_target_set_gtypes(target, &types, gsize(types.count))
    connectAnswering(target, "drop") { [weak self] arguments in
      guard let self, let value = arguments.address(0) else { return false }
      let sources = Dropped.texts(value.assumingMemoryBound(to: GValue.self)).compactMap { GallerySource($0) }
      guard !sources.isEmpty else {
        say(tr("That is neither a file nor an address"))
        return false
      }
      // A hand may drop a whole folder's files.
      for source in sources.prefix(8) { show(source) }
      return true
    }
    gtk_widget_add_controller(widget, target.opaque)
  }
}

/// What was dropped, as paths and addresses.
@MainActor
enum Dropped {
  static func texts(_ value: UnsafeMutablePointer<GValue>) -> [String] {
    let type = value.pointee.g_type
    if type == GTypes.string {
      let text = g_value_get_string(value).map { String(cString: $0) } ?? ""
      return text.split(whereSeparator: \.isNewline).map(String.init)
    }
    if type == gdk_file_list_get_type() {
      guard let list = g_value_get_boxed(value) else { return [] }
      let files = gdk_file_list_get_files(OpaquePointer(list))
      defer { g_slist_free(files) }
      var texts: [String] = [], next = files
      while let entry = next {
        if let file = entry.pointee.data { texts.append(text(of: OpaquePointer(file))) }
        next = entry.pointee.next
      }
      return texts.filter { !$0.isEmpty }
    }
    return g_value_get_object(value).map { [text(of: OpaquePointer($0))] } ?? []
  }

  /// A file's path, or the address of one that is elsewhere.
  static func text(of file: OpaquePointer) -> String {
    if let path = g_file_get_path(file) {
      defer { g_free(path) }
      return String(cString: path)
    }
    guard let address = g_file_get_uri(file) else { return "" }
    defer { g_free(address) }
    return String(cString: address)
  }
}

/// The desktop's own dialogs for files.
@MainActor
enum FileDialog {
  static func open(over window: UnsafeMutablePointer<GtkWindow>, _ chosen: @escaping @MainActor (URL) -> Void)
  {
    let dialog = gtk_file_chooser_native_new(
      tr("Open a List"), window, GTK_FILE_CHOOSER_ACTION_OPEN, tr("_Open"), tr("_Cancel"))!
    let lists = gtk_file_filter_new()!
    gtk_file_filter_set_name(lists, tr("Lists (property list, JSON, CSV, text)"))
    for suffix in ["plist", "json", "jsonl", "ndjson", "csv", "tsv", "txt"] {
      gtk_file_filter_add_suffix(lists, suffix)
    }
    gtk_file_chooser_add_filter(dialog, lists)
    let all = gtk_file_filter_new()!
    gtk_file_filter_set_name(all, tr("All files"))
    gtk_file_filter_add_pattern(all, "*")
    gtk_file_chooser_add_filter(dialog, all)
    for filter in [lists, all] { g_object_unref(filter.address) }
    show(dialog, chosen)
  }

  static func save(
    name: String, over window: UnsafeMutablePointer<GtkWindow>, _ chosen: @escaping @MainActor (URL) -> Void
  ) {
    let dialog = gtk_file_chooser_native_new(
      tr("Save the Picture"), window, GTK_FILE_CHOOSER_ACTION_SAVE, tr("_Save"), tr("_Cancel"))!
    gtk_file_chooser_set_current_name(dialog, name)
    if let folder = g_get_user_special_dir(G_USER_DIRECTORY_PICTURES), let file = g_file_new_for_path(folder)
    {
      gtk_file_chooser_set_current_folder(dialog, file, nil)
      g_object_unref(file.address)
    }
    show(dialog, chosen)
  }

  private static func show(_ dialog: OpaquePointer, _ chosen: @escaping @MainActor (URL) -> Void) {
    gtk_native_dialog_set_modal(dialog.cast(), 1)
    connect(dialog, "response") { arguments in
      // The dialog goes when it has answered; no later than that, or it would be gone before it is seen.
      defer { g_object_unref(dialog.address) }
      guard arguments.int(0) == Int(GTK_RESPONSE_ACCEPT.rawValue),
        let file = gtk_file_chooser_get_file(dialog)
      else {
        return
      }
      defer { g_object_unref(file.address) }
      let path = Dropped.text(of: file)
      if path.hasPrefix("/") { chosen(URL(fileURLWithPath: path)) }
    }
    gtk_native_dialog_show(dialog.cast())
  }
}

/// Asks for an address.
@MainActor
final class AddressDialog {
  private let window: UnsafeMutablePointer<GtkWindow>
  private let entry: Widget
  private let open: Widget
  private let chosen: @MainActor (GallerySource) -> Void

  init(over parent: UnsafeMutablePointer<GtkWindow>, _ chosen: @escaping @MainActor (GallerySource) -> Void) {
    self.chosen = chosen
    window = gtk_window_new().cast()
    gtk_window_set_title(window, tr("Open an Address"))
    gtk_window_set_transient_for(window, parent)
    gtk_window_set_modal(window, 1)
    gtk_window_set_resizable(window, 0)
    entry = gtk_entry_new()
    gtk_entry_set_input_purpose(entry.cast(), GTK_INPUT_PURPOSE_URL)
    setProperty(entry, "placeholder-text", to: "https://example.org/apps.json")
    gtk_entry_set_activates_default(entry.cast(), 1)
    gtk_widget_set_size_request(entry, 420, -1)
    let caption = gtk_label_new_with_mnemonic(tr("_Address of a list"))!
    gtk_label_set_xalign(caption.opaque, 0)
    gtk_label_set_mnemonic_widget(caption.opaque, entry)
    let hint = label(
      tr("Of a service that gives its list page by page, put {page} where the page's number belongs."),
      classes: "dim-label", "caption", wraps: true)
    gtk_label_set_max_width_chars(hint.opaque, 50)
    let cancel = textButton(tr("_Cancel"))
    open = textButton(tr("_Open"))
    open.add(["suggested-action"])
    let header = gtk_header_bar_new()!
    gtk_header_bar_set_show_title_buttons(header.opaque, 0)
    gtk_header_bar_pack_start(header.opaque, cancel)
    gtk_header_bar_pack_end(header.opaque, open)
    gtk_window_set_titlebar(window, header)
    gtk_window_set_child(window, column(8, caption, entry, hint).margins(18))
    gtk_window_set_default_widget(window, open)
    // These closures hold the dialog for as long as its widgets are there.
    connect(entry, "changed") { self.update() }
    connect(open, "clicked") { self.finish() }
    let window = window
    connect(cancel, "clicked") { gtk_window_destroy(window) }
    closeOnEscape(window)
    update()
  }

  func present() { gtk_window_present(window) }

  private var source: GallerySource? {
    let text = gtk_editable_get_text(entry.opaque).map { String(cString: $0) } ?? ""
    return GallerySource(text) ?? GallerySource("https://\(text)")
  }

  private func update() {
    gtk_widget_set_sensitive(open, gtk_entry_get_text_length(entry.cast()) > 0 && source != nil ? 1 : 0)
  }

  private func finish() {
    guard let source else { return }
    gtk_window_destroy(window)
    chosen(source)
  }
}

/// Lets Escape close a small window.
@MainActor
func closeOnEscape(_ window: UnsafeMutablePointer<GtkWindow>) {
  let controller = gtk_shortcut_controller_new()!
  let trigger = gtk_keyval_trigger_new(guint(GDK_KEY_Escape), GdkModifierType(rawValue: 0))
  gtk_shortcut_controller_add_shortcut(
    controller.opaque, gtk_shortcut_new(trigger, gtk_named_action_new("window.close")))
  gtk_widget_add_controller(window.asWidget, controller.opaque)
}
