import CLateLibraries

/// The libraries that are loaded when they are first needed.
package enum LateLibraries {
  /// What keeps libcurl and libavif from being used, a sentence each; empty where nothing does. Loads both.
  package static var problems: [String] {
    [CurlEngine.problem, calotype_load_avif().map { String(cString: $0) }].compactMap { $0 }
  }
}
