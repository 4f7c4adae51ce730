/// What the parent asks of a worker. Each is one message; memory comes with a descriptor.
package enum WorkerRequest: Equatable {
  /// Input lies in other memory from now on, of so many bytes.
  case useInput(byteCount: Int)
  /// Output goes to other memory from now on, of so many bytes.
  case useOutput(byteCount: Int)
  /// The memory that the worker wants cannot be had.
  case refuseOutput
  /// Decode the first bytes of the input.
  case decode(sequence: UInt32, byteCount: Int, options: ImageDecodingOptions)
  /// Read what the first bytes of the input say of their frames.
  case readAnimation(sequence: UInt32, byteCount: Int, limits: ImageDecodingLimits)
  /// Decode frames of the first bytes of the input. The token stands for the animation, so that a worker may go on
  /// where it was.
  case decodeFrames(
    sequence: UInt32, byteCount: Int, options: ImageDecodingOptions, token: UInt64, first: Int)
  /// Make previews of a file of which the first bytes of the input are all that has come, one for each target. The
  /// token stands for the file, so that a worker may go on where it was.
  case preview(
    sequence: UInt32, byteCount: Int, limits: ImageDecodingLimits, token: UInt64, targets: [TargetSize?])
  /// Read the header of the first bytes of the input.
  case inspect(sequence: UInt32, byteCount: Int, limits: ImageDecodingLimits)
}

/// What a worker answers. The parent believes none of it before it has been checked.
package enum WorkerReply: Equatable {
  /// The first message: the lock-down is done, and what came of each of its layers.
  case hello(WorkerHello)
  /// The picture lies in the output.
  case picture(sequence: UInt32, WorkerPicture)
  /// Frames lie in the output, all of one size, each at the next multiple of 64 bytes; none after the last.
  case frames(sequence: UInt32, size: PixelSize, count: Int)
  /// The delays of an animation's frames lie in the output, 4 bytes each, and what else its header says.
  case animation(sequence: UInt32, ImageInfo, delayCount: Int)
  /// Previews lie in the output, one for each target or none; whether there may be any later.
  case previews(sequence: UInt32, isHopeless: Bool, [WorkerPicture])
  /// What the header says.
  // Indirect: optimized by Swift 6.3, an `ImageInfo` comes out of a large enum as garbage.
  indirect case info(sequence: UInt32, ImageInfo)
  /// There is no picture.
  case failure(sequence: UInt32, ImageDecodingError)
  /// The output is too small for the picture.
  case needsOutput(sequence: UInt32, byteCount: Int)
  /// So many rows from the top of the picture are done, which lies in the output. The picture is told later.
  case rows(sequence: UInt32, size: PixelSize, offset: Int, count: Int)
}

/// How a worker introduces itself.
package struct WorkerHello: Equatable {
  /// The package's version: both sides must be of one.
  package var version: String
  /// An error's number for each layer, 0 where it holds.
  package var layers: [Int32]

  package init(version: String, layers: [Int32]) {
    self.version = version
    self.layers = layers
  }
}

/// A picture in the shared output.
package struct WorkerPicture: Equatable {
  package var size: PixelSize
  package var offset: Int
  package var isOpaque: Bool
  package var format: ImageFormat
  package var originalSize: PixelSize
  package var frameCount: Int
  /// Where the same picture lies with more depth, where it does.
  package var deep: Deep?

  package struct Deep: Equatable {
    package var offset: Int
    package var isOpaque: Bool
    package var colorSpace: DeepBitmap.ColorSpace
  }

  package init(
    size: PixelSize, offset: Int, isOpaque: Bool, format: ImageFormat, originalSize: PixelSize,
    frameCount: Int
  ) {
    self.size = size
    self.offset = offset
    self.isOpaque = isOpaque
    self.format = format
    self.originalSize = originalSize
    self.frameCount = frameCount
  }
}

