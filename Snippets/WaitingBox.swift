// One large picture, and a waiting box in the terminal until it is there: a spinner, a bar and a percentage; a
// pulse where the server does not say how long the picture is; the error's message; Ctrl-C cancels.
//   swift run WaitingBox http://localhost:8080/large.jpg
import Calotype
import Foundation

@MainActor final class WaitingBox {
  let label: String
  private var turn = 0
  var progress = ImageTask.Progress(completed: 0, total: nil)

  init(label: String) { self.label = Escaping.displaySafe(label) }

  func draw() {
    turn += 1
    let spinner = ["|", "/", "-", "\\"][turn % 4]
    let width = 30
    var bar = [Character](repeating: "-", count: width)
    var figure = "\(progress.completed / 1024) KB"
    if let fraction = progress.fraction {
      for at in 0..<Int(fraction * Double(width)) { bar[at] = "#" }
      figure += ", \(Int(fraction * 100)) %"
    } else {
      for at in 0..<5 { bar[(turn + at) % width] = "#" }
    }
    say("\(spinner) \(label) [\(String(bar))] \(figure)")
  }

  /// Writes over the line that is there.
  func say(_ text: String, end: String = "") {
    FileHandle.standardOutput.write(Data("\r\u{1B}[K\(text)\(end)".utf8))
  }
}

guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
  print("usage: WaitingBox ADDRESS")
  exit(2)
}
let box = WaitingBox(label: url.lastPathComponent)
let task = ImagePipeline.shared.task(for: url)
signal(SIGINT, SIG_IGN)
let interruption = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
interruption.setEventHandler { task.cancel() }
interruption.resume()
let spinning = Task {
  while !Task.isCancelled {
    box.draw()
    try? await Task.sleep(for: .milliseconds(100))
  }
}
for await progress in task.progress { box.progress = progress }  // Ends with the task.
spinning.cancel()
do {
  let response = try await task.response
  box.say("\(box.label): \(response.image.size), from the \(response.source)", end: "\n")
} catch {
  box.say(error.isCancelled ? "cancelled" : "\(error)", end: "\n")
  exit(error.isCancelled ? 130 : 1)
}
