public import CGtk
internal import CGtkObjects
public import Calotype

/// A list or a grid of rows with pictures that load as one scrolls, in a scrolled window.
///
/// ```swift
/// let list = PictureList(count: apps.count) { PictureListItem(title: apps[$0].name, url: apps[$0].icon) }
/// gtk_window_set_child(window, list.widget)
/// ```
///
/// A row's picture is asked for when the row is really on screen, which GTK's own "bound" is not: of some two
/// hundred rows that it keeps bound fifteen are seen. It is cancelled when the row leaves, and a row that is not on
/// screen keeps no pixels. During a fling nothing is asked for and no download starts; when it comes to rest, the
/// rows on screen go first, then those ahead in the direction of scrolling.
///
/// All rows should be of one height.
@MainActor
public final class PictureList: WidgetPeer {
  /// How rows are laid out.
  public enum Layout: String, Hashable, Sendable, CaseIterable {
    /// One below the other.
    case list
    /// As many side by side as there is room for.
    case grid
  }

  /// How pictures are asked for.
  public var options = PictureListOptions()
  /// Loads the pictures. While the list is flung its downloads are held back.
  public let pipeline: ImagePipeline
  /// How rows are laid out.
  public let layout: Layout

  /// Told when a row is activated: by Enter, or a double click.
  public var onActivate: (@MainActor (Int) -> Void)?
  /// Told when another row is selected, or none.
  public var onSelect: (@MainActor (Int?) -> Void)?
  /// Told once for each ``count`` when its last rows come near: the moment to load the next page.
  public var onNearEnd: (@MainActor () -> Void)?
  /// Told when a fling begins (`true`) and when it has slowed down or come to rest (`false`).
  public var onFling: (@MainActor (Bool) -> Void)?
  /// Told when other rows are on screen than before.
  public var onVisibleChange: (@MainActor (ClosedRange<Int>?) -> Void)?

  /// Whether the list is being flung.
  public private(set) var isFlinging = false
  /// The first and the last row on screen; `nil` while there is none.
  public private(set) var visibleRange: ClosedRange<Int>?

  /// The `GtkListView` or `GtkGridView` itself.
  public let view: UnsafeMutablePointer<GtkWidget>

  private let items: @MainActor (Int) -> PictureListItem
  private let model: OpaquePointer
  private let selectionModel: OpaquePointer
  private let gate: ScrollGate
  /// Rows that the view has not been told of yet: of a long list it would make two hundred before it shows the
  /// first, so it begins with what fills a screen, and learns of the others once that is seen.
  private var heldBack: Int
  private var isRevealing = false
  /// Whether the number of rows has changed since the last layout, and where to go after the next.
  private var isAwaitingExtent = true
  private var wantedOffset: Double?
  private var cells: [UnsafeMutableRawPointer: ListCell] = [:]
  private var cellsByNumber: [Int: ListCell] = [:]
  private var lastNumber = 0
  private var loader: RowLoader<Int>?
  private var speed = ScrollSpeed()
  private var isTicking = false
  private var isLooking = false
  private var isFlingTold = false
  /// Whether rows have been bound to other positions and are still where they were.
  private var isAwaitingLayout = false
  private var hasSuspended = false
  private var toldEndAt: Int?
  let prefetching: ListPrefetching