/// Names the kinds of messages. The numbers of the two directions are apart, so that neither is ever taken for
/// the other.
enum WorkerMessageKind {
  static let useInput: UInt8 = 1, useOutput: UInt8 = 2, refuseOutput: UInt8 = 3, decode: UInt8 = 4
  static let inspect: UInt8 = 5, readAnimation: UInt8 = 6, decodeFrames: UInt8 = 7, preview: UInt8 = 8
  static let hello: UInt8 = 65, picture: UInt8 = 66, info: UInt8 = 67, failure: UInt8 = 68
  static let needsOutput: UInt8 = 69, frames: UInt8 = 70, animation: UInt8 = 71, rows: UInt8 = 72
  static let previews: UInt8 = 73

  /// No message is longer.
  static let largestMessage = 2048
}

extension WorkerRequest {
  /// The message's bytes.
  package var bytes: [UInt8] {
    var writer = MessageWriter()
    switch self {
    case .useInput(let byteCount):
      writer.put(WorkerMessageKind.useInput)
      writer.put(count: byteCount)
    case .useOutput(let byteCount):
      writer.put(WorkerMessageKind.useOutput)
      writer.put(count: byteCount)
    case .refuseOutput:
      writer.put(WorkerMessageKind.refuseOutput)
    case .decode(let sequence, let byteCount, let options):
      writer.put(WorkerMessageKind.decode)
      writer.put(sequence)
      writer.put(count: byteCount)
      writer.put(options)
    case .readAnimation(let sequence, let byteCount, let limits):
      writer.put(WorkerMessageKind.readAnimation)
      writer.put(sequence)
      writer.put(count: byteCount)
      writer.put(limits)
    case .decodeFrames(let sequence, let byteCount, let options, let token, let first):
      writer.put(WorkerMessageKind.decodeFrames)
      writer.put(sequence)
      writer.put(count: byteCount)
      writer.put(options)
      writer.put(token)
      writer.put(count: first)
    case .preview(let sequence, let byteCount, let limits, let token, let targets):
      writer.put(WorkerMessageKind.preview)
      writer.put(sequence)
      writer.put(count: byteCount)
      writer.put(limits)
      writer.put(token)
      writer.put(list: targets) { $0.put($1) }
    case .inspect(let sequence, let byteCount, let limits):
      writer.put(WorkerMessageKind.inspect)
      writer.put(sequence)
      writer.put(count: byteCount)
      writer.put(limits)
    }
    return writer.bytes
  }

  /// Reads a message; `nil` where it is none, or has anything left over.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard let message = MessageReader.message(bytes, Self.read) else { return nil }
    self = message
  }

  private static func read(_ kind: UInt8, _ reader: inout MessageReader) -> Self? {
    switch kind {
    case WorkerMessageKind.useInput: return reader.takeSize().map { .useInput(byteCount: $0) }
    case WorkerMessageKind.useOutput: return reader.takeSize().map { .useOutput(byteCount: $0) }
    case WorkerMessageKind.refuseOutput: return .refuseOutput
    case WorkerMessageKind.decode:
      guard let sequence = reader.take(UInt32.self), let byteCount = reader.takeSize(),
        let options = reader.takeOptions()
      else { return nil }
      return .decode(sequence: sequence, byteCount: byteCount, options: options)
    case WorkerMessageKind.readAnimation:
      guard let sequence = reader.take(UInt32.self), let byteCount = reader.takeSize(),
        let limits = reader.takeLimits()
      else { return nil }
      return .readAnimation(sequence: sequence, byteCount: byteCount, limits: limits)
    case WorkerMessageKind.decodeFrames:
      guard let sequence = reader.take(UInt32.self), let byteCount = reader.takeSize(),
        let options = reader.takeOptions(), let token = reader.take(UInt64.self),
        let first = reader.takeSize()
      else { return nil }
      return .decodeFrames(
        sequence: sequence, byteCount: byteCount, options: options, token: token, first: first)
    case WorkerMessageKind.preview:
      guard let sequence = reader.take(UInt32.self), let byteCount = reader.takeSize(),
        let limits = reader.takeLimits(), let token = reader.take(UInt64.self),
        let targets = reader.takeList({ $0.takeTarget() })
      else { return nil }
      return .preview(
        sequence: sequence, byteCount: byteCount, limits: limits, token: token, targets: targets)
    case WorkerMessageKind.inspect:
      guard let sequence = reader.take(UInt32.self), let byteCount = reader.takeSize(),
        let limits = reader.takeLimits()
      else { return nil }
      return .inspect(sequence: sequence, byteCount: byteCount, limits: limits)
    default: return nil
    }
  }
}

