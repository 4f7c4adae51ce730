import Foundation

/// How a list is read. What is left out is told by the list's content and its usual names.
public struct ImageListOptions: Hashable, Sendable {
  /// The format; `nil` to tell it by the content, then by the name.
  public var format: ImageListFormat?
  /// Where the rows are in a property list or JSON, such as `data.list`; a number is an array's index.
  /// `nil` for the top, or the first array of rows with an address.
  public var itemsKeyPath: String?
  /// The title's field; dots lead into nested fields.
  public var titleKey: String?
  /// The subtitle's field.
  public var subtitleKey: String?
  /// The picture address's field.
  public var imageKey: String?
  /// What relative addresses are resolved against; `nil` for the list's own address.
  public var baseURL: URL?
  /// What a list may ask for.
  public var limits: ImageListLimits

  /// Creates options.
  public init(
    format: ImageListFormat? = nil, itemsKeyPath: String? = nil, titleKey: String? = nil,
    subtitleKey: String? = nil, imageKey: String? = nil, baseURL: URL? = nil,
    limits: ImageListLimits = .init()
  ) {
    self.format = format
    self.itemsKeyPath = itemsKeyPath
    self.titleKey = titleKey
    self.subtitleKey = subtitleKey
    self.imageKey = imageKey
    self.baseURL = baseURL
    self.limits = limits
  }
}

/// What a list may ask for, since lists come from strangers.
public struct ImageListLimits: Hashable, Sendable {
  /// Levels of nesting in a property list or JSON, 256 by default.
  public var maximumDepth = 256
  /// Bytes in one row, 1 MB by default: of its text, or in a property list or JSON of its values and of their names,
  /// in which those of the containers around them count too.
  public var maximumRowLength = 1 << 20
  /// Fields kept of one row, 1,000 by default; those after them are passed over.
  public var maximumFieldCount = 1000
  /// Rows, those of all pages together, 100 million by default.
  public var maximumRowCount = 100_000_000
  /// Characters of a title and of a subtitle, 1,000 by default; longer ones are cut. Unicode scalars
  /// are held to four times as many.
  public var maximumTitleLength = 1000
  /// Bytes of a binary property list, which is read whole, 256 MB by default.
  public var maximumBinaryLength = 256 << 20
  /// Bytes of a list that is downloaded, 2 GB by default.
  public var maximumDownloadLength = 2 << 30

  /// Creates the default limits.
  public init() {}
}

/// A list's format.
public enum ImageListFormat: String, Hashable, Sendable, CaseIterable {
  /// An XML property list.
  case xmlPropertyList = "plist"
  /// A binary property list.
  case binaryPropertyList = "bplist"
  /// JSON: an array, or an object with an array in it.
  case json
  /// A JSON value a line.
  case jsonLines = "jsonl"
  /// Values with commas or semicolons between them, and a header (RFC 4180).
  case csv
  /// Values with tabs between them, and a header.
  case tsv
  /// An address a line, with a name behind a tab or not; `#` begins a comment.
  case text
}
