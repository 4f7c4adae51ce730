import Calotype
import Foundation

/// Fetches the pictures of lists: each distinct address once, no more at a time than there are places, no
/// more in memory than that.
final class FetchJob: Sendable {
  struct Parts: Sendable {
    var session: Session
    var output: PictureOutput
    var files: FetchFiles
    var jsonLines: LineWriter?
    var progress: ProgressBar
    /// The field that the person named for the names.
    var nameKey: String?
  }

  /// What came of it all.
  struct Totals: Sendable {
    var rows = 0
    var done = 0
    var failed = 0
    var sources: [ImageResponse.Source: Int] = [:]
    var alreadyThere = 0
    var doubles = 0
    var bytes = 0
  }

  struct Row: Sendable {
    var number: Int
    var title: String
    var url: URL
    /// The file's name without its extension, where files are written.
    var name: String?
  }

  private struct State {
    var addresses = AddressTable()
    var waiting: [AddressTable.Index: [Row]] = [:]
    var totals = Totals()
    var loads: [AddressTable.Index: ImageTask] = [:]
    var isCancelled = false
  }

  let parts: Parts
  private let identity: String
  private let gate: FetchGate
  private let earlier: EarlierFiles?
  private let state = Lock(State())

  init(_ parts: Parts) {
    self.parts = parts
    identity = parts.output.identity
    earlier = parts.files.folder.map { EarlierFiles(in: $0.path) }
    // Twice the downloads: while some wait for the network, others are decoded and written.
    gate = FetchGate(maximumLoads: parts.session.transport.configuration.maximumConcurrentTransfers * 2 + 4)
  }

  var totals: Totals { state.withLock { $0.totals } }

  /// Ends everything that is under way.
  func cancel() {
    let loads = state.withLock { state in
      state.isCancelled = true
      return Array(state.loads.values)
    }
    gate.close()
    for load in loads { load.cancel() }
  }

  private var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Goes through the lists.
  func run(_ lists: [ImageList]) async {
    var names = NameTable()
    await withDiscardingTaskGroup { group in
      for list in lists {
        var rows = list.makeAsyncIterator()
        do throws(ImageListError) {
          var count = 0
          while !isCancelled {
            await gate.waitForPlace()
            guard !isCancelled, let row = try await rows.next() else { break }
            take(row, names: &names, group: &group)
            count += 1
          }
          if !isCancelled { warn(of: list, rowCount: count, hasNames: rows.hasMetTitleKey) }
        } catch {
          failed(error)
        }
      }
      let rows = totals.rows
      parts.progress.update { $0.total = rows }
    }
  }

  /// Says what a person would wonder about although nothing has failed.
  private func warn(of list: ImageList, rowCount: Int, hasNames: Bool) {
    if rowCount == 0 {
      parts.progress.message("calotype: \(list.name): the list has no rows")
    } else if let key = parts.nameKey, !hasNames {
      parts.progress.message(
        "calotype: \(list.name): no row has the field \(key) of --name-key; the names are made from the addresses"
      )
    }
  }

  private func take(_ row: ImageListRow, names: inout NameTable, group: inout DiscardingTaskGroup) {
    let number = state.withLock { state in
      state.totals.rows += 1
      return state.totals.rows
    }
    parts.progress.update { $0.known = number }
    switch row {
    case .problem(let problem): invalid(problem, number)
    case .item(let item):
      let name = parts.files.folder == nil ? nil : names.reserve(item.title)
      let row = Row(number: number, title: item.title, url: item.url, name: name)
      // With what may be reached, so that nothing is asked of a file that may not be read.
      let address = ImageRequest(url: row.url, addressPolicy: parts.session.addressPolicy).cacheKey.address
      enum Next { case load(AddressTable.Index), wait, done(AddressTable.Outcome) }
      let next = state.withLock { state -> Next in
        let (index, isNew) = state.addresses.enter(address)
        if isNew { return .load(index) }
        if let outcome = state.addresses.outcome(index) { return .done(outcome) }
        state.waiting[index, default: []].append(row)
        return .wait
      }
      switch next {
      case .wait: gate.beginWaitingRow()
      case .done(let outcome):
        guard parts.files.folder != nil else { return repeatOutcome(outcome, for: row, from: address) }
        // The list is read on while the file is made.
        gate.beginLoad()
        group.addTask {
          self.repeatOutcome(outcome, for: row, from: address)
          self.gate.endLoad(waitingRows: 0)
        }
      case .load(let index):
        gate.beginLoad()
        group.addTask { await self.load(row, index, address) }
      }
    }
  }

