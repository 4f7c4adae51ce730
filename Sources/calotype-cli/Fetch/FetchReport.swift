import Calotype
import Foundation
import Synchronization

/// What became of one row.
struct FetchResult: Sendable {
  enum Status: String {
    /// The picture is there.
    case ok
    /// It could not be had.
    case failed
    /// The row of the list is wrong.
    case invalid
  }

  /// The row's number over all lists, from 1.
  var row: Int
  var name: String
  var address: String?
  var status: Status
  var source: ImageResponse.Source?
  var bytes: Int?
  var width: Int?
  var height: Int?
  var format: ImageFormat?
  var file: String?
  var sha256: [UInt8]?
  var tries = 0
  /// What it took, where it was asked for in this run.
  var metrics: ImageTaskMetrics?
  /// How many seconds ago the server sent or confirmed a stale picture.
  var staleAge: Double?
  var milliseconds = 0
  var errorCode: String?
  var errorMessage: String?

  /// What became of a row, to begin with.
  init(_ row: FetchJob.Row) {
    self.init(row: row.number, name: row.title, address: row.url.displayText, status: .ok)
  }

  init(row: Int, name: String, address: String? = nil, status: Status) {
    (self.row, self.name, self.address, self.status) = (row, name, address, status)
  }

  /// One line of the report.
  ///
  /// - Parameter isolation: Where pictures are decoded.
  func line(isolation: String) -> String {
    var json = JSONText()
    json.add("row", row)
    json.add("name", name)
    json.add("address", address)
    json.add("status", status.rawValue)
    json.add("source", source?.rawValue)
    json.add("bytes", bytes)
    json.add("width", width)
    json.add("height", height)
    json.add("format", format?.rawValue)
    json.add("file", file)
    json.add("sha256", sha256.map(Digest.hexadecimal))
    json.add("tries", tries)
    json.add("milliseconds", milliseconds)
    if let staleAge { json.add("stale_age", Int(staleAge)) }
    if let metrics {
      json.add("wire_bytes", metrics.wireByteCount)
      json.add("decoded_bytes", metrics.decodedByteCount)
      json.add("stages", json: TransferText.json(metrics.stages))
    }
    json.add("isolation", isolation)
    json.add("error", errorCode)
    json.add("message", errorMessage)
    return json.object
  }
}

/// Collects lines and writes them in blocks: to a file that appears when it is complete, or to a terminal.
final class LineWriter: Sendable {
  private struct State {
    var buffer: [UInt8] = []
    var hasFailed = false
  }

  private let state = Lock(State())
  private let descriptor: Int32
  private let closes: Bool
  private let blockSize: Int

  /// Writes to a file; an older one is emptied unless standard output goes there, and a folder that is missing made.
  init(path: String) throws {
    try OutputFolder.prepare(path, isEmptied: true)
    descriptor = try OutputDestination.open(forLinesAt: path)
    closes = true
    blockSize = 1 << 16
  }

  /// Writes to standard output, line by line where a person looks.
  init(standardOutput: Terminal) {
    descriptor = standardOutput.descriptor
    closes = false
    blockSize = isatty(standardOutput.descriptor) == 1 ? 1 : 1 << 14
  }

  deinit {
    flush()
    if closes { close(descriptor) }
  }

  func write(_ line: String) {
    state.withLock { state in
      state.buffer += line.utf8
      state.buffer.append(0x0A)
      if state.buffer.count >= blockSize { flush(&state) }
    }
  }

  /// Writes what has been collected. Returns whether everything so far could be written.
  @discardableResult
  func flush() -> Bool {
    state.withLock { state in
      flush(&state)
      return !state.hasFailed
    }
  }

  private func flush(_ state: inout State) {
    var at = 0
    while at < state.buffer.count {
      let count = state.buffer.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress.map { $0 + at }, $0.count - at)
      }
      if count < 0, errno == EINTR { continue }
      if count <= 0 {
        state.hasFailed = true
        if descriptor == 1, errno != EPIPE { Terminal.outputError.store(errno, ordering: .relaxed) }
        break
      }
      at += count
    }
    state.buffer.removeAll(keepingCapacity: true)
  }
}
