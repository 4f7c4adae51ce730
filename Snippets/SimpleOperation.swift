// A list of icons on simple operations:  swift run SimpleOperation http://localhost:8080/  (serves Examples)
import Calotype
import Foundation

// It holds a thread while it downloads: a wide queue of it takes those of all queues. ConcurrentOperation does not.
final class IconOperation: Operation, @unchecked Sendable {
  static let disk = DiskCache(configuration: .init(name: "snippets"))
  let download: DownloadOperation
  @MainActor weak var delegate: IconList?
  init(url: URL) { download = DownloadOperation(downloading: ImageRequest(url: url)) }
  override func main() {  // Looks at `isCancelled` between the steps.
    let url = download.request.url
    let stored = Self.disk.data(for: url)  // The wait below has an end: a download that stalls fails.
    if stored == nil { OperationQueue().addOperations([download], waitUntilFinished: true) }
    if isCancelled { return }
    let image = (stored ?? download.original?.data).flatMap { try? ImageDecoder().decode($0) }
    if isCancelled { return }
    if image != nil, let new = download.original { Self.disk.store(new.data, for: url) }
    Task { @MainActor in delegate?.show(image, for: url, from: stored == nil ? "network" : "disk") }
  }
  override func cancel() {
    super.cancel()
    download.cancel()  // So that `main` does not wait, or not any longer.
  }
}

@MainActor final class IconList {
  let memory = MemoryCache()
  let queue = OperationQueue()
  var operations: [URL: IconOperation] = [:]
  func show(_ url: URL) {
    if memory.image(for: .init(url)) != nil { return print("memory", url.lastPathComponent) }
    print("placeholder", url.lastPathComponent)
    guard operations[url] == nil else { return }  // One download an address, however many rows show it.
    let operation = IconOperation(url: url)
    (operation.delegate, operations[url]) = (self, operation)
    queue.addOperation(operation)
  }
  func show(_ image: ImageContainer?, for url: URL, from source: String) {
    operations[url] = nil  // So that a failure can be tried again.
    if let image { memory.store(image, for: .init(url)) }
    print(image == nil ? "failed" : source, url.lastPathComponent)
  }
}

guard let base = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
  print("usage: SimpleOperation ADDRESS")
  exit(2)
}
let icons = ["computer", "folder", "computer", "printer"].map { base.appending(path: "icons/\($0).png") }
let list = IconList()
(list.queue.maxConcurrentOperationCount, list.queue.isSuspended) = (2, true)  // The list is scrolling.
for icon in icons { list.show(icon) }
list.operations.removeValue(forKey: icons[3])?.cancel()  // A row that has scrolled away before its turn.
list.queue.isSuspended = false  // It has come to rest.
await list.queue.allOperationsFinished()
list.memory.remove(.init(icons[1]))
for icon in icons[..<2] { list.show(icon) }
await list.queue.allOperationsFinished()
