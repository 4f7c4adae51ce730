internal import CGtk
internal import Calotype

extension RemotePicture {
  /// An animation that goes on while it is seen.
  @MainActor
  final class Player {
    let source: ImageFrameSource
    /// When the next frame is due, in the frame clock's seconds.
    var due: Double?
    var isTicking = false

    init(_ animation: ImageAnimation) { source = ImageFrameSource(animation) }
  }

  /// Plays a picture's animation, where it has one and the desktop's settings allow it.
  func play(_ container: ImageContainer) {
    player = nil
    guard playsAnimations, !container.isPreview, let animation = container.animation,
      let settings = gtk_widget_get_settings(widget),
      property(settings, "gtk-enable-animations", as: Bool.self)
    else { return }
    player = Player(animation)
    if !hasMapHandler {
      hasMapHandler = true
      connect(widget, "map") { [weak self] in self?.goOnPlaying() }
    }
    goOnPlaying()
  }

  private func goOnPlaying() {
    guard let player, !player.isTicking, gtk_widget_get_mapped(widget) != 0 else { return }
    player.isTicking = true
    onEachFrame(widget) { [weak self, weak player] time in
      guard let self, let player, self.player === player else { return false }
      player.isTicking = advance(player, to: time)
      return player.isTicking
    }
  }

  /// Shows the frame that is due. Returns whether it wants to be called before the next frame of the screen.
  private func advance(_ player: Player, to time: Double) -> Bool {
    // Out of sight nothing is decoded and nothing turns; the map handler goes on.
    guard gtk_widget_get_mapped(widget) != 0 else { return false }
    let due = player.due ?? time
    guard time >= due - 0.004 else { return waitForDue(player, due - time) }
    guard let frame = try? player.source.takeFrame() else {
      // It is still being decoded, or there is none any more.
      return !player.source.isAtEnd
    }
    texture = Texture.of(frame.bitmap)
    redraw()
    // After a pause it goes on from here; what was missed is not made up for.
    let next = (time - due > 0.25 ? time : due) + frame.delay
    player.due = next
    return waitForDue(player, next - time)
  }

  /// Lets the screen's clock rest until shortly before a frame is due. Returns whether it is due too soon for that.
  private func waitForDue(_ player: Player, _ seconds: Double) -> Bool {
    guard seconds > 0.06 else { return true }
    after(milliseconds: Int((seconds - 0.02) * 1000)) { [weak self, weak player] in
      if let self, let player, self.player === player { goOnPlaying() }
      return false
    }
    return false
  }
}
