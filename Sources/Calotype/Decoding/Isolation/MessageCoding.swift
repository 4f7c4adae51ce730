/// Puts values together to a message: numbers little-endian, texts with their length before them.
struct MessageWriter {
  private(set) var bytes: [UInt8] = []

  init() { bytes.reserveCapacity(96) }

  mutating func put(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func put(_ value: Bool) { bytes.append(value ? 1 : 0) }

  /// A number that counts something, brought into what the other side takes.
  mutating func put(count: Int) { put(min(max(0, Int64(count)), MessageReader.largestNumber)) }

  mutating func put(_ size: PixelSize) {
    put(min(max(0, Int64(size.width)), MessageReader.longestSide))
    put(min(max(0, Int64(size.height)), MessageReader.longestSide))
  }

  mutating func put(_ limits: ImageDecodingLimits) {
    put(count: limits.maximumPixelCount)
    put(limits.maximumSeconds.bitPattern)
  }

  mutating func put(_ options: ImageDecodingOptions) {
    put(options.limits)
    put(options.isDeep)
    put(options.targetSize)
  }

  mutating func put(_ target: TargetSize?) {
    put(target != nil)
    guard let target else { return }
    put(target.width.bitPattern)
    put(target.height.bitPattern)
    put(target.scale.bitPattern)
    put(target.mode.rawValue)
    put(target.allowsUpscaling)
  }

  mutating func put(_ picture: WorkerPicture) {
    put(picture.size)
    put(count: picture.offset)
    put(picture.isOpaque)
    put(picture.format)
    put(picture.originalSize)
    put(count: picture.frameCount)
    put(picture.deep != nil)
    guard let deep = picture.deep else { return }
    put(count: deep.offset)
    put(deep.isOpaque)
    put(deep.colorSpace == .displayP3)
  }

  /// A few things of a kind; none after ``MessageReader/longestList``.
  mutating func put<Element>(list: [Element], _ put: (inout MessageWriter, Element) -> Void) {
    let part = list.prefix(MessageReader.longestList)
    self.put(UInt8(part.count))
    for element in part { put(&self, element) }
  }

  mutating func put(_ info: ImageInfo) {
    put(info.format)
    put(info.storedSize)
    put(info.orientation.rawValue)
    put(count: info.frameCount)
    put(count: info.loopCount)
    put(info.hasAlpha)
    put(count: info.bitsPerChannel)
    put(info.profile != nil)
    if let profile = info.profile { put(text: profile) }
  }

  mutating func put(_ format: ImageFormat) {
    put(UInt8(truncatingIfNeeded: ImageFormat.allCases.firstIndex(of: format) ?? 255))
  }

  /// Long texts are cut: a message has its limit, and these are for people.
  mutating func put(text: String) {
    let part = text.utf8.prefix(MessageReader.longestText)
    put(UInt16(truncatingIfNeeded: part.count))
    bytes.append(contentsOf: part)
  }

  mutating func put(_ error: ImageDecodingError) {
    switch error {
    case .empty: put(UInt8(0))
    case .unrecognized(let kind):
      put(UInt8(1))
      put(text: kind)
    case .unsupported(let format, let reason):
      put(UInt8(2))
      put(text: format)
      put(text: reason)
    case .truncated(let format):
      put(UInt8(3))
      put(format)
    case .corrupt(let format, let reason):
      put(UInt8(4))
      put(format)
      put(text: reason)
    case .limitExceeded(let size, let frames, let maximum):
      put(UInt8(5))
      put(size)
      put(count: frames)
      put(count: maximum)
    case .invalidTargetSize(let width, let height):
      put(UInt8(6))
      put(width.bitPattern)
      put(height.bitPattern)
    case .outOfMemory(let size):
      put(UInt8(7))
      put(size)
    // The parent's own, which a worker never meets.
    case .cancelled, .decoderDied, .decoderDiedBefore, .isolationUnavailable: put(UInt8(8))
    case .timedOut(let seconds):
      put(UInt8(9))
      put(seconds.bitPattern)
    }
  }
}

/// Takes a message apart. Whatever the bytes are it answers with a value or `nil`, and never reads past them.
struct MessageReader {
  private var rest: UnsafeRawBufferPointer

  /// The longest text that a message carries, in bytes.
  static let longestText = 400
  /// The most elements of a list.
  static let longestList = 16
  /// The most of anything that is counted.
  static let largestNumber = Int64(1) << 40
  /// The most pixels a side that a header can say.
  static let longestSide = Int64(1) << 32

  init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }

  /// Reads a message by its kind; `nil` where it is none, or has anything left over.
  static func message<Message>(
    _ bytes: UnsafeRawBufferPointer, _ read: (_ kind: UInt8, inout MessageReader) -> Message?
  ) -> Message? {
    var reader = MessageReader(bytes)
    guard let kind = reader.take(UInt8.self), let message = read(kind, &reader), reader.isAtEnd else {
      return nil
    }
    return message
  }

