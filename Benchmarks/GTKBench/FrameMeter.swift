import CGtk
import CalotypeGTK
import Foundation

/// Seconds since some moment, for differences.
func now() -> Double { Double(DispatchTime.now().uptimeNanoseconds) * 1e-9 }

/// What frames cost: from the moment before one is begun to the moment after it is painted, and from one to the
/// next.
@MainActor
final class FrameMeter {
  private(set) var costs: [Double] = []
  private(set) var intervals: [Double] = []
  private var began: Double?
  private var lastBegan: Double?
  var isOn = false { didSet { lastBegan = nil } }
  var onPainted: (@MainActor () -> Void)?

  init(_ widget: UnsafeMutablePointer<GtkWidget>) {
    let clock = gtk_widget_get_frame_clock(widget)!
    connect(clock, "before-paint") { [unowned self] in
      let time = now()
      if isOn, let lastBegan { intervals.append(time - lastBegan) }
      (began, lastBegan) = (time, time)
    }
    connect(clock, "after-paint", after: true) { [unowned self] in
      if isOn, let began { costs.append(now() - began) }
      began = nil
      onPainted?()
    }
  }
}

/// A list of values' median, 99th of a hundred, and largest.
func summary(_ values: [Double]) -> (median: Double, p99: Double, largest: Double) {
  let sorted = values.sorted()
  guard let largest = sorted.last else { return (0, 0, 0) }
  return (sorted[sorted.count / 2], sorted[min(sorted.count - 1, sorted.count * 99 / 100)], largest)
}
