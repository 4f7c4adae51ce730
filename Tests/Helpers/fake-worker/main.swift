import CSandbox
import Calotype
import Foundation

// Speaks a worker's language without being one, for tests of what its parent believes.
//
//   fake-worker worker VERSION LAYER …     introduces itself so, then does what each "picture" says
//   fake-worker parent PROGRAM PICTURE     starts a worker of a program on a picture, says its number, and waits
//
// A picture is a text: the name of what to answer and its numbers.

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "worker" where arguments.count >= 2:
  var worker = FakeWorker()
  worker.run(Array(arguments.dropFirst()))
case "parent" where arguments.count == 3: runParent(program: arguments[1], picture: arguments[2])
default:
  FileHandle.standardError.write(
    Data("usage: fake-worker worker VERSION LAYER … | parent PROGRAM PICTURE\n".utf8))
  exit(2)
}

/// A parent that has a worker busy until it is killed.
func runParent(program: String, picture: String) -> Never {
  var configuration = DecodingWorkers.Configuration()
  configuration.program = .path(program)
  configuration.deadline = 3600
  let workers = DecodingWorkers(configuration: configuration)
  let status = workers.status(for: .required)
  guard status.isIsolated, let worker = workers.idleProcessIdentifiers.first,
    let data = FileManager.default.contents(atPath: picture)
  else {
    print(status.summary)
    exit(1)
  }
  Thread.detachNewThread {
    let options = ImageDecodingOptions(
      targetSize: TargetSize(width: 8, height: 8),
      limits: .init(maximumPixelCount: .max, maximumSeconds: 3600))
    _ = try? IsolatedImageDecoder(.required, workers: workers).decode(data, options: options)
  }
  while workers.idleProcessIdentifiers.contains(worker) { sched_yield() }
  FileHandle.standardOutput.write(Data("\(worker)\n".utf8))
  while true { pause() }
}

struct FakeWorker {
  private let connection = DecodingWorkerProcess.connection
  private var input: SharedArena?
  private var output: SharedArena?

  private func send(_ bytes: [UInt8], descriptor: Int32 = -1) {
    if bytes.withUnsafeBytes({ calotype_socket_send(connection, $0.baseAddress, $0.count, descriptor) }) != 0
    {
      _exit(0)
    }
  }

  private func send(_ reply: WorkerReply) { send(reply.bytes) }

