import CGtk
import Calotype
import CalotypeGTK

/// The line at a window's foot: what the list has, and what the pipeline does.
@MainActor
final class StatusLine {
  let widget: Widget
  private let rows: Widget
  private let problems: Widget
  private let work: Widget
  private let hits: Widget
  private let memory: Widget
  private let services: Services
  private var listener = 0

  init(services: Services) {
    self.services = services
    rows = label()
    problems = label(classes: "warning")
    work = label(classes: "numeric", x: 1)
    hits = label(classes: "numeric", x: 1)
    memory = label(classes: "numeric", x: 1)
    gtk_widget_set_tooltip_text(work, tr("Downloads under way, and those that wait for their turn"))
    gtk_widget_set_tooltip_text(hits, tr("Pictures that needed no network"))
    gtk_widget_set_tooltip_text(memory, tr("Pictures kept in memory"))
    widget = row(18, rows, problems, row().expanding(x: true), work, hits, memory)
    widget.add(["status-line"])
    listener = services.activity.listen { [weak self] in self?.update() }
    update()
  }

  isolated deinit { services.activity.forget(listener) }

  /// Tells what a list shows.
  func show(_ model: GalleryModel) {
    if case .loading = model.state {
      rows.text = tr("Reading the list…")
    } else if case .failed = model.state {
      rows.text = ""
    } else if model.query.words.isEmpty {
      let text = tr(one: "{count} picture", many: "{count} pictures", model.totalCount)
      rows.text = model.isReading ? tr("{count}, more coming", ["count": text]) : text
    } else {
      rows.text = tr(
        one: "{found} of {count} picture", many: "{found} of {count} pictures", model.totalCount,
        ["found": model.count.formatted()])
    }
    let count = model.problems.count
    problems.isShown = count > 0
    guard count > 0 else { return }
    problems.text = tr(one: "{count} row without a picture", many: "{count} rows without a picture", count)
    let some = model.problems.prefix(8).map { problem in
      let place = problem.place.description
      return Escaping.displaySafe(place.isEmpty ? problem.reason : "\(place): \(problem.reason)")
    }
    gtk_widget_set_tooltip_text(problems, some.joined(separator: "\n"))
  }

  private func update() {
    let downloads = services.pipeline.downloadCounts
    work.text =
      downloads.running + downloads.waiting == 0
      ? ""
      : tr(
        "{running} in flight, {waiting} waiting",
        ["running": downloads.running.formatted(), "waiting": downloads.waiting.formatted()])
    let statistics = services.memoryCache.statistics
    let counts = services.activity.counts
    let fromCaches = statistics.hits + counts.fromDisk
    let all = fromCaches + counts.fromNetwork
    hits.text =
      all == 0 ? "" : tr("{percent} % from caches", ["percent": (fromCaches * 100 / all).formatted()])
    memory.text =
      statistics.cost == 0 ? "" : tr("{size} in memory", ["size": formatted(bytes: statistics.cost)])
    // Downloads that have ended may leave others that nobody tells of; look until all is quiet.
    if downloads.running + downloads.waiting > 0 { services.activity.note() }
  }
}
