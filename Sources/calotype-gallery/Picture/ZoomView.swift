import CGtk
import CGtkObjects
import Calotype
import CalotypeGTK

/// A picture that can be made larger and smaller and moved about: by wheel, touchpad, mouse, and the window's actions.
@MainActor
final class ZoomView {
  /// How large the picture is shown.
  enum Zoom: Equatable {
    /// The whole of it, but no larger than it is.
    case fit
    /// So many pixels of the screen for one of the picture.
    case factor(Double)
  }

  let widget: Widget
  /// Told when the zoom or what the picture is has changed.
  var onChange: (@MainActor () -> Void)?

  private(set) var zoom = Zoom.fit
  private var texture: Texture?
  private var frames: ImageFrameSource?
  /// When the frame after the one on show is due, in seconds of the frame clock.
  private var nextFrameTime = 0.0
  /// The size that the picture has, which a preview's pixels do not tell.
  private var pictureSize = PixelSize(width: 1, height: 1)
  /// The picture's point in the middle of the view, from 0 to 1 each way.
  private var middle = (x: 0.5, y: 0.5)
  private var size = (width: 0.0, height: 0.0)
  private var pointer = (x: 0.0, y: 0.0)
  private var dragStart = (x: 0.5, y: 0.5)
  private var pinchStart = 1.0

  private static let range = 0.02...32.0
  /// Levels that a step of the keys goes to.
  private static let levels = [
    0.02, 0.05, 0.1, 0.15, 0.25, 0.33, 0.5, 0.67, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32,
  ]

  init() {
    let role = Int32(GTK_ACCESSIBLE_ROLE_IMG.rawValue)
    widget = calotype_drawing_new("zoomview", role, Self.drawing, nil).asWidget
    calotype_drawing_set_owner(widget, Unmanaged.passUnretained(self).toOpaque())
    g_object_ref_sink(widget)
    gtk_widget_set_focusable(widget, 1)
    gtk_widget_set_overflow(widget, GTK_OVERFLOW_HIDDEN)
    widget.expanding(x: true, y: true)
    addControllers()
  }

  isolated deinit {
    calotype_drawing_set_owner(widget, nil)
    g_object_unref(widget)
  }

  // MARK: What is shown

  /// Shows a picture, or a preview of one that has a size of its own. One that moves is played, unless the desktop's
  /// settings turn animations off.
  func show(_ container: ImageContainer, of size: PixelSize, keepsPlace: Bool) {
    texture = Texture.of(container.bitmap)
    pictureSize = size
    frames = nil
    if !keepsPlace { reset() }
    changed()
    if let animation = container.animation { play(animation) }
  }

  private func play(_ animation: ImageAnimation) {
    guard let settings = gtk_widget_get_settings(widget),
      property(settings, "gtk-enable-animations", as: Bool.self)
    else { return }
    let source = ImageFrameSource(animation)
    frames = source
    nextFrameTime = 0
    // While the view is not on screen there are no frames.
    onEachFrame(widget) { [weak self] time in self?.advance(source, to: time) ?? false }
  }

  private func advance(_ source: ImageFrameSource, to time: Double) -> Bool {
    guard frames === source, !source.isAtEnd else { return false }
    guard time >= nextFrameTime else { return true }
    do throws(ImageFrameSource.Error) {
      guard let frame = try source.takeFrame() else { return true }
      texture = Texture.of(frame.bitmap)
      nextFrameTime = (nextFrameTime == 0 ? time : max(nextFrameTime, time - 0.1)) + frame.delay
      gtk_widget_queue_draw(widget)
      return true
    } catch {
      // The frames before it were shown; the last of them stays.
      return false
    }
  }

  /// Shows nothing.
  func clear() {
    texture = nil
    frames = nil
    reset()
    changed()
  }

  /// The texture on show, a `GdkTexture`.
  var texturePointer: OpaquePointer? { texture?.pointer }

  private func reset() {
    zoom = .fit
    middle = (0.5, 0.5)
  }

  private func changed() {
    clampMiddle()
    gtk_widget_set_cursor_from_name(widget, isMovable ? "grab" : nil)
    gtk_widget_queue_draw(widget)
    onChange?()
  }

  // MARK: Zoom

  private var scale: Double { Double(max(1, gtk_widget_get_scale_factor(widget))) }

  private var fitFactor: Double {
    guard size.width > 0, size.height > 0 else { return 1 }
    return min(
      1, size.width * scale / Double(pictureSize.width), size.height * scale / Double(pictureSize.height))
  }

  /// Pixels of the screen for one of the picture, as it is now.
  var factor: Double { if case .factor(let factor) = zoom { factor } else { fitFactor } }

  /// The picture's size on screen, in points.
  private var extent: (width: Double, height: Double) {
    (Double(pictureSize.width) * factor / scale, Double(pictureSize.height) * factor / scale)
  }

  private var isMovable: Bool {
    texture != nil && (extent.width > size.width + 0.5 || extent.height > size.height + 0.5)
  }

  /// Sets the zoom; the middle, or the point given in the widget, stays where it is.
  func set(_ newZoom: Zoom, around point: (x: Double, y: Double)? = nil) {
    guard texture != nil else { return }
    let before = extent
    let point = point ?? (size.width / 2, size.height / 2)
    let offset = (x: point.x - size.width / 2, y: point.y - size.height / 2)
    if case .factor(let factor) = newZoom { zoom = .factor(Self.range.clamp(factor)) } else { zoom = .fit }
    let now = extent
    guard before.width > 0, before.height > 0, now.width > 0, now.height > 0 else { return changed() }
    middle.x += offset.x / before.width - offset.x / now.width
    middle.y += offset.y / before.height - offset.y / now.height
    changed()
  }

