import Foundation

// A preview's way: more has come of an original → is there anyone to show it to? → a thread that is free reads on
// where it had stopped → every print of that original that is waited for, at its size → its tasks. The download
// never waits for any of it.
extension ImagePipeline {
  /// Called on the transport's thread when more of an original has come.
  func considerPreview(
    of load: OriginalLoad, _ download: OriginalDownload, _ progress: ImageTask.Progress,
    for tasks: ShortList<ImageTask>
  ) {
    // What is whole is about to be shown itself.
    if let total = progress.total, progress.completed >= total { return }
    guard let session = session(of: load, download), tasks.contains(where: \.wantsPreviews) else { return }
    session.hasMore { [self] in submitPreview(of: load, download, session) }
  }

  /// Called when somebody begins to listen to a task: what has come before may be all that comes for a while.
  func listenerCame(to task: ImageTask) {
    let waiting = core.withLock { _ -> (OriginalLoad, OriginalDownload)? in
      guard let original = task.load?.original, let download = original.download else { return nil }
      return (original, download)
    }
    guard let (load, download) = waiting, let session = download.previews else { return }
    session.hasMore { [self] in submitPreview(of: load, download, session) }
  }

  /// The session of a download, made with its first piece, also before anyone listens: only the transport's thread
  /// may look at the response. It does nothing until then.
  private func session(of load: OriginalLoad, _ download: OriginalDownload) -> PreviewSession? {
    if let session = download.previews { return session }
    guard let decoder = previewDecoder, core.withLock({ _ in mayHavePreviews(load) }),
      let head = download.receivedHead, let beginning = load.exchange.beginning(of: head)
    else { return nil }
    let session = PreviewSession(beginning: beginning) { cancellation in
      decoder.makePreviewMaker(configuration.limits, cancellation)
    }
    download.previews = session
    return session
  }

  private func previewInterval(of task: ImageTask) -> UInt64? {
    (task.request.previews ?? configuration.previews).interval(for: task.request.targetSize)
  }

  /// Whether any print of an original is one that is shown while it comes.
  private func mayHavePreviews(_ load: OriginalLoad) -> Bool {
    load.waiters.contains { waiter in
      waiter.printLoad?.tasks.contains { previewInterval(of: $0) != nil } ?? false
    }
  }

  /// The prints of an original that somebody would like to see before they are there.
  private func previewTargets(of load: OriginalLoad) -> [(load: PrintLoad, interval: UInt64)] {
    load.waiters.compactMap { waiter in
      guard let print = waiter.printLoad, !print.hasEnded else { return nil }
      let intervals = print.tasks.filter(\.wantsPreviews).compactMap(previewInterval(of:))
      return intervals.min().map { (print, $0) }
    }
  }

  private func submitPreview(
    of load: OriginalLoad, _ download: OriginalDownload, _ session: PreviewSession
  ) {
    // Below everything that somebody waits for: a print that is whole goes before one that is not.
    workQueue.submit(priority: .low) { [self] in
      let targets = core.withLock { _ in
        load.download === download ? previewTargets(of: load) : []
      }
      let previews = session.run(
        download, targets.map { ($0.load.request.targetSize, $0.interval) })
      for (target, preview) in zip(targets, previews ?? []) {
        show(preview, of: target.load, session.cancellation)
      }
      session.goOn { [self] in submitPreview(of: load, download, session) }
    }
  }

  /// Processes a preview as its print will be, and shows it to those who wait for that.
  private func show(
    _ preview: PreviewMaker.Preview, of load: PrintLoad, _ cancellation: CancellationFlag
  ) {
    guard !cancellation.isCancelled,
      let bitmap = load.request.processors.isEmpty
        ? preview.bitmap
        : try? ImageProcessors.apply(
          load.request.processors, to: preview.bitmap, limits: configuration.limits,
          cancellation: cancellation)
    else { return }
    let container = ImageContainer(
      bitmap: bitmap, format: preview.format, originalSize: preview.originalSize, isPreview: true)
    let response = ImageResponse(container: container, source: .network)
    let tasks = core.withLock { _ in load.tasks.filter(\.wantsPreviews) }
    let delegate = currentDelegate
    for task in tasks where task.report(preview: response) {
      delegate?.imagePipeline(self, task: task, didReceive: .preview(response))
    }
  }
}
