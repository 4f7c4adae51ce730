import CGtk
import Calotype
import CalotypeGTK
import Foundation

/// The list of names and icons, or the grid of icons, with its search, its pages and what it says when there is
/// nothing to show.
@MainActor
final class BrowsePage {
  let widget: Widget
  let model: GalleryModel
  /// Told when a row is opened.
  var onOpen: (@MainActor (Int) -> Void)?
  /// Told when the list has changed.
  var onChange: (@MainActor () -> Void)?

  private(set) var list: PictureList?
  private let services: Services
  private let preferences: PreferencesStore
  private let policy: @MainActor () -> ImageRequest.CachePolicy
  private let searchBar: Widget
  private let searchEntry: Widget
  private let banner: Banner
  private let pages = Pages()
  private let listPlace: Widget
  private let errorPage: StatusPage
  private let pageLine: PageLine
  private let statusLine: StatusLine
  /// Whether the list has been given the keyboard when its first rows came.
  private var hasTakenFocus = false
  private var hasDrawn = false
  private var isWaitingForFrame = false
  /// The list's length when it last said that its end is near.
  private var nearEndCount: Int?

  init(
    model: GalleryModel, services: Services, preferences: PreferencesStore,
    policy: @escaping @MainActor () -> ImageRequest.CachePolicy, reload: @escaping @MainActor () -> Void,
    open: @escaping @MainActor () -> Void
  ) {
    self.model = model
    self.services = services
    self.preferences = preferences
    self.policy = policy
    searchEntry = gtk_search_entry_new()
    gtk_widget_set_size_request(searchEntry, 320, -1)
    setProperty(searchEntry, "placeholder-text", to: tr("Search names"))
    setAccessible(searchEntry.opaque, label: tr("Search"))
    searchBar = gtk_search_bar_new()
    gtk_search_bar_set_child(searchBar.opaque, searchEntry)
    gtk_search_bar_connect_entry(searchBar.opaque, searchEntry.opaque)
    banner = Banner(button: tr("Try Again"), reload)
    listPlace = column()
    errorPage = StatusPage(
      icon: "network-error-symbolic", title: "",
      buttons: [
        textButton(tr("_Try Again"), classes: "suggested-action", pressed: reload),
        textButton(tr("_Open Another List…"), pressed: open),
      ])
    pageLine = PageLine()
    statusLine = StatusLine(services: services)
    widget = column(0, searchBar, banner.widget, pages.widget, pageLine.widget, statusLine.widget)
    addPages(open)
    pageLine.onLoad = { [weak self] in
      guard let model = self?.model else { return }
      if case .failed = model.paging { model.retryPage() } else { model.loadNextPage() }
    }
    connect(searchEntry, "search-changed") { [weak self] in self?.searchChanged() }
    connect(searchEntry, "activate") { [weak self] in self?.focusList() }
    connect(searchBar, "notify::search-mode-enabled") { [weak self] in self?.searchModeChanged() }
    model.onChange = { [weak self] in self?.take($0) }
    makeList()
    update()
  }

  private func addPages(_ open: @escaping @MainActor () -> Void) {
    let spinner = gtk_spinner_new()!
    gtk_widget_set_size_request(spinner, 32, 32)
    gtk_spinner_start(spinner.opaque)
    let loading = column(12, spinner, label(tr("Reading the list…"), classes: "dim-label", x: 0.5))
      .aligned(x: GTK_ALIGN_CENTER, y: GTK_ALIGN_CENTER)
    let empty = StatusPage(
      icon: "folder-pictures-symbolic", title: tr("No pictures"),
      message: tr("This list has no rows with a picture's address."),
      buttons: [textButton(tr("_Open Another List…"), pressed: open)])
    let none = StatusPage(
      icon: "edit-find-symbolic", title: tr("Nothing found"),
      message: tr("No name has all of these words in it."))
    for (name, page) in [
      ("loading", loading), ("rows", listPlace), ("empty", empty.widget), ("none", none.widget),
      ("error", errorPage.widget),
    ] { pages.add(name, page) }
  }

  // MARK: The list

