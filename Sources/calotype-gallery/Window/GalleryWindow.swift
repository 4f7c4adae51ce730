import CGtk
import Calotype
import CalotypeGTK
import Foundation

/// A window with a list, and with one of its pictures where that is opened.
@MainActor
final class GalleryWindow {
  let window: UnsafeMutablePointer<GtkWindow>
  let application: GalleryApplication
  let services: Services
  let source: GallerySource
  let model: GalleryModel
  private(set) var browse: BrowsePage!
  private(set) var picture: PicturePage!
  let actions: Actions
  /// Whether nothing is to be asked of servers.
  private(set) var isOffline: Bool

  private let pages = Pages(slides: true)
  private let header: HeaderBar
  private let toast = Toast()
  private var preferencesObserver = 0

  var widget: Widget { window.asWidget }

  init(
    _ source: GallerySource, application: GalleryApplication, isOffline: Bool = false,
    headStart: ListReading? = nil
  ) {
    self.application = application
    self.source = source
    self.isOffline = isOffline
    services = application.services
    model = GalleryModel(source, storedLists: services.storedLists)
    let wishes = application.preferences.value
    window = gtk_application_window_new(application.pointer).cast()
    actions = Actions(map: window.opaque)
    header = HeaderBar()
    model.query.order = wishes.order
    model.query.isDescending = wishes.isDescending
    let policy: @MainActor () -> ImageRequest.CachePolicy = { [weak self] in self?.cachePolicy ?? .default }
    browse = BrowsePage(
      model: model, services: services, preferences: application.preferences, policy: policy,
      reload: { [weak self] in self?.reload() }, open: { [weak self] in self?.chooseFile() })
    picture = PicturePage(model: model, services: services, policy: policy)
    addActions()
    build(wishes)
    connectPages()
    model.load(offline: isOffline, headStart: headStart)
  }

  /// How pictures are asked for: off-line only what is stored; with no network in sight what is stored before all,
  /// however old, without a try that can only fail.
  var cachePolicy: ImageRequest.CachePolicy {
    if isOffline { return .onlyIfCached }
    return g_network_monitor_get_network_available(g_network_monitor_get_default()) == 0
      ? .forceCache : .default
  }

  private func build(_ wishes: Preferences) {
    gtk_window_set_title(window, source.title)
    gtk_window_set_default_size(window, Int32(wishes.windowWidth), Int32(wishes.windowHeight))
    if wishes.isMaximized { gtk_window_maximize(window) }
    gtk_window_set_titlebar(window, header.widget)
    pages.add("browse", browse.widget)
    pages.add("picture", picture.widget)
    pages.show("browse")
    let overlay = gtk_overlay_new()!
    gtk_overlay_set_child(overlay.opaque, pages.widget)
    gtk_overlay_add_overlay(overlay.opaque, toast.widget)
    gtk_window_set_child(window, overlay)
    acceptDrops(on: overlay)
    addPictureKeys()
    preferencesObserver = application.preferences.observe { [weak self] old, new in self?.apply(old, new) }
    connectAnswering(window, "close-request") { [weak self] _ in
      self?.willClose()
      return false
    }
    connect(window, "destroy") { [weak self] in
      guard let self else { return }
      application.preferences.forget(preferencesObserver)
      application.didClose(self)
    }
    browse.captureKeys(of: widget)
    updateTitle()
    updateActions()
  }

  private func connectPages() {
    browse.onOpen = { [weak self] in self?.open($0) }
    browse.onChange = { [weak self] in
      self?.updateTitle()
      self?.picture.rowsChanged()
    }
    browse.onSearchMode = { [weak self] in self?.header.isSearching = $0 }
    header.onSearch = { [weak self] in
      if self?.browse.isSearching != $0 { self?.browse.isSearching = $0 }
    }
    picture.onChange = { [weak self] in
      self?.updateTitle()
      self?.updateActions()
    }
    picture.onCancel = { [weak self] in self?.back() }
  }

  func present() { gtk_window_present(window) }

  /// Ends what is under way: the window is going.
  private func willClose() {
    var wishes = application.preferences.value
    var (width, height): (Int32, Int32) = (0, 0)
    gtk_window_get_default_size(window, &width, &height)
    wishes.isMaximized = gtk_window_is_maximized(window) != 0
    if width > 0, height > 0 { (wishes.windowWidth, wishes.windowHeight) = (Int(width), Int(height)) }
    application.preferences.value = wishes
    picture.close()
  }

  // MARK: Lists

  /// Shows another list: here, where nothing else is shown yet, or in a window of its own.
  func show(_ source: GallerySource) {
    let next = application.open(source, isOffline: isOffline)
    // A window whose list could not be read has nothing to keep it.
    if case .failed = model.state, next !== self { gtk_window_close(window) }
  }

  /// Reads the list again.
  func reload() {
    let isOffline = isOffline
    application.replace(self, with: source, isOffline: isOffline)
  }

  func setOffline(_ isOffline: Bool) {
    guard self.isOffline != isOffline else { return }
    self.isOffline = isOffline
    if !isOffline, model.storedDate != nil { return reload() }
    browse.list?.refresh()
    say(isOffline ? tr("Off-line: only what is stored is shown") : tr("Servers are asked again"))
  }

  // MARK: Pages

  var isShowingPicture: Bool { picture.item != nil }

  func open(_ position: Int) {
    picture.open(position)
    pages.show("picture")
    browse.captureKeys(of: nil)
    updateTitle()
    updateActions()
  }

  /// From the picture to the list.
  func back() {
    guard isShowingPicture else { return }
    let position = picture.position
    picture.close()
    pages.show("browse")
    browse.captureKeys(of: widget)
    updateTitle()
    updateActions()
    if let position { browse.reveal(position) } else { browse.focusList() }
  }

  private func updateTitle() {
    if let item = picture.item {
      let title = Escaping.displaySafe(item.title)
      let place = picture.position.map {
        tr("{number} of {count}", ["number": ($0 + 1).formatted(), "count": model.count.formatted()])
      }
      header.show(title: title, subtitle: place ?? "", isPicture: true)
      gtk_window_set_title(window, title)
    } else {
      header.show(title: Escaping.displaySafe(source.title), subtitle: subtitle, isPicture: false)
      gtk_window_set_title(window, Escaping.displaySafe(source.title))
    }
  }

  private var subtitle: String {
    switch source {
    case .file:
      source == .bundled
        ? "" : Escaping.displaySafe(URL(fileURLWithPath: source.text).deletingLastPathComponent().path)
    case .address(let url): Escaping.displaySafe(url.host ?? "")
    case .pages(let template, _): Escaping.displaySafe(Escaping.address(template))
    }
  }

  func updateActions() {
    let hasPicture = picture.response != nil
    for name in ["copy", "save", "zoom-in", "zoom-out", "zoom-fit", "zoom-full"] {
      actions.enable(name, hasPicture)
    }
    for name in ["back", "details"] { actions.enable(name, isShowingPicture) }
    actions.enable("next", picture.hasNext)
    actions.enable("previous", picture.hasPrevious)
    actions.enable("search", !isShowingPicture)
  }

  /// Says something in passing.
  func say(_ text: String) { toast.show(text) }

  // MARK: Preferences

  private func apply(_ old: Preferences, _ new: Preferences) {
    if !old.sharesPipeline(with: new) || old.layout != new.layout || old.showsSource != new.showsSource {
      browse.makeList()
    }
    browse.list?.options.pausesDuringFlings = new.pausesWhileScrolling
  }
}
