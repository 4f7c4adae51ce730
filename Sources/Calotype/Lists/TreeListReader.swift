/// Finds the rows in a property list or in JSON and gives them one at a time.
final class TreeListReader: ImageListReading {
  private let tokens: any TreeTokenizing
  private let name: String
  private let limits: ImageListLimits
  private let path: [String]?
  private let hasAddress: ([ImageListItem.Field]) -> Bool
  private var state = State.atStart
  private var row = 0
  /// The first row, read while looking for the rows.
  private var firstRow: ImageListRecord?
  private var arraysSeen: [String] = []

  private enum State { case atStart, inRows, ended }

  /// - Parameters:
  ///   - keyPath: Where the rows are; `nil` to look for them.
  ///   - hasAddress: Whether a row's fields hold a picture's address; asked of the first row of each array
  ///     met while looking.
  init(
    _ tokens: any TreeTokenizing, name: String, keyPath: String?, limits: ImageListLimits,
    hasAddress: @escaping ([ImageListItem.Field]) -> Bool
  ) {
    self.tokens = tokens
    self.name = name
    self.limits = limits
    self.hasAddress = hasAddress
    path = keyPath.map {
      $0.isEmpty ? [] : $0.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }
  }

  var isReady: Bool { tokens.isReady }

  func next() throws(ImageListError) -> ImageListRecord? {
    if state == .atStart {
      var hasRows = true
      if let path {
        try enter(path[...], walked: [])
      } else {
        hasRows = try findRows()
      }
      state = hasRows ? .inRows : .ended
    }
    if let first = firstRow {
      firstRow = nil
      return first
    }
    guard state == .inRows else { return nil }
    if let record = try readRow() { return record }
    state = .ended
    // What follows the rows is read for what is wrong with it: a list that is cut off is an error.
    try tokens.finish()
    return nil
  }

  // MARK: Finding the rows

  /// Follows a key path down to an array and enters it.
  private func enter(_ path: ArraySlice<String>, walked: [String]) throws(ImageListError) {
    let token = try tokens.next()
    guard let key = path.first else {
      if token == .beginArray { return }
      let what = Self.describe(token)
      let found =
        walked.isEmpty ? "the whole list is \(what)" : "\(walked.joined(separator: ".")) is \(what)"
      throw error("\(found), not an array of rows")
    }
    switch token {
    case .beginDictionary:
      while let next = try tokens.next(), next != .endDictionary {
        if next == .key(key) { return try enter(path.dropFirst(), walked: walked + [key]) }
        try skipValue(after: try tokens.next())
      }
    case .beginArray:
      guard var index = Int(key), index >= 0 else { break }
      while index > 0 {
        let next = try tokens.next()
        if next == .endArray { throw missing(walked + [key]) }
        try skipValue(after: next)
        index -= 1
      }
      return try enter(path.dropFirst(), walked: walked + [key])
    default: break
    }
    throw missing(walked + [key])
  }

  private func missing(_ walked: [String]) -> ImageListError {
    error("there is no \(walked.joined(separator: ".")) in it: name the rows' key path with --items")
  }

  /// The most pieces, and bytes of names, looked at for the rows: a binary property list can hold its own parts
  /// over and over.
  private static let longestSearch = 1_000_000, longestNames = 256 << 20

  /// Enters the top where it is an array, else the first array below whose first row has an address. Where all
  /// arrays are empty, as on the page behind a service's last, there are no rows.
  private func findRows() throws(ImageListError) -> Bool {
    switch try tokens.next() {
    case .beginArray: return true
    case .beginDictionary: break
    case let token:
      throw error(
        "the whole list is \(Self.describe(token)); an array of rows is needed, or a dictionary that holds one"
      )
    }
    var keys: [String] = []
    var depth = 1
    var hasRows = false
    var nameLength = 0
    for _ in 0..<Self.longestSearch where depth > 0 && nameLength <= Self.longestNames {
      switch try tokens.next() {
      case .key(let key):
        nameLength += key.utf8.count
        keys.removeLast(max(0, keys.count - (depth - 1)))
        keys.append(key)
      case .beginDictionary:
        if depth < 8 { depth += 1 } else { try tokens.skipContainer() }
      case .endDictionary:
        depth -= 1
      case .beginArray:
        if arraysSeen.count < 8 {
          arraysSeen.append(keys.map { String($0.prefix(100)) }.joined(separator: "."))
        }
        if let first = try readRow() {
          hasRows = true
          if case .fields(let fields, _) = first, hasAddress(fields), !isBareWord(fields) {
            firstRow = first
            return true
          }
          row = 0
          try tokens.skipContainer()
        }
      case nil: depth = 0
      default: break
      }
    }
    try tokens.finish()
    if !arraysSeen.isEmpty, !hasRows { return false }
    let seen =
      arraysSeen.isEmpty
      ? "it has no array" : "its arrays are \(arraysSeen.joined(separator: ", "))"
    throw ImageListError(
      list: name, reason: "no rows with an address were found (\(seen)): name the rows' key path with --items"
    )
  }

  /// Whether a row is a text alone that is no address, such as a tag.
  private func isBareWord(_ fields: [ImageListItem.Field]) -> Bool {
    fields.first?.name == Self.bareAddress && fields.first?.value.contains("/") == false
  }

  private func skipValue(after token: TreeToken?) throws(ImageListError) {
    if token == .beginArray || token == .beginDictionary { try tokens.skipContainer() }
  }

  /// The next element of the array that has been entered; `nil` at its end.
  private func readRow() throws(ImageListError) -> ImageListRecord? {
    guard let record = try Self.readRow(tokens, limits: limits, row: row + 1) else { return nil }
    row += 1
    return record
  }

  private func error(_ reason: String) -> ImageListError {
    ImageListError(list: name, place: tokens.place, reason: reason)
  }
}
