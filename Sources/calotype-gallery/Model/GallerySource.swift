import Calotype
import Foundation

/// Where a list comes from.
enum GallerySource: Hashable, Sendable {
  /// A file on this computer, by its path.
  case file(String)
  /// A list at an address.
  case address(URL)
  /// A service that gives its list page by page; the template has `{page}` in it.
  case pages(template: String, first: Int)

  /// The list that comes with the program; `nil` where it is not installed.
  static var bundled: GallerySource? { ProgramFiles.bundledList.map { .file($0) } }

  /// What an argument or a typed address means; `nil` where it is neither a file nor an address.
  ///
  /// - Parameter folder: What a relative path is relative to.
  init?(_ text: String, folder: String = FileManager.default.currentDirectoryPath) {
    let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
      .replacingOccurrences(of: "%7Bpage%7D", with: "{page}", options: .caseInsensitive)
    guard !text.isEmpty else { return nil }
    if text.lowercased().hasPrefix("http://") || text.lowercased().hasPrefix("https://") {
      if let pages = Self.pages(text) {
        self = pages
      } else if let url = URL(string: text), url.host?.isEmpty == false {
        self = .address(url)
      } else {
        return nil
      }
    } else if text.lowercased().hasPrefix("file:") {
      guard let url = URL(string: text), url.isFileURL, !url.path.isEmpty else { return nil }
      self = .file(url.path)
    } else if text.contains("://") {
      return nil
    } else {
      self = .file(
        URL(fileURLWithPath: text, relativeTo: URL(fileURLWithPath: folder, isDirectory: true))
          .standardizedFileURL.path)
    }
  }

  /// A paged service, by `{page}` or by a number that the address gives for `page`.
  private static func pages(_ text: String) -> GallerySource? {
    if text.contains("{page}") { return .pages(template: text, first: 1) }
    guard let match = text.firstMatch(of: /([?&]page=)(\d{1,9})(?=&|#|$)/), let first = Int(match.2) else {
      return nil
    }
    return .pages(
      template: text.replacingCharacters(in: match.2.startIndex..<match.2.endIndex, with: "{page}"),
      first: first)
  }

  var isPaged: Bool { if case .pages = self { true } else { false } }
  /// Whether a server has to be asked for the list itself.
  var isRemote: Bool { if case .file = self { false } else { true } }

  /// The whole of it, to show.
  var text: String {
    switch self {
    case .file(let path): path
    case .address(let url): url.absoluteString
    case .pages(let template, _): template
    }
  }

  /// A short name for a window's title.
  var title: String {
    switch self {
    case .file(let path):
      return self == Self.bundled ? tr("Bundled list") : URL(fileURLWithPath: path).lastPathComponent
    case .address(let url):
      let name = url.lastPathComponent
      return name.isEmpty || name == "/" ? url.host ?? url.absoluteString : name
    case .pages(let template, _):
      guard let url = URL(string: template.replacingOccurrences(of: "{page}", with: "1")) else {
        return template
      }
      return url.host ?? template
    }
  }

  /// The list as the library reads it; of a paged service one page, which is tried twice.
  func list(page: Int?) -> ImageList {
    switch self {
    case .file(let path):
      // What a list gives relative addresses for lies beside it.
      var options = ImageListOptions()
      options.baseURL = URL(fileURLWithPath: path)
      return ImageList(path: path, options: options)
    case .address(let url): return ImageList(url: url)
    case .pages(let template, let first):
      let page = page ?? first
      return ImageList(
        pages: ImageListPages(address: template, firstPage: page, lastPage: page, maximumTries: 2))
    }
  }
}
