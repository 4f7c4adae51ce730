internal import CGtk
internal import CGtkObjects
internal import Calotype

extension RemotePicture {
  /// A picture on its way from clear to opaque.
  struct Appearance {
    var start: Double?
    var progress = 0.0
  }

  /// What the widget's class calls.
  static let drawing: UnsafePointer<CalotypeDrawingFunctions> = {
    let functions = UnsafeMutablePointer<CalotypeDrawingFunctions>.allocate(capacity: 1)
    functions.initialize(
      to: CalotypeDrawingFunctions(
        measure: { owner, isHorizontal, _, minimum, natural in
          guard let owner else { return }
          nonisolated(unsafe) let (least, liked) = (minimum, natural)
          let picture = Unmanaged<RemotePicture>.fromOpaque(owner).takeUnretainedValue()
          MainActor.assumeIsolated {
            let sides = picture.measure(isWidth: isHorizontal != 0)
            least?.pointee = sides.minimum
            liked?.pointee = sides.natural
          }
        },
        allocate: { owner, width, height in
          guard let owner else { return }
          let picture = Unmanaged<RemotePicture>.fromOpaque(owner).takeUnretainedValue()
          MainActor.assumeIsolated { picture.allocate(Int(width), Int(height)) }
        },
        snapshot: { owner, snapshot in
          guard let owner, let snapshot else { return }
          nonisolated(unsafe) let target = OpaquePointer(snapshot)
          let picture = Unmanaged<RemotePicture>.fromOpaque(owner).takeUnretainedValue()
          MainActor.assumeIsolated { picture.draw(in: target) }
        }))
    return UnsafePointer(functions)
  }()

  private func measure(isWidth: Bool) -> (minimum: Int32, natural: Int32) {
    if let pointSize {
      let side = Int32(clamping: Int((isWidth ? pointSize.width : pointSize.height).rounded(.up)))
      return (side, side)
    }
    guard let size = texture?.bitmap.size else { return (0, 64) }
    return (0, Int32(clamping: (isWidth ? size.width : size.height) / scale))
  }

  private func allocate(_ width: Int, _ height: Int) {
    guard allocation != (width, height) else { return }
    allocation = (width, height)
    if pointSize == nil { loading?.sizeChanged() }
  }

  // MARK: Appearing

  /// Lets the picture fade in, unless nobody sees it or nobody wants animations.
  func appear() {
    guard fadeDuration > 0, gtk_widget_get_mapped(widget) != 0,
      let settings = gtk_widget_get_settings(widget),
      property(settings, "gtk-enable-animations", as: Bool.self)
    else { return }
    appearing = Appearance()
    onEachFrame(widget) { [weak self] time in self?.advance(to: time) ?? false }
  }

  private func advance(to time: Double) -> Bool {
    guard var appearance = appearing else { return false }
    let start = appearance.start ?? time
    appearance.start = start
    appearance.progress = fadeDuration > 0 ? min(1, (time - start) / fadeDuration) : 1
    appearing = appearance.progress < 1 ? appearance : nil
    redraw()
    return appearing != nil
  }

  // MARK: Drawing

  private func draw(in snapshot: OpaquePointer) {
    let (width, height) = (Double(allocation.width), Double(allocation.height))
    guard width > 0, height > 0 else { return }
    let whole = Rectangle(x: 0, y: 0, width: width, height: height)
    let opacity = appearing?.progress ?? 1
    if texture == nil || opacity < 1 { drawPlaceholder(in: snapshot, whole) }
    guard let texture else { return }
    let size = texture.bitmap.size
    let place = contentFit.place(
      of: (Double(size.width) / Double(scale), Double(size.height) / Double(scale)), in: whole)
    if opacity < 1 { gtk_snapshot_push_opacity(snapshot, opacity) }
    let isClipped = pushShape(place.intersection(whole), in: snapshot, clips: !whole.contains(place))
    var bounds = place.graphene
    gtk_snapshot_append_texture(snapshot, texture.pointer, &bounds)
    if isClipped { gtk_snapshot_pop(snapshot) }
    if opacity < 1 { gtk_snapshot_pop(snapshot) }
    if showsSource, case .image(_, let source) = picture { drawBadge(source, in: snapshot, whole) }
  }

  /// Clips to the shape, where there is anything to clip.
  private func pushShape(_ place: Rectangle, in snapshot: OpaquePointer, clips: Bool) -> Bool {
    var place = place
    let radius: Double
    switch shape {
    case .rectangle: radius = 0
    case .rounded(let wanted): radius = min(max(0, wanted), min(place.width, place.height) / 2)
    case .circle:
      let side = min(place.width, place.height)
      place = Rectangle(
        x: place.x + (place.width - side) / 2, y: place.y + (place.height - side) / 2, width: side,
        height: side)
      radius = side / 2
    }
    guard clips || radius > 0 else { return false }
    var rounded = GskRoundedRect()
    var bounds = place.graphene
    gsk_rounded_rect_init_from_rect(&rounded, &bounds, Float(radius))
    gtk_snapshot_push_rounded_clip(snapshot, &rounded)
    return true
  }

