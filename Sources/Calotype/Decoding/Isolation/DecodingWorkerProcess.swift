import CSandbox
import Foundation
import Synchronization

/// A worker's own side: the program that decodes, and nothing else.
package enum DecodingWorkerProcess {
  /// The private argument that makes a program a worker; what follows it is the pool's.
  package static let argument = "--calotype-decoding-worker"

  /// Becomes a worker, and never returns, where the arguments say so. To be called before anything else: the
  /// sandbox holds only for a process of one thread.
  ///
  /// - Parameter arguments: Those after the program's name.
  package static func runIfAsked(_ arguments: [String]) {
    guard arguments.first == argument else {
      isReachable.store(true, ordering: .relaxed)
      return
    }
    guard arguments.count == 3, let memory = UInt64(arguments[1]), let seconds = UInt64(arguments[2]) else {
      complain()
    }
    run(memoryLimit: memory, processorSeconds: seconds)
  }

  /// Whether this build has a sanitizer, with which the sandbox is off.
  package static var hasSanitizer: Bool { calotype_sandbox_has_sanitizer() }

  /// The arguments that make a program a worker.
  static func arguments(memoryLimit: Int, processorSeconds: Int) -> [String] {
    [argument, "\(memoryLimit)", "\(processorSeconds)"]
  }

  /// Whether this program can be started as a worker. One that cannot, such as a test runner with a part of such a
  /// program in it, must not be started as one.
  static let isReachable = Atomic<Bool>(false)

  /// Where the connection to the parent is.
  package static let connection: Int32 = 3

  /// Every layer of the sandbox.
  package static let allLayers = UInt32(1) << UInt32(CALOTYPE_SANDBOX_LAYER_COUNT.rawValue) - 1

  /// Gives up all that a worker does not need, for good.
  ///
  /// - Returns: For each layer 0, or why it does not hold.
  package static func lockDown(
    memoryLimit: UInt64, processorSeconds: UInt64, layers: UInt32 = allLayers
  ) -> [Int32] {
    var errors = [Int32](repeating: 0, count: Int(CALOTYPE_SANDBOX_LAYER_COUNT.rawValue))
    calotype_sandbox_enter(memoryLimit, processorSeconds, layers, &errors)
    return errors
  }

  private static func run(memoryLimit: UInt64, processorSeconds: UInt64) -> Never {
    var kind: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(connection, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 else { complain() }
    let decoder = ImageDecoder()
    // What a codec or the C library does once, such as reading files, it does before that is forbidden.
    WorkerWarmUp.run(decoder)
    let layers = lockDown(memoryLimit: memoryLimit, processorSeconds: processorSeconds)
    let session = WorkerSession(connection: connection, decoder: decoder)
    session.send(.hello(WorkerHello(version: CalotypeVersion.string, layers: layers)))
    session.run()
  }

  private static func complain() -> Never {
    FileHandle.standardError.write(
      Data("This is a part of Calotype that it starts by itself, to decode pictures in a sandbox.\n".utf8))
    exit(2)
  }
}

/// The worker's end of the connection.
private final class WorkerSession {
  private let connection: Int32
  private let decoder: ImageDecoder
  private var input: SharedArena?
  private var output: PixelArena?
  private let buffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: WorkerMessageKind.largestMessage, alignment: 8)

  init(connection: Int32, decoder: ImageDecoder) {
    self.connection = connection
    self.decoder = decoder
  }

  /// Answers until the parent is gone.
  func run() -> Never {
    while true {
      let (request, descriptor) = receive()
      if !openPreviews.isEmpty { dropOldPreviews() }
      switch request {
      case .useInput, .useOutput: use(request, descriptor)
      case .refuseOutput: leave()
      case .decode(let sequence, let byteCount, let options):
        let data = bytes(byteCount)
        output?.reset()
        output?.onRows = { [self] size, offset, count in
          send(.rows(sequence: sequence, size: size, offset: offset, count: count))
        }
        defer { output?.onRows = nil }
        do throws(ImageDecodingError) {
          let container = try decoder.decode(data, options: options, cancellation: cancellation)
          send(place(container, sequence))
        } catch {
          send(.failure(sequence: sequence, error))
        }
      case .readAnimation(let sequence, let byteCount, let limits):
        output?.reset()
        send(readAnimation(sequence, byteCount, limits))
      case .decodeFrames(let sequence, let byteCount, let options, let token, let first):
        output?.reset()
        send(decodeFrames(sequence, byteCount, options, token, first))
      case .preview(let sequence, let byteCount, let limits, let token, let targets):
        output?.reset()
        send(preview(sequence, byteCount, limits, token, targets))
      case .inspect(let sequence, let byteCount, let limits):
        output?.reset()
        do throws(ImageDecodingError) {
          send(.info(sequence: sequence, try decoder.inspect(bytes(byteCount), limits: limits)))
        } catch {
          send(.failure(sequence: sequence, error))
        }
      }
    }
  }

  func send(_ reply: WorkerReply) {
    let error = reply.bytes.withUnsafeBytes {
      calotype_socket_send(connection, $0.baseAddress, $0.count, -1)
    }
    if error != 0 { leave() }
  }

  /// Set by the parent in the shared memory.
  private var cancellation: CancellationFlag {
    CancellationFlag(sharedFlag: input?.memory.baseAddress.map { UnsafeRawPointer($0) })
  }

  /// The input, where it is: it is not copied.
  private func bytes(_ count: Int) -> Data {
    guard let memory = input?.memory, count <= memory.count - SharedArena.inputOffset,
      let base = memory.baseAddress
    else { leave() }
    return Data(bytesNoCopy: base + SharedArena.inputOffset, count: count, deallocator: .none)
  }

  /// Sees to it that a picture lies in the shared memory, and tells where.
  private func place(_ container: ImageContainer, _ sequence: UInt32) -> WorkerReply {
    let bitmap = container.bitmap, deep = container.deepBitmap
    var picture = WorkerPicture(
      size: bitmap.size, offset: 0, isOpaque: bitmap.isOpaque, format: container.format ?? .png,
      originalSize: container.originalSize, frameCount: container.frameCount)
    let parts = [bitmap.storage, deep?.storage].compactMap { $0.map { UnsafeRawBufferPointer($0.buffer) } }
    let offsets = withExtendedLifetime((bitmap, deep)) { place(parts, sequence) }
    guard let offsets, let first = offsets.first, let last = offsets.last else {
      return .failure(sequence: sequence, .outOfMemory(bitmap.size))
    }
    picture.offset = first
    if let deep {
      picture.deep = WorkerPicture.Deep(
        offset: last, isOpaque: deep.isOpaque, colorSpace: deep.colorSpace)
    }
    return .picture(sequence: sequence, picture)
  }

  /// Sees to it that some memory lies in the shared one, asking for more of that where it must.
  private func place(_ parts: [UnsafeRawBufferPointer], _ sequence: UInt32) -> [Int]? {
    guard let output else { leave() }
    if let offsets = output.place(parts) { return offsets }
    let old = output.arena
    return withExtendedLifetime(old) {
      send(.needsOutput(sequence: sequence, byteCount: PixelArena.byteCount(of: parts)))
      let (request, descriptor) = receive()
      guard case .useOutput = request else { return nil }
      use(request, descriptor)
      return output.place(parts)
    }
  }

  // MARK: Animations

  private func readAnimation(
    _ sequence: UInt32, _ byteCount: Int, _ limits: ImageDecodingLimits
  ) -> WorkerReply {
    let options = ImageDecodingOptions(limits: limits)
    guard let animation = decoder.animation(of: bytes(byteCount), options: options) else {
      return .failure(sequence: sequence, .unrecognized(looksLike: "no animation"))
    }
    let delays = animation.storedDelays
    let offsets = delays.withUnsafeBytes { place([$0], sequence) }
    guard offsets == [0] else {
      return .failure(sequence: sequence, .outOfMemory(animation.originalSize))
    }
    return .animation(sequence: sequence, animation.info, delayCount: delays.count)
  }

  /// Animations that this worker is in the middle of, the last used at the end. A player asks for a few frames at a
  /// time, and it may be another worker that made those before: then this one catches up.
  private var openAnimations: [OpenAnimation] = []
  private static let mostOpenAnimations = 4

  private func decodeFrames(
    _ sequence: UInt32, _ byteCount: Int, _ options: ImageDecodingOptions, _ token: UInt64, _ first: Int
  ) -> WorkerReply {
    // Canvases stay from request to request, so they must not lie in memory that is used anew for each.
    PixelArena.current = nil
    defer { PixelArena.current = output }
    do throws(ImageDecodingError) {
      let open = try openAnimation(byteCount, options, token, first)
      let flag = cancellation
      while open.next < first { _ = try open.nextFrame(flag) }
      var frames: [Bitmap] = []
      var room = WorkerFrames.batchSize
      while true {
        do throws(ImageDecodingError) {
          guard let frame = try open.nextFrame(flag) else { break }
          frames.append(frame)
          room -= frame.byteCount
          if room < frame.byteCount { break }
        } catch {
          // Those before it are good; it is met again when it is asked for.
          openAnimations.removeAll { $0.token == token }
          if frames.isEmpty || error == .cancelled { throw error }
          break
        }
      }
      let parts = frames.map { UnsafeRawBufferPointer($0.storage.buffer) }
      guard let size = frames.first?.size else {
        return .frames(sequence: sequence, size: PixelSize(width: 0, height: 0), count: 0)
      }
      let offsets = withExtendedLifetime(frames) { place(parts, sequence) }
      guard offsets != nil else { return .failure(sequence: sequence, .outOfMemory(size)) }
      return .frames(sequence: sequence, size: size, count: frames.count)
    } catch {
      openAnimations.removeAll { $0.token == token }
      return .failure(sequence: sequence, error)
    }
  }

  private func openAnimation(
    _ byteCount: Int, _ options: ImageDecodingOptions, _ token: UInt64, _ first: Int
  ) throws(ImageDecodingError) -> OpenAnimation {
    if let index = openAnimations.firstIndex(where: { $0.token == token }) {
      let known = openAnimations.remove(at: index)
      if known.next <= first {
        openAnimations.append(known)
        return known
      }
    }
    let input = bytes(byteCount)
    // The input is another's with the next request.
    let copy = Data(Array(input))
    guard let animation = decoder.animation(of: copy, options: options) else {
      throw .unrecognized(looksLike: "no animation")
    }
    let opened = OpenAnimation(token: token, reader: try animation.makeReader())
    if openAnimations.count >= Self.mostOpenAnimations { openAnimations.removeFirst() }
    openAnimations.append(opened)
    return opened
  }

  // MARK: Previews

  /// Files that come, which this worker is in the middle of, the last used at the end.
  private var openPreviews: [OpenPreview] = []
  private static let mostOpenPreviews = 2

  private func preview(
    _ sequence: UInt32, _ byteCount: Int, _ limits: ImageDecodingLimits, _ token: UInt64,
    _ targets: [TargetSize?]
  ) -> WorkerReply {
    // What stays from request to request must not lie in memory that is used anew for each.
    PixelArena.current = nil
    defer { PixelArena.current = output }
    let known = openPreviews.firstIndex { $0.token == token }.map { openPreviews.remove(at: $0) }
    let open: OpenPreview
    if let known, known.byteCount <= byteCount {
      open = known
    } else {
      let maker = PreviewMaker(limits: limits, colors: decoder.colors, cancellation: cancellation)
      open = OpenPreview(token: token, maker: maker)
    }
    let previews = open.append(bytes(byteCount), targets, cancellation) ?? []
    if open.maker.isHopeless { return .previews(sequence: sequence, isHopeless: true, []) }
    if openPreviews.count >= Self.mostOpenPreviews { openPreviews.removeFirst() }
    openPreviews.append(open)
    let parts = previews.map { UnsafeRawBufferPointer($0.bitmap.storage.buffer) }
    guard let offsets = withExtendedLifetime(previews, { place(parts, sequence) }) else {
      return .previews(sequence: sequence, isHopeless: true, [])
    }
    let pictures = zip(previews, offsets).map { preview, offset in
      WorkerPicture(
        size: preview.bitmap.size, offset: offset, isOpaque: preview.bitmap.isOpaque, format: preview.format,
        originalSize: preview.originalSize, frameCount: 1)
    }
    return .previews(sequence: sequence, isHopeless: false, pictures)
  }

  /// Lets go of downloads of which nothing has come for a while: nobody says when one has ended.
  private func dropOldPreviews() {
    let now = monotonicNanoseconds()
    openPreviews.removeAll { now > $0.lastUse + 10_000_000_000 }
  }

  private func use(_ request: WorkerRequest, _ descriptor: Int32) {
    switch request {
    case .useInput(let byteCount):
      input = nil
      // The flag is the parent's to set, and the bytes are the parent's to write.
      input = SharedArena(adopting: descriptor, byteCount: byteCount, isWritable: false)
      if input == nil { leave() }
    case .useOutput(let byteCount):
      guard let arena = SharedArena(adopting: descriptor, byteCount: byteCount, isWritable: true) else {
        leave()
      }
      if let output {
        output.replace(arena)
      } else {
        output = PixelArena(arena)
        PixelArena.current = output
      }
    default: break
    }
  }

  private func receive() -> (WorkerRequest, descriptor: Int32) {
    var descriptor: Int32 = -1
    let count = calotype_socket_receive(connection, buffer.baseAddress, buffer.count, &descriptor)
    guard count > 0, let request = WorkerRequest(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else {
      leave()
    }
    return (request, descriptor)
  }

  /// Ends at once: the parent is gone, or speaks another language. Nothing is to be tidied up.
  private func leave() -> Never { _exit(0) }
}

/// An animation that a worker is in the middle of.
private final class OpenAnimation {
  let token: UInt64
  private let reader: any FrameReading
  /// The frame that comes next.
  private(set) var next = 0

  init(token: UInt64, reader: any FrameReading) {
    self.token = token
    self.reader = reader
  }

  func nextFrame(_ cancellation: CancellationFlag) throws(ImageDecodingError) -> Bitmap? {
    guard let frame = try reader.nextFrame(cancellation) else { return nil }
    next += 1
    return frame
  }
}

/// A file that comes, of which a worker has made previews.
private final class OpenPreview {
  let token: UInt64
  let maker: PreviewMaker
  /// How much of it has been read.
  private(set) var byteCount = 0
  private(set) var lastUse = monotonicNanoseconds()

  init(token: UInt64, maker: PreviewMaker) {
    self.token = token
    self.maker = maker
  }

  /// Reads on in all that has come.
  func append(
    _ all: Data, _ targets: [TargetSize?], _ cancellation: CancellationFlag
  ) -> [PreviewMaker.Preview]? {
    // The flag lies in memory that may be another by now.
    maker.cancellation = cancellation
    lastUse = monotonicNanoseconds()
    // The input is another's with the next request.
    let new = all.withUnsafeBytes { Data(UnsafeRawBufferPointer(rebasing: $0.dropFirst(byteCount))) }
    byteCount = all.count
    return maker.append(new, targets: targets)
  }
}
