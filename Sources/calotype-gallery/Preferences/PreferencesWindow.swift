import CGtk
import Calotype
import CalotypeGTK
import Foundation

/// Where a person chooses how the program works. A choice holds at once.
@MainActor
final class PreferencesWindow {
  var onClose: (@MainActor () -> Void)?

  private let window: UnsafeMutablePointer<GtkWindow>
  private let preferences: PreferencesStore
  private let services: Services
  private let cacheSize: Widget
  private let clear: Widget
  private var measuring: Task<Void, Never>?

  init(_ preferences: PreferencesStore, services: Services, over parent: UnsafeMutablePointer<GtkWindow>?) {
    self.preferences = preferences
    self.services = services
    window = gtk_window_new().cast()
    gtk_window_set_title(window, tr("Preferences"))
    gtk_window_set_transient_for(window, parent)
    gtk_window_set_default_size(window, 520, -1)
    gtk_window_set_resizable(window, 0)
    gtk_window_set_titlebar(window, gtk_header_bar_new())
    cacheSize = label(classes: "dim-label", "caption", wraps: true)
    clear = textButton(tr("_Clear…"))
    let content = column(
      18,
      group(tr("Loading"), [downloads(), freshness(), pause()]),
      group(tr("Cache"), [limit(), stored()]),
      group(tr("Appearance"), [appearance(), badges()])
    ).margins(18)
    gtk_window_set_child(window, content)
    closeOnEscape(window)
    connect(clear, "clicked") { [weak self] in self?.clearCache() }
    connect(window, "destroy") { [weak self] in
      self?.measuring?.cancel()
      self?.onClose?()
    }
    measure()
  }

  func present() { gtk_window_present(window) }

  // MARK: Rows

  private func group(_ title: String, _ rows: [Widget]) -> Widget {
    let list = gtk_list_box_new()!
    gtk_list_box_set_selection_mode(list.opaque, GTK_SELECTION_NONE)
    list.add(["boxed-list"])
    setAccessible(list.opaque, label: title)
    for entry in rows {
      let holder = gtk_list_box_row_new()!
      gtk_list_box_row_set_activatable(holder.cast(), 0)
      gtk_widget_set_focusable(holder, 0)
      gtk_list_box_row_set_child(holder.cast(), entry)
      gtk_list_box_append(list.opaque, holder)
    }
    return column(6, label(title, classes: "heading"), list)
  }

  /// A line with a name, a word about it, and what is set.
  private func line(_ name: String, _ about: Widget?, _ control: Widget) -> Widget {
    let caption = gtk_label_new_with_mnemonic(name)!
    gtk_label_set_xalign(caption.opaque, 0)
    gtk_label_set_mnemonic_widget(caption.opaque, control)
    let texts = column(2, caption).aligned(y: GTK_ALIGN_CENTER).expanding(x: true)
    if let about { gtk_box_append(texts.cast(), about) }
    setAccessible(control.opaque, label: name.replacingOccurrences(of: "_", with: ""))
    return row(12, texts, control.aligned(y: GTK_ALIGN_CENTER)).margins(8, 12)
  }

  private func about(_ text: String) -> Widget {
    let widget = label(text, classes: "dim-label", "caption", wraps: true)
    gtk_label_set_max_width_chars(widget.opaque, 44)
    return widget
  }

  private func toggle(_ path: WritableKeyPath<Preferences, Bool>) -> Widget {
    let widget = gtk_switch_new()!
    gtk_switch_set_active(widget.opaque, preferences.value[keyPath: path] ? 1 : 0)
    connect(widget, "notify::active") { [weak self] in
      self?.preferences.value[keyPath: path] = gtk_switch_get_active(widget.opaque) != 0
    }
    return widget
  }

  private func choice(_ names: [String], selected: Int, _ body: @escaping @MainActor (Int) -> Void) -> Widget
  {
    let words = names.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var pointers = words.map { UnsafePointer($0) }
    let widget = gtk_drop_down_new_from_strings(&pointers)!
    gtk_drop_down_set_selected(widget.opaque, guint(clamping: selected))
    connect(widget, "notify::selected") { body(Int(gtk_drop_down_get_selected(widget.opaque))) }
    return widget
  }

  private func downloads() -> Widget {
    let range = Preferences.downloadRange
    let spin = gtk_spin_button_new_with_range(Double(range.lowerBound), Double(range.upperBound), 1)!
    gtk_spin_button_set_value(spin.opaque, Double(preferences.value.downloadsAtOnce))
    connect(spin, "value-changed") { [weak self] in
      self?.preferences.value.downloadsAtOnce = Int(gtk_spin_button_get_value_as_int(spin.opaque))
    }
    return line(tr("_Downloads at once"), nil, spin)
  }

