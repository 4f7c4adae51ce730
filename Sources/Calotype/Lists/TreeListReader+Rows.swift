/// A row of a tree.
extension TreeListReader {
  /// The field's name where a row is an address alone.
  static let bareAddress = ""

  /// Reads a row that stands alone.
  static func readRow(
    _ tokens: any TreeTokenizing, limits: ImageListLimits, at place: ImageListPlace
  ) throws(ImageListError) -> ImageListRecord? {
    try readRow(tokens, limits: limits, row: place.row)
  }

  /// Reads the next element of an array as a row; `nil` at the array's end.
  static func readRow(
    _ tokens: any TreeTokenizing, limits: ImageListLimits, row: Int?
  ) throws(ImageListError) -> ImageListRecord? {
    let token = try tokens.next()
    if token == .endArray || token == nil { return nil }
    var place = tokens.place
    place.row = row
    switch token {
    case .scalar(let text): return .fields([.init(name: bareAddress, value: text)], at: place)
    case .beginDictionary, .beginArray:
      var fields: [ImageListItem.Field] = []
      var problem: String?
      try flatten(tokens, token == .beginArray, limits: limits, into: &fields, problem: &problem)
      if let problem { return .unreadable(problem, at: place) }
      return .fields(fields, at: place)
    case .unusable(let reason): return .unreadable(reason, at: place)
    default: return .unreadable("is \(describe(token)), not a dictionary or an address", at: place)
    }
  }

  private static let deepestField = 12

  /// Reads a row's fields up to the row's end; nested names are joined with dots, array elements by index. What
  /// the row has become, names and values, may be as long as a row of text: a binary property list can hold one
  /// long value over and over, and each name of a container is part of the names of all that is in it.
  private static func flatten(
    _ tokens: any TreeTokenizing, _ isArray: Bool, limits: ImageListLimits,
    into fields: inout [ImageListItem.Field], problem: inout String?
  ) throws(ImageListError) {
    /// The open containers: the name that leads to each, and the index where it is an array.
    var open: [(prefix: String, index: Int?)] = [("", isArray ? 0 : nil)]
    var key = "", pieces = 0, length = 0
    func giveUp() throws(ImageListError) {
      for _ in open { try tokens.skipContainer() }
    }
    while let last = open.last {
      let token = try tokens.next()
      if case .key(let text) = token {
        length += text.utf8.count
        if length <= limits.maximumRowLength {
          key = last.prefix.isEmpty ? text : "\(last.prefix).\(text)"
        }
        continue
      }
      if token == .endArray || token == .endDictionary || token == nil {
        open.removeLast()
        continue
      }
      if let index = last.index {
        key = last.prefix.isEmpty ? "\(index)" : "\(last.prefix).\(index)"
        open[open.count - 1].index = index + 1
      }
      length += last.prefix.utf8.count
      if case .scalar(let text) = token { length += text.utf8.count }
      guard length <= limits.maximumRowLength else {
        problem = problem ?? RowText.tooLong(limits)
        if token == .beginArray || token == .beginDictionary { try tokens.skipContainer() }
        return try giveUp()
      }
      switch token {
      case .scalar(let text):
        if !text.isEmpty { fields.append(.init(name: key, value: text)) }
      case .beginArray, .beginDictionary:
        if open.count < deepestField {
          open.append((key, token == .beginArray ? 0 : nil))
        } else {
          try tokens.skipContainer()
        }
      case .unusable(let reason): problem = problem ?? "its \(key.prefix(100)) \(reason)"
      default: break
      }
      // Also containers without a value count: in a binary property list one may hold others without end.
      pieces += 1
      if fields.count >= limits.maximumFieldCount || pieces >= limits.maximumFieldCount * 16 {
        return try giveUp()
      }
    }
  }

  static func describe(_ token: TreeToken?) -> String {
    switch token {
    case .beginArray: "an array"
    case .beginDictionary: "a dictionary"
    case .scalar, .unusable: "a single value"
    case .nothing: "null"
    default: "empty"
    }
  }
}
