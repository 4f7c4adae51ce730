/// How a list asks for its pictures.
public struct PictureListOptions: Hashable, Sendable {
  /// What becomes of a picture on its way whose row leaves the screen.
  public enum Leaving: String, Hashable, Sendable, CaseIterable {
    /// It is not wanted any more.
    case cancel
    /// It goes on, after everything that is on screen.
    case lower
  }

  /// Which of the rows on screen goes first when a fling has come to rest.
  public enum SettleOrder: String, Hashable, Sendable, CaseIterable {
    /// From the top down.
    case fromTop
    /// From the middle outwards, where eyes are.
    case fromMiddle
    /// Those first that came last.
    case newestFirst
  }

  /// What becomes of a picture whose row leaves, ``Leaving/cancel`` by default.
  public var leaving = Leaving.cancel
  /// Which row goes first after a fling, ``SettleOrder/fromTop`` by default. Prefetches come after all of them.
  public var settleOrder = SettleOrder.fromTop
  /// Whether downloads are held back during a fling; on by default. What is in memory is shown all the same.
  public var pausesDuringFlings = true
  /// From how many points a second on scrolling is a fling; 2,500 by default.
  public var flingSpeed = 2500.0
  /// Seconds without movement after which a list has come to rest, 0.12 by default.
  public var settleTime = 0.12
  /// How many rows ahead in the direction of scrolling are prefetched, 30 by default; 0 for none.
  public var prefetchDistance = 30
  /// How many rows before its last the list says that its end is near, 20 by default.
  public var endDistance = 20

  /// Creates the usual options.
  public init() {}
}