  /// Makes the list anew, as the preferences want it, at the place where the old one was.
  func makeList() {
    let place = list?.visibleRange?.lowerBound ?? 0
    let hadFocus = list.map { gtk_widget_is_ancestor(focused ?? $0.view, $0.widget) != 0 } ?? false
    if let old = list { gtk_box_remove(listPlace.cast(), old.widget) }
    let wishes = preferences.value
    let isGrid = wishes.layout == .grid
    let (model, policy) = (model, policy)
    let list = PictureList(
      layout: isGrid ? .grid : .list, count: model.count,
      pictureSize: isGrid ? GalleryTile.pictureSize : GalleryRow.pictureSize, pipeline: services.pipeline,
      makeCell: {
        if isGrid { return GalleryTile(showsSource: wishes.showsSource) }
        return GalleryRow(showsSource: wishes.showsSource)
      },
      items: { position in
        guard let item = model.item(at: position) else { return PictureListItem(title: "", url: nil) }
        return PictureListItem(
          title: item.title, subtitle: item.subtitle ?? "",
          request: ImageRequest(url: item.url, cachePolicy: policy()))
      })
    list.options.pausesDuringFlings = wishes.pausesWhileScrolling
    list.onActivate = { [weak self] in self?.onOpen?($0) }
    list.onNearEnd = { [weak self] in self?.nearEnd() }
    list.onFling = { [weak self] _ in self?.services.activity.note() }
    list.onVisibleChange = { [weak self] _ in self?.services.activity.note() }
    list.view.add(["gallery", isGrid ? "tiles" : "rows"])
    if isGrid {
      gtk_grid_view_set_single_click_activate(list.view.opaque, 1)
    } else {
      gtk_list_view_set_single_click_activate(list.view.opaque, 1)
    }
    setAccessible(list.view.opaque, label: tr("Pictures"))
    gtk_box_append(listPlace.cast(), list.widget)
    self.list = list
    if place > 0 { list.scroll(to: place) }
    if hadFocus { focusList() }
  }

  private var focused: Widget? {
    gtk_widget_get_root(widget).flatMap { gtk_root_get_focus($0) }
  }

  /// Gives the list the keyboard.
  func focusList() {
    guard let list, model.count > 0 else { return }
    gtk_widget_grab_focus(list.view)
  }

  /// Brings a row on screen and marks it.
  func reveal(_ position: Int) {
    guard let list else { return }
    list.selection = position
    if !(list.visibleRange.map {
      ($0.lowerBound + 1..<max($0.upperBound, $0.lowerBound + 1)).contains(position)
    } ?? false) {
      list.scroll(to: position)
    }
    focusList()
  }

  // MARK: Changes

  private func take(_ change: GalleryModel.Change) {
    switch change {
    case .appended: showRows()
    case .replaced:
      // First to the top: of rows that were just put in the list does not know the heights.
      list?.scrollOffset = 0
      list?.count = model.count
    case .state: break
    }
    update()
    loadNextPageIfWanted()
    onChange?()
  }

  /// Shows the rows that are there: a screenful before the first frame, as each takes its widgets to be made, and the
  /// others after it.
  private func showRows() {
    guard let list else { return }
    let count = hasDrawn ? model.count : min(model.count, 24)
    if count > list.count { list.append(count - list.count) }
    guard !hasDrawn, !isWaitingForFrame else { return }
    isWaitingForFrame = true
    var frames = 0
    onEachFrame(list.view) { [weak self] _ in
      frames += 1
      guard frames > 2, let self else { return self != nil }
      hasDrawn = true
      showRows()
      return false
    }
  }

  private func update() {
    let page: String
    switch model.state {
    case .loading: page = "loading"
    case .failed(let error):
      errorPage.say(tr("The list could not be read"), error.description)
      page = "error"
    case .ready where model.count > 0: page = "rows"
    case .ready: page = model.totalCount > 0 ? "none" : "empty"
    }
    pages.show(page)
    if page == "error" { errorPage.takeFocus() }
    if page == "rows", !hasTakenFocus {
      hasTakenFocus = true
      focusList()
    }
    pageLine.show(model.paging, isFiltered: !model.query.words.isEmpty)
    statusLine.show(model)
    updateBanner()
  }

