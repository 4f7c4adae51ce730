import Calotype
import Foundation

// A reader that goes away ends what is written to it, not the program.
signal(SIGPIPE, SIG_IGN)
exit(await Tool.run(Array(CommandLine.arguments.dropFirst())))
