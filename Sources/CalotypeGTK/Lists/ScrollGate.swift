internal import CGtk

/// Lets a list see one change of its scroll position between two layouts, whatever makes them: wheel, touchpad,
/// scrollbar, keys, a program.
///
/// GTK 4.8's lists leap otherwise. Each change makes them take the rows at the new position into use, and a row that
/// was not laid out yet has no height: the next change counts rows of no height on its way and comes out too far
/// ahead, after four changes at the end of a list of ten thousand. A wheel that turns fast gives as many in a frame.
///
/// The gate keeps the list, and nobody else, from being told of a second change: the adjustment itself, to which a
/// wheel or a key adds, and the scrollbar have the newest position at all times. The list is told of that one
/// before the next frame, so that it comes a frame late at most.
@MainActor
final class ScrollGate {
  let adjustment: UnsafeMutablePointer<GtkAdjustment>
  private let list: UnsafeMutablePointer<GtkWidget>
  /// Called after the list has been laid out, from within the layout: nothing may be changed there.
  var onLayout: (@MainActor () -> Void)?

  private var isInLayout = false
  /// Whether the list has been told of a change since its last layout, and hears of no more until the next.
  private var isClosed = false
  private var isAwaitingLayout = false
  /// What the list has not been told of yet.
  private var wanted: Double?
  private var isWaiting = false
  private var isPrimed = false

  /// Puts a gate between a scrolled window and a list that is not in it yet.
  init(list: UnsafeMutablePointer<GtkWidget>, in window: OpaquePointer) {
    self.list = list
    adjustment = gtk_adjustment_new(0, 0, 0, 0, 0, 0)
    gtk_scrolled_window_set_vadjustment(window, adjustment)
    watchLayout()
    gtk_scrolled_window_set_child(window, list)
    // After the list's own handler, which is called or not by then.
    connect(adjustment, "value-changed", after: true) { [weak self] in self?.wasChanged() }
  }

  private func wasChanged() {
    guard !isInLayout else { return }
    guard isClosed else { return close() }
    tellLater()
  }

  private func tellLater() {
    wanted = gtk_adjustment_get_value(adjustment)
    guard !isWaiting else { return }
    isWaiting = true
    onEachFrame(list) { [weak self] _ in self?.passOn() ?? false }
  }

  private func close() {
    isClosed = true
    isAwaitingLayout = true
    g_signal_handlers_block_matched(adjustment, G_SIGNAL_MATCH_DATA, 0, 0, nil, nil, list)
  }

  private func open() {
    guard isClosed else { return }
    isClosed = false
    g_signal_handlers_unblock_matched(adjustment, G_SIGNAL_MATCH_DATA, 0, 0, nil, nil, list)
  }

  /// Called before each frame while something waits. Returns whether it still does.
  private func passOn() -> Bool {
    // Until the list has been laid out for what it was told last.
    guard !isAwaitingLayout else { return true }
    isWaiting = false
    guard wanted != nil else { return false }
    wanted = nil
    open()
    var (instance, result) = (GValue(), GValue())
    g_value_init(&instance, gtk_adjustment_get_type())
    g_value_set_object(&instance, adjustment)
    g_signal_emitv(&instance, g_signal_lookup("value-changed", gtk_adjustment_get_type()), 0, &result)
    g_value_unset(&instance)
    return false
  }

  private func layoutBegan() { isInLayout = true }

  private func layoutEnded() {
    isAwaitingLayout = false
    if let wanted {
      // The list has put its own position there, which is where it was sent before.
      gtk_adjustment_set_value(adjustment, wanted)
      self.wanted = gtk_adjustment_get_value(adjustment)
    } else {
      open()
    }
    isInLayout = false
    if !isPrimed {
      // The first change of all, if it leads past the rows that were made at the start, leaves GTK 4.8's lists
      // blank until the second. So the first one tells nothing new.
      isPrimed = true
      tellLater()
    }
    onLayout?()
  }

  // MARK: Layouts

  /// The list's own layout, with a word before and after: a widget that has a layout manager is laid out by it in
  /// place of its class, and this one asks the class.
  private func watchLayout() {
    let manager = gtk_custom_layout_new(
      { widget in
        guard let widget, let mode = widgetClass(of: widget).pointee.get_request_mode else {
          return GTK_SIZE_REQUEST_CONSTANT_SIZE
        }
        return mode(widget)
      },
      { widget, orientation, size, minimum, natural, minimumBaseline, naturalBaseline in
        guard let widget else { return }
        widgetClass(of: widget).pointee.measure?(
          widget, orientation, size, minimum, natural, minimumBaseline, naturalBaseline)
      },
      { widget, width, height, baseline in
        guard let widget else { return }
        let gate = g_object_get_data(widget.cast(), ScrollGate.dataName).map {
          Unmanaged<ScrollGate>.fromOpaque($0).takeUnretainedValue()
        }
        MainActor.assumeIsolated { gate?.layoutBegan() }
        widgetClass(of: widget).pointee.size_allocate?(widget, width, height, baseline)
        MainActor.assumeIsolated { gate?.layoutEnded() }
      })
    g_object_set_data(list.cast(), ScrollGate.dataName, Unmanaged.passUnretained(self).toOpaque())
    gtk_widget_set_layout_manager(list, manager)
  }

  /// Called when the list may outlive this.
  func detach() { g_object_set_data(list.cast(), ScrollGate.dataName, nil) }

  private nonisolated static let dataName = "calotype-scroll-gate"
}

private func widgetClass(of widget: UnsafeMutablePointer<GtkWidget>) -> UnsafeMutablePointer<GtkWidgetClass> {
  UnsafeMutableRawPointer(widget.pointee.parent_instance.g_type_instance.g_class)!
    .assumingMemoryBound(to: GtkWidgetClass.self)
}
