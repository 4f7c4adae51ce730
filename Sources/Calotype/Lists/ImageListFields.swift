import Foundation

/// Gives a row's fields their meaning: which is the title, which the subtitle, which the address.
struct ImageListFields {
  private enum Role: Int { case title, subtitle, image }
  private struct Meaning {
    var role: Role
    var rank: Int
  }

  private let titleKey: String?, subtitleKey: String?, imageKey: String?
  private let baseURL: URL?
  private let listName: String
  private let maximumTitleLength: Int
  /// Whether a row had the field that was named for the title.
  private(set) var hasMetTitleKey = false
  /// What each name means that has been met, since the same names come in every row.
  private var meanings: [String: Meaning?] = [:]

  init(_ options: ImageListOptions, listName: String, listURL: URL? = nil) {
    titleKey = options.titleKey
    subtitleKey = options.subtitleKey
    imageKey = options.imageKey
    baseURL = options.baseURL ?? listURL
    self.listName = listName
    maximumTitleLength = options.limits.maximumTitleLength
  }

  /// Whether a row has a field that an address can be in.
  func hasAddress(_ fields: [ImageListItem.Field]) -> Bool {
    var copy = self
    return copy.choose(fields)[Role.image.rawValue] != nil
  }

  /// The row for a record.
  mutating func row(_ record: ImageListRecord, page: Int? = nil) -> ImageListRow {
    switch record {
    case .unreadable(let reason, var place):
      place.page = page
      return .problem(ImageListProblem(list: listName, place: place, reason: reason))
    case .fields(let fields, var place):
      place.page = page
      return row(fields, at: place)
    }
  }

  private mutating func row(_ fields: [ImageListItem.Field], at place: ImageListPlace) -> ImageListRow {
    let chosen = choose(fields)
    func problem(_ reason: String) -> ImageListRow {
      .problem(ImageListProblem(list: listName, place: place, reason: reason))
    }
    guard let image = chosen[Role.image.rawValue] else {
      guard !fields.isEmpty else { return problem("has no address: it is empty, or all its values are") }
      let names = fields.prefix(8).map { shown($0.name).prefix(40) }.joined(separator: ", ")
      if let imageKey { return problem("has no \(imageKey) (its fields with a value are: \(names))") }
      return problem(
        "has no address (its fields with a value are: \(names)); name the address's field with --image-key")
    }
    let address = fields[image].value.trimmingWhitespace()
    guard !address.isEmpty else { return problem("its address is empty") }
    guard let url = URL(string: address, relativeTo: baseURL)?.absoluteURL else {
      return problem("\(shown(address)) is not an address")
    }
    guard url.scheme != nil else {
      return problem(
        "\(shown(address)) is a relative address, and the list has no address of its own: give --base-url"
      )
    }
    let title = chosen[Role.title.rawValue].map { fields[$0].value } ?? ""
    let used = chosen.compactMap { $0 }
    return .item(
      ImageListItem(
        title: cut(title.isEmpty ? Self.title(of: url) : title),
        subtitle: chosen[Role.subtitle.rawValue].map { cut(fields[$0].value) }, url: url,
        fields: fields.count == used.count
          ? [] : fields.enumerated().filter { !used.contains($0.offset) }.map(\.element),
        place: place))
  }

  private func shown(_ address: String) -> Substring { Escaping.address(address).prefix(200) }

  private func cut(_ text: String) -> String {
    // Most are far shorter; counting characters is slow.
    guard text.utf8.count > maximumTitleLength else { return text }
    // One character may be of any number of scalars, so that these are held to a length as well.
    let mostScalars = max(0, maximumTitleLength) * 4
    let scalars = text.unicodeScalars.prefix(mostScalars)
    let isCut = scalars.endIndex < text.endIndex
    let start = isCut ? String(scalars) : text
    guard isCut || start.count > maximumTitleLength else { return text }
    return start.prefix(max(0, maximumTitleLength - 1)) + "…"
  }

  /// The last part of an address, without its extension: a name where a list gives none.
  static func title(of url: URL) -> String {
    let text = url.absoluteString
    if Escaping.isDataAddress(text) { return Escaping.dataAddressName(text) }
    let last = url.path.split(separator: "/").last.map(String.init) ?? url.host ?? Escaping.address(text)
    guard let dot = last.lastIndex(of: "."), dot > last.startIndex,
      last.distance(from: dot, to: last.endIndex) <= 6
    else { return last }
    return String(last[..<dot])
  }

  /// The index of the field for each role.
  private mutating func choose(_ fields: [ImageListItem.Field]) -> [Int?] {
    var chosen: [Int?] = [nil, nil, nil]
    var ranks = [Int.max, Int.max, Int.max]
    for (index, field) in fields.enumerated() {
      guard let meaning = meaning(of: field.name) else { continue }
      if meaning.role == .title, meaning.rank == 0 { hasMetTitleKey = true }
      let role = meaning.role.rawValue
      if meaning.rank < ranks[role] {
        ranks[role] = meaning.rank
        chosen[role] = index
      }
    }
    return chosen
  }

  private mutating func meaning(of name: String) -> Meaning? {
    if let known = meanings[name] { return known }
    let found = findMeaning(of: name)
    // A hostile list has new names in every row, and long ones.
    if meanings.count < 10_000, name.utf8.count <= 200 { meanings[name] = .some(found) }
    return found
  }

  private func findMeaning(of name: String) -> Meaning? {
    if name == TreeListReader.bareAddress { return Meaning(role: .image, rank: 500) }
    if name == imageKey { return Meaning(role: .image, rank: 0) }
    if name == titleKey { return Meaning(role: .title, rank: 0) }
    if name == subtitleKey { return Meaning(role: .subtitle, rank: 0) }
    let parts = name.split(separator: ".").filter { Int($0) == nil }
    guard let last = parts.last else { return nil }
    let word = last.lowercased().filter { $0 != "_" && $0 != "-" && $0 != " " }
    // A nested name counts less than any at the row's own level.
    let nested = (parts.count - 1) * 1000
    for (role, names, given) in [
      (Role.image, Self.imageNames, imageKey), (.title, Self.titleNames, titleKey),
      (.subtitle, Self.subtitleNames, subtitleKey),
    ] where given == nil {
      if let rank = names.firstIndex(of: word) { return Meaning(role: role, rank: rank + 1 + nested) }
    }
    return nil
  }

  /// The usual names, the surest first.
  private static let imageNames = [
    "icon", "image", "photo", "picture", "avatar", "img", "pic", "thumbnail", "thumb", "logo", "poster",
    "cover",
    "artwork", "iconurl", "imageurl", "photourl", "pictureurl", "avatarurl", "imgurl", "picurl",
    "thumbnailurl",
    "thumburl", "logourl", "coverurl", "posterurl", "imagelink", "icons", "images", "photos", "pictures",
    "thumbnails", "src", "downloadurl", "fileurl", "url", "uri", "link", "href", "address", "图片", "图标", "头像",
    "地址",
  ]
  private static let titleNames = [
    "name", "title", "nickname", "nick", "label", "displayname", "appname", "fullname", "username", "caption",
    "heading", "filename", "alt", "名称", "名字", "姓名", "昵称", "标题",
  ]
  private static let subtitleNames = [
    "subtitle", "download", "downloads", "downloadcount", "installs", "description", "desc", "summary",
    "comment",
    "detail", "details", "text", "count", "size", "author", "category", "下载", "下载量", "描述", "简介",
  ]
}
