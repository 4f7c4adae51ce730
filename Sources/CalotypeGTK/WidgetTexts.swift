/// What the widgets say. A program that speaks other languages sets it once, before it makes widgets.
public struct WidgetTexts: Sendable {
  /// The texts in use.
  @MainActor public static var current = WidgetTexts()

  /// A picture that is on its way, for a screen reader.
  public var loading = "Loading"
  /// A picture that could not be had; what went wrong follows after a colon.
  public var failed = "Could not be loaded"
  /// The way out of a failure.
  public var tryAgain = "Try again"
  /// The way out of a wait.
  public var cancel = "Cancel"
  /// Where a picture came from, in the badge: memory, disk, network.
  public var sourceLetters = (memory: "M", disk: "D", network: "N")

  /// Creates the English texts.
  public init() {}
}