  /// The next level up or down.
  func step(_ direction: Int) {
    let factor = factor
    let next =
      direction > 0 ? Self.levels.first { $0 > factor * 1.01 } : Self.levels.last { $0 < factor * 0.99 }
    if let next { set(.factor(next)) }
  }

  /// Moves the view over the picture by parts of its own size.
  func pan(x: Double, y: Double) {
    guard isMovable else { return }
    middle.x += x * size.width / extent.width
    middle.y += y * size.height / extent.height
    changed()
  }

  private func clampMiddle() {
    func clamp(_ value: Double, _ extent: Double, _ view: Double) -> Double {
      guard extent > view, extent > 0 else { return 0.5 }
      let half = view / extent / 2
      return (half...1 - half).clamp(value)
    }
    middle.x = clamp(middle.x, extent.width, size.width)
    middle.y = clamp(middle.y, extent.height, size.height)
  }

  // MARK: Hands

  private func addControllers() {
    let motion = gtk_event_controller_motion_new()!
    connect(motion, "motion") { [weak self] in self?.pointer = ($0.double(0), $0.double(1)) }
    gtk_widget_add_controller(widget, motion)

    let scroll = gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_VERTICAL)!
    connectAnswering(scroll, "scroll") { [weak self] arguments in
      guard let self, texture != nil else { return false }
      var change = 1.0
      let turn = (-10...10).clamp(arguments.double(1))
      for _ in 0..<Int(abs(turn).rounded(.up)) { change *= turn < 0 ? 1.15 : 1 / 1.15 }
      set(.factor(factor * change), around: pointer)
      return true
    }
    gtk_widget_add_controller(widget, scroll)

    let drag = gtk_gesture_drag_new()!
    connect(drag, "drag-begin") { [weak self] in
      guard let self else { return }
      dragStart = middle
      if isMovable { gtk_widget_set_cursor_from_name(widget, "grabbing") }
    }
    connect(drag, "drag-update") { [weak self] arguments in
      guard let self, isMovable else { return }
      middle = (
        dragStart.x - arguments.double(0) / extent.width, dragStart.y - arguments.double(1) / extent.height
      )
      clampMiddle()
      gtk_widget_queue_draw(widget)
    }
    connect(drag, "drag-end") { [weak self] in self?.changed() }
    gtk_widget_add_controller(widget, drag)

    let pinch = gtk_gesture_zoom_new()!
    connect(pinch, "begin") { [weak self] in self.map { $0.pinchStart = $0.factor } }
    connect(pinch, "scale-changed") { [weak self] arguments in
      guard let self else { return }
      set(.factor(pinchStart * arguments.double(0)), around: pointer)
    }
    gtk_widget_add_controller(widget, pinch)

    let click = gtk_gesture_click_new()!
    connect(click, "pressed") { [weak self] arguments in
      guard let self else { return }
      gtk_widget_grab_focus(widget)
      guard arguments.int(0) == 2 else { return }
      set(zoom == .fit && factor != 1 ? .factor(1) : .fit, around: (arguments.double(1), arguments.double(2)))
    }
    gtk_widget_add_controller(widget, click)
    connect(widget, "notify::scale-factor") { [weak self] in self?.changed() }
  }

  // MARK: Drawing

  private static let drawing: UnsafePointer<CalotypeDrawingFunctions> = {
    let functions = UnsafeMutablePointer<CalotypeDrawingFunctions>.allocate(capacity: 1)
    functions.initialize(
      to: CalotypeDrawingFunctions(
        measure: { _, _, _, minimum, natural in
          minimum?.pointee = 0
          natural?.pointee = 0
        },
        allocate: { owner, width, height in
          guard let owner else { return }
          let view = Unmanaged<ZoomView>.fromOpaque(owner).takeUnretainedValue()
          MainActor.assumeIsolated { view.allocate(Double(width), Double(height)) }
        },
        snapshot: { owner, snapshot in
          guard let owner, let snapshot else { return }
          nonisolated(unsafe) let target = OpaquePointer(snapshot)
          let view = Unmanaged<ZoomView>.fromOpaque(owner).takeUnretainedValue()
          MainActor.assumeIsolated { view.draw(in: target) }
        }))
    return UnsafePointer(functions)
  }()

  private func allocate(_ width: Double, _ height: Double) {
    guard size != (width, height) else { return }
    size = (width, height)
    clampMiddle()
    // A label changes with it, which must not be from within the layout.
    onIdle(priority: G_PRIORITY_DEFAULT) { [weak self] in self?.changed() }
  }

  private func draw(in snapshot: OpaquePointer) {
    guard let texture else { return }
    let extent = extent
    func start(_ view: Double, _ extent: Double, _ middle: Double) -> Double {
      // On whole pixels of the screen, or a picture at its own size would be blurred.
      ((view / 2 - extent * middle) * scale).rounded() / scale
    }
    var bounds = graphene_rect_t()
    graphene_rect_init(
      &bounds, Float(start(size.width, extent.width, middle.x)),
      Float(start(size.height, extent.height, middle.y)),
      Float(extent.width), Float(extent.height))
    gtk_snapshot_append_texture(snapshot, texture.pointer, &bounds)
  }
}