  private func freshness() -> Widget {
    let policies: [(FreshnessPolicy, String)] = [
      (.http, tr("As the server says")), (.staleWhileRevalidate, tr("Show first, then ask")),
      (.immutable, tr("Never ask again")),
    ]
    let selected = policies.firstIndex { $0.0 == preferences.value.freshness } ?? 0
    return line(
      tr("_Stored pictures"), about(tr("When the server is asked whether a stored picture still holds")),
      choice(policies.map(\.1), selected: selected) { [weak self] index in
        if policies.indices.contains(index) { self?.preferences.value.freshness = policies[index].0 }
      })
  }

  private func pause() -> Widget {
    line(
      tr("_Pause while scrolling fast"), about(tr("Nothing is downloaded until the list slows down")),
      toggle(\.pausesWhileScrolling))
  }

  private func badges() -> Widget {
    line(
      tr("_Show where pictures came from"), about(tr("M for memory, D for disk, N for the network")),
      toggle(\.showsSource))
  }

  private func appearance() -> Widget {
    let all = Preferences.Appearance.allCases
    let names = all.map { appearance in
      switch appearance {
      case .system: tr("As the desktop")
      case .light: tr("Light")
      case .dark: tr("Dark")
      }
    }
    return line(
      tr("_Colours"), nil,
      choice(names, selected: all.firstIndex(of: preferences.value.appearance) ?? 0) { [weak self] index in
        if all.indices.contains(index) { self?.preferences.value.appearance = all[index] }
      })
  }

  private func limit() -> Widget {
    var sizes = Preferences.cacheSizes
    if !sizes.contains(preferences.value.cacheMegabytes) { sizes.append(preferences.value.cacheMegabytes) }
    let names = sizes.map {
      $0 == 0 ? tr("Automatic") : tr("{count} MB", ["count": $0.formatted(.number.grouping(.never))])
    }
    return line(
      tr("_Largest size on disk"), nil,
      choice(names, selected: sizes.firstIndex(of: preferences.value.cacheMegabytes) ?? 0) {
        [weak self] index in
        if sizes.indices.contains(index) { self?.preferences.value.cacheMegabytes = sizes[index] }
      })
  }

  private func stored() -> Widget {
    let texts = column(2, label(tr("Stored pictures on disk")), cacheSize).aligned(y: GTK_ALIGN_CENTER)
      .expanding(x: true)
    return row(12, texts, clear.aligned(y: GTK_ALIGN_CENTER)).margins(8, 12)
  }

  // MARK: The cache

  /// Finds out how much is stored, away from the main thread.
  private func measure() {
    let (disk, memory) = (services.diskCache, services.memoryCache.statistics)
    measuring = Task { [weak self] in
      let info = await Self.info(of: disk)
      guard !Task.isCancelled, let self else { return }
      cacheSize.text = tr(
        one: "{count} entry, {size}; {memory} in memory", many: "{count} entries, {size}; {memory} in memory",
        info.count,
        ["size": formatted(bytes: info.bytes), "memory": formatted(bytes: memory.cost)])
      gtk_widget_set_sensitive(clear, info.count > 0 || memory.cost > 0 ? 1 : 0)
    }
  }

  private func clearCache() {
    let dialog = ConfirmDialog(
      tr("Clear the cache?"),
      tr(
        "{amount} will be deleted. Pictures are downloaded again when they are shown.",
        ["amount": cacheSize.text]),
      button: tr("_Clear"), over: window
    ) { [weak self] in
      guard let self else { return }
      services.memoryCache.removeAll()
      let disk = services.diskCache
      Task { [weak self] in
        await Self.clear(disk)
        self?.measure()
      }
    }
    dialog.present()
  }

  @concurrent
  private static func info(of disk: DiskCache) async -> DiskCache.Info { disk.info }

  @concurrent
  private static func clear(_ disk: DiskCache) async {
    disk.removeAll()
    disk.flush()
  }
}

/// Asks before something goes that cannot be had back.
@MainActor
final class ConfirmDialog {
  private let window: UnsafeMutablePointer<GtkWindow>

  init(
    _ title: String, _ message: String, button: String, over parent: UnsafeMutablePointer<GtkWindow>,
    confirmed: @escaping @MainActor () -> Void
  ) {
    let window: UnsafeMutablePointer<GtkWindow> = gtk_window_new().cast()
    self.window = window
    gtk_window_set_title(window, title)
    gtk_window_set_transient_for(window, parent)
    gtk_window_set_modal(window, 1)
    gtk_window_set_resizable(window, 0)
    let header = gtk_header_bar_new()!
    gtk_header_bar_set_show_title_buttons(header.opaque, 0)
    gtk_window_set_titlebar(window, header)
    let cancel = textButton(tr("_Cancel")) { gtk_window_destroy(window) }
    let go = textButton(button, classes: "destructive-action") {
      gtk_window_destroy(window)
      confirmed()
    }
    gtk_header_bar_pack_start(header.opaque, cancel)
    gtk_header_bar_pack_end(header.opaque, go)
    let text = label(message, wraps: true)
    gtk_label_set_max_width_chars(text.opaque, 44)
    gtk_window_set_child(window, text.margins(24))
    gtk_window_set_focus(window, cancel)
    closeOnEscape(window)
  }

  func present() { gtk_window_present(window) }
}