  private func updateBanner() {
    if let date = model.storedDate {
      let when = date.formatted(date: .abbreviated, time: .shortened)
      let reason = model.failure.map { Escaping.displaySafe($0.reason) }
      banner.show(
        reason.map {
          tr(
            "The server could not be asked ({reason}). This is the list of {date}.",
            ["reason": $0, "date": when])
        }
          ?? tr("Off-line: this is the list of {date}, with the pictures that are stored.", ["date": when]))
    } else if let failure = model.failure, model.totalCount > 0 {
      banner.show(tr("The list ends here: {reason}", ["reason": failure.description]))
    } else {
      banner.hide()
    }
  }

  // MARK: Pages

  private func nearEnd() {
    // Of the first screenful the end is not the list's.
    guard list?.count == model.count else { return }
    nearEndCount = list?.count
    loadNextPageIfWanted()
  }

  /// Loads the next page where the end is near. While a search hides rows that is left to the person.
  private func loadNextPageIfWanted() {
    guard case .next = model.paging, model.query.words.isEmpty, nearEndCount == list?.count else { return }
    model.loadNextPage()
  }

  // MARK: Searching

  var isSearching: Bool {
    get { gtk_search_bar_get_search_mode(searchBar.opaque) != 0 }
    set {
      gtk_search_bar_set_search_mode(searchBar.opaque, newValue ? 1 : 0)
      if newValue { gtk_widget_grab_focus(searchEntry) }
    }
  }
  var onSearchMode: (@MainActor (Bool) -> Void)?

  /// Letters that are typed anywhere in a window begin a search; `nil` for none, as while a picture is shown.
  func captureKeys(of window: Widget?) { gtk_search_bar_set_key_capture_widget(searchBar.opaque, window) }

  private func searchChanged() {
    model.query.text = gtk_editable_get_text(searchEntry.opaque).map { String(cString: $0) } ?? ""
  }

  private func searchModeChanged() {
    if !isSearching { focusList() }
    onSearchMode?(isSearching)
  }
}

/// A line across the page with a message and a way out.
@MainActor
final class Banner {
  let widget: Widget
  private let text: Widget

  init(button: String, _ pressed: @escaping @MainActor () -> Void) {
    widget = gtk_revealer_new()
    text = label(wraps: true).expanding(x: true)
    let button = textButton(button, pressed: pressed).aligned(y: GTK_ALIGN_CENTER)
    let line = row(12, text, button)
    line.add(["banner"])
    gtk_revealer_set_child(widget.opaque, line)
    widget.isShown = false
  }

  func show(_ message: String) {
    text.text = message
    widget.isShown = true
    gtk_revealer_set_reveal_child(widget.opaque, 1)
  }

  func hide() {
    gtk_revealer_set_reveal_child(widget.opaque, 0)
    widget.isShown = false
  }
}

/// The line under a paged list: that the next page comes, or why it did not.
@MainActor
final class PageLine {
  let widget: Widget
  /// Told when the next page is wanted, or wanted again.
  var onLoad: (@MainActor () -> Void)?
  private let spinner: Widget
  private let text: Widget
  private let button: Widget

  init() {
    spinner = gtk_spinner_new()
    text = label(wraps: true)
    button = textButton()
    widget = row(10, spinner, text, button).aligned(x: GTK_ALIGN_CENTER).margins(6, 12)
    widget.isShown = false
    connect(button, "clicked") { [weak self] in self?.onLoad?() }
  }

  func show(_ paging: GalleryModel.Paging, isFiltered: Bool) {
    var (isLoading, message, action): (Bool, String?, String?) = (false, nil, nil)
    switch paging {
    case .none: break
    case .next(let page):
      if isFiltered {
        message = tr("The list goes on.")
        action = tr("_Load Page {page}", ["page": "\(page)"])
      }
    case .loading(let page): (isLoading, message) = (true, tr("Loading page {page}…", ["page": "\(page)"]))
    case .failed(let page, let error):
      message = tr(
        "Page {page} could not be loaded: {reason}",
        ["page": "\(page)", "reason": Escaping.displaySafe(error.reason)])
      action = tr("_Try Again")
    }
    widget.isShown = message != nil
    text.text = message ?? ""
    button.isShown = action != nil
    if let action {
      gtk_button_set_label(button.cast(), action)
      nameByContent(button)
    }
    spinner.isShown = isLoading
    if isLoading { gtk_spinner_start(spinner.opaque) } else { gtk_spinner_stop(spinner.opaque) }
  }
}
