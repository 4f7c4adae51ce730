// A concurrent operation with its whole state machine, on a queue two wide. It goes on after `start` has returned
// and holds no thread. (`AsynchronousOperation` is this state machine, ready to be subclassed.)
//   swift run ConcurrentOperation http://localhost:8080/      (any server of the folder Examples)
import Calotype
import Foundation

final class PictureOperation: Operation, @unchecked Sendable {  // Sound: what changes is behind the lock.
  private enum Phase { case waiting, executing, finished }
  private let lock = NSLock()
  private var phase = Phase.waiting
  private var task: ImageTask?
  let url: URL
  init(url: URL) { self.url = url }

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool { lock.withLock { phase == .executing } }
  override var isFinished: Bool { lock.withLock { phase == .finished } }

  /// The queue listens for these posts and for nothing else: without them the operation's place is lost for ever.
  private func enter(_ next: Phase, posting keys: String...) {
    for key in keys { willChangeValue(forKey: key) }
    lock.withLock { phase = next }
    for key in keys { didChangeValue(forKey: key) }
  }

  override func start() {
    // What was cancelled in the queue is started all the same, and has to say that it is finished.
    guard !isCancelled else { return enter(.finished, posting: "isFinished") }
    enter(.executing, posting: "isExecuting")
    let task = ImagePipeline.shared.task(for: url)
    lock.withLock { self.task = task }
    if isCancelled { task.cancel() }  // It may have been cancelled since the first look.
    Task {
      do {
        print("loaded", url.lastPathComponent, try await task.response.image.size)
      } catch {
        print("failed", error)
      }
      enter(.finished, posting: "isExecuting", "isFinished")
    }
  }
  override func cancel() {
    super.cancel()
    lock.withLock { task }?.cancel()  // Its error ends the operation, above.
  }
}

guard let base = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
  print("usage: ConcurrentOperation ADDRESS")
  exit(2)
}
let queue = OperationQueue()
queue.maxConcurrentOperationCount = 2
for name in ["computer", "folder", "printer", "user-home"] {
  let operation = PictureOperation(url: base.appending(path: "icons/\(name).png"))
  if name == "printer" { operation.cancel() }  // Before its turn. The one behind it gets its place.
  queue.addOperation(operation)
}
await queue.allOperationsFinished()