  private func drawPlaceholder(in snapshot: OpaquePointer, _ whole: Rectangle) {
    var color = GdkRGBA()
    gtk_style_context_get_color(gtk_widget_get_style_context(widget), &color)
    let isClipped = pushShape(whole, in: snapshot, clips: false)
    var fill = color
    fill.alpha *= 0.08
    var bounds = whole.graphene
    gtk_snapshot_append_color(snapshot, &fill, &bounds)
    if isClipped { gtk_snapshot_pop(snapshot) }
    guard let name = picture.hasFailed ? failureIcon : placeholderIcon else { return }
    // In whole points and sizes that icons are drawn for.
    let side = [64.0, 32, 24, 16].first { $0 <= min(whole.width, whole.height) * 0.55 } ?? 16
    guard side <= min(whole.width, whole.height) else { return }
    color.alpha *= picture.hasFailed ? 0.7 : 0.3
    guard let icon = Glyphs.texture(name, side: Int(side), color: color, for: widget) else { return }
    var place = Rectangle(
      x: ((whole.width - side) / 2).rounded(), y: ((whole.height - side) / 2).rounded(), width: side,
      height: side
    ).graphene
    gtk_snapshot_append_texture(snapshot, icon, &place)
  }

  private func drawBadge(_ source: ImageResponse.Source, in snapshot: OpaquePointer, _ whole: Rectangle) {
    // What stands in the picture's place has no source to tell of.
    if source == .placeholder || source == .fallback { return }
    let letters = WidgetTexts.current.sourceLetters
    let (letter, red, green, blue): (String, Float, Float, Float) =
      switch source {
      case .memory: (letters.memory, 0.15, 0.55, 0.25)
      case .disk, .revalidated, .local, .placeholder, .fallback: (letters.disk, 0.12, 0.38, 0.78)
      case .network: (letters.network, 0.80, 0.36, 0.05)
      }
    let side = min(14, whole.width / 2)
    var bounds = Rectangle(x: whole.width - side, y: whole.height - side, width: side, height: side).graphene
    var rounded = GskRoundedRect()
    gsk_rounded_rect_init_from_rect(&rounded, &bounds, Float(side / 2))
    gtk_snapshot_push_rounded_clip(snapshot, &rounded)
    var fill = GdkRGBA(red: red, green: green, blue: blue, alpha: 1)
    gtk_snapshot_append_color(snapshot, &fill, &bounds)
    gtk_snapshot_pop(snapshot)
    guard let layout = gtk_widget_create_pango_layout(widget, letter) else { return }
    defer { g_object_unref(layout.address) }
    let font = pango_font_description_new()
    pango_font_description_set_weight(font, PANGO_WEIGHT_BOLD)
    pango_font_description_set_absolute_size(font, side * 0.65 * Double(PANGO_SCALE))
    pango_layout_set_font_description(layout, font)
    pango_font_description_free(font)
    var (width, height): (Int32, Int32) = (0, 0)
    pango_layout_get_pixel_size(layout, &width, &height)
    gtk_snapshot_save(snapshot)
    var at = graphene_point_t(
      x: Float(whole.width - side + (side - Double(width)) / 2),
      y: Float(whole.height - side + (side - Double(height)) / 2))
    gtk_snapshot_translate(snapshot, &at)
    var white = GdkRGBA(red: 1, green: 1, blue: 1, alpha: 1)
    gtk_snapshot_append_layout(snapshot, layout, &white)
    gtk_snapshot_restore(snapshot)
  }
}

/// A rectangle in points.
struct Rectangle: Equatable {
  var x: Double, y: Double, width: Double, height: Double

  var graphene: graphene_rect_t {
    var rectangle = graphene_rect_t()
    graphene_rect_init(&rectangle, Float(x), Float(y), Float(width), Float(height))
    return rectangle
  }

  func intersection(_ other: Rectangle) -> Rectangle {
    let left = max(x, other.x), top = max(y, other.y)
    return Rectangle(
      x: left, y: top, width: max(0, min(x + width, other.x + other.width) - left),
      height: max(0, min(y + height, other.y + other.height) - top))
  }

  func contains(_ other: Rectangle) -> Bool { intersection(other) == other }
}

extension RemotePicture.ContentFit {
  /// Where a picture of a size, in points, goes.
  func place(of size: (width: Double, height: Double), in whole: Rectangle) -> Rectangle {
    guard size.width > 0, size.height > 0 else { return whole }
    let (across, along) = (whole.width / size.width, whole.height / size.height)
    let factor: Double
    switch self {
    case .fill: return whole
    case .contain: factor = min(across, along)
    case .scaleDown: factor = min(1, min(across, along))
    case .cover: factor = max(across, along)
    }
    // A picture that is as wide as its place but for a fraction of a pixel is drawn sharp at its own size.
    func side(_ length: Double, _ whole: Double) -> Double {
      abs(length * factor - whole) < 0.5 ? whole : length * factor
    }
    let (width, height) = (side(size.width, whole.width), side(size.height, whole.height))
    return Rectangle(
      x: ((whole.width - width) / 2).rounded(), y: ((whole.height - height) / 2).rounded(), width: width,
      height: height)
  }
}
