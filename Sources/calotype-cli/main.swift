import Calotype
import Dispatch
import Foundation

Terminal.keepDescriptors()
let arguments = Array(CommandLine.arguments.dropFirst())
// The tool is its own sandboxed decoder; that has to be one before anything else happens in it.
DecodingWorkerProcess.runIfAsked(arguments)
// A reader that goes away ends what is written to it, not the program.
signal(SIGPIPE, SIG_IGN)
let bytes = (1..<max(1, Int(CommandLine.argc))).compactMap { index in
  CommandLine.unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
}
if let status = Tool.refusal(bytes) { exit(status) }
// What can be said at once is said before any thread is started.
if let status = Tool.version(arguments) { exit(status) }
Task {
  let status = await Tool.run(arguments)
  let error = Terminal.outputError.load(ordering: .relaxed)
  if error != 0 {
    Terminal.standardError.line("calotype: standard output: \(OutputFolder.message(error))")
  }
  // Not `exit`: libraries take their memory apart there, libcrypto among them, while other threads are still at
  // work, and about one run in two thousand on a busy machine ended in a damaged heap.
  fflush(nil)
  _exit(status == 0 && error != 0 ? 1 : status)
}
dispatchMain()
