import CLateToolLibraries
import Calotype
import Foundation

/// A library that only some commands need, and that is loaded by those alone.
enum ToolLibrary {
  case cairo, crypto

  /// Makes the library's functions callable; any number of times.
  func load() throws(Failure) {
    guard var problem = tryToLoad() else { return }
    if DescriptorShortage.isThere {
      DescriptorShortage.waitForOne()
      guard let second = tryToLoad() else { return }
      problem = DescriptorShortage.isThere ? systemMessage(EMFILE) : second
    }
    throw Failure(problem, code: "unavailable")
  }

  private func tryToLoad() -> String? {
    let problem =
      switch self {
      case .cairo: calotype_load_cairo()
      case .crypto: calotype_load_crypto()
      }
    return problem.map { String(cString: $0) }
  }
}
