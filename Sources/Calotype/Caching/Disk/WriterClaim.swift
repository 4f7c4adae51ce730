#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A process's note of what it is writing, so that others can clear up after it should it be killed.
///
/// The note is a file `writer-<16 hexadecimal digits>` of 256 bytes, one for each shard: not zero while the
/// shard may hold files that the index does not know yet. Its process keeps it locked; a note that can be
/// locked by another is a dead process's. Temporary files carry the note's digits in their names.
final class WriterClaim: Sendable {
  private struct State {
    var descriptor: Int32 = -1
    var name = ""
    var digits = ""
    /// Shards whose byte in the file is set.
    var marked = [Bool](repeating: false, count: 256)
    /// Writes that the index does not know yet.
    var outstanding = 0
    var counter = 0
  }

  private let folder: Int32
  private let state = Lock(State())

  /// - Parameter folder: The cache folder's descriptor, which must outlive the claim's use.
  init(folder: Int32) { self.folder = folder }

  /// Says that a file is about to be made in a shard. Each call wants an ``unmark(_:count:)``.
  func mark(_ shard: Int) throws(SystemError) {
    try state.withLock { state throws(SystemError) in
      if state.descriptor < 0 { try Self.begin(&state, folder) }
      if !state.marked[shard] {
        try [UInt8(1)].withUnsafeBytes { bytes -> Result<Void, SystemError> in
          Result { () throws(SystemError) in try FileSystem.write(state.descriptor, bytes, at: shard) }
        }.get()
        state.marked[shard] = true
      }
      state.outstanding += 1
    }
  }

  /// Says that writes to a shard are in the index or given up. When none is left, the note is wiped.
  func unmark(_ shard: Int, count: Int) {
    state.withLock { state in
      state.outstanding -= count
      guard state.outstanding <= 0, state.descriptor >= 0, state.marked.contains(true) else { return }
      let zeros = [UInt8](repeating: 0, count: 256)
      if (try? zeros.withUnsafeBytes({ try FileSystem.write(state.descriptor, $0, at: 0) })) != nil {
        state.marked = [Bool](repeating: false, count: 256)
      }
    }
  }

  /// A name that no other process and no other call gives out.
  func temporaryName() -> String {
    state.withLock { state in
      state.counter += 1
      return "tmp-" + state.digits + "-" + String(state.counter, radix: 16)
    }
  }

  /// Takes the note away while nothing is being written; the next write makes another.
  func rest() {
    state.withLock { state in
      guard state.descriptor >= 0, state.outstanding <= 0 else { return }
      _ = unlinkat(folder, state.name, 0)
      close(state.descriptor)
      state.descriptor = -1
    }
  }

  /// Lets the note go for good, and takes it away where nothing is left to clear up.
  func end() {
    state.withLock { state in
      guard state.descriptor >= 0 else { return }
      if state.outstanding <= 0 { _ = unlinkat(folder, state.name, 0) }
      close(state.descriptor)
      state.descriptor = -1
    }
  }

  private static func begin(_ state: inout State, _ folder: Int32) throws(SystemError) {
    var generator = JitterGenerator()
    while true {
      let text = String(generator.next(), radix: 16)
      let digits = String(repeating: "0", count: 16 - text.count) + text
      let name = prefix + digits
      let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
      let opened = try FileSystem.retrying { openat(folder, name, flags, 0o600) }
      _ = fchmod(opened, 0o600)
      // Another process may have taken the note for a dead one's before it was locked.
      guard flock(opened, LOCK_EX | LOCK_NB) == 0, let status = try? FileSystem.status(opened),
        status.st_nlink > 0
      else {
        close(opened)
        continue
      }
      do throws(SystemError) {
        try [UInt8](repeating: 0, count: 256).withUnsafeBytes { bytes -> Result<Void, SystemError> in
          Result { () throws(SystemError) in try FileSystem.write(opened, bytes, at: 0) }
        }.get()
      } catch {
        unlinkat(folder, name, 0)
        close(opened)
        throw error
      }
      state.descriptor = opened
      state.name = name
      state.digits = digits
      state.marked = [Bool](repeating: false, count: 256)
      return
    }
  }

  // MARK: Other processes' notes

  static let prefix = "writer-"

  /// A dead process's note, locked by this one.
  struct Dead {
    var name: String
    var digits: String
    var shards: [Int]
    var descriptor: Int32
  }

  /// The notes in a folder whose processes have died. Each must be given to ``clear(_:in:)``.
  static func dead(in folder: Int32) -> [Dead] {
    var names: [String] = []
    try? FileSystem.forEachName(in: ".", of: folder) { bytes in
      if bytes.count == prefix.utf8.count + 16, bytes.starts(with: prefix.utf8) {
        names.append(String(decoding: bytes, as: UTF8.self))
      }
    }
    return names.compactMap { name in
      let opened = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
      guard opened >= 0 else { return nil }
      guard flock(opened, LOCK_EX | LOCK_NB) == 0, let status = try? FileSystem.status(opened),
        status.st_nlink > 0, status.isRegularFile, status.st_uid == geteuid()
      else {
        close(opened)
        return nil
      }
      var map = [UInt8](repeating: 0, count: 256)
      _ = map.withUnsafeMutableBytes { pread(opened, $0.baseAddress, $0.count, 0) }
      return Dead(
        name: name, digits: String(name.dropFirst(prefix.count)),
        shards: map.indices.filter { map[$0] != 0 }, descriptor: opened)
    }
  }

  /// Whether there are notes of processes that have died.
  static func hasDead(in folder: Int32) -> Bool {
    let dead = dead(in: folder)
    for note in dead { closeFile(note.descriptor) }
    return !dead.isEmpty
  }

  /// Takes a dead process's note away once its shards are in order.
  static func clear(_ dead: Dead, in folder: Int32) {
    unlinkat(folder, dead.name, 0)
    close(dead.descriptor)
  }
}