extension WorkerReply {
  /// The message's bytes.
  package var bytes: [UInt8] {
    var writer = MessageWriter()
    switch self {
    case .hello(let hello):
      writer.put(WorkerMessageKind.hello)
      writer.put(text: hello.version)
      writer.put(UInt8(truncatingIfNeeded: hello.layers.count))
      for layer in hello.layers.prefix(255) { writer.put(layer) }
    case .picture(let sequence, let picture):
      writer.put(WorkerMessageKind.picture)
      writer.put(sequence)
      writer.put(picture)
    case .previews(let sequence, let isHopeless, let pictures):
      writer.put(WorkerMessageKind.previews)
      writer.put(sequence)
      writer.put(isHopeless)
      writer.put(list: pictures) { $0.put($1) }
    case .info(let sequence, let info):
      writer.put(WorkerMessageKind.info)
      writer.put(sequence)
      writer.put(info)
    case .animation(let sequence, let info, let delayCount):
      writer.put(WorkerMessageKind.animation)
      writer.put(sequence)
      writer.put(info)
      writer.put(count: delayCount)
    case .frames(let sequence, let size, let count):
      writer.put(WorkerMessageKind.frames)
      writer.put(sequence)
      writer.put(size)
      writer.put(count: count)
    case .failure(let sequence, let error):
      writer.put(WorkerMessageKind.failure)
      writer.put(sequence)
      writer.put(error)
    case .needsOutput(let sequence, let byteCount):
      writer.put(WorkerMessageKind.needsOutput)
      writer.put(sequence)
      writer.put(count: byteCount)
    case .rows(let sequence, let size, let offset, let count):
      writer.put(WorkerMessageKind.rows)
      writer.put(sequence)
      writer.put(size)
      writer.put(count: offset)
      writer.put(count: count)
    }
    return writer.bytes
  }

  /// Reads a message; `nil` where it is none, or has anything left over.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard let message = MessageReader.message(bytes, Self.read) else { return nil }
    self = message
  }

  private static func read(_ kind: UInt8, _ reader: inout MessageReader) -> Self? {
    if kind == WorkerMessageKind.hello {
      guard let version = reader.takeText(), let count = reader.take(UInt8.self) else { return nil }
      var layers: [Int32] = []
      for _ in 0..<count {
        guard let layer = reader.take(Int32.self) else { return nil }
        layers.append(layer)
      }
      return .hello(WorkerHello(version: version, layers: layers))
    }
    guard let sequence = reader.take(UInt32.self) else { return nil }
    switch kind {
    case WorkerMessageKind.picture:
      return reader.takePicture().map { .picture(sequence: sequence, $0) }
    case WorkerMessageKind.previews:
      guard let isHopeless = reader.takeFlag(), let pictures = reader.takeList({ $0.takePicture() }) else {
        return nil
      }
      return .previews(sequence: sequence, isHopeless: isHopeless, pictures)
    case WorkerMessageKind.info:
      return reader.takeInfo().map { .info(sequence: sequence, $0) }
    case WorkerMessageKind.animation:
      guard let info = reader.takeInfo(), let delayCount = reader.takeSize() else { return nil }
      return .animation(sequence: sequence, info, delayCount: delayCount)
    case WorkerMessageKind.frames:
      guard let size = reader.takePixelSize(), let count = reader.takeSize() else { return nil }
      return .frames(sequence: sequence, size: size, count: count)
    case WorkerMessageKind.failure:
      return reader.takeDecodingError().map { .failure(sequence: sequence, $0) }
    case WorkerMessageKind.needsOutput:
      return reader.takeSize().map { .needsOutput(sequence: sequence, byteCount: $0) }
    case WorkerMessageKind.rows:
      guard let size = reader.takePixelSize(), let offset = reader.takeSize(), let count = reader.takeSize()
      else { return nil }
      return .rows(sequence: sequence, size: size, offset: offset, count: count)
    default: return nil
    }
  }
}