  /// Creates a list of ready-made rows, or of cells of the caller's.
  ///
  /// - Parameters:
  ///   - layout: One below the other, or a grid.
  ///   - count: How many rows there are; ``count`` changes it.
  ///   - pictureSize: The pictures' width and height in points; 48 by default.
  ///   - pipeline: Loads the pictures.
  ///   - makeCell: Makes a row's widgets; by default a ``PictureRow`` or ``PictureTile``.
  ///   - items: What a position shows. It is asked on each use of a row, so it must answer at once.
  public init(
    layout: Layout = .list, count: Int = 0, pictureSize: Double = 48, pipeline: ImagePipeline = .shared,
    makeCell: (@MainActor () -> any PictureCell)? = nil, items: @escaping @MainActor (Int) -> PictureListItem
  ) {
    self.layout = layout
    self.pipeline = pipeline
    self.items = items
    heldBack = Self.rowsToHoldBack(of: count, layout)
    model = OpaquePointer(calotype_list_model_new(UInt32(clamping: count - heldBack)))
    selectionModel = gtk_single_selection_new(model)
    gtk_single_selection_set_autoselect(selectionModel, 0)
    gtk_single_selection_set_can_unselect(selectionModel, 1)
    gtk_single_selection_set_selected(selectionModel, .max)
    let factory = gtk_signal_list_item_factory_new()!
    switch layout {
    case .list: view = gtk_list_view_new(selectionModel, factory)
    case .grid:
      view = gtk_grid_view_new(selectionModel, factory)
      gtk_grid_view_set_max_columns(view.opaque, 64)
    }
    let window = gtk_scrolled_window_new()!
    gtk_scrolled_window_set_policy(window.opaque, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
    gtk_widget_set_vexpand(window, 1)
    gate = ScrollGate(list: view, in: window.opaque)
    prefetching = ListPrefetching(pipeline: pipeline)
    super.init(of: window)
    loader = RowLoader(pipeline: pipeline) { [weak self] number, picture in
      self?.cellsByNumber[number]?.show(picture)
    }
    let makeCell =
      makeCell
      ?? { () -> any PictureCell in
        layout == .list ? PictureRow(pictureSize: pictureSize) : PictureTile(pictureSize: pictureSize)
      }
    connectFactory(OpaquePointer(factory.address), makeCell)
    connect(view, "activate") { [weak self] in self?.onActivate?($0.uint(0)) }
    connect(selectionModel, "notify::selected") { [weak self] in
      guard let self else { return }
      onSelect?(selection)
    }
    gate.onLayout = { [weak self] in self?.wasLaidOut() }
    connect(view, "unmap") { [weak self] in self?.stopFling() }
    // On a monitor with other pixels the same rows want other prints.
    connect(view, "notify::scale-factor") { [weak self] in self?.refresh() }
  }

  package override func willLetGo() {
    gate.detach()
    if hasSuspended { pipeline.isSuspended = false }
  }

  // MARK: Rows

  /// How many rows there are. Setting it makes all rows anew; see ``append(_:)`` for more of them.
  public var count: Int {
    get { Int(g_list_model_get_n_items(model)) + heldBack }
    set { splice(at: 0, removing: count, adding: newValue) }
  }

  /// Whether the view knows of every row and has been laid out with them.
  package var isWhole: Bool { heldBack == 0 && !isAwaitingExtent }

  private static func rowsToHoldBack(of count: Int, _ layout: Layout) -> Int {
    layout == .list ? max(0, count - 60) : 0
  }

  private func reveal() {
    guard heldBack > 0 else { return }
    let added = heldBack
    heldBack = 0
    isAwaitingExtent = true
    calotype_list_model_splice(model.address, g_list_model_get_n_items(model), 0, guint(added))
  }

  /// Says that so many rows were added at the end.
  public func append(_ added: Int) { splice(at: count, removing: 0, adding: added) }

  /// Says that some rows were taken away and some put in their place.
  public func splice(at position: Int, removing removed: Int, adding added: Int) {
    guard (0...count).contains(position), removed >= 0, added >= 0, position + removed <= count else {
      return
    }
    guard removed > 0 || added > 0 else { return }
    toldEndAt = nil
    reveal()
    isAwaitingExtent = true
    if count == 0 {
      heldBack = Self.rowsToHoldBack(of: added, layout)
      isRevealing = false
      calotype_list_model_splice(model.address, 0, 0, guint(added - heldBack))
      return lookAgain()
    }
    calotype_list_model_splice(model.address, guint(position), guint(removed), guint(added))
    lookAgain()
  }

  /// Asks anew what each row shows, without moving.
  public func refresh() {
    for cell in cells.values { if let position = cell.position { bind(cell, to: position) } }
    lookAgain()
  }

  /// The selected row.
  public var selection: Int? {
    get {
      let selected = gtk_single_selection_get_selected(selectionModel)
      return selected == .max ? nil : Int(selected)
    }
    set {
      reveal()
      gtk_single_selection_set_selected(selectionModel, newValue.map { guint(clamping: $0) } ?? .max)
    }
  }

  /// Brings a row on screen.
  public func scroll(to position: Int) {
    guard (0..<count).contains(position) else { return }
    reveal()
    gtk_widget_activate_action_variant(
      view, "list.scroll-to-item", g_variant_new_uint32(guint32(position)))
  }

  /// Points from the top of the first row to what is at the top of the screen.
  public var scrollOffset: Double {
    get { wantedOffset ?? gtk_adjustment_get_value(gate.adjustment) }
    set {
      reveal()
      // Before the layout the list is as long as it was, and could not go beyond its old end.
      if isAwaitingExtent {
        wantedOffset = newValue
      } else {
        gtk_adjustment_set_value(gate.adjustment, newValue)
      }
    }
  }

  /// The cell that shows a row now, where there is one.
  public func cell(at position: Int) -> (any PictureCell)? {
    cells.values.first { $0.position == position }?.cell
  }

  /// How many pictures have been asked for and have not come.
  public var loadingCount: Int { loader?.loadingCount ?? 0 }

  private func connectFactory(
    _ factory: OpaquePointer, _ makeCell: @escaping @MainActor () -> any PictureCell
  ) {
    connect(factory, "setup") { [weak self] arguments in
      guard let self, let item = arguments.address(0) else { return }
      lastNumber += 1
      let cell = ListCell(number: lastNumber, cell: makeCell())
      cells[item] = cell
      cellsByNumber[cell.number] = cell
      let number = cell.number
      cell.cell.picture.onRetry = { [weak self] in self?.retry(number) }
      // Most of the rows that GTK maps for a moment it does not show. What is in memory costs nothing to show.
      connect(cell.cell.widget, "map") { [weak self] in self?.cellsByNumber[number].map { self?.appear($0) } }
      connect(cell.cell.widget, "unmap") { [weak self] in self?.lookAgain() }
      gtk_list_item_set_child(item.opaque, cell.cell.widget)
    }
    connect(factory, "bind") { [weak self] arguments in
      guard let self, let item = arguments.address(0), let cell = cells[item] else { return }
      bind(cell, to: Int(gtk_list_item_get_position(item.opaque)))
      isAwaitingLayout = true
      lookAgain()
    }
    connect(factory, "unbind") { [weak self] arguments in
      guard let self, let item = arguments.address(0), let cell = cells[item] else { return }
      cell.position = nil
      cell.request = nil
      letGo(cell)
    }
    connect(factory, "teardown") { [weak self] arguments in
      guard let self, let item = arguments.address(0), let cell = cells.removeValue(forKey: item) else {
        return
      }
      cellsByNumber[cell.number] = nil
      loader?.unbind(cell.number)
    }
  }

  private func bind(_ cell: ListCell, to position: Int) {
    guard position < count else { return }
    let item = items(position)
    let request = cell.request(for: item)
    if request?.cacheKey != cell.request?.cacheKey || position != cell.position { letGo(cell) }
    cell.position = position
    cell.request = request
    cell.cell.show(item)
    if let row = gtk_widget_get_parent(cell.cell.widget) {
      setAccessible(row.opaque, label: Escaping.displaySafe(item.title))
    }
    if gtk_widget_get_mapped(cell.cell.widget) != 0 { appear(cell) }
  }

  /// Shows what is in memory, at once.
  private func appear(_ cell: ListCell) {
    lookAgain()
    guard !cell.isAsked, let request = cell.request, let image = pipeline.cachedImage(for: request) else {
      return
    }
    cell.show(.image(image, source: .memory))
  }

  /// The cell shows nothing any more, or something else.
  private func letGo(_ cell: ListCell) {
    if cell.isAsked {
      cell.isAsked = false
      loader?.unbind(cell.number)
    }
    cell.show(.placeholder)
  }

  private func retry(_ number: Int) {
    guard let cell = cellsByNumber[number], cell.isAsked else { return }
    cell.show(.placeholder)
    loader?.retry(number)
  }

  // MARK: Looking

  /// Has a look at what is on screen once the frame under way has been painted.
  private func lookAgain() {
    guard !isLooking else { return }
    isLooking = true
    // Behind the painting of a frame, before everything that may wait.
    onIdle(priority: Int32(GDK_PRIORITY_REDRAW) + 1) { [weak self] in
      guard let self else { return }
      isLooking = false
      if !isAwaitingExtent, let wanted = wantedOffset {
        wantedOffset = nil
        gtk_adjustment_set_value(gate.adjustment, wanted)
      }
      // Rows that were bound to other positions are still where they were: the look comes with the layout.
      if !isAwaitingLayout { look(isSettling: false) } else { startTicking() }
    }
  }

  /// Follows the list frame by frame until it is at rest.
  private func startTicking() {
    guard !isTicking else { return }
    isTicking = true
    onEachFrame(view) { [weak self] time in
      guard let self else { return false }
      isTicking = tick(time)
      return isTicking
    }
  }

  private func wasLaidOut() {
    isAwaitingLayout = false
    isAwaitingExtent = false
    let time = gtk_widget_get_frame_clock(view).map { Double(gdk_frame_clock_get_frame_time($0)) / 1e6 } ?? 0
    speed.note(
      position: gtk_adjustment_get_value(gate.adjustment), time: time, flingSpeed: options.flingSpeed)
    // Before the frame is drawn: nothing of what goes on meanwhile is to begin a download.
    if speed.isFast, !isFlinging {
      isFlinging = true
      suspend(options.pausesDuringFlings)
    }
    if speed.lastMovement != nil { startTicking() }
    lookAgain()
  }

  /// Called before a frame. Returns whether it wants to be called before the next.
  private func tick(_ time: Double) -> Bool {
    if isFlinging, !isFlingTold {
      isFlingTold = true
      onFling?(true)
    }
    if speed.lastMovement != nil { reveal() }
    let isAtRest = speed.rest(time: time, after: options.settleTime)
    if isAwaitingLayout {
      // It comes in this frame; at the next one it has been, whatever became of it.
      isAwaitingLayout = false
      return true
    }
    if isFlinging, !speed.isFast {
      isFlinging = false
      // The rows on screen are asked for first, so that they start first.
      look(isSettling: true)
      suspend(false)
      if isFlingTold {
        isFlingTold = false
        onFling?(false)
      }
    } else if isAtRest {
      look(isSettling: false)
    }
    return !isAtRest
  }

  /// Nobody sees the list any more, and there may be no frames: others must not wait for its rest.
  private func stopFling() {
    speed = ScrollSpeed()
    isFlinging = false
    suspend(false)
    guard isFlingTold else { return }
    isFlingTold = false
    onFling?(false)
  }

  private func suspend(_ isSuspended: Bool) {
    guard hasSuspended != isSuspended else { return }
    // What the program holds back itself is not for a list to let go.
    if isSuspended, pipeline.isSuspended { return }
    hasSuspended = isSuspended
    pipeline.isSuspended = isSuspended
  }

  /// Asks for what is on screen and lets go of what is not.
  private func look(isSettling: Bool) {
    let start = WorkMeter.start()
    defer { WorkMeter.end(start) }
    let height = Float(gtk_widget_get_height(widget))
    var visible: [ListCell] = []
    for cell in cells.values {
      if cell.position != nil, cell.isOnScreen(of: widget, height: height) {
        visible.append(cell)
      } else {
        leave(cell)
      }
    }
    visible.sort { ($0.position ?? 0) < ($1.position ?? 0) }
    let range = visible.first?.position.flatMap { first in visible.last?.position.map { first...$0 } }
    if !isFlinging || !options.pausesDuringFlings {
      for cell in isSettling ? ordered(visible) : visible { ask(cell) }
      prefetch(around: range)
    }
    if heldBack > 0, !isRevealing, range != nil {
      isRevealing = true
      after(milliseconds: 100) { [weak self] in
        self?.reveal()
        return false
      }
    }
    if range != visibleRange {
      visibleRange = range
      onVisibleChange?(range)
    }
    if let range, range.upperBound >= count - options.endDistance, toldEndAt != count {
      toldEndAt = count
      onNearEnd?()
    }
  }

  private func ordered(_ visible: [ListCell]) -> [ListCell] {
    switch options.settleOrder {
    case .fromTop: return visible
    case .newestFirst: return speed.direction > 0 ? visible.reversed() : visible
    case .fromMiddle:
      let middle = visible.count / 2
      return visible.enumerated().sorted { abs($0.offset - middle) < abs($1.offset - middle) }.map(\.element)
    }
  }

  private func ask(_ cell: ListCell) {
    guard let request = cell.request,
      !cell.isAsked || cell.isLowered || loader?.wasGivenUp(cell.number) == true
    else { return }
    cell.isAsked = true
    cell.isLowered = false
    let picture = loader?.bind(cell.number, to: request) ?? .placeholder
    if !picture.isPlaceholder { cell.show(picture) }
  }

  private func leave(_ cell: ListCell) {
    if cell.isAsked, options.leaving == .lower, let request = cell.request,
      loader?.picture(of: cell.number).isPlaceholder == true, loader?.wasGivenUp(cell.number) != true
    {
      if !cell.isLowered {
        cell.isLowered = true
        var lowered = request
        lowered.priority = .low
        loader?.bind(cell.number, to: lowered)
      }
    } else {
      letGo(cell)
    }
  }

  private func prefetch(around range: ClosedRange<Int>?) {
    guard let range, options.prefetchDistance > 0 else { return prefetching.update([]) }
    let ahead =
      speed.direction > 0
      ? Array(range.upperBound + 1..<min(count, range.upperBound + 1 + options.prefetchDistance))
      : Array((max(0, range.lowerBound - options.prefetchDistance)..<range.lowerBound).reversed())
    guard prefetching.isNews(ahead), let cell = cells.values.first else { return }
    prefetching.update(ahead, ahead.compactMap { cell.request(for: items($0)) })
  }
}
