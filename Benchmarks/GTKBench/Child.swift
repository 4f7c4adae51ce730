import CGtk
import Calotype
import CalotypeGTK
import Foundation

/// One measurement, in a process of its own.
@MainActor
struct Child {
  /// What is measured, and with what: see `Parent`.
  let words: [String: String]

  private var rowCount: Int { Int(words["rows"] ?? "") ?? 10_000 }
  private static let rowHeight = 64.0

  func run() -> Never {
    // From here on the process is GTK's.
    gtk_init()
    MainLoopBridge.start()
    switch words["measure"] {
    case "fling": fling()
    case "memory": memory()
    case "start": start()
    default: exit(2)
    }
  }

  private func report(_ values: [String: Double]) -> Never {
    let data = (try? JSONSerialization.data(withJSONObject: values)) ?? Data()
    FileHandle.standardOutput.write(data)
    exit(0)
  }

  private func pipeline() -> ImagePipeline {
    var configuration = ImagePipeline.Configuration()
    let limit = (Int(words["cache-megabytes"] ?? "") ?? 64) << 20
    configuration.memoryCache = MemoryCache(configuration: .init(costLimit: limit))
    if words["disk"] == nil { configuration.diskCache = nil }
    return ImagePipeline(configuration: configuration)
  }

  private func window(_ child: UnsafeMutablePointer<GtkWidget>?) -> UnsafeMutablePointer<GtkWidget> {
    let window = gtk_window_new()!
    gtk_window_set_default_size(window.cast(), 700, 760)
    if let child { gtk_window_set_child(window.cast(), child) }
    gtk_window_present(window.cast())
    return window
  }

  private func list(_ pipeline: ImagePipeline) -> PictureList {
    let server = words["server"], names = (words["names"] ?? "").split(separator: ",").map(String.init)
    return PictureList(count: rowCount, pipeline: pipeline) { [rowCount] row in
      let url = server.flatMap { URL(string: "\($0)\(names[row % names.count])?row=\(row)") }
      return PictureListItem(title: "Row \(row)", subtitle: "One of \(rowCount)", url: url)
    }
  }

  private func wait(until isMet: () -> Bool) { while !isMet() { g_main_context_iteration(nil, 1) } }

  // MARK: Frames

  /// Flings, one after the other, each slowing down until its rows load, through the whole list or as many as asked.
  private func fling() -> Never {
    let list = list(pipeline())
    let window = window(list.widget)
    wait { list.visibleRange != nil }
    let meter = FrameMeter(window)
    let flings = Double(words["flings"] ?? "") ?? 36
    let (speed, slowing) = (60_000.0, 0.3)
    var (start, origin, isOver) = (0.0, 0.0, false)
    var flung = 0.0
    onEachFrame(list.view) { time in
      if start == 0 { start = time }
      let elapsed = time - start
      list.scrollOffset = origin + speed * slowing * (1 - exp(-elapsed / slowing))
      if elapsed > 1.3 {
        flung += 1
        (start, origin) = (time, list.scrollOffset)
        isOver = flung >= flings || list.scrollOffset > Self.rowHeight * Double(rowCount) - 2000
      }
      return !isOver
    }
    meter.isOn = true
    var work: [Double] = []
    WorkMeter.report = { work.append($0) }
    wait { isOver }
    WorkMeter.report = nil
    meter.isOn = false
    let (cost, interval) = (summary(meter.costs), summary(meter.intervals))
    let pieces = summary(work)
    report([
      "work99": pieces.p99, "workMax": pieces.largest, "frames": Double(meter.costs.count),
      "cost50": cost.median, "cost99": cost.p99, "costMax": cost.largest,
      "over50": Double(meter.costs.count { $0 > 0.05 }), "interval50": interval.median,
      "interval99": interval.p99, "intervalMax": interval.largest, "rows": list.scrollOffset / Self.rowHeight,
    ])
  }

  // MARK: Memory

  private func memory() -> Never {
    let pipeline = pipeline()
    let list = list(pipeline)
    list.options.pausesDuringFlings = false
    _ = window(list.widget)
    wait { list.visibleRange != nil && list.loadingCount == 0 }
    let before = Self.residentBytes
    let whole = Self.rowHeight * Double(rowCount)
    let speed = Double(words["speed"] ?? "") ?? 20_000
    var (start, isOver, peak) = (0.0, false, before)
    onEachFrame(list.view) { time in
      if start == 0 { start = time }
      let way = (time - start) * speed
      list.scrollOffset = way < whole ? way : max(0, 2 * whole - way)
      peak = max(peak, Self.residentBytes)
      isOver = way > 2 * whole
      return !isOver
    }
    wait { isOver && list.loadingCount == 0 }
    let cache = (pipeline.configuration.memoryCache as? MemoryCache)?.statistics
    report([
      "before": before, "after": Self.residentBytes, "peak": peak, "cacheCost": Double(cache?.cost ?? 0),
      "cacheCount": Double(cache?.count ?? 0),
    ])
  }

  private static var residentBytes: Double {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
    return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
  }

  private static var processorSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  // MARK: Start

  /// From the parent's word to the frame that has the first row's icon, or the first frame of an empty window.
  private func start() -> Never {
    guard let began = words["began"].flatMap(Double.init) else { exit(2) }
    var end = 0.0
    if words["server"] != nil {
      let list = list(pipeline())
      let window = window(list.widget)
      gtk_widget_realize(window)
      let meter = FrameMeter(window)
      meter.onPainted = {
        if list.cell(at: 0)?.picture.picture.bitmap != nil, end == 0 { end = now() }
      }
      wait { end > 0 }
      withExtendedLifetime(meter) {}
    } else {
      let window = window(nil)
      gtk_widget_realize(window)
      let meter = FrameMeter(window)
      meter.onPainted = { if end == 0 { end = now() } }
      wait { end > 0 }
      withExtendedLifetime(meter) {}
    }
    report(["seconds": end - began, "cpu": Self.processorSeconds])
  }
}
