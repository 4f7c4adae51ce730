// A download queue three wide over a service that gives its rows page by page. Each row is refreshed by itself,
// and the next page is asked for when the rows before it are nearly done.
//   swift run PagedDownloads http://localhost:8080/      (any server of the folder Examples)
import Calotype
import Foundation

// The delegate's calls come on the main actor, which the screen belongs to.
@MainActor final class Screen: @MainActor DownloadOperationDelegate {
  let queue = OperationQueue()
  var rows: [DownloadOperation: Int] = [:]
  private var waiting: CheckedContinuation<Void, Never>?

  init() { queue.maxConcurrentOperationCount = 3 }

  func append(_ item: ImageListItem, at row: Int) {
    print("row \(row): \(Escaping.displaySafe(item.title)), placeholder")
    let request = ImageRequest(url: item.url, targetSize: TargetSize(width: 48, height: 48))
    let download = DownloadOperation(request: request)
    download.delegate = self
    rows[download] = row
    queue.addOperation(download)
  }

  /// Returns when fewer than so many rows wait for their pictures.
  func untilFewer(than count: Int) async {
    while rows.count >= count { await withCheckedContinuation { waiting = $0 } }
  }

  func downloadOperation(_ operation: DownloadOperation, didFinishWith image: ImageContainer) {
    refresh(operation, with: "picture of \(image.bitmap.size)")
  }

  func downloadOperation(_ operation: DownloadOperation, didFailWith error: ImagePipeline.Error) {
    refresh(operation, with: "failed, \(error.code)")
  }

  private func refresh(_ operation: DownloadOperation, with what: String) {
    guard let row = rows.removeValue(forKey: operation) else { return }
    print("row \(row): \(what)")
    waiting?.resume()
    waiting = nil
  }
}

guard let base = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
  print("usage: PagedDownloads ADDRESS")
  exit(2)
}
let screen = Screen()
let pages = ImageListPages(address: "\(base)pages/{page}.json")
let list = ImageList(pages: pages, options: .init(itemsKeyPath: "data.list"))
var count = 0
for try await case .item(let item) in list {
  await screen.untilFewer(than: 6)
  count += 1
  screen.append(item, at: count)
}
await screen.untilFewer(than: 1)
