public import CGtk
public import Calotype

/// A box over a widget while something is waited for: a spinner, a label, a progress bar with its percentage and a
/// button to cancel; then what was waited for, or what went wrong and a button to try again.
///
/// ```swift
/// let box = WaitingBox(over: picture)
/// box.wait("Loading the picture", for: { pipeline.task(for: request) }) { response in show(response.image) }
/// ```
///
/// Without a length the bar pulses and the bytes that came are shown. Escape cancels.
@MainActor
public final class WaitingBox: WidgetPeer {
  /// What the box shows.
  public enum State: Hashable, Sendable {
    /// Nothing: it is not there.
    case hidden
    /// The wait.
    case waiting
    /// What went wrong.
    case failed
  }

  /// What the box shows now.
  public private(set) var state = State.hidden
  /// Seconds that a wait lasts before the box appears, 0.15 by default, so that what is almost there does not make
  /// it flash.
  public var delay = 0.15
  /// Told when a wait was cancelled with the button or Escape, or a failure was closed.
  public var onCancel: (@MainActor () -> Void)?

  private let card: UnsafeMutablePointer<GtkWidget>
  private let spinner: OpaquePointer
  private let icon: UnsafeMutablePointer<GtkWidget>
  private let label: OpaquePointer
  private let bar: OpaquePointer
  private let figure: OpaquePointer
  private let retryButton: UnsafeMutablePointer<GtkWidget>
  private let cancelButton: UnsafeMutablePointer<GtkWidget>

  private var wait: Wait?
  private var isTicking = false

  /// A wait for a task.
  private final class Wait {
    let label: String
    let start: @MainActor () -> ImageTask
    let completion: @MainActor (ImageResponse) -> Void
    var task: ImageTask?
    var beginning: Double?
    var lastPulse = 0.0
    /// Written by the pipeline's threads, read before each frame: however often the network reports, the main
    /// thread is not woken.
    let progress = Lock<ImageTask.Progress?>(nil)

    init(
      _ label: String, _ start: @escaping @MainActor () -> ImageTask,
      _ completion: @escaping @MainActor (ImageResponse) -> Void
    ) {
      self.label = label
      self.start = start
      self.completion = completion
    }
  }

