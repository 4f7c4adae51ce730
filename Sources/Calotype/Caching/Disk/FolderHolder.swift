/// Opens the cache's folder when it is first needed, and again when it was deleted.
final class FolderHolder: Sendable {
  private enum State {
    case closed
    case open(CacheFolder)
    /// The folder is not one that may be used.
    case refused
  }

  let directory: String
  let name: String
  private let warn: @Sendable (DiskCache.Warning) -> Void
  private let state = Lock(State.closed)

  init(directory: String, name: String, warn: @escaping @Sendable (DiskCache.Warning) -> Void) {
    self.directory = directory
    self.name = name
    self.warn = warn
  }

  var path: String { directory + "/v1/" + name }

  /// The folder, or `nil` where it cannot be used.
  ///
  /// - Parameter creating: Whether to make it where it is missing.
  func current(creating: Bool) -> CacheFolder? {
    var warning: DiskCache.Warning?
    let folder = state.withLock { state -> CacheFolder? in
      switch state {
      case .open(let folder): return folder
      case .refused: return nil
      case .closed: break
      }
      do throws(CacheFolder.Failure) {
        let folder = try CacheFolder(directory: directory, name: name, creating: creating)
        state = .open(folder)
        return folder
      } catch {
        switch error {
        case .missing: break
        case .notOwned(let path):
          state = .refused
          warning = .unusableFolder(
            path: path, reason: "it belongs to another user, or others can write to it")
        case .notFolder(let path):
          state = .refused
          warning = .unusableFolder(path: path, reason: "it is a link or a file, not a folder")
        case .system(let error, let path):
          // Without `creating` nothing was to be made: not worth a warning before something is stored.
          if creating { warning = .unusableFolder(path: path, reason: error.message) }
        }
        return nil
      }
    }
    if let warning { warn(warning) }
    return folder
  }

  /// Lets a folder go that was found to be deleted, so that it is opened anew.
  func forget(_ folder: CacheFolder) {
    state.withLock { state in
      if case .open(let current) = state, current === folder { state = .closed }
    }
  }
}
