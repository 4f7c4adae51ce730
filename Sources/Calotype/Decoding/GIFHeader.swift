/// What a GIF's blocks say (GIF 89a), read without unpacking any.
struct GIFHeader {
  /// One frame's place on the screen.
  struct Frame {
    var x = 0, y = 0
    var size = PixelSize(width: 0, height: 0)
    var isInterlaced = false
    /// The palette's index that stands for clear, or `nil`.
    var clearIndex: Int?
  }

  var size = PixelSize(width: 0, height: 0)
  var firstFrame = Frame()
  var frameCount = 0
  var loopCount = 1
  /// Whether every block is there; only the one-byte trailer may be missing, as it is in many files.
  var isComplete = false
  private var hasClearPixels = false
  /// How long each frame is shown, in milliseconds as stored, where that was asked for.
  private(set) var delays: [UInt32] = []
  private let collectsDelays: Bool

  /// - Returns: `nil` where the bytes end before the first frame's size is known.
  init?(_ view: ByteView, collectsDelays: Bool = false) {
    self.collectsDelays = collectsDelays
    guard let width = view.uint16(at: 6, littleEndian: true),
      let height = view.uint16(at: 8, littleEndian: true),
      let flags = view[10]
    else { return nil }
    size = PixelSize(width: width, height: height)
    readBlocks(view, from: 13 + Self.paletteByteCount(flags))
    guard frameCount > 0 else { return }
    // A screen that the first frame does not fit on is a writer's mistake, told by the frame.
    if size.width < firstFrame.size.width || size.height < firstFrame.size.height {
      size = firstFrame.size
      firstFrame.x = 0
      firstFrame.y = 0
    }
  }

  private static func paletteByteCount(_ flags: UInt8) -> Int {
    flags & 0x80 != 0 ? 3 << (Int(flags & 7) + 1) : 0
  }

  private mutating func readBlocks(_ view: ByteView, from start: Int) {
    var at = start
    var clearIndex: Int?
    var delay = 0
    while true {
      guard let kind = view[at] else {
        isComplete = at == view.count && frameCount > 0
        return
      }
      switch kind {
      case 0x21:  // An extension.
        guard let label = view[at + 1] else { return }
        if label == 0xF9, let flags = view[at + 3] {
          clearIndex = flags & 1 != 0 ? view[at + 6].map(Int.init) : nil
          if clearIndex != nil { hasClearPixels = true }
          delay = view.uint16(at: at + 4, littleEndian: true) ?? 0
        } else if label == 0xFF {
          readApplicationBlock(view, at: at + 2)
        }
        guard let next = Self.endOfSubblocks(view, from: at + 2) else { return }
        at = next
      case 0x2C:  // A frame.
        guard let next = readFrame(view, at: at, clearIndex: clearIndex) else { return }
        if collectsDelays { delays.append(UInt32(delay) * 10) }
        clearIndex = nil
        delay = 0
        at = next
      case 0x3B:  // The trailer.
        isComplete = true
        return
      default:
        // Stray bytes between blocks: what came before them is whole.
        isComplete = frameCount > 0
        return
      }
    }
  }

  private mutating func readFrame(_ view: ByteView, at: Int, clearIndex: Int?) -> Int? {
    guard let x = view.uint16(at: at + 1, littleEndian: true),
      let y = view.uint16(at: at + 3, littleEndian: true),
      let width = view.uint16(at: at + 5, littleEndian: true),
      let height = view.uint16(at: at + 7, littleEndian: true), let flags = view[at + 9]
    else { return nil }
    frameCount += 1
    if frameCount == 1 {
      firstFrame = Frame(
        x: x, y: y, size: PixelSize(width: width, height: height), isInterlaced: flags & 0x40 != 0,
        clearIndex: clearIndex)
    }
    return Self.endOfSubblocks(view, from: at + 11 + Self.paletteByteCount(flags))
  }

  /// How often to play: the block counts repeats, so one more than it says; 0 is for ever.
  private mutating func readApplicationBlock(_ view: ByteView, at: Int) {
    guard view.matches("NETSCAPE2.0", at: at + 1) || view.matches("ANIMEXTS1.0", at: at + 1),
      view[at + 12] == 3, view[at + 13] == 1, let repeats = view.uint16(at: at + 14, littleEndian: true)
    else { return }
    loopCount = repeats == 0 ? 0 : repeats + 1
  }

  private static func endOfSubblocks(_ view: ByteView, from start: Int) -> Int? {
    var at = start
    while let length = view[at] {
      at += 1 + Int(length)
      if length == 0 { return at }
    }
    return nil
  }

  /// Whether the first frame leaves a part of the screen clear.
  var hasAlphaInFirstFrame: Bool {
    firstFrame.clearIndex != nil || firstFrame.x > 0 || firstFrame.y > 0
      || firstFrame.size.width < size.width || firstFrame.size.height < size.height
  }

  var info: ImageInfo {
    ImageInfo(
      format: .gif, storedSize: size, frameCount: max(1, frameCount),
      loopCount: frameCount > 1 ? loopCount : 1,
      hasAlpha: hasClearPixels || hasAlphaInFirstFrame)
  }
}