  // MARK: One address

  private func load(_ row: Row, _ index: AddressTable.Index, _ address: String) async {
    let outcome = await fetch(row, index, origin: Digest.stableHash("\(address) \(identity)"))
    let rows = state.withLock { state -> [Row] in
      state.loads[index] = nil
      if let outcome { state.addresses.finish(index, outcome) }
      return state.waiting.removeValue(forKey: index) ?? []
    }
    if let outcome {
      for row in rows { repeatOutcome(outcome, for: row, from: address) }
    }
    gate.endLoad(waitingRows: rows.count)
  }

  /// Fetches an address for its first row; `nil` where it was cancelled.
  private func fetch(_ row: Row, _ index: AddressTable.Index, origin: UInt64) async -> AddressTable.Outcome? {
    if let outcome = existing(row, origin: origin) { return outcome }
    let started = DispatchTime.now(), startedDate = Date()
    var result = FetchResult(row)
    do {
      let picture = try await picture(row, index)
      result.milliseconds = Int(
        (DispatchTime.now().uptimeNanoseconds - started.uptimeNanoseconds) / 1_000_000)
      result.source = picture.source
      result.tries = picture.metrics.tries
      result.metrics = picture.metrics
      result.staleAge = picture.staleAge
      result.width = picture.size?.width
      result.height = picture.size?.height
      result.format = picture.format
      if let name = row.name, let data = picture.data, let folder = parts.files.folder {
        let file = PictureFile.name(name, picture.format)
        try folder.write(data, to: file, origin: origin)
        result.file = file
      }
      result.bytes = picture.data?.count ?? picture.metrics.originalByteCount
      if isReported { result.sha256 = picture.data.flatMap(Digest.sha256) }
      archive(row, started: startedDate, picture)
      let received = picture.source == .network ? picture.metrics.originalByteCount : 0
      finish(result, picture: picture.bitmap, received: received)
      return .done(
        AddressTable.Result(
          name: row.name, format: picture.format, width: result.width ?? 0, height: result.height ?? 0,
          bytes: result.bytes ?? 0, source: picture.source, sha256: result.sha256))
    } catch {
      let (code, message) = Self.describe(error)
      if code == "cancelled" || isCancelled { return nil }
      result.milliseconds = Int(
        (DispatchTime.now().uptimeNanoseconds - started.uptimeNanoseconds) / 1_000_000)
      (result.status, result.errorCode, result.errorMessage) = (.failed, code, message)
      archive(row, started: startedDate, error, seconds: Double(result.milliseconds) / 1000)
      finish(result, picture: nil)
      return .failed(code: code, message: message)
    }
  }

  /// Notes a download, where there was one.
  private func archive(_ row: Row, started: Date, _ picture: Picture) {
    guard let archive = parts.files.archive, picture.metrics.transfer != nil else { return }
    archive.add(
      HTTPArchive.Entry(
        url: row.url, headers: parts.session.headers, status: picture.source == .revalidated ? 304 : 200,
        started: started, metrics: picture.metrics, format: picture.format))
  }

  /// Notes a download that failed, where a server was asked.
  private func archive(_ row: Row, started: Date, _ error: any Error, seconds: Double) {
    guard let archive = parts.files.archive, let error = error as? ImagePipeline.Error else { return }
    let status: Int
    switch error.cause {
    case .status(let answered): status = answered
    case .transport(let error) where ![.invalidAddress, .invalidHeader].contains(error.code): status = 0
    default: return
    }
    archive.add(
      HTTPArchive.Entry(
        url: row.url, headers: parts.session.headers, status: status, started: started,
        comment: error.message, seconds: seconds))
  }

  private struct Picture {
    var data: Data?
    var bitmap: Bitmap?
    var format: ImageFormat
    var size: PixelSize?
    var source: ImageResponse.Source
    var metrics: ImageTaskMetrics
    var staleAge: Double?
  }

