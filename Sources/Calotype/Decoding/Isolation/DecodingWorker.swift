import CSandbox
import Foundation

/// One sandboxed worker, as its parent sees it.
///
/// Nothing that it says is believed unseen: it may have been taken over by the picture before.
// Sound as Sendable: the pool gives it to one thread at a time.
final class DecodingWorker: @unchecked Sendable {
  /// Why a picture did not come of it. All but ``decoding(_:)`` end the worker.
  enum Failure: Error, Equatable {
    /// The picture's own fault, told in good order.
    case decoding(ImageDecodingError)
    /// It ended, by itself or by another's hand, while it had the picture.
    case died
    /// It had ended before the picture came to it.
    case gone
    /// Somebody has stopped it, and it stands still.
    case stopped
    /// It did not answer in time.
    case overdue
    /// It did not heed that its picture is not wanted any more.
    case heedless
    /// It said what makes no sense.
    case confused(String)
    /// There is no memory to share with it.
    case noMemory(PixelSize)
    /// There is no descriptor for memory to share with it.
    case noDescriptor(POSIXFailure)
  }

  let processIdentifier: pid_t
  private let handle: Int32
  private let connection: Int32
  private var input: SharedArena?
  private var output: SharedArena?
  private var sequence: UInt32 = 0
  /// The picture that is coming, as far as it has come.
  private var incoming: IncomingPicture?
  private let messageBuffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: WorkerMessageKind.largestMessage, alignment: 8)
  private var hasHungUp = false
  private var hasEnded = false
  /// Set where memory could not be made for want of a descriptor.
  private var shortage: POSIXFailure?
  /// Since when it knows that its picture is not wanted any more.
  private var cancelTime: UInt64?
  /// When to look next whether it has been stopped.
  private var nextLook: UInt64 = 0

  /// What it said of itself.
  private(set) var hello: WorkerHello?
  /// The pictures that it has had.
  private(set) var pictureCount = 0
  /// How long it has worked, in nanoseconds.
  private(set) var busyTime: UInt64 = 0
  /// Since when it has had nothing to do.
  var idleSince = monotonicNanoseconds()

  /// How often a cancelled picture is looked for while a worker works, in microseconds.
  static let patience: UInt32 = 5000
  /// How long a worker may take to heed a cancelled picture, in nanoseconds.
  static let timeToHeed: UInt64 = 100_000_000
  /// How often a worker that says nothing is looked at, whether it has been stopped, in nanoseconds.
  static let timeToLook: UInt64 = 1_000_000_000

  /// Starts a program; its lock-down goes on while this process does other things.
  ///
  /// - Returns: The worker, or what the system says.
  static func start(
    path: String, arguments: [String], environment: [String: String]
  ) -> Result<DecodingWorker, POSIXFailure> {
    let words = ([path] + arguments).map { strdup($0) } + [nil]
    let settings = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in words + settings { free(text) } }
    var connection: Int32 = -1, handle: Int32 = -1
    var process = pid_t()
    let error = calotype_worker_spawn(path, words, settings, &connection, &process, &handle)
    guard error == 0 else { return .failure(POSIXFailure(number: error)) }
    _ = calotype_socket_set_patience(connection, patience)
    let worker = DecodingWorker(process: process, handle: handle, connection: connection)
    if let shortage = worker.shortage {
      _ = worker.end()
      return .failure(shortage)
    }
    return .success(worker)
  }

  private init(process: pid_t, handle: Int32, connection: Int32) {
    processIdentifier = process
    self.handle = handle
    self.connection = connection
    // Waits in the socket until the lock-down is done, so that the first picture finds it mapped.
    _ = makeInput(SharedArena.initialSize, waits: false)
    _ = makeOutput(SharedArena.initialSize, waits: false)
  }

  deinit {
    _ = end()
    messageBuffer.deallocate()
  }

  /// Whether it should have no more pictures: its memory has grown large.
  var holdsTooMuch: Bool {
    (input?.memory.count ?? 0) + (output?.memory.count ?? 0) > SharedArena.largestKeptSize
  }

  // MARK: What it is asked

  /// Waits until it is locked down; what it says of that.
  func greet(deadline: UInt64) throws(Failure) -> WorkerHello {
    if let hello { return hello }
    nextLook = monotonicNanoseconds() + Self.timeToLook
    guard case .hello(let hello) = try receive(deadline: deadline, cancellation: nil) else {
      throw .confused("it does not introduce itself")
    }
    self.hello = hello
    return hello
  }

  /// Has it decode a picture.
  func decode(
    _ data: Data, options: ImageDecodingOptions, cancellation: CancellationFlag, deadline: UInt64
  ) throws(Failure) -> ImageContainer {
    let most = mostOutput(options.limits)
    let reply = try ask(data, cancellation, deadline, mostOutput: most, rowsFor: options) { sequence in
      .decode(sequence: sequence, byteCount: data.count, options: options)
    }
    guard case .picture(_, let picture) = reply else { throw .confused("it answers something else") }
    try check(picture.format, of: data)
    return try accept(picture, options)
  }

  /// Has it read a picture's header.
  func inspect(
    _ data: Data, limits: ImageDecodingLimits, deadline: UInt64
  ) throws(Failure) -> ImageInfo {
    let reply = try ask(data, CancellationFlag(), deadline) { sequence in
      .inspect(sequence: sequence, byteCount: data.count, limits: limits)
    }
    guard case .info(_, let info) = reply, info.storedSize.width > 0, info.storedSize.height > 0,
      info.storedSize.pixelCount <= limits.maximumPixelCount
    else { throw .confused("it answers something else") }
    try check(info.format, of: data)
    return info
  }

  /// Checks a format by the file's own bytes: what is written under the format's extension is the file as it came, and
  /// a text that runs as a program somewhere must not be called a picture for a worker's word.
  func check(_ format: ImageFormat, of data: Data) throws(Failure) {
    guard ImageFormat.detect(data) == format else { throw .confused("its picture is of another format") }
  }

  /// Sends a request and waits for its answer, giving it memory where it wants some.
  ///
  /// - Parameter options: Those of a picture whose rows may come before it is done.
  func ask(
    _ data: Data, _ cancellation: CancellationFlag, _ deadline: UInt64, mostOutput: Int = 0,
    rowsFor options: ImageDecodingOptions? = nil, _ request: (UInt32) -> WorkerRequest
  ) throws(Failure) -> WorkerReply {
    let start = monotonicNanoseconds()
    defer { busyTime += monotonicNanoseconds() - start }
    pictureCount += 1
    sequence &+= 1
    incoming = nil
    cancelTime = nil
    nextLook = start + Self.timeToLook
    try put(data)
    guard send(request(sequence)) else { throw .gone }
    var hasMoreOutput = false
    while true {
      let reply = try receive(deadline: deadline, cancellation: cancellation)
      switch reply {
      case .needsOutput(sequence, let byteCount) where !hasMoreOutput:
        hasMoreOutput = true
        guard byteCount <= mostOutput, makeOutput(SharedArena.size(for: byteCount)) else {
          if let shortage { throw .noDescriptor(shortage) }
          guard send(.refuseOutput) else { throw .died }
          continue
        }
      case .rows(sequence, let size, let offset, let count):
        guard let options else { throw .confused("it answers something else") }
        try take(rows: count, of: size, at: offset, options)
        // It may go on and on, so that nobody waits in vain.
        try checkTime(deadline, cancellation)
      case .failure(sequence, let error):
        guard error != .cancelled || cancellation.isCancelled else {
          throw .confused("it takes a picture for cancelled that is not")
        }
        throw .decoding(error)
      case .picture(sequence, _), .info(sequence, _), .frames(sequence, _, _), .animation(sequence, _, _),
        .previews(sequence, _, _):
        return reply
      default:
        throw .confused("it answers what was not asked")
      }
    }
  }

  /// Puts a picture's bytes where the worker reads them.
  private func put(_ data: Data) throws(Failure) {
    let needed = data.count + SharedArena.inputOffset
    if input.map({ $0.memory.count < needed }) ?? true {
      guard makeInput(max(SharedArena.initialSize, SharedArena.size(for: needed))) else {
        if let shortage { throw .noDescriptor(shortage) }
        throw hasHungUp ? .gone : .noMemory(PixelSize(width: data.count, height: 1))
      }
    }
    guard let memory = input?.memory, let base = memory.baseAddress else {
      throw .noMemory(PixelSize(width: data.count, height: 1))
    }
    calotype_shared_flag_set(base, 0)
    data.copyBytes(to: UnsafeMutableRawBufferPointer(rebasing: memory.dropFirst(SharedArena.inputOffset)))
  }

  /// The most bytes that a picture within the limits takes, twice that for one with all of its depth beside it.
  func mostOutput(_ limits: ImageDecodingLimits) -> Int {
    let (bytes, overflow) = limits.maximumPixelCount.multipliedReportingOverflow(by: 12)
    return overflow ? SharedArena.largestSize : min(max(0, bytes) + 4096, SharedArena.largestSize)
  }

  /// Checks a picture that the worker says it has made, and copies it out of its reach.
  func accept(
    _ picture: WorkerPicture, _ options: ImageDecodingOptions
  ) throws(Failure) -> ImageContainer {
    let size = picture.size
    guard picture.originalSize.width > 0, picture.originalSize.height > 0 else {
      throw .confused("its original is \(picture.originalSize)")
    }
    _ = try check(size, options)
    var container = ImageContainer(
      bitmap: try copyBitmap(at: picture.offset, size, isOpaque: picture.isOpaque), format: picture.format,
      originalSize: picture.originalSize, frameCount: picture.frameCount)
    if let deep = picture.deep {
      guard options.isDeep else { throw .confused("its picture has a depth that was not asked for") }
      container.deepBitmap = try copyDeepBitmap(deep, size)
    }
    return container
  }

  /// Checks a picture's size; how many bytes it takes.
  func check(_ size: PixelSize, _ options: ImageDecodingOptions) throws(Failure) -> Int {
    guard size.width > 0, size.height > 0, size.pixelCount <= options.limits.maximumPixelCount else {
      throw .confused("its picture is \(size)")
    }
    if let target = options.targetSize?.pixelSize {
      guard size.width <= target.width, size.height <= target.height else {
        throw .confused("its picture is \(size), larger than asked for")
      }
    }
    let (byteCount, overflow) = size.pixelCount.multipliedReportingOverflow(by: 4)
    guard !overflow, byteCount <= SharedArena.largestSize else { throw .confused("its picture is \(size)") }
    return byteCount
  }

  /// A part of the output, or `nil` where it is not all in there.
  func outputBytes(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    guard let memory = output?.memory, offset >= 0, count >= 0, offset <= memory.count,
      count <= memory.count - offset
    else { return nil }
    return UnsafeRawBufferPointer(rebasing: memory[offset..<offset + count])
  }

  /// Takes rows of a picture that is not done yet, while the worker makes the next.
  private func take(
    rows count: Int, of size: PixelSize, at offset: Int, _ options: ImageDecodingOptions
  ) throws(Failure) {
    if incoming == nil {
      let byteCount = try check(size, options)
      // Before there is memory for it: a worker that lies gets none.
      guard outputBytes(at: offset, count: byteCount) != nil else {
        throw .confused("its picture lies outside of the memory for it")
      }
      incoming = try IncomingPicture(size: size, offset: offset)
    }
    guard incoming?.size == size, incoming?.offset == offset,
      let source = outputBytes(at: offset, count: size.pixelCount * 4),
      incoming?.copy(rows: count, from: source) == true
    else { throw .confused("its rows make no picture") }
  }

  /// Copies a picture of a checked size out of the worker's reach, or what is left of it to be copied.
  func copyBitmap(at offset: Int, _ size: PixelSize, isOpaque: Bool) throws(Failure) -> Bitmap {
    guard let source = outputBytes(at: offset, count: size.pixelCount * 4) else {
      throw .confused("its picture lies outside of the memory for it")
    }
    var picture: IncomingPicture
    if let begun = incoming, begun.size == size, begun.offset == offset {
      picture = begun
    } else {
      picture = try IncomingPicture(size: size, offset: offset)
    }
    incoming = nil
    return picture.finish(from: source, isOpaque: isOpaque)
  }

  private func copyDeepBitmap(_ deep: WorkerPicture.Deep, _ size: PixelSize) throws(Failure) -> DeepBitmap {
    guard let source = outputBytes(at: deep.offset, count: size.pixelCount * 8) else {
      throw .confused("its picture lies outside of the memory for it")
    }
    guard let storage = try? DeepBitmap.storage(size) else { throw .noMemory(size) }
    storage.buffer.copyMemory(from: source)
    let pixels = storage.buffer.bindMemory(to: SIMD4<UInt16>.self)
    var isOpaque = deep.isOpaque
    for index in pixels.indices {
      let pixel = pixels[index], alpha = pixel.w
      if alpha < .max { isOpaque = false }
      pixels[index] = pointwiseMin(pixel, SIMD4(repeating: alpha))
    }
    return DeepBitmap(storage: storage, size: size, isOpaque: isOpaque, colorSpace: deep.colorSpace)
  }

  // MARK: Messages and memory

  private func send(_ request: WorkerRequest, descriptor: Int32 = -1) -> Bool {
    let isSent = request.bytes.withUnsafeBytes {
      calotype_socket_send(connection, $0.baseAddress, $0.count, descriptor) == 0
    }
    if !isSent { hasHungUp = true }
    return isSent
  }

  private func makeInput(_ byteCount: Int, waits: Bool = true) -> Bool {
    input = nil
    input = made(
      SharedArena.make(byteCount: byteCount, waits: waits) {
        send(.useInput(byteCount: byteCount), descriptor: $0)
      })
    return input != nil
  }

  private func makeOutput(_ byteCount: Int, waits: Bool = true) -> Bool {
    output = nil
    incoming = nil
    output = made(
      SharedArena.make(byteCount: byteCount, waits: waits) {
        send(.useOutput(byteCount: byteCount), descriptor: $0)
      })
    return output != nil
  }

  private func made(_ result: Result<SharedArena, POSIXFailure>) -> SharedArena? {
    switch result {
    case .success(let arena): return arena
    case .failure(let failure):
      if DescriptorShortage.isMeant(by: failure.number) { shortage = failure }
      return nil
    }
  }

  /// The next message, waited for until the deadline. A cancelled picture is passed on to the worker.
  private func receive(
    deadline: UInt64, cancellation: CancellationFlag?
  ) throws(Failure) -> WorkerReply {
    while true {
      let count = calotype_socket_receive(connection, messageBuffer.baseAddress, messageBuffer.count, nil)
      if count > 0 {
        guard let reply = WorkerReply(UnsafeRawBufferPointer(rebasing: messageBuffer[..<count])) else {
          throw .confused("its message is none")
        }
        return reply
      }
      guard count == -Int(EAGAIN) else {
        if count == 0 || count == -Int(ECONNRESET) { throw .died }
        throw .confused("its message is none")
      }
      try checkTime(deadline, cancellation)
    }
  }

  /// Looks whether to wait on.
  private func checkTime(_ deadline: UInt64, _ cancellation: CancellationFlag?) throws(Failure) {
    let now = monotonicNanoseconds()
    if now >= deadline { throw .overdue }
    if now >= nextLook {
      nextLook = now + Self.timeToLook
      if calotype_worker_is_stopped(processIdentifier) { throw .stopped }
    }
    guard cancellation?.isCancelled == true else { return }
    if let cancelTime {
      if now >= cancelTime + Self.timeToHeed { throw .heedless }
    } else {
      cancelTime = now
      if let flag = input?.memory.baseAddress { calotype_shared_flag_set(flag, 1) }
    }
  }

  // MARK: The end

  /// What ended a worker.
  enum End: Equatable {
    case status(Int32)
    case signal(Int32)
    /// It closed its connection, and had to be ended for that.
    case hungUp
    case unknown

    var text: String {
      switch self {
      case .status(let status): return "it left with status \(status)"
      case .signal(SIGSYS): return "it made a system call that the sandbox forbids"
      case .signal(let signal):
        let name = strsignal(signal).map { String(cString: $0) } ?? ""
        return "signal \(signal), \(name), ended it"
      case .hungUp: return "it closed its connection"
      case .unknown: return "why cannot be told"
      }
    }

    /// Whether it looks like the deed of a person, or of a system without memory: no crash ends so.
    var isFromOutside: Bool {
      if case .signal(let signal) = self {
        [SIGKILL, SIGTERM, SIGHUP, SIGINT].contains(signal)
      } else {
        false
      }
    }
  }

  /// Ends it, where it has not ended by itself, and waits for that.
  ///
  /// - Parameter isExpected: Whether it is ending by itself, as far as can be seen: then it is given the time.
  /// - Returns: What ended it, the first time it is asked.
  func end(isExpected: Bool = false) -> End {
    guard !hasEnded else { return .unknown }
    hasEnded = true
    // Descriptors are closed a moment before the process is gone. One that has only closed its connection would
    // otherwise seem to have been killed by another.
    let hasHungUp = isExpected && handle >= 0 && !calotype_worker_await_end(handle, 2000)
    // Whoever is ending already keeps the status that it ends with.
    calotype_worker_kill(processIdentifier, handle)
    close(connection)
    var status: Int32 = 0
    var result: pid_t
    repeat { result = waitpid(processIdentifier, &status, 0) } while result == -1 && errno == EINTR
    if handle >= 0 { close(handle) }
    if hasHungUp { return .hungUp }
    // Without a handle, whose kill it was is not known.
    guard result == processIdentifier, handle >= 0 || !isExpected else { return .unknown }
    let signal = status & 0x7F
    return signal == 0 ? .status((status >> 8) & 0xFF) : .signal(signal)
  }
}

/// What the system says of a call that failed.
struct POSIXFailure: Error, Equatable {
  let number: Int32
  var text: String { systemMessage(number) }
}
