import Foundation

/// One picture of a list: a name, an address, and what else the list says of it.
public struct ImageListItem: Hashable, Sendable {
  /// A further field of the row: its name, with dots between the levels where it was nested, and its value.
  public struct Field: Hashable, Sendable {
    /// The name as the list has it.
    public var name: String
    /// The value as text.
    public var value: String

    /// Creates a field.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The name; where the list gives none, the last part of the address without its extension.
  public var title: String
  /// The second line, such as a count of downloads, or `nil`.
  public var subtitle: String?
  /// The picture's absolute address.
  public var url: URL
  /// The row's other fields, in the list's order.
  public var fields: [Field]
  /// Where in the list it stands.
  public var place: ImageListPlace

  /// Creates an item.
  public init(
    title: String, subtitle: String? = nil, url: URL, fields: [Field] = [], place: ImageListPlace = .init()
  ) {
    self.title = title
    self.subtitle = subtitle
    self.url = url
    self.fields = fields
    self.place = place
  }
}

/// What a list gives for each of its rows.
public enum ImageListRow: Hashable, Sendable {
  /// A picture.
  case item(ImageListItem)
  /// A row that gives no picture, and why. The rows after it are read all the same.
  case problem(ImageListProblem)
}

/// Where in a list something stands; counted from 1.
public struct ImageListPlace: Hashable, Sendable, CustomStringConvertible {
  /// The page, in a paged list.
  public var page: Int?
  /// The row among the list's rows.
  public var row: Int?
  /// The line, in a list that is text.
  public var line: Int?
  /// The byte, in a list that is not.
  public var byte: Int?

  /// Creates a place.
  public init(page: Int? = nil, row: Int? = nil, line: Int? = nil, byte: Int? = nil) {
    self.page = page
    self.row = row
    self.line = line
    self.byte = byte
  }

  /// For example `page 2, row 7, line 12`; empty where nothing is known.
  public var description: String {
    let parts = [("page", page), ("row", row), ("line", line), ("byte", byte)]
    return parts.compactMap { name, number in number.map { "\(name) \($0)" } }.joined(separator: ", ")
  }
}

/// Why a row gives no picture.
public struct ImageListProblem: Swift.Error, Hashable, Sendable, CustomStringConvertible {
  /// The list's name.
  public var list: String
  /// The row.
  public var place: ImageListPlace
  /// What is wrong with it.
  public var reason: String

  /// Creates a problem.
  public init(list: String, place: ImageListPlace, reason: String) {
    self.list = list
    self.place = place
    self.reason = reason
  }

  /// The list, the place and the reason.
  public var description: String { ImageListError(list: list, place: place, reason: reason).description }
}

/// Why a list cannot be read, or not further.
public struct ImageListError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
  /// The list's name: its path, its address, or `standard input`.
  public var list: String
  /// Where in the list, or an empty place where it is the list as a whole.
  public var place: ImageListPlace
  /// What is wrong, and what can be done.
  public var reason: String

  /// Creates an error.
  public init(list: String, place: ImageListPlace = .init(), reason: String) {
    self.list = list
    self.place = place
    self.reason = reason
  }

  /// The list, the place and the reason; safe to print.
  public var description: String {
    let place = self.place.description
    return Escaping.displaySafe(place.isEmpty ? "\(list): \(reason)" : "\(list): \(place): \(reason)")
  }
}