  mutating func run(_ words: [String]) -> Never {
    switch words[0] {
    case "nonsense": send([1, 2, 3])
    case "silent": while true { pause() }
    default: send(.hello(WorkerHello(version: words[0], layers: words.dropFirst().compactMap { Int32($0) })))
    }
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      var descriptor: Int32 = -1
      let count = calotype_socket_receive(connection, &buffer, buffer.count, &descriptor)
      guard count > 0 else { _exit(0) }
      let request = buffer[..<count].withUnsafeBytes { WorkerRequest($0) }
      switch request {
      case .useInput(let size): input = SharedArena(adopting: descriptor, byteCount: size, isWritable: true)
      case .useOutput(let size): output = SharedArena(adopting: descriptor, byteCount: size, isWritable: true)
      case .decode(let sequence, let size, _), .inspect(let sequence, let size, _),
        .readAnimation(let sequence, let size, _), .decodeFrames(let sequence, let size, _, _, _),
        .preview(let sequence, let size, _, _, _):
        let bytes = input.map { Array($0.memory.dropFirst(SharedArena.inputOffset).prefix(size)) } ?? []
        // A GIF by its first bytes.
        let order = bytes.starts(with: Array("GIF89a".utf8)) ? Array(bytes.dropFirst(6)) : bytes
        answer(sequence, String(decoding: order, as: UTF8.self))
      case .refuseOutput: send(.failure(sequence: lastSequence, .outOfMemory(PixelSize(width: 1, height: 1))))
      case nil: _exit(9)
      }
    }
  }

  private var lastSequence: UInt32 = 0

  private mutating func answer(_ sequence: UInt32, _ text: String) {
    lastSequence = sequence
    let words = text.split(separator: " ").map(String.init)
    let numbers = words.dropFirst().compactMap { Int($0) }
    // Another format than that of the first bytes, by the last word.
    let format = words.last.flatMap(ImageFormat.init(rawValue:)) ?? .gif
    var picture = WorkerPicture(
      size: PixelSize(width: 1, height: 1), offset: 0, isOpaque: true, format: format,
      originalSize: PixelSize(width: 1, height: 1), frameCount: 1)
    switch words.first {
    case "red":
      output?.memory.copyBytes(from: [255, 0, 0, 255])
    case "over-alpha":
      output?.memory.copyBytes(from: [255, 200, 100, 50])
    case "sized":
      picture.size = PixelSize(width: numbers[0], height: numbers[1])
      picture.offset = numbers[2]
    case "original": picture.originalSize = PixelSize(width: numbers[0], height: numbers[1])
    case "die":
      signal(Int32(numbers[0]), SIG_DFL)  // A sanitizer has a handler of its own.
      raise(Int32(numbers[0]))
      while true { pause() }
    case "first":
      // Does something the first time that a file is not there, and is good later.
      if mkdir(words[1], 0o700) == 0 {
        signal(Int32(numbers[0]), SIG_DFL)
        raise(Int32(numbers[0]))
      }
      output?.memory.copyBytes(from: [255, 0, 0, 255])
    case "rows":
      // Rows, and then the picture that they are of.
      picture.size = PixelSize(width: numbers[0], height: numbers[1])
      picture.offset = numbers[2]
      for count in numbers.dropFirst(3) {
        send(.rows(sequence: sequence, size: picture.size, offset: picture.offset, count: count))
      }
    case "rows-of-another":
      send(.rows(sequence: sequence, size: PixelSize(width: 3, height: 3), offset: 0, count: 2))
      output?.memory.copyBytes(from: [255, 0, 0, 255])
    case "rows-of-two":
      send(.rows(sequence: sequence, size: PixelSize(width: 3, height: 3), offset: 0, count: 1))
      send(.rows(sequence: sequence, size: PixelSize(width: 2, height: 3), offset: 0, count: 2))
    case "leave": _exit(Int32(numbers[0]))
    case "hang": while true { pause() }
    case "hang-up":
      close(connection)
      while true { pause() }
    case "noise":
      send((0..<numbers[0]).map { UInt8(truncatingIfNeeded: $0 &* 37) })
      return
    case "info":
      send(.info(sequence: sequence, ImageInfo(format: format, storedSize: PixelSize(width: 3, height: 2))))
      return
    case "frames":
      send(
        .frames(sequence: sequence, size: PixelSize(width: numbers[0], height: numbers[1]), count: numbers[2])
      )
      return
    case "animation":
      send(
        .animation(
          sequence: sequence, ImageInfo(format: format, storedSize: PixelSize(width: 3, height: 2)),
          delayCount: numbers[0]))
      return
    case "sequence":
      send(.picture(sequence: sequence &+ 1, picture))
      return
    case "hello":
      send(.hello(WorkerHello(version: "1", layers: [])))
      return
    case "cancelled":
      send(.failure(sequence: sequence, .cancelled))
      return
    case "error":
      send(
        .failure(
          sequence: sequence, .corrupt(.gif, reason: "\u{1B}[31m" + String(repeating: "x", count: 5000))))
      return
    case "wants":
      send(.needsOutput(sequence: sequence, byteCount: numbers[0]))
      return
    case "wants-twice":
      send(.needsOutput(sequence: sequence, byteCount: 4))
      send(.needsOutput(sequence: sequence, byteCount: 4))
      return
    case "flood":
      while true { send(.needsOutput(sequence: sequence &+ 7, byteCount: 4)) }
    case "descriptors":
      let file = open("/dev/null", O_RDONLY)
      send(WorkerReply.picture(sequence: sequence, picture).bytes, descriptor: file)
      close(file)
      return
    case "shrink":
      // The memory is sealed, so this must not take it away from under the parent.
      for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
        if let number = Int32(name), number > 3 { ftruncate(number, 0) }
      }
    default: _exit(8)
    }
    send(.picture(sequence: sequence, picture))
  }
}