  private func picture(_ row: Row, _ index: AddressTable.Index) async throws -> Picture {
    let request = ImageRequest(
      url: row.url, targetSize: parts.output.targetSize, processors: parts.output.processors,
      isStill: parts.output.isStill, isDeep: parts.output.isDeep, headers: parts.session.headers,
      cachePolicy: parts.session.cachePolicy, addressPolicy: parts.session.addressPolicy)
    if parts.output.format == .original {
      let response = try await parts.session.pipeline.data(for: request)
      // The transport has checked the length; the header tells that it is a picture, and within the limits.
      let info = try parts.session.decoder.inspectSize(response.data)
      let bitmap = !isOnSheet(row) ? nil : try decodeForSheet(response.data)
      return Picture(
        data: response.data, bitmap: bitmap, format: info.format, size: info.displaySize,
        source: response.source,
        metrics: response.metrics, staleAge: response.isStale ? response.age : nil)
    }
    if parts.output.keepsProfile {
      // The pipeline's prints are sRGB.
      let response = try await parts.session.pipeline.data(for: request)
      let container = try parts.output.picture(of: response.data, parts.session.decoder)
      let file = parts.files.folder == nil ? nil : try parts.output.file(container)
      return Picture(
        data: file?.data, bitmap: container.bitmap,
        format: file?.format ?? parts.output.fileFormat(for: container),
        size: container.bitmap.size, source: response.source, metrics: response.metrics,
        staleAge: response.isStale ? response.age : nil)
    }
    let task = parts.session.pipeline.task(for: request)
    let isCancelled = state.withLock { state in
      state.loads[index] = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
    let response = try await task.response
    let file = parts.files.folder == nil ? nil : try parts.output.file(response.container)
    return Picture(
      data: file?.data, bitmap: response.image,
      format: file?.format ?? parts.output.fileFormat(for: response.container),
      size: response.image.size, source: response.source,
      metrics: response.metrics, staleAge: response.isStale ? response.age : nil)
  }

  private func decodeForSheet(_ data: Data) throws -> Bitmap {
    let side = Double(SheetCell.pictureSize)
    let options = ImageDecodingOptions(targetSize: TargetSize(width: side, height: side))
    return try parts.session.decoder.decode(data, options: options).bitmap
  }

  /// The outcome of an earlier run, where its file stands.
  private func existing(_ row: Row, origin: UInt64) -> AddressTable.Outcome? {
    guard let folder = parts.files.folder, let name = row.name, earlier?.mayHold(name) == true,
      [.default, .forceCache, .onlyIfCached].contains(parts.session.cachePolicy)
    else { return nil }
    for format in candidateFormats(row.url) {
      let file = PictureFile.name(name, format)
      guard let size = folder.size(of: file, origin: origin) else { continue }
      var result = FetchResult(row)
      (result.source, result.bytes, result.format, result.file) = (.disk, size, format, file)
      var bitmap: Bitmap?
      if isReported || isOnSheet(row) {
        guard let data = folder.read(file), let info = try? parts.session.decoder.inspectSize(data)
        else { continue }
        (result.width, result.height) = (info.displaySize.width, info.displaySize.height)
        result.sha256 = Digest.sha256(data)
        if isOnSheet(row) { bitmap = try? decodeForSheet(data) }
      }
      state.withLock { $0.totals.alreadyThere += 1 }
      finish(result, picture: bitmap)
      return .done(
        AddressTable.Result(
          name: name, format: format, width: result.width ?? 0, height: result.height ?? 0, bytes: size,
          source: .disk, sha256: result.sha256))
    }
    return nil
  }

  /// The formats that an earlier run's file can have, the likeliest first.
  private func candidateFormats(_ url: URL) -> [ImageFormat] {
    switch parts.output.format {
    case .fixed(let format): return [format]
    case .automatic, .original:
      let likely = PictureFile.format(of: url.path)
      let others = parts.output.format == .automatic ? ImageEncoder.formats : ImageDecoder.supportedFormats
      return (likely.map { [$0] } ?? []) + others.filter { $0 != likely }
    }
  }

  private var isReported: Bool { parts.files.report != nil || parts.jsonLines != nil }

  private func isOnSheet(_ row: Row) -> Bool { parts.files.sheet != nil && row.number <= SheetCell.limit }

  // MARK: Rows

  /// Gives a further row of an address what the first one got: a file of its own, a line of its own.
  private func repeatOutcome(_ outcome: AddressTable.Outcome, for row: Row, from address: String) {
    var result = FetchResult(row)
    switch outcome {
    case .failed(let code, let message):
      (result.status, result.errorCode, result.errorMessage) = (.failed, code, message)
      finish(result, picture: nil)
    case .done(let first):
      (result.source, result.bytes, result.format) = (first.source, first.bytes, first.format)
      (result.width, result.height, result.sha256) = (first.width, first.height, first.sha256)
      var bitmap: Bitmap?
      if let folder = parts.files.folder, let name = row.name, let firstName = first.name {
        let file = PictureFile.name(name, first.format)
        let origin = Digest.stableHash("\(address) \(identity)")
        do {
          if folder.size(of: file, origin: origin) == nil {
            try folder.duplicate(PictureFile.name(firstName, first.format), as: file, origin: origin)
          }
          result.file = file
          if isOnSheet(row) { bitmap = folder.read(file).flatMap { try? decodeForSheet($0) } }
        } catch {
          (result.status, result.errorCode, result.sha256) = (.failed, "not_written", nil)
          result.errorMessage = Self.describe(error).message
        }
      }
      state.withLock { $0.totals.doubles += 1 }
      finish(result, picture: bitmap, isDouble: true)
    }
  }

  private func finish(_ result: FetchResult, picture: Bitmap?, received: Int = 0, isDouble: Bool = false) {
    state.withLock { state in
      if result.status == .ok { state.totals.done += 1 } else { state.totals.failed += 1 }
      if let source = result.source, !isDouble { state.totals.sources[source, default: 0] += 1 }
      state.totals.bytes += received
    }
    parts.progress.update { counts in
      if result.status == .ok { counts.done += 1 } else { counts.failed += 1 }
      counts.bytes += received
    }
    if isReported {
      let line = result.line(isolation: parts.session.isolationName)
      parts.files.report?.write(line)
      parts.jsonLines?.write(line)
    }
    if result.status != .ok {
      let address = result.address.map { " <\($0)>" } ?? ""
      parts.progress.message(
        Escaping.displaySafe(
          "failed: \(result.name)\(address): \(result.errorMessage ?? "unknown") [\(result.errorCode ?? "")]")
      )
    }
    addToSheet(result, picture)
  }

  private func addToSheet(_ result: FetchResult, _ picture: Bitmap?) {
    guard let sheet = parts.files.sheet, result.row <= SheetCell.limit else { return }
    let detail =
      result.status == .ok
      ? "\(result.width ?? 0)×\(result.height ?? 0) · \(Format.bytes(result.bytes ?? 0)) · \(result.source?.rawValue ?? "")"
      : result.errorMessage ?? result.errorCode ?? "failed"
    let cell = SheetCell(
      row: result.row, name: result.name, detail: detail, isFailure: result.status != .ok,
      thumbnail: picture.flatMap(SheetCell.thumbnail))
    do {
      try sheet.add(cell)
    } catch {
      parts.progress.message("calotype: the sheet: \(Self.describe(error).message)")
    }
  }

  private func invalid(_ problem: ImageListProblem, _ number: Int) {
    var result = FetchResult(row: number, name: "\(problem.list): \(problem.place)", status: .invalid)
    (result.errorCode, result.errorMessage) = ("invalid_row", problem.reason)
    finish(result, picture: nil)
  }

  private func failed(_ error: ImageListError) {
    if isCancelled { return }
    state.withLock { $0.totals.failed += 1 }
    parts.progress.update { $0.failed += 1 }
    parts.progress.message("calotype: \(error)")
  }

  /// What the system says of an error of Foundation's.
  private static func systemMessage(_ error: any Error) -> String? {
    let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? error as NSError
    return cause.domain == NSPOSIXErrorDomain ? OutputFolder.message(Int32(clamping: cause.code)) : nil
  }

  static func describe(_ error: any Error) -> (code: String, message: String) {
    switch error {
    case let error as ImagePipeline.Error: (error.code, error.message)
    case let error as ImageDecodingError: (error.code, error.description)
    case let error as ImageEncodingError: ("not_encoded", error.description)
    case let error as Failure: (error.code, error.message)
    case is CancellationError: ("cancelled", "cancelled")
    default: ("other", systemMessage(error) ?? "\(error)")
    }
  }
}
