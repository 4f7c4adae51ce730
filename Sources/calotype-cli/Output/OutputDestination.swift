import Calotype
import Foundation

/// Where an output that a person named leads.
enum OutputDestination {
  /// What is written into, never emptied: a device, a pipe, or what the program was given open. It is to be closed.
  case stream(Int32)
  /// A file that is put in its place whole. Where a link leads to one, it has to be that one still.
  case file(folder: String, name: String, replaced: FileIdentity?)

  init(_ path: String) throws {
    if let given = try Self.given(path) {
      self = .stream(try Self.checked(fcntl(given, F_DUPFD_CLOEXEC, 3), path))
      return
    }
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG, status.st_mode & S_IFMT != S_IFDIR {
      self = .stream(try Self.checked(Glibc.open(path, O_WRONLY | O_CLOEXEC), path))
      return
    }
    let replaced = try Self.linkTarget(path)
    let url = Self.realURL(path)
    self = .file(
      folder: url.deletingLastPathComponent().path, name: url.lastPathComponent, replaced: replaced)
  }

  /// Opens an output that is written bit by bit. An older file is emptied, unless it is one that the program was
  /// given open: what others have written there stays.
  static func open(forLinesAt path: String) throws -> Int32 {
    if let given = try given(path) { return try checked(fcntl(given, F_DUPFD_CLOEXEC, 3), path) }
    let file = try checked(Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666), path)
    var status = stat()
    if fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, ftruncate(file, 0) != 0 {
      defer { close(file) }
      return try checked(-1, path)
    }
    return file
  }

  /// The descriptor, open for writing, that the program was given and that a path leads to: by a name for a
  /// descriptor, as `/dev/stdout`, or by the file that standard output or error goes to.
  ///
  /// - Throws: Where standard output or error is named and was closed: what is written would be lost.
  static func given(_ path: String) throws -> Int32? {
    var number: Int32? = ["/dev/stdout": 1, "/dev/stderr": 2][path]
    for start in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(start) {
      number = Int32(path.dropFirst(start.count))
    }
    if let number, [1, 2].contains(number), !isWritable(number) {
      throw Failure("\(Escaping.displaySafe(path)): \(systemMessage(EBADF))")
    }
    // What the program has opened itself is closed to others.
    if let number, isWritable(number), fcntl(number, F_GETFD) & FD_CLOEXEC == 0 { return number }
    var named = stat()
    guard stat(path, &named) == 0, named.st_mode & S_IFMT == S_IFREG else { return nil }
    return [Int32(1), 2].first { descriptor in
      var status = stat()
      return isWritable(descriptor) && fstat(descriptor, &status) == 0
        && FileIdentity(status) == FileIdentity(named)
    }
  }

  /// The file that a link leads to; `nil` where the path is no link, or leads nowhere and is replaced itself.
  ///
  /// The kernel is asked whether this link may be followed: it refuses those that others have laid into a folder
  /// that all may write to (`fs.protected_symlinks`), which looking where it leads would not heed.
  static func linkTarget(_ path: String) throws -> FileIdentity? {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return nil }
    let file = Glibc.open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else {
      let error = errno
      if error == ENOENT { return nil }
      throw Failure(
        "\(Escaping.displaySafe(path)): the file that this link leads to cannot be written: \(systemMessage(error)); name that file itself, or another one"
      )
    }
    defer { close(file) }
    guard fstat(file, &status) == 0 else { return nil }
    return FileIdentity(status)
  }

  /// What two names of one file have in common, by whatever links they lead to it.
  static func place(_ path: String) -> String {
    var status = stat()
    if stat(path, &status) == 0 { return FileIdentity(status).text }
    let url = realURL(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    return url.appendingPathComponent(URL(fileURLWithPath: path).lastPathComponent).standardizedFileURL.path
  }

  /// Through a link the file is written that it leads to.
  static func realURL(_ path: String) -> URL {
    let real = realpath(path, nil)
    defer { free(real) }
    return URL(fileURLWithPath: real.map { String(cString: $0) } ?? path)
  }

  private static func isWritable(_ descriptor: Int32) -> Bool {
    let flags = fcntl(descriptor, F_GETFL)
    return flags >= 0 && flags & O_ACCMODE != O_RDONLY
  }

  private static func checked(_ descriptor: Int32, _ path: String) throws -> Int32 {
    guard descriptor >= 0 else { throw Failure("\(Escaping.displaySafe(path)): \(systemMessage(errno))") }
    return descriptor
  }
}

/// What tells a file from any other while it is there.
struct FileIdentity: Hashable {
  var device: UInt64
  var number: UInt64
  var text: String { "\(device):\(number)" }

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    number = UInt64(status.st_ino)
  }
}
