import Calotype
import Foundation

/// A list as a window shows it: rows that come in, a search, an order, pages.
@MainActor
final class GalleryModel {
  /// How far the list has been read.
  enum State {
    /// The first rows are on their way.
    case loading
    /// There are rows, or it is known that there are none; more may be coming.
    case ready
    /// It cannot be read, and nothing of it is there.
    case failed(ImageListError)
  }

  /// How it stands with the next page of a paged list.
  enum Paging {
    /// The list has no pages, or no more.
    case none
    /// The page with this number comes next.
    case next(Int)
    case loading(Int)
    case failed(Int, ImageListError)
  }

  /// What has changed.
  enum Change {
    /// So many rows were added at the end of what is shown.
    case appended(Int)
    /// Other rows are shown.
    case replaced
    /// How far the list or its next page has come.
    case state
  }

  let source: GallerySource
  private(set) var state = State.loading
  private(set) var paging = Paging.none
  /// Rows that give no picture.
  private(set) var problems: [ImageListProblem] = []
  /// Whether rows of a list without pages still come.
  private(set) var isReading = false
  /// When the list that is shown was had, where the server could not be asked now.
  private(set) var storedDate: Date?
  /// What went wrong after rows had come, or with the server whose stored list is shown.
  private(set) var failure: ImageListError?

  var onChange: (@MainActor (Change) -> Void)?

  /// What is shown of the list.
  var query = RowQuery() {
    didSet { if query != oldValue { queryChanged() } }
  }

  private var items: [ImageListItem] = []
  /// The places of the rows that are shown; `nil` for all of them as they are.
  private var order: [Int32]?
  private let index = RowIndex()
  private let storedLists: StoredLists
  private var reading: Task<Void, Never>?
  private var selecting: Task<Void, Never>?
  private var needsSelecting = false

  init(_ source: GallerySource, storedLists: StoredLists) {
    self.source = source
    self.storedLists = storedLists
  }

  isolated deinit {
    reading?.cancel()
    selecting?.cancel()
  }

  // MARK: Rows

  /// How many rows are shown.
  var count: Int { order?.count ?? items.count }
  /// How many rows there are.
  var totalCount: Int { items.count }

  /// The row at a place of what is shown.
  func item(at position: Int) -> ImageListItem? {
    let place = order.map { $0.indices.contains(position) ? Int($0[position]) : -1 } ?? position
    return items.indices.contains(place) ? items[place] : nil
  }

  /// Where an address is shown.
  func position(of url: URL) -> Int? { (0..<count).first { item(at: $0)?.url == url } }

  // MARK: Reading

  /// Begins to read, from the server or, off-line, from what was kept.
  ///
  /// - Parameter headStart: The reading of this list, where that has begun already.
  func load(offline: Bool, headStart: ListReading? = nil) {
    reading?.cancel()
    isReading = true
    reading = Task { [weak self] in
      if offline, self?.source.isRemote == true, await self?.showStored(because: nil) == true {
        self?.isReading = false
        self?.onChange?(.state)
      } else {
        await self?.readFirst(headStart)
      }
    }
  }

  /// Loads the next page, if there is one and it is not under way.
  func loadNextPage() {
    guard case .next(let page) = paging else { return }
    load(page: page)
  }

  /// Tries the page again that has failed.
  func retryPage() {
    guard case .failed(let page, _) = paging else { return }
    load(page: page)
  }

  private func readFirst(_ headStart: ListReading?) async {
    guard case .pages(_, let first) = source else {
      let result = await take(all: headStart ?? ListReading(source, page: nil))
      guard !Task.isCancelled else { return }
      isReading = false
      switch result {
      case .success:
        state = .ready
        keep()
      case .failure(let error): await failed(error)
      }
      onChange?(.state)
      return
    }
    await read(page: first, isFirst: true, headStart)
  }

  private func load(page: Int) {
    paging = .loading(page)
    onChange?(.state)
    reading = Task { [weak self] in await self?.read(page: page, isFirst: false) }
  }

  private func read(page: Int, isFirst: Bool, _ headStart: ListReading? = nil) async {
    if isFirst { paging = .loading(page) }
    let result = await take(all: headStart ?? ListReading(source, page: page))
    guard !Task.isCancelled else { return }
    isReading = false
    switch result {
    case .success(let count):
      state = .ready
      // A page without rows is the one behind the last.
      paging = count > 0 ? .next(page + 1) : .none
      if count > 0 { keep() }
    case .failure(let error) where isFirst && items.isEmpty:
      paging = .none
      await failed(error)
    case .failure(let error): paging = .failed(page, error)
    }
    onChange?(.state)
  }

  private func take(all reading: ListReading) async -> Result<Int, ImageListError> {
    for await portion in reading.portions { await take(portion) }
    return await reading.result
  }

  private func failed(_ error: ImageListError) async {
    failure = error
    if items.isEmpty, source.isRemote, await showStored(because: error) { return }
    state = items.isEmpty ? .failed(error) : .ready
  }

  /// Shows the list as it was last seen. Returns whether there was one.
  private func showStored(because error: ImageListError?) async -> Bool {
    guard let stored = await storedLists.load(source), !Task.isCancelled else { return false }
    storedDate = stored.date
    failure = error
    state = .ready
    await take(ListReading.Portion(items: stored.items))
    return true
  }

  private func keep() {
    guard source.isRemote, !items.isEmpty else { return }
    let (items, source, storedLists) = (items, source, storedLists)
    Task.detached(priority: .utility) { await storedLists.store(items, of: source) }
  }

  private func take(_ portion: ListReading.Portion) async {
    guard !Task.isCancelled else { return }
    items += portion.items
    problems += portion.problems
    if !items.isEmpty { state = .ready }
    if query.isPlain, selecting == nil {
      order = nil
      if !portion.items.isEmpty { onChange?(.appended(portion.items.count)) }
      onChange?(.state)
    }
    await index.append(portion.items)
    if !query.isPlain, !Task.isCancelled { select() }
  }

  // MARK: Searching

  private func queryChanged() {
    if query.isPlain, selecting == nil {
      guard order != nil else { return }
      order = nil
      onChange?(.replaced)
    } else {
      select()
    }
  }

  /// Asks for the rows that are wanted. While an answer is on its way the latest wish waits, and no other.
  private func select() {
    guard selecting == nil else {
      needsSelecting = true
      return
    }
    let (query, index) = (query, index)
    selecting = Task { [weak self] in
      let found = query.isPlain ? nil : await index.select(query)
      guard !Task.isCancelled, let self else { return }
      selecting = nil
      order = found
      onChange?(.replaced)
      if needsSelecting {
        needsSelecting = false
        select()
      }
    }
  }
}
