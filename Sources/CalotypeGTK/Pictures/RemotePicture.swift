internal import CGtk
internal import CGtkObjects
public import Calotype
public import Foundation

/// A widget that shows a picture from the network, to put into any layout.
///
/// ```swift
/// let picture = RemotePicture(width: 96, height: 96)
/// picture.url = url
/// gtk_box_append(box, picture.widget)
/// ```
///
/// The picture is asked for once the widget is on screen, in the pixels that it takes there: on a screen with
/// two pixels to a point a 96-point picture is 192 pixels wide. Until then, and after a failure, a placeholder
/// stands in its place; after a failure a click, or Enter, tries again.
@MainActor
public final class RemotePicture: WidgetPeer {
  /// How a picture of another shape fills the widget.
  public enum ContentFit: String, Hashable, Sendable, CaseIterable {
    /// The whole picture, as large as fits.
    case contain
    /// The widget filled, the middle of the picture shown.
    case cover
    /// The widget filled, the picture's shape given up.
    case fill
    /// As ``contain``, but never larger than the picture is.
    case scaleDown
  }

  /// The shape of the picture's edge.
  public enum Shape: Hashable, Sendable {
    /// As it is.
    case rectangle
    /// Rounded corners of a radius in points.
    case rounded(Double)
    /// A circle around the middle.
    case circle
  }

  /// How a picture of another shape fills the widget, ``ContentFit/cover`` by default. Set it before the
  /// address: it decides how the picture is cropped when it is made.
  public var contentFit = ContentFit.cover { didSet { redraw() } }
  /// The shape of the picture's edge and of the placeholder's; corners of 6 points by default.
  public var shape = Shape.rounded(6) { didSet { redraw() } }
  /// The symbolic icon in the placeholder; `nil` for a plain one.
  public var placeholderIcon: String? = "image-x-generic-symbolic" { didSet { redraw() } }
  /// The symbolic icon that offers another try.
  public var failureIcon = "view-refresh-symbolic" { didSet { redraw() } }
  /// Seconds that a picture takes to appear, 0.2 by default. One that is in memory is there at once, and so is
  /// every picture where the desktop's settings turn animations off.
  public var fadeDuration = 0.2
  /// Whether previews of a picture that is still coming are shown; on by default.
  public var showsPreviews = true
  /// Whether an animated picture moves, while it is on screen; on by default. Where the desktop's settings turn
  /// animations off, its first frame is shown.
  public var playsAnimations = true
  /// Whether a badge in the corner says where the picture came from; off by default, meant for debugging.
  public var showsSource = false { didSet { redraw() } }
  /// What the picture shows, for a screen reader.
  public var accessibleName = "" { didSet { if oldValue != accessibleName { describe() } } }
  /// More about it; what goes on (loading, or why it failed) is put before it.
  public var accessibleDescription = "" { didSet { if oldValue != accessibleDescription { describe() } } }

  /// Told whenever what is shown changes.
  public var onChange: (@MainActor (RowPicture) -> Void)?
  /// Told when a click wants another try, in a list's row, whose loader is the list's.
  package var onRetry: (@MainActor () -> Void)?

  /// What is shown now.
  public internal(set) var picture = RowPicture.placeholder

  /// The address shown; `nil` for none. Setting it is setting ``request`` to one for this address alone.
  public var url: URL? {
    get { request?.url }
    set { request = newValue.map { ImageRequest(url: $0) } }
  }

  /// What is asked for; `nil` for nothing. Where it has no target size, the widget's own is taken.
  public var request: ImageRequest? {
    didSet {
      guard oldValue?.cacheKey != request?.cacheKey || request == nil else { return }
      loading?.requestChanged()
    }
  }

  /// The size in points; `nil` where the layout decides.
  let pointSize: (width: Double, height: Double)?
  /// Loads by itself; `nil` in a list's row.
  private(set) var loading: PictureLoading?

  // What is drawn; see RemotePicture+Drawing.swift.
  var texture: Texture?
  var appearing: Appearance?
  var allocation = (width: 0, height: 0)
  var player: Player?
  var hasMapHandler = false
  var hasRetryControls = false
  var told: (name: String, description: String, isBusy: Bool)?

  /// Creates a picture that takes the size that its layout gives it.
  public convenience init(pipeline: ImagePipeline = .shared) {
    self.init(pointSize: nil, pipeline: pipeline)
  }

  /// Creates a picture of a fixed size, in points.
  public convenience init(width: Double, height: Double, pipeline: ImagePipeline = .shared) {
    self.init(pointSize: (width, height), pipeline: pipeline)
  }

  /// Creates a picture of a fixed size, in points, for a ``PictureCell``: a list says what it shows, and when.
  public convenience init(inListWidth width: Double, height: Double) {
    self.init(pointSize: (width, height), pipeline: nil)
  }

  private init(pointSize: (width: Double, height: Double)?, pipeline: ImagePipeline?) {
    self.pointSize = pointSize
    let role = Int32(GTK_ACCESSIBLE_ROLE_IMG.rawValue)
    super.init(of: calotype_drawing_new("remotepicture", role, Self.drawing, nil).asWidget)
    calotype_drawing_set_owner(widget, Unmanaged.passUnretained(self).toOpaque())
    if let pipeline { loading = PictureLoading(for: self, pipeline: pipeline) }
    describe()
  }

  package override func willLetGo() { calotype_drawing_set_owner(widget, nil) }

  /// Tries again, if the picture has failed.
  public func retry() {
    guard case .failed = picture else { return }
    if let loading { loading.retry() } else { onRetry?() }
  }

  /// Shows something: at once, or by fading in where it has not been there all along.
  package func show(_ newPicture: RowPicture) {
    if case .image(let container, _) = newPicture, container.isPreview, !showsPreviews { return }
    let hadPicture = texture != nil
    picture = newPicture
    appearing = nil
    switch newPicture {
    case .image(let container, let source):
      texture = Texture.of(container.bitmap)
      play(container)
      if !hadPicture, source != .memory { appear() }
    case .placeholder, .failed:
      texture = nil
      player = nil
    }
    offerRetry()
    describe()
    if pointSize == nil { gtk_widget_queue_resize(widget) }
    redraw()
    onChange?(newPicture)
  }

  /// A request at the size that this shows, where it has none of its own.
  package func sized(_ request: ImageRequest) -> ImageRequest {
    guard request.targetSize == nil, let target = targetSize else { return request }
    return request.resized(to: target)
  }

  /// What fills this widget on its screen; `nil` before it has a size.
  var targetSize: TargetSize? {
    let width: Double, height: Double
    if let pointSize {
      (width, height) = pointSize
    } else {
      // Steps, so that a window that is dragged larger does not ask for a picture of every size on the way.
      func step(_ points: Int) -> Double { Double((points + 63) / 64 * 64) }
      (width, height) = (step(allocation.width), step(allocation.height))
    }
    guard width > 0, height > 0 else { return nil }
    let mode: TargetSize.Mode =
      switch contentFit {
      case .contain, .scaleDown: .fit
      case .cover: .fill
      case .fill: .exact
      }
    return TargetSize(width: width, height: height, scale: Double(scale), mode: mode)
  }

  /// Pixels to a point on the monitor that shows it.
  package var scale: Int { max(1, Int(gtk_widget_get_scale_factor(widget))) }

  func redraw() { gtk_widget_queue_draw(widget) }
}
