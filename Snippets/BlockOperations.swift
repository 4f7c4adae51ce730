// Block operations over a property list of apps: they look in the disk cache and decode, and wait for no network.
//   swift run BlockOperations http://localhost:8080/      (any server of the folder Examples)
import Calotype
import Foundation

@MainActor final class AppList {
  let memory = MemoryCache()
  let disk = DiskCache(configuration: .init(name: "snippets"))
  let queue = OperationQueue()
  var operations: [URL: DownloadOperation] = [:]
  func show(_ app: ImageListItem) {
    if memory.image(for: .init(app.url)) != nil { return print("memory", Escaping.displaySafe(app.title)) }
    print("placeholder", Escaping.displaySafe(app.title))
    guard operations[app.url] == nil else { return }  // One download an address.
    let url = app.url, download = DownloadOperation(downloading: ImageRequest(url: app.url))
    operations[url] = download
    let ask = BlockOperation { [disk, weak download] in if disk.data(for: url) != nil { download?.cancel() } }
    let finish = BlockOperation { [self] in
      let stored = disk.data(for: app.url)
      let image = (stored ?? download.original?.data).flatMap { try? ImageDecoder().decode($0) }
      if image != nil, let new = download.original { disk.store(new.data, for: app.url) }
      Task { @MainActor in
        guard operations[app.url] == download else { return }  // Cancelled, and perhaps asked for anew.
        operations[app.url] = nil  // So that a failure can be tried again.
        if let image { memory.store(image, for: .init(app.url)) }
        print(image == nil ? "failed" : stored == nil ? "network" : "disk", Escaping.displaySafe(app.title))
      }
    }
    download.addDependency(ask)
    finish.addDependency(download)
    queue.addOperations([ask, download, finish], waitUntilFinished: false)
  }
  func handleMemoryWarning() {
    memory.removeAll()
    // Not the blocks that wait for them: Foundation crashes where one of those is let go too early.
    operations.values.forEach { $0.cancel() }
    print("memory warning: \(operations.count) cancelled")
    operations = [:]
  }
}

guard let base = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
  print("usage: BlockOperations ADDRESS")
  exit(2)
}
let list = AppList()
let observation = MemoryPressureMonitor.shared.observe { Task { @MainActor in list.handleMemoryWarning() } }
let apps = try await ImageList(url: base.appending(path: "apps.plist")).items()
(list.queue.maxConcurrentOperationCount, list.queue.isSuspended) = (4, true)  // It scrolls.
apps.forEach(list.show)
list.handleMemoryWarning()  // As when the system warns.
list.queue.isSuspended = false
apps.forEach(list.show)
await list.queue.allOperationsFinished()
apps.forEach(list.show)  // What is there is shown from memory, what has failed is tried again.
await list.queue.allOperationsFinished()
list.handleMemoryWarning()
apps.forEach(list.show)  // From disk.
await list.queue.allOperationsFinished()
