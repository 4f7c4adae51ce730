// Parts that are not public are tried, which only a debug build lets others see.
#if DEBUG
  import Foundation

  @testable import Calotype

  /// A function that is given any bytes: libFuzzer makes them up, and the tests give it those of `Fuzz/corpus`.
  public enum FuzzTarget: String, CaseIterable, Sendable {
    /// An entry's file of the disk cache.
    case cacheEntry = "cache-entry"
    /// Cache-Control, dates, ages and what becomes of them.
    case cacheControl = "cache-control"
    /// Range, Content-Range, entity tags, and going on with a download.
    case contentRange = "content-range"
    /// Addresses: their normal form, keys, hosts, redirects, network addresses.
    case address
    /// A response's head as it comes from the connection.
    case responseHead = "response-head"
    /// Lists, the first byte choosing the format.
    case list
    /// What a file is, and what its header says.
    case pictureHeader = "picture-header"
    /// The whole of a picture, small ones only.
    case picture
    /// What a file says of its frames, and the first of them.
    case animation
    /// Previews of a file that comes in pieces.
    case preview
    /// A picture that is written in some format and read again.
    case encoded
    /// What a sandboxed worker and the program that started it tell each other, in both directions.
    case workerMessages = "worker-messages"
    /// Texts for terminals, HTML and file names.
    case escaping

    /// Gives the bytes to the function.
    ///
    /// - Returns: What it did that it must not do; a crash is found by itself.
    public func problems(_ bytes: [UInt8]) -> [String] {
      var trial = Trial()
      switch self {
      case .cacheEntry: trial.cacheEntry(bytes)
      case .cacheControl: trial.cacheControl(bytes)
      case .contentRange: trial.contentRange(bytes)
      case .address: trial.address(bytes)
      case .responseHead: trial.responseHead(bytes)
      case .list: trial.list(bytes)
      case .pictureHeader: trial.pictureHeader(bytes)
      case .picture: trial.picture(bytes)
      case .animation: trial.animation(bytes)
      case .preview: trial.preview(bytes)
      case .encoded: trial.encoded(bytes)
      case .workerMessages: trial.workerMessages(bytes)
      case .escaping: trial.escaping(bytes)
      }
      return trial.problems
    }
  }

  /// One call of a target.
  struct Trial {
    private(set) var problems: [String] = []

    /// Notes what does not hold.
    mutating func expect(_ condition: @autoclosure () -> Bool, _ what: @autoclosure () -> String) {
      if !condition() { problems.append(what()) }
    }

    /// Header fields out of lines.
    func headers(_ bytes: [UInt8]) -> HTTPHeaders {
      var headers = HTTPHeaders()
      for line in bytes.split(separator: 0x0A) {
        let parts = line.split(separator: 0x3A, maxSplits: 1)
        guard parts.count == 2 else { continue }
        headers.append(
          name: String(decoding: parts[0], as: UTF8.self), value: String(decoding: parts[1], as: UTF8.self))
      }
      return headers
    }
  }
#endif
