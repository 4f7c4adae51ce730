import Calotype

/// What a transfer took, for reports.
enum TransferText {
  /// An object: milliseconds from the transfer's start to each moment (null where it did not occur), bytes as
  /// they travelled.
  static func json(_ transfer: HTTPTransferMetrics) -> String {
    var json = JSONText()
    json.add("queued_ms", json: milliseconds(transfer.queued) ?? "0")
    for (name, moment) in [
      ("name_ms", transfer.nameLookup), ("connect_ms", transfer.connect), ("tls_ms", transfer.secureConnect),
      ("first_byte_ms", transfer.firstByte), ("last_byte_ms", transfer.total),
    ] {
      json.add(name, json: milliseconds(moment) ?? "null")
    }
    json.add("wire_bytes", transfer.bytesReceived)
    json.add("reused_connection", transfer.reusedConnection)
    json.add("http_version", transfer.protocolVersion)
    json.add("remote_address", transfer.remoteAddress)
    return json.object
  }

  /// An object: of each stage when it began and ended, in milliseconds from the row's start.
  static func json(_ stages: [ImageTaskMetrics.StageTime]) -> String {
    var json = JSONText()
    for time in stages {
      let ends = [time.start, time.end].map { Format.decimal($0 * 1000, 3) }
      json.add(time.stage.rawValue, json: "[\(ends.joined(separator: ","))]")
    }
    return json.object
  }

  /// With three digits after the point; `nil` for a moment that did not occur.
  static func milliseconds(_ seconds: Double) -> String? {
    seconds > 0 ? Format.decimal(seconds * 1000, 3) : nil
  }
}
