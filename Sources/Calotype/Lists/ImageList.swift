import Foundation

/// A list of pictures: a file, an address, standard input or a paged service, read as it is gone through.
///
/// ```swift
/// for try await row in ImageList(path: "apps.plist") {
///   switch row {
///   case .item(let item): print(item.title, item.url)
///   case .problem(let problem): print(problem)
///   }
/// }
/// ```
/// No more of the list than a few rows is held, so a list may have millions. Reading happens on a queue of
/// the list's own. It ends with an ``ImageListError`` where the list cannot be read, or not further; a row
/// that is wrong is given as ``ImageListRow/problem(_:)`` and the rows after it follow.
public struct ImageList: AsyncSequence, Sendable {
  /// What the list gives for each row.
  public typealias Element = ImageListRow
  /// Why it ends early.
  public typealias Failure = ImageListError

  enum Origin: Sendable {
    case path(String)
    case descriptor(Int32)
    case data(Data)
    case address(URL, HTTPHeaders, any HTTPTransport, maximumTries: Int)
    case pages(ImageListPages, any HTTPTransport)
    case reader(@Sendable () throws(ImageListError) -> any ImageListReading)
  }

  /// What the list is called in messages.
  public let name: String
  let origin: Origin
  let options: ImageListOptions

  /// A file.
  public init(path: String, options: ImageListOptions = .init()) {
    self.init(name: path, origin: .path(path), options: options)
  }

  /// A file by its address: `file:///path`, or `file://localhost/path`.
  ///
  /// - Returns: `nil` where the address is of no file, or of another machine's.
  package init?(fileURL url: URL, options: ImageListOptions = .init()) {
    guard case .file(let path) = LocalSource(url) else { return nil }
    self.init(path: path, options: options)
  }

  /// An open file, pipe or terminal, such as standard input (descriptor 0). It is not closed. It can be gone
  /// through once.
  public init(fileDescriptor: Int32, name: String = "standard input", options: ImageListOptions = .init()) {
    self.init(name: name, origin: .descriptor(fileDescriptor), options: options)
  }

  /// Bytes in memory.
  public init(data: Data, name: String, options: ImageListOptions = .init()) {
    self.init(name: name, origin: .data(data), options: options)
  }

  /// A list on a server. It is downloaded to a temporary file when it is first read; its relative addresses
  /// are resolved against where it was found. The headers are sent to its own origin alone.
  ///
  /// - Parameter maximumTries: How often it is asked for before it is given up, 3 by default. What another try
  ///   does not change, such as a list that is not there, is asked for once.
  public init(
    url: URL, headers: HTTPHeaders = [], maximumTries: Int = 3,
    transport: any HTTPTransport = CurlTransport.shared, options: ImageListOptions = .init()
  ) {
    self.init(
      name: url.displayText, origin: .address(url, headers, transport, maximumTries: maximumTries),
      options: options)
  }

  /// A service that gives its rows page by page. A page is asked for when the rows before it have been read.
  public init(
    pages: ImageListPages, transport: any HTTPTransport = CurlTransport.shared,
    options: ImageListOptions = .init()
  ) {
    self.init(name: Escaping.address(pages.address), origin: .pages(pages, transport), options: options)
  }

  /// A format of the program's own.
  public init(
    name: String, options: ImageListOptions = .init(),
    reader: @escaping @Sendable () throws(ImageListError) -> any ImageListReading
  ) {
    self.init(name: name, origin: .reader(reader), options: options)
  }

  private init(name: String, origin: Origin, options: ImageListOptions) {
    self.name = name
    self.origin = origin
    self.options = options
  }

  /// Begins to read.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// All pictures of a short list at once. Rows without a picture are left out.
  public func items() async throws(ImageListError) -> [ImageListItem] {
    var items: [ImageListItem] = []
    for try await case .item(let item) in self { items.append(item) }
    return items
  }

  /// Reads the rows in order.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private let list: ImageList
    private var batch: [ImageListRow] = []
    private var next = 0
    private var cursor: ImageListCursor?
    private var hasEnded = false
    private var rowCount = 0
    /// Whether a row had the field that the options name for the title: where none has, the name is most likely
    /// mistyped.
    package private(set) var hasMetTitleKey = false
    private var page: Int
    private var pageHasRows = false

    init(_ list: ImageList) {
      self.list = list
      if case .pages(let pages, _) = list.origin { page = pages.firstPage - 1 } else { page = 0 }
    }

    /// The next row; `nil` at the end, and after an error.
    public mutating func next() async throws(ImageListError) -> ImageListRow? {
      while true {
        if next < batch.count {
          next += 1
          return batch[next - 1]
        }
        if hasEnded { return nil }
        do throws(ImageListError) {
          try await readBatch()
        } catch {
          hasEnded = true
          throw error
        }
      }
    }

    /// The next row; `nil` at the end, and after an error.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ImageListError) -> ImageListRow? { try await next() }

    private mutating func readBatch() async throws(ImageListError) {
      if cursor == nil {
        cursor = try await open()
        pageHasRows = false
        if cursor == nil {
          hasEnded = true
          return
        }
      }
      guard let cursor else { return }
      next = 0
      batch = try await cursor.batch()
      if cursor.hasMetTitleKey { hasMetTitleKey = true }
      rowCount += batch.count
      let limit = list.options.limits.maximumRowCount
      if rowCount > limit {
        // The rows up to the limit are given first.
        batch.removeLast(Swift.min(batch.count, rowCount - limit))
        guard batch.isEmpty else { return }
        throw ImageListError(list: list.name, reason: "has more than \(limit) rows")
      }
      if !batch.isEmpty {
        pageHasRows = true
        return
      }
      // The end of the list, or of a page that another may follow.
      self.cursor = nil
      guard case .pages = list.origin, pageHasRows else {
        hasEnded = true
        return
      }
    }

    private mutating func open() async throws(ImageListError) -> ImageListCursor? {
      switch list.origin {
      case .pages(let pages, let transport):
        page += 1
        if let last = pages.lastPage, page > last { return nil }
        return try await pages.open(page, transport: transport, options: list.options)
      case .address(let url, let headers, let transport, let maximumTries):
        let download = try await ImageListDownload.download(
          url, name: list.name, headers: headers, transport: transport,
          limit: list.options.limits.maximumDownloadLength, maximumTries: maximumTries)
        return ImageListCursor(
          ImageListFields(list.options, listName: list.name, listURL: download.url),
          source: { download.source }, name: list.name, options: list.options)
      case .reader(let make): return ImageListCursor(list.fields, reader: make)
      case .path(let path):
        return cursor { () throws(ImageListError) in try FileDescriptorSource(path: path) }
      case .descriptor(let descriptor):
        let name = list.name
        return cursor { FileDescriptorSource(descriptor: descriptor, closes: false, name: name) }
      case .data(let data): return cursor { DataSource(data) }
      }
    }

    private func cursor(
      _ source: @escaping @Sendable () throws(ImageListError) -> any ListByteSource
    ) -> ImageListCursor {
      ImageListCursor(list.fields, source: source, name: list.name, options: list.options)
    }
  }

  private var fields: ImageListFields { ImageListFields(options, listName: name) }
}
