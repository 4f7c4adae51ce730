import Foundation

/// A service that gives a list page by page, such as `https://example.com/apps?page={page}`.
public struct ImageListPages: Hashable, Sendable {
  /// The address of a page, with `{page}` in the number's place.
  public var address: String
  /// The first page's number, 1 by default.
  public var firstPage: Int
  /// The last page to ask for; `nil` to go on until a page has no rows.
  public var lastPage: Int?
  /// How often a page is asked for before it is given up, 3 by default. What another try does not change, such as
  /// a page that is not there, is asked for once.
  public var maximumTries: Int
  /// Headers to send, to the pages' own origin alone.
  public var headers: HTTPHeaders

  /// Creates a paged list.
  public init(
    address: String, firstPage: Int = 1, lastPage: Int? = nil, maximumTries: Int = 3,
    headers: HTTPHeaders = []
  ) {
    self.address = address
    self.firstPage = firstPage
    self.lastPage = lastPage
    self.maximumTries = maximumTries
    self.headers = headers
  }

  /// Downloads a page and opens it.
  func open(
    _ page: Int, transport: any HTTPTransport, options: ImageListOptions
  ) async throws(ImageListError) -> ImageListCursor {
    guard address.contains("{page}") else {
      throw ImageListError(
        list: Escaping.address(address), reason: "has no {page} in it, where the page's number is to stand")
    }
    guard let url = URL(string: address.replacingOccurrences(of: "{page}", with: String(page))),
      url.scheme != nil
    else { throw ImageListError(list: Escaping.address(address), reason: "is not an absolute address") }
    let name = url.displayText
    let download = try await ImageListDownload.download(
      url, name: name, place: ImageListPlace(page: page), headers: headers, transport: transport,
      limit: options.limits.maximumDownloadLength, maximumTries: maximumTries)
    return ImageListCursor(
      ImageListFields(options, listName: name, listURL: download.url), page: page,
      source: { download.source }, name: name, options: options)
  }
}