  /// Creates a box that appears over a widget. ``WidgetPeer/widget`` holds both.
  public init(over content: UnsafeMutablePointer<GtkWidget>) {
    Self.loadStyle()
    let overlay = gtk_overlay_new()!
    card = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12)
    spinner = OpaquePointer(gtk_spinner_new()!)
    icon = gtk_image_new_from_icon_name("dialog-error-symbolic")
    label = OpaquePointer(gtk_label_new(nil)!)
    bar = OpaquePointer(gtk_progress_bar_new()!)
    figure = OpaquePointer(gtk_label_new(nil)!)
    retryButton = gtk_button_new_with_label(WidgetTexts.current.tryAgain)
    cancelButton = gtk_button_new_with_label(WidgetTexts.current.cancel)
    gtk_overlay_set_child(overlay.opaque, content)
    gtk_overlay_add_overlay(overlay.opaque, card)
    super.init(of: overlay)
    build()
    connect(cancelButton, "clicked") { [weak self] in self?.cancel() }
    connect(retryButton, "clicked") { [weak self] in self?.retry() }
    // Wherever in the window the keyboard is.
    let shortcuts = gtk_shortcut_controller_new()!
    gtk_shortcut_controller_set_scope(shortcuts.opaque, GTK_SHORTCUT_SCOPE_GLOBAL)
    let escape = callbackAction { [weak self] in
      guard let self, state != .hidden else { return false }
      cancel()
      return true
    }
    let trigger = gtk_keyval_trigger_new(guint(GDK_KEY_Escape), GdkModifierType(rawValue: 0))
    gtk_shortcut_controller_add_shortcut(shortcuts.opaque, gtk_shortcut_new(trigger, escape))
    gtk_widget_add_controller(overlay, shortcuts.opaque)
  }

  package override func willLetGo() { wait?.task?.cancel() }

  // MARK: Waiting

  /// Starts a task and shows its progress until it has ended.
  ///
  /// - Parameters:
  ///   - label: What is waited for, in words.
  ///   - start: Starts the task; called again when a failure is tried again.
  ///   - completion: Told when the picture is there and the box has gone. Not called after a failure that is closed,
  ///     or a cancel.
  public func wait(
    _ label: String, for start: @escaping @MainActor () -> ImageTask,
    completion: @escaping @MainActor (ImageResponse) -> Void
  ) {
    wait?.task?.cancel()
    begin(Wait(Escaping.displaySafe(label), start, completion))
  }

  /// Ends the wait, or closes the failure.
  public func cancel() {
    guard let wait else { return }
    self.wait = nil
    wait.task?.cancel()
    hide()
    onCancel?()
  }

  /// Tries again after a failure.
  public func retry() {
    guard state == .failed, let wait else { return }
    begin(wait)
  }

  private func begin(_ wait: Wait) {
    self.wait = wait
    wait.beginning = nil
    wait.progress.withLock { $0 = nil }
    if state == .failed { showWaiting(wait) }
    let task = wait.start()
    wait.task = task
    let progress = wait.progress
    let token = ObjectIdentifier(wait)
    task.observe { [weak self] event in
      switch event {
      case .progress(let new): progress.withLock { $0 = new }
      case .finished(let result):
        Task { @MainActor in self?.end(result, of: token, task: task) }
      default: break
      }
    }
    tickWhileWaiting()
  }

  private func end(
    _ result: Result<ImageResponse, ImagePipeline.Error>, of token: ObjectIdentifier, task: ImageTask
  ) {
    guard let wait, ObjectIdentifier(wait) == token, wait.task === task else { return }
    switch result {
    case .success(let response):
      self.wait = nil
      hide()
      wait.completion(response)
    case .failure(let error):
      if error.isCancelled { return cancel() }
      fail(error)
    }
  }

  // MARK: Showing

  private func tickWhileWaiting() {
    guard !isTicking else { return }
    isTicking = true
    onEachFrame(widget) { [weak self] time in
      guard let self, let wait, state != .failed else {
        self?.isTicking = false
        return false
      }
      tick(wait, time)
      return true
    }
  }

  private func tick(_ wait: Wait, _ time: Double) {
    let beginning = wait.beginning ?? time
    wait.beginning = beginning
    if state == .hidden {
      guard time - beginning >= delay else { return }
      showWaiting(wait)
    }
    guard let progress = wait.progress.withLock({ $0 }) else { return pulse(wait, time) }
    if let fraction = progress.fraction {
      gtk_progress_bar_set_fraction(bar, fraction)
      setText(figure, "\(Int(fraction * 100)) %")
    } else {
      pulse(wait, time)
      let size = g_format_size(guint64(clamping: progress.completed))
      setText(figure, size.map { String(cString: $0) } ?? "")
      g_free(size)
    }
  }

  private func pulse(_ wait: Wait, _ time: Double) {
    guard time - wait.lastPulse > 0.08 else { return }
    wait.lastPulse = time
    gtk_progress_bar_pulse(bar)
  }

  private func setText(_ label: OpaquePointer, _ text: String) {
    // A label that is set is laid out anew.
    if String(cString: gtk_label_get_text(label)) != text { gtk_label_set_text(label, text) }
  }

  private func showWaiting(_ wait: Wait) {
    setText(label, wait.label)
    setText(figure, "")
    gtk_progress_bar_set_fraction(bar, 0)
    show(.waiting)
  }

  private func fail(_ error: ImagePipeline.Error) {
    setText(label, "\(WidgetTexts.current.failed): \(Escaping.displaySafe(error.message))")
    show(.failed)
  }

  private func show(_ state: State) {
    self.state = state
    let isWaiting = state == .waiting
    for widget in [spinner.asWidget, bar.asWidget, figure.asWidget] {
      gtk_widget_set_visible(widget, isWaiting ? 1 : 0)
    }
    for widget in [icon, retryButton] { gtk_widget_set_visible(widget, state == .failed ? 1 : 0) }
    gtk_spinner_set_spinning(spinner, isWaiting ? 1 : 0)
    gtk_widget_set_visible(card, state == .hidden ? 0 : 1)
    switch state {
    case .waiting: gtk_widget_grab_focus(cancelButton)
    case .failed: gtk_widget_grab_focus(retryButton)
    case .hidden: break
    }
  }

  private func hide() {
    gtk_spinner_set_spinning(spinner, 0)
    show(.hidden)
  }
}

// MARK: Making the widgets

extension WaitingBox {
  private func build() {
    for alignment in [gtk_widget_set_halign, gtk_widget_set_valign] { alignment(card, GTK_ALIGN_CENTER) }
    for name in ["osd", "calotype-waiting"] { gtk_widget_add_css_class(card, name) }
    gtk_widget_set_size_request(spinner.asWidget, 32, 32)
    gtk_image_set_pixel_size(icon.opaque, 32)
    gtk_label_set_wrap(label, 1)
    gtk_label_set_wrap_mode(label, PANGO_WRAP_WORD_CHAR)
    gtk_label_set_justify(label, GTK_JUSTIFY_CENTER)
    gtk_label_set_max_width_chars(label, 40)
    gtk_widget_set_size_request(bar.asWidget, 240, -1)
    gtk_widget_add_css_class(figure.asWidget, "numeric")
    let buttons = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12)!
    gtk_widget_set_halign(buttons, GTK_ALIGN_CENTER)
    gtk_widget_add_css_class(retryButton, "suggested-action")
    for button in [retryButton, cancelButton] { gtk_box_append(buttons.cast(), button) }
    for part in [spinner.asWidget, icon, label.asWidget, bar.asWidget, figure.asWidget, buttons] {
      gtk_box_append(card.cast(), part)
    }
    hide()
  }

  private static var hasStyle = false

  private static func loadStyle() {
    guard !hasStyle, let display = gdk_display_get_default() else { return }
    hasStyle = true
    let provider = gtk_css_provider_new()!
    // Nearly opaque: what is behind must not be read through the words.
    let style =
      ".calotype-waiting { padding: 24px; border-radius: 12px; background-color: rgba(40, 40, 40, 0.96); }"
    gtk_css_provider_load_from_data(provider, style, -1)
    gtk_style_context_add_provider_for_display(
      display, OpaquePointer(provider.address), guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION))
    g_object_unref(provider.address)
  }
}
