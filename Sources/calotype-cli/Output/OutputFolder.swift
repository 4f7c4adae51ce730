import CSystem
import Calotype
import Foundation
import Synchronization

/// A folder that files are written into, each whole or not at all.
///
/// A file is written without a name, or under a temporary one where the file system cannot do that, and then
/// put in its place by renaming; links in the folder are replaced, never followed.
final class OutputFolder: Sendable {
  let path: String
  private let descriptor: Int32
  private let counter = Atomic<Int>(0)
  /// Opens a folder; it is made where it is missing.
  init(path: String) throws {
    self.path = path
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw Failure(
        "\(Escaping.displaySafe(path)): the folder cannot be made: \((error as NSError).localizedFailureReason ?? "\(error.localizedDescription)")"
      )
    }
    descriptor = DescriptorShortage.waiting { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw Failure("\(Escaping.displaySafe(path)): \(Self.message(errno))") }
  }

  deinit { close(descriptor) }

  /// A name in a folder as one path.
  static func path(_ folder: String, _ name: String) -> String {
    folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
  }

  /// Finds out whether a file that a person named can be written, before work is done for it, and makes the
  /// folder that it is to stand in.
  ///
  /// - Parameter isEmptied: Whether an older one is written itself, not replaced.
  static func prepare(_ path: String, isEmptied: Bool = false) throws {
    var status = stat()
    let exists = stat(path, &status) == 0
    if path.hasSuffix("/") || (exists && status.st_mode & S_IFMT == S_IFDIR) {
      throw Failure("\(Escaping.displaySafe(path)) is a folder, and a file is to be written")
    }
    if try OutputDestination.given(path) != nil { return }
    if exists, status.st_mode & S_IFMT == S_IFSOCK {
      throw Failure("\(Escaping.displaySafe(path)) is a socket, and a file is to be written")
    }
    if exists, isEmptied || status.st_mode & S_IFMT != S_IFREG {
      guard access(path, W_OK) == 0 else { throw Failure("\(Escaping.displaySafe(path)): \(message(errno))") }
      return
    }
    _ = try OutputDestination.linkTarget(path)
    let folder = OutputDestination.realURL(path).deletingLastPathComponent().path
    _ = try OutputFolder(path: folder)
    guard access(folder, W_OK | X_OK) == 0 else {
      throw Failure("\(Escaping.displaySafe(path)): its folder cannot be written: \(message(errno))")
    }
  }

  /// Writes a file that a person named. A device, a pipe or what is open already is written into, as
  /// `/dev/stdout`; a rename would put a file in its place.
  static func write(_ data: Data, toPath path: String) throws {
    switch try OutputDestination(path) {
    case .stream(let file):
      defer { close(file) }
      do {
        try FileHandle(fileDescriptor: file, closeOnDealloc: false).write(contentsOf: data)
      } catch {
        throw Failure("\(Escaping.displaySafe(path)): \(message(errno))")
      }
    case .file(let folder, let name, let replaced):
      try OutputFolder(path: folder).write(data, to: name, replacing: replaced)
    }
  }

  /// The extended attribute that says what a file was made from.
  private static let originAttribute = "user.calotype.origin"

  /// Whether a file stands under a name that was made from this origin, and not changed since: its size, or
  /// `nil`. A file on a file system without extended attributes does not say what it was made from.
  func size(of name: String, origin: UInt64) -> Int? {
    let file = DescriptorShortage.waiting {
      openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    }
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat(), mark = [UInt64](repeating: 0, count: 3)
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      fgetxattr(file, Self.originAttribute, &mark, 24) == 24, mark == Self.mark(origin, status)
    else { return nil }
    return Int(status.st_size)
  }

  /// Writes a file, in place of one of its name, and notes in it what it was made from.
  ///
  /// - Parameter replaced: The file that has to be there still, where a link has led to it.
  func write(
    _ data: Data, to name: String, origin: UInt64? = nil, replacing replaced: FileIdentity? = nil
  ) throws {
    try check(name)
    let temporary = temporaryName()
    var file = DescriptorShortage.waiting {
      openat(descriptor, ".", temporaryFileFlag | O_WRONLY | O_CLOEXEC, 0o666)
    }
    let isNameless = file >= 0
    if !isNameless, !DescriptorShortage.isMeant(by: errno) {
      file = openat(descriptor, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    }
    guard file >= 0 else { throw failure(name) }
    defer { close(file) }
    do {
      try write(data, to: file, name: name)
      if let origin { setOrigin(origin, of: file) }
      if isNameless {
        // A link can be made only under a name that is free.
        let link = "/proc/self/fd/\(file)"
        if replaced == nil {
          if linkat(AT_FDCWD, link, descriptor, name, AT_SYMLINK_FOLLOW) == 0 { return }
          guard errno == EEXIST else { throw failure(name) }
        }
        unlinkat(descriptor, temporary, 0)
        guard linkat(AT_FDCWD, link, descriptor, temporary, AT_SYMLINK_FOLLOW) == 0 else {
          throw failure(name)
        }
      }
      if let replaced { try check(name, is: replaced) }
      guard renameat(descriptor, temporary, descriptor, name) == 0 else { throw failure(name) }
    } catch {
      unlinkat(descriptor, temporary, 0)
      throw error
    }
  }

  /// Gives a file that was made here a second name. Both names are one file as long as nobody writes into
  /// it; where the file system cannot do that, or counts too many names, it is copied.
  func duplicate(_ original: String, as name: String, origin: UInt64) throws {
    try check(name)
    if size(of: original, origin: origin) != nil, link(original, name) { return }
    guard let data = read(original) else {
      throw Failure("\(display(original)) has gone while it was to be copied")
    }
    try write(data, to: name, origin: origin)
  }

  private func link(_ original: String, _ name: String) -> Bool {
    if linkat(descriptor, original, descriptor, name, 0) == 0 { return true }
    guard errno == EEXIST else { return false }
    let temporary = temporaryName()
    guard linkat(descriptor, original, descriptor, temporary, 0) == 0 else { return false }
    // Renaming does nothing where both are names of one file already.
    defer { unlinkat(descriptor, temporary, 0) }
    return renameat(descriptor, temporary, descriptor, name) == 0
  }

  private func temporaryName() -> String {
    ".\(counter.add(1, ordering: .relaxed).newValue)-\(getpid()).calotype-part"
  }

  private func setOrigin(_ origin: UInt64, of file: Int32) {
    var status = stat()
    guard fstat(file, &status) == 0 else { return }
    let mark = Self.mark(origin, status)
    _ = fsetxattr(file, Self.originAttribute, mark, 24, 0)
  }

  private static func mark(_ origin: UInt64, _ status: stat) -> [UInt64] {
    let modified = UInt64(
      bitPattern: Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec))
    return [origin.littleEndian, modified.littleEndian, UInt64(status.st_size).littleEndian]
  }

  /// Reads a file back; links are not followed.
  func read(_ name: String) -> Data? {
    let file = DescriptorShortage.waiting { openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) }
    guard file >= 0 else { return nil }
    return try? FileHandle(fileDescriptor: file, closeOnDealloc: true).readToEnd() ?? Data()
  }

  private func write(_ data: Data, to file: Int32, name: String) throws {
    try data.withUnsafeBytes { bytes in
      var at = 0
      while at < bytes.count {
        let count = Glibc.write(file, bytes.baseAddress.map { $0 + at }, bytes.count - at)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw failure(name) }
        at += count
      }
    }
  }

  /// Whatever a name was made from: it never leads out of the folder.
  private func check(_ name: String) throws {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(where: { $0 == 0x2F || $0 == 0 })
    else {
      throw Failure("\(display(name)): that is no name of a file")
    }
  }

  private func check(_ name: String, is identity: FileIdentity) throws {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0, FileIdentity(status) == identity
    else {
      throw Failure(
        "\(display(name)): another file has come in its place while it was to be written through a link; it was left as it is"
      )
    }
  }

  private func failure(_ name: String) -> Failure { Failure("\(display(name)): \(Self.message(errno))") }

  private func display(_ name: String) -> String { Escaping.displaySafe(Self.path(path, name)) }

  static func message(_ number: Int32) -> String { systemMessage(number) }
}

/// `O_TMPFILE`, which the importer leaves out since it is made of other constants.
private let temporaryFileFlag = Int32(0o20_000_000) | O_DIRECTORY
