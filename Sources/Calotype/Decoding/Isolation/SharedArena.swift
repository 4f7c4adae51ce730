import CSandbox
import Foundation

/// Memory that this process and one worker share.
///
/// It is kept from picture to picture, with all of its pages there: pages that are new cost more than many a
/// decode. Neither side can shrink it under the other, so reading it never ends this process.
// Sound as Sendable: it belongs to one worker, which one thread at a time uses.
package final class SharedArena: @unchecked Sendable {
  package let memory: UnsafeMutableRawBufferPointer

  /// Takes a descriptor over and maps its memory; the descriptor is closed.
  package init?(adopting descriptor: Int32, byteCount: Int, isWritable: Bool) {
    defer { close(descriptor) }
    guard byteCount > 0, let base = calotype_shared_memory_map(descriptor, byteCount, isWritable),
      base != UnsafeMutableRawPointer(bitPattern: -1)
    else { return nil }
    memory = UnsafeMutableRawBufferPointer(start: base, count: byteCount)
  }

  deinit { munmap(memory.baseAddress, memory.count) }

  /// Makes new memory and gives it to a worker.
  ///
  /// - Parameter waits: Whether to wait for a while where there is no descriptor for it.
  /// - Returns: The memory as this process sees it, or why there is none.
  static func make(
    byteCount: Int, waits: Bool, givenBy send: (_ descriptor: Int32) -> Bool
  ) -> Result<SharedArena, POSIXFailure> {
    func create() -> Int32 {
      let result = calotype_shared_memory_create(byteCount)
      if result < 0 { errno = -result }
      return result
    }
    let descriptor = waits ? DescriptorShortage.waiting(create) : create()
    guard descriptor >= 0 else { return .failure(POSIXFailure(number: errno)) }
    guard send(descriptor) else {
      close(descriptor)
      return .failure(POSIXFailure(number: EPIPE))
    }
    let arena = SharedArena(adopting: descriptor, byteCount: byteCount, isWritable: true)
    return arena.map { .success($0) } ?? .failure(POSIXFailure(number: ENOMEM))
  }

  /// The size to make memory of that has to hold so many bytes: for those that are kept,
  /// half as much again leaves room for the next.
  static func size(for byteCount: Int) -> Int {
    let wanted = byteCount <= largestKeptSize / 2 ? byteCount + byteCount / 2 : byteCount
    let step = 256 << 10
    return (wanted + step - 1) / step * step
  }

  /// Where the input begins: what is before it holds the flag of cancelling.
  package static let inputOffset = 64
  /// What each direction begins with: enough for icons, little to have for nothing.
  static let initialSize = 512 << 10
  /// Memory larger than this is given back after its picture, with the worker.
  static let largestKeptSize = 64 << 20
  /// The most that a worker may ask for.
  static let largestSize = 4 << 30
}

/// Where a worker puts the pixels that it makes: straight into what the parent reads, while there is room.
///
/// There is one in a worker and none elsewhere. It hands memory out and takes none back; all of it is free
/// again when the next picture begins.
// Sound as Sendable: a worker has one thread.
final class PixelArena: @unchecked Sendable {
  /// The worker's own. It is set before the first decode of a process that has one thread.
  nonisolated(unsafe) static var current: PixelArena?

  private(set) var arena: SharedArena
  private var used = 0
  /// Told of rows that are done of a picture that lies in the shared memory, so that the parent may take them
  /// while the next are made.
  var onRows: ((_ size: PixelSize, _ offset: Int, _ count: Int) -> Void)?
  /// Rows are told in parts of so many bytes at least: each costs a message.
  static let leastPart = 512 << 10

  init(_ arena: SharedArena) { self.arena = arena }

  /// Takes other memory; pixels in the old one are lost unless that is held.
  func replace(_ arena: SharedArena) {
    self.arena = arena
    used = 0
  }

  /// Frees all of it.
  func reset() { used = 0 }

  /// Some of it, or `nil` where there is not so much left.
  func take(_ byteCount: Int) -> UnsafeMutableRawBufferPointer? {
    guard byteCount <= arena.memory.count - used else { return nil }
    let part = UnsafeMutableRawBufferPointer(rebasing: arena.memory[used..<used + byteCount])
    // Rows are read in steps of up to 64 bytes.
    used = min(arena.memory.count, (used + byteCount + 63) & ~63)
    return part
  }

  /// Where pixels lie in the shared memory, or `nil` where they lie elsewhere.
  func offset(of pixels: UnsafeRawBufferPointer) -> Int? {
    guard let base = arena.memory.baseAddress, let start = pixels.baseAddress else { return nil }
    let offset = start - UnsafeRawPointer(base)
    return offset >= 0 && offset + pixels.count <= arena.memory.count ? offset : nil
  }

  /// Sees to it that some memory lies in the shared one, copying what does not.
  ///
  /// - Returns: Where each part lies, or `nil` where there is not enough room.
  func place(_ parts: [UnsafeRawBufferPointer]) -> [Int]? {
    // What lies elsewhere may then take the place of what the decode needed on its way.
    if parts.allSatisfy({ offset(of: $0) == nil }) { used = 0 }
    var offsets: [Int] = []
    for part in parts {
      if let offset = offset(of: part) {
        offsets.append(offset)
      } else if let memory = take(part.count), let offset = offset(of: UnsafeRawBufferPointer(memory)) {
        memory.copyMemory(from: part)
        offsets.append(offset)
      } else {
        return nil
      }
    }
    return offsets
  }

  /// What parts take that are all copied.
  static func byteCount(of parts: [UnsafeRawBufferPointer]) -> Int {
    parts.reduce(0) { $0 + ($1.count + 63) & ~63 }
  }
}