  mutating func take<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
    let count = MemoryLayout<Value>.size
    guard rest.count >= count else { return nil }
    let value = rest.loadUnaligned(as: Value.self)
    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    return Value(littleEndian: value)
  }

  mutating func takeFlag() -> Bool? {
    switch take(UInt8.self) {
    case 0: false
    case 1: true
    default: nil
    }
  }

  /// A number that counts something: from 0 to a limit that no sum or product of two overflows at.
  mutating func takeSize() -> Int? {
    guard let value = take(Int64.self), (0...Self.largestNumber).contains(value) else { return nil }
    return Int(value)
  }

  /// A picture's size: its sides may be anything that a header can say.
  mutating func takePixelSize() -> PixelSize? {
    guard let width = take(Int64.self), let height = take(Int64.self),
      (0...Self.longestSide).contains(width), (0...Self.longestSide).contains(height)
    else { return nil }
    return PixelSize(width: Int(width), height: Int(height))
  }

  mutating func takeLimits() -> ImageDecodingLimits? {
    guard let pixels = takeSize(), let seconds = take(UInt64.self) else { return nil }
    return ImageDecodingLimits(maximumPixelCount: pixels, maximumSeconds: Double(bitPattern: seconds))
  }

  mutating func takeOptions() -> ImageDecodingOptions? {
    guard let limits = takeLimits(), let isDeep = takeFlag(), let target = takeTarget() else { return nil }
    return ImageDecodingOptions(targetSize: target, limits: limits, isDeep: isDeep)
  }

  /// A target, or that there is none.
  mutating func takeTarget() -> TargetSize?? {
    guard let hasTarget = takeFlag() else { return nil }
    guard hasTarget else { return .some(nil) }
    guard let width = take(UInt64.self), let height = take(UInt64.self), let scale = take(UInt64.self),
      let mode = take(UInt8.self).flatMap(TargetSize.Mode.init(rawValue:)), let allowsUpscaling = takeFlag()
    else { return nil }
    return TargetSize(
      width: Double(bitPattern: width), height: Double(bitPattern: height),
      scale: Double(bitPattern: scale), mode: mode, allowsUpscaling: allowsUpscaling)
  }

  mutating func takePicture() -> WorkerPicture? {
    guard let size = takePixelSize(), let offset = takeSize(), let isOpaque = takeFlag(),
      let format = takeFormat(), let originalSize = takePixelSize(), let frameCount = takeSize(),
      frameCount > 0, let hasDeep = takeFlag()
    else { return nil }
    var picture = WorkerPicture(
      size: size, offset: offset, isOpaque: isOpaque, format: format, originalSize: originalSize,
      frameCount: frameCount)
    if hasDeep {
      guard let offset = takeSize(), let isOpaque = takeFlag(), let isWide = takeFlag() else { return nil }
      picture.deep = WorkerPicture.Deep(
        offset: offset, isOpaque: isOpaque, colorSpace: isWide ? .displayP3 : .sRGB)
    }
    return picture
  }

  mutating func takeList<Element>(_ take: (inout MessageReader) -> Element?) -> [Element]? {
    guard let count = self.take(UInt8.self), count <= Self.longestList else { return nil }
    var list: [Element] = []
    for _ in 0..<count {
      guard let element = take(&self) else { return nil }
      list.append(element)
    }
    return list
  }

  mutating func takeInfo() -> ImageInfo? {
    guard let format = takeFormat(), let storedSize = takePixelSize(),
      let orientation = take(UInt8.self).flatMap(ImageOrientation.init(rawValue:)),
      let frameCount = takeSize(), frameCount > 0, let loopCount = takeSize(), let hasAlpha = takeFlag(),
      let bits = takeSize(), bits <= 64, let hasProfile = takeFlag()
    else { return nil }
    var profile: String?
    if hasProfile {
      guard let text = takeText() else { return nil }
      profile = text
    }
    return ImageInfo(
      format: format, storedSize: storedSize, orientation: orientation, frameCount: frameCount,
      loopCount: loopCount, hasAlpha: hasAlpha, bitsPerChannel: bits, profile: profile)
  }

  mutating func takeFormat() -> ImageFormat? {
    guard let index = take(UInt8.self), Int(index) < ImageFormat.allCases.count else { return nil }
    return ImageFormat.allCases[Int(index)]
  }

  /// A text; bytes that are no UTF-8 are replaced.
  mutating func takeText() -> String? {
    guard let count = take(UInt16.self).map(Int.init), count <= Self.longestText, count <= rest.count else {
      return nil
    }
    defer { rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count)) }
    return String(decoding: rest.prefix(count), as: UTF8.self)
  }

  mutating func takeDecodingError() -> ImageDecodingError? {
    switch take(UInt8.self) {
    case 0: return .empty
    case 1: return takeText().map { .unrecognized(looksLike: $0) }
    case 2:
      guard let format = takeText(), let reason = takeText() else { return nil }
      return .unsupported(format: format, reason: reason)
    case 3: return takeFormat().map { .truncated($0) }
    case 4:
      guard let format = takeFormat(), let reason = takeText() else { return nil }
      return .corrupt(format, reason: reason)
    case 5:
      guard let size = takePixelSize(), let frames = takeSize(), let maximum = takeSize() else { return nil }
      return .limitExceeded(size: size, frames: frames, maximumPixelCount: maximum)
    case 6:
      guard let width = take(UInt64.self), let height = take(UInt64.self) else { return nil }
      return .invalidTargetSize(width: Double(bitPattern: width), height: Double(bitPattern: height))
    case 7: return takePixelSize().map { .outOfMemory($0) }
    case 8: return .cancelled
    case 9: return take(UInt64.self).map { .timedOut(seconds: Double(bitPattern: $0)) }
    default: return nil
    }
  }
}
