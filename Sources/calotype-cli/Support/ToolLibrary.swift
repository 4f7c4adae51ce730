import CLateToolLibraries

/// A library that only some commands need, and that is loaded by those alone.
enum ToolLibrary {
  case cairo, crypto

  /// Makes the library's functions callable; any number of times.
  func load() throws(Failure) {
    let problem =
      switch self {
      case .cairo: calotype_load_cairo()
      case .crypto: calotype_load_crypto()
      }
    if let problem { throw Failure(String(cString: problem), code: "unavailable") }
  }
}
