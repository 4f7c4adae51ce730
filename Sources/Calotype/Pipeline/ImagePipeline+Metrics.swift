/// When a print was made, on the monotonic clock, in nanoseconds; 0 for what has not been.
struct PrintTiming: Sendable {
  var decodeStart: UInt64 = 0
  var decodeEnd: UInt64 = 0
  var processEnd: UInt64 = 0
}

extension ImagePipeline {
  /// What a task took.
  func metrics(
    of task: ImageTask, _ original: Original?, _ container: ImageContainer? = nil,
    print timing: PrintTiming = .init()
  ) -> ImageTaskMetrics {
    metrics(since: task.startTime, original, container, print: timing)
  }

  /// What a wait took that began at a moment of the monotonic clock, in nanoseconds.
  func metrics(
    since startTime: UInt64, _ original: Original?, _ container: ImageContainer? = nil,
    print timing: PrintTiming = .init()
  ) -> ImageTaskMetrics {
    var metrics = ImageTaskMetrics()
    metrics.duration = Double(monotonicNanoseconds() - startTime) / 1e9
    metrics.decodedByteCount = container?.cost ?? 0
    let origin = Double(startTime)
    func add(_ stage: ImageTaskMetrics.Stage, _ start: Double, _ end: Double) {
      guard end > start else { return }
      metrics.stages.append(
        .init(stage: stage, start: (start - origin) / 1e9, end: (end - origin) / 1e9))
    }
    if let original {
      metrics.tries = original.tries
      metrics.originalByteCount = original.data.count
      metrics.wireByteCount = original.timing.wireByteCount
      metrics.transfer = original.transfer
      metrics.stages.reserveCapacity(8)
      let times = original.timing
      if times.sent > 0 {
        add(.queue, Double(times.enqueued), Double(times.sent))
        if let transfer = original.transfer { addTransfer(transfer, sent: Double(times.sent), add) }
      }
    }
    if timing.decodeStart > 0 {
      add(.decode, Double(timing.decodeStart), Double(timing.decodeEnd))
      add(.process, Double(timing.decodeEnd), Double(timing.processEnd))
    }
    return metrics
  }

  /// A transfer's moments count from when the transport began with it.
  private func addTransfer(
    _ transfer: HTTPTransferMetrics, sent: Double, _ add: (ImageTaskMetrics.Stage, Double, Double) -> Void
  ) {
    let origin = sent + transfer.queued * 1e9
    var last = origin
    for (stage, moment) in [
      (ImageTaskMetrics.Stage.name, transfer.nameLookup), (.connect, transfer.connect),
      (.secureConnect, transfer.secureConnect), (.firstByte, transfer.firstByte),
      (.lastByte, transfer.total),
    ] where moment > 0 {
      let end = origin + moment * 1e9
      add(stage, last, end)
      last = max(last, end)
    }
  }
}
