import Dispatch

/// Reads a list on a queue of its own, some rows at a time, so that waiting for a slow pipe holds up no
/// thread that others need.
///
/// Sound as Sendable: the reader and the fields are touched only on `queue`.
final class ImageListCursor: @unchecked Sendable {
  private let queue = DispatchQueue(label: "calotype.list")
  private let make: @Sendable () throws(ImageListError) -> any ImageListReading
  private var reader: (any ImageListReading)?
  private var fields: ImageListFields
  private let page: Int?
  private var failure: ImageListError?
  private let titleKeyIsMet = Lock(false)

  /// A batch ends behind so many rows, or so many bytes of names and values.
  private static let batchSize = 256, batchLength = 4 << 20

  init(
    _ fields: ImageListFields, page: Int? = nil,
    reader make: @escaping @Sendable () throws(ImageListError) -> any ImageListReading
  ) {
    self.fields = fields
    self.page = page
    self.make = make
  }

  convenience init(
    _ fields: ImageListFields, page: Int? = nil,
    source: @escaping @Sendable () throws(ImageListError) -> any ListByteSource, name: String,
    options: ImageListOptions
  ) {
    self.init(fields, page: page) { () throws(ImageListError) in
      try ImageListFormat.reader(try source(), name: name, options: options, fields: fields)
    }
  }

  /// The next rows: at least one, unless the list has ended; no more than can be had without waiting. Where
  /// the task is cancelled there are none: a pipe that gives nothing holds up nobody.
  func batch() async throws(ImageListError) -> [ImageListRow] {
    let waiter = Lock<CheckedContinuation<Result<[ImageListRow], ImageListError>, Never>?>(nil)
    @Sendable func resume(_ result: Result<[ImageListRow], ImageListError>) {
      let continuation = waiter.withLock { waiter in
        defer { waiter = nil }
        return waiter
      }
      continuation?.resume(returning: result)
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        waiter.withLock { $0 = continuation }
        if Task.isCancelled { return resume(.success([])) }
        queue.async { resume(self.read()) }
      }
    } onCancel: {
      resume(.success([]))
    }
    return try result.get()
  }

  /// Whether a row so far had the field that the options name for the title.
  var hasMetTitleKey: Bool { titleKeyIsMet.withLock { $0 } }

  private func read() -> Result<[ImageListRow], ImageListError> {
    if let failure { return .failure(failure) }
    var rows: [ImageListRow] = []
    defer { if fields.hasMetTitleKey { titleKeyIsMet.withLock { $0 = true } } }
    do throws(ImageListError) {
      let reader = if let reader { reader } else { try make() }
      self.reader = reader
      var length = 0
      while rows.count < Self.batchSize, length < Self.batchLength, rows.isEmpty || reader.isReady {
        guard let record = try reader.next() else { break }
        length += record.length
        rows.append(fields.row(record, page: page))
      }
      return .success(rows)
    } catch {
      // The rows before the mistake are good.
      failure = error
      return rows.isEmpty ? .failure(error) : .success(rows)
    }
  }
}

extension ImageListFormat {
  /// The reader for a list, by its format, which is told by its first bytes where it is not given.
  static func reader(
    _ source: any ListByteSource, name: String, options: ImageListOptions, fields: ImageListFields
  ) throws(ImageListError) -> any ImageListReading {
    let bytes = ListByteReader(source, name: name)
    let start = try bytes.start()
    let limits = options.limits
    func tree(_ tokens: any TreeTokenizing) -> any ImageListReading {
      TreeListReader(
        tokens, name: name, keyPath: options.itemsKeyPath, limits: limits, hasAddress: fields.hasAddress)
    }
    let format = if let format = options.format { format } else { try detect(start, name: name) }
    switch format {
    case .text: return AddressListReader(bytes, limits: limits)
    case .csv: return SeparatedValuesReader(bytes, separator: nil, start: start, limits: limits)
    case .tsv:
      return SeparatedValuesReader(bytes, separator: UInt8(ascii: "\t"), start: start, limits: limits)
    case .jsonLines: return JSONLinesReader(bytes, limits: limits)
    case .json: return tree(JSONTokenizer(bytes, limits: limits))
    case .xmlPropertyList: return tree(XMLPropertyListTokenizer(bytes, limits: limits))
    case .binaryPropertyList:
      guard let all = try bytes.readAll(limit: limits.maximumBinaryLength) else {
        throw ImageListError(
          list: name, reason: "is a binary property list of more than \(limits.maximumBinaryLength) bytes")
      }
      return tree(try BinaryPropertyListTokenizer(all, name: name, limits: limits))
    }
  }
}
