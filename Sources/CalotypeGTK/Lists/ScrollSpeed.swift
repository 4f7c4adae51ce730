/// Tells a fling from a slow scroll by where a list was at each of its layouts.
struct ScrollSpeed {
  /// Points a second, smoothed; its sign is the direction.
  private(set) var speed = 0.0
  /// Whether it is fast. It is fast until it is well slower than what made it fast, so that it does not flicker.
  private(set) var isFast = false
  /// The moment of the last movement, in seconds; `nil` at rest.
  private(set) var lastMovement: Double?
  /// 1 downwards, -1 upwards, as it was last.
  private(set) var direction = 1

  /// Frames since the last movement.
  private var stillFrames = 0
  private var last: (position: Double, time: Double)?

  /// Takes note of a position. Changes of less than a point are the list's own rounding, not movement.
  mutating func note(position: Double, time: Double, flingSpeed: Double) {
    guard let last else {
      last = (position, time)
      return
    }
    let distance = position - last.position
    guard abs(distance) >= 1, time > last.time else { return }
    // After a rest the time since the last movement says nothing of the speed: a frame's does.
    let elapsed = lastMovement == nil ? min(time - last.time, 1.0 / 60) : time - last.time
    let current = distance / elapsed
    // A change of direction, as when a fling is caught, starts anew.
    speed = speed * current < 0 ? current : speed * 0.6 + current * 0.4
    direction = distance > 0 ? 1 : -1
    lastMovement = time
    stillFrames = 0
    self.last = (position, time)
    isFast = abs(speed) > (isFast ? flingSpeed * 0.6 : flingSpeed)
  }

  /// Lets it come to rest where nothing has moved for a while. Called before each frame. Returns whether it is at
  /// rest. Time alone does not tell: on a machine that is busy a frame may take as long as a rest.
  mutating func rest(time: Double, after settleTime: Double) -> Bool {
    guard let lastMovement else { return true }
    stillFrames += 1
    guard time - lastMovement >= settleTime, stillFrames >= 4 else { return false }
    self.lastMovement = nil
    speed = 0
    isFast = false
    return true
  }
}
