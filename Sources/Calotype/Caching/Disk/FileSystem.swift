#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A system call's failure.
struct SystemError: Error, Hashable {
  var code: Int32

  init(_ code: Int32 = errno) { self.code = code }

  /// What the system says about it.
  var message: String { systemMessage(code) }
}

/// System calls that go on after an interruption, with errors as values.
enum FileSystem {
  /// Calls until it is not interrupted; throws the error that it ends with.
  @discardableResult
  static func retrying<Number: FixedWidthInteger & SignedInteger>(
    _ call: () -> Number
  ) throws(SystemError) -> Number {
    while true {
      let result = call()
      if result >= 0 { return result }
      if errno != EINTR { throw SystemError() }
    }
  }

  static func status(_ descriptor: Int32) throws(SystemError) -> stat {
    var status = stat()
    try retrying { fstat(descriptor, &status) }
    return status
  }

  static func status(_ folder: Int32, _ path: UnsafePointer<CChar>) throws(SystemError) -> stat {
    var status = stat()
    try retrying { fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) }
    return status
  }

  /// Writes all of the bytes at the descriptor's place.
  static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    var done = 0
    while done < bytes.count, let start = bytes.baseAddress {
      done += try retrying { systemWrite(descriptor, start + done, bytes.count - done) }
    }
  }

  /// Writes all of the bytes at an offset.
  static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError)
  {
    var done = 0
    while done < bytes.count, let start = bytes.baseAddress {
      done += try retrying { pwrite(descriptor, start + done, bytes.count - done, off_t(offset + done)) }
    }
  }

  /// Writes all of the bytes at an offset.
  static func write(_ descriptor: Int32, _ bytes: [UInt8], at offset: Int) throws(SystemError) {
    try bytes.withUnsafeBytes { buffer in
      Result { () throws(SystemError) in try write(descriptor, buffer, at: offset) }
    }.get()
  }

  /// Copies bytes from one file to the same place in another.
  static func copy(
    from source: Int32, to target: Int32, at start: Int, count: Int
  ) throws(SystemError) {
    var done = 0
    var buffer = [UInt8](repeating: 0, count: min(count, 1 << 18))
    while done < count {
      let piece = min(buffer.count, count - done)
      let result = buffer.withUnsafeMutableBytes { bytes in
        Result { () throws(SystemError) in
          let part = UnsafeMutableRawBufferPointer(rebasing: bytes[..<piece])
          guard try read(source, into: part, at: start + done) else { throw SystemError(EIO) }
          try write(target, UnsafeRawBufferPointer(part), at: start + done)
        }
      }
      try result.get()
      done += piece
    }
  }

  /// Writes all of some pieces at the descriptor's place, in one call where the system takes them so.
  static func write(_ descriptor: Int32, _ pieces: [UnsafeRawBufferPointer]) throws(SystemError) {
    let vectors = pieces.map {
      iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
    }
    var done = try retrying { writev(descriptor, vectors, Int32(vectors.count)) }
    for piece in pieces {
      let skipped = min(done, piece.count)
      done -= skipped
      try write(descriptor, UnsafeRawBufferPointer(rebasing: piece[skipped...]))
    }
  }

  /// Fills the buffer from the descriptor's place. Whether there were as many bytes.
  static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError)
    -> Bool
  {
    var done = 0
    while done < buffer.count, let start = buffer.baseAddress {
      let count = try retrying { systemRead(descriptor, start + done, buffer.count - done) }
      if count == 0 { return false }
      done += count
    }
    return true
  }

  /// Fills the buffer from an offset. Whether there were as many bytes.
  static func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Bool {
    var done = 0
    while done < buffer.count, let start = buffer.baseAddress {
      let count = try retrying { pread(descriptor, start + done, buffer.count - done, off_t(offset + done)) }
      if count == 0 { return false }
      done += count
    }
    return true
  }

  /// The names in a folder, without `.` and `..`, given to a closure as bytes. The folder is one that the
  /// descriptor's folder holds, and no link.
  static func forEachName(
    in path: String, of folder: Int32, _ body: (UnsafeBufferPointer<UInt8>) -> Void
  ) throws(SystemError) {
    let descriptor = try retrying { openat(folder, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
    guard let stream = fdopendir(descriptor) else {
      let error = SystemError()
      close(descriptor)
      throw error
    }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      // The name is read in place: the structure's declared size is larger than what the system gives.
      let name = UnsafeRawPointer(entry) + MemoryLayout<dirent>.offset(of: \.d_name).unsafelyUnwrapped
      let bytes = name.assumingMemoryBound(to: UInt8.self)
      let count = strlen(name.assumingMemoryBound(to: CChar.self))
      if bytes[0] == 0x2E, count == 1 || (count == 2 && bytes[1] == 0x2E) { continue }
      body(UnsafeBufferPointer(start: bytes, count: count))
    }
  }

  /// The start of a small text file of the system's, or `nil`.
  static func smallFile(_ path: String) -> String? {
    let descriptor = openFile(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = bytes.withUnsafeMutableBytes {
      systemRead(descriptor, $0.baseAddress.unsafelyUnwrapped, $0.count)
    }
    guard count > 0 else { return nil }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}

extension stat {
  var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
  var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }

  /// When the contents changed last, in seconds since 1970.
  var modified: Double {
    #if canImport(Darwin)
      Double(st_mtimespec.tv_sec) + Double(st_mtimespec.tv_nsec) * 1e-9
    #else
      Double(st_mtim.tv_sec) + Double(st_mtim.tv_nsec) * 1e-9
    #endif
  }

  /// The bytes that the file takes on disk, taken as whole blocks of 4 KB. The file system's own count lags
  /// behind where it allocates late.
  var sizeOnDisk: Int { (Int(st_size) + 4095) & ~4095 }
}

// The library calls under names that the methods above do not hide.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}

private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(descriptor, bytes, count)
}
