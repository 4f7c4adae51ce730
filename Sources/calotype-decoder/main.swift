import Calotype
import Foundation

// The helper that decodes pictures in a sandbox for programs that use the library. The program starts it by
// itself; it finds it beside its own executable, or where its configuration says.
DecodingWorkerProcess.runIfAsked(Array(CommandLine.arguments.dropFirst()))
FileHandle.standardError.write(
  Data("calotype-decoder \(CalotypeVersion.string) is started by programs that load pictures.\n".utf8))
exit(2)
