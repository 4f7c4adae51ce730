import CGtk
import Calotype
import CalotypeGTK
import Foundation

/// The program: its windows, and what they share.
@MainActor
final class GalleryApplication {
  static let identifier = "org.calotype.Gallery"

  let pointer: UnsafeMutablePointer<GtkApplication>
  let preferences = PreferencesStore()
  private(set) lazy var services = Services(preferences.value)
  private var windows: [GalleryWindow] = []
  private lazy var appearance = DesktopAppearance(preferences.value.appearance)
  private var preferencesWindow: PreferencesWindow?

  init() {
    g_set_application_name(tr("Calotype Gallery"))
    g_set_prgname(Self.identifier)
    pointer = gtk_application_new(Self.identifier, G_APPLICATION_HANDLES_COMMAND_LINE)
    connect(pointer, "startup") { [weak self] in self?.didStart() }
    connect(pointer, "command-line") { [weak self] arguments in
      if let line = arguments.address(0) { self?.take(commandLine: line.opaque) }
    }
  }

  /// The list that was asked for, read while GTK is still finding its screen.
  private var headStart: ListReading?

  /// Begins with the list, and with its first icons, before anything of GTK's. They take another thread.
  private func beginReading(_ arguments: [String]) {
    let words = arguments.dropFirst()
    guard !words.contains("--offline"),
      let source = words.isEmpty ? GallerySource.bundled : GallerySource(words[1])
    else { return }
    var first: Int?
    if case .pages(_, let page) = source { first = page }
    let pipeline = services.pipeline
    let side = preferences.value.layout == .grid ? GalleryTile.pictureSize : GalleryRow.pictureSize
    // GTK tells the scale only later; nothing is lost by a wrong guess but this.
    let scale = ProcessInfo.processInfo.environment["GDK_SCALE"].flatMap(Double.init) ?? 1
    headStart = ListReading(source, page: first) { portion in
      for item in portion.items.prefix(16) {
        let target = TargetSize(width: side, height: side, scale: scale, mode: .fill)
        // What is not stored the rows ask for themselves.
        let policy: ImageRequest.CachePolicy = item.url.isFileURL ? .default : .onlyIfCached
        let request = ImageRequest(url: item.url, targetSize: target, priority: .high, cachePolicy: policy)
        _ = pipeline.task(for: request)
      }
    }
  }

  /// Runs until the last window is closed, and until what was loaded has been stored. Returns the exit status.
  func run(_ arguments: [String]) -> Int32 {
    beginReading(arguments)
    var words = arguments.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    let status = g_application_run(pointer.cast(), Int32(arguments.count), &words)
    for window in windows { window.picture.close() }
    if isStarted { services.shutDown(within: 0.7) }
    return status
  }

  private var isStarted = false

  private func didStart() {
    isStarted = true
    guard let display = gdk_display_get_default() else { return }
    if let style = ProgramFiles.path("style.css") {
      let provider = gtk_css_provider_new()
      gtk_css_provider_load_from_path(provider, style)
      gtk_style_context_add_provider_for_display(
        display, provider?.opaque, guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION))
    }
    addActions()
    _ = appearance
    _ = preferences.observe { [weak self] old, new in
      self?.appearance.wish = new.appearance
      if !old.sharesPipeline(with: new) { self?.services.apply(new) }
    }
    // A terminal's or a session's wish to end is the same as closing the windows.
    for number in [SIGINT, SIGTERM, SIGHUP] {
      g_unix_signal_add(
        number,
        { _ in
          if let application = g_application_get_default() {
            g_action_group_activate_action(OpaquePointer(application), "quit", nil)
          }
          return 1
        }, nil)
    }
  }

  private var hasIcon = false

  /// Gives the program its icon. It is drawn in several sizes, so that waits until the first rows are there.
  private func showIcon() {
    guard !hasIcon, let display = gdk_display_get_default() else { return }
    hasIcon = true
    if let icons = ProgramFiles.folder("icons") {
      gtk_icon_theme_add_search_path(gtk_icon_theme_get_for_display(display), icons)
    }
    gtk_window_set_default_icon_name(Self.identifier)
  }

  private func addActions() {
    let actions = Actions(map: pointer.opaque)
    actions.add("quit") { [weak self] in
      // Each window keeps its size when it is closed.
      for window in self?.windows ?? [] { gtk_window_close(window.window) }
    }
    actions.add("about") { [weak self] in
      self.map { AboutWindow.present(over: $0.activeWindow, $0.services.pipeline) }
    }
    actions.add("shortcuts") { [weak self] in self.map { ShortcutsWindow.present(over: $0.activeWindow) } }
    actions.add("preferences") { [weak self] in self?.showPreferences() }
    for (action, keys) in GalleryWindow.keys {
      let words = keys.map { strdup($0) } + [nil]
      defer { for word in words { free(word) } }
      var pointers = words.map { UnsafePointer($0) }
      gtk_application_set_accels_for_action(pointer, action, &pointers)
    }
  }

  private var activeWindow: UnsafeMutablePointer<GtkWindow>? { gtk_application_get_active_window(pointer) }

  private func showPreferences() {
    if let preferencesWindow { return preferencesWindow.present() }
    let window = PreferencesWindow(preferences, services: services, over: activeWindow)
    window.onClose = { [weak self] in self?.preferencesWindow = nil }
    preferencesWindow = window
    window.present()
  }

  // MARK: Windows

  private func take(commandLine line: OpaquePointer) {
    var count: Int32 = 0
    guard let words = g_application_command_line_get_arguments(line.cast(), &count) else { return }
    defer { g_strfreev(words) }
    var arguments = (1..<max(1, Int(count))).compactMap { words[$0].map { String(cString: $0) } }
    let isOffline = arguments.contains("--offline")
    arguments.removeAll { $0 == "--offline" || $0 == "--" }
    let folder = g_application_command_line_get_cwd(line.cast()).map { String(cString: $0) } ?? "/"
    let sources = arguments.compactMap { GallerySource($0, folder: folder) }
    for argument in arguments where GallerySource(argument, folder: folder) == nil {
      let text = "calotype-gallery: \(Escaping.displaySafe(argument)) is neither a file nor an http address\n"
      FileHandle.standardError.write(Data(text.utf8))
    }
    if sources.isEmpty {
      open(GallerySource.bundled ?? .file("Examples/apps.json"), isOffline: isOffline)
    } else {
      for source in sources { open(source, isOffline: isOffline) }
    }
  }

  /// Shows a list in a window of its own.
  @discardableResult
  func open(_ source: GallerySource, isOffline: Bool = false) -> GalleryWindow {
    let reading = headStart?.source == source && !isOffline ? headStart : nil
    headStart = nil
    let window = GalleryWindow(source, application: self, isOffline: isOffline, headStart: reading)
    windows.append(window)
    window.present()
    after(milliseconds: 500) { [weak self] in
      self?.showIcon()
      return false
    }
    return window
  }

  /// Puts a window with the same list in another's place.
  func replace(_ old: GalleryWindow, with source: GallerySource, isOffline: Bool) {
    open(source, isOffline: isOffline)
    gtk_window_close(old.window)
  }

  func didClose(_ window: GalleryWindow) { windows.removeAll { $0 === window } }
}
