import Calotype
import Dispatch
import Foundation

// A reader that goes away ends what is written to it, not the program.
signal(SIGPIPE, SIG_IGN)
let arguments = Array(CommandLine.arguments.dropFirst())
// What can be said at once is said before any thread is started.
if let status = Tool.version(arguments) { exit(status) }
Task { exit(await Tool.run(arguments)) }
dispatchMain()
