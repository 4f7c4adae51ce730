/// Reads a binary property list (`bplist00`) piece by piece. The file is in memory; its objects are read
/// where they stand, one at a time, so an object that many others refer to is never copied out.
final class BinaryPropertyListTokenizer: TreeTokenizing {
  private let bytes: [UInt8]
  private let name: String
  private let limits: ImageListLimits
  private let offsetSize: Int
  private let referenceSize: Int
  private let objectCount: Int
  private let topObject: Int
  private let offsetTable: Int
  private var open: [Frame] = []
  private var hasStarted = false
  private var lastOffset = 0

  private struct Frame {
    var isDictionary: Bool
    /// Where its references begin.
    var start: Int
    var count: Int
    var index = 0
    var isAfterKey = false
  }

  /// Reads the trailer: the file's last 32 bytes.
  init(_ bytes: [UInt8], name: String, limits: ImageListLimits) throws(ImageListError) {
    func number(_ start: Int, _ size: Int) -> Int? {
      var value: UInt64 = 0
      for byte in bytes[start..<(start + size)] { value = value << 8 | UInt64(byte) }
      return Int(exactly: value)
    }
    let trailer = bytes.count - 32
    guard trailer >= 9, bytes.starts(with: "bplist0".utf8),
      let count = number(trailer + 8, 8), let top = number(trailer + 16, 8),
      let table = number(trailer + 24, 8)
    else { throw Self.damaged(name, "it is too short, or its trailer is wrong") }
    let (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
    let (tableLength, overflow) = count.multipliedReportingOverflow(by: offsetSize)
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), !overflow, top < count,
      table >= 8, table <= trailer, tableLength <= trailer - table
    else { throw Self.damaged(name, "its trailer is wrong: the list is cut off, or no property list") }
    self.bytes = bytes
    self.name = name
    self.limits = limits
    self.offsetSize = offsetSize
    self.referenceSize = referenceSize
    objectCount = count
    topObject = top
    offsetTable = table
  }

  let formatName = "binary property list"
  var isReady: Bool { true }
  var place: ImageListPlace { ImageListPlace(byte: lastOffset) }

  func next() throws(ImageListError) -> TreeToken? {
    guard var frame = open.last else {
      if hasStarted { return nil }
      hasStarted = true
      return try object(topObject)
    }
    if frame.index == frame.count {
      open.removeLast()
      return frame.isDictionary ? .endDictionary : .endArray
    }
    var position = frame.start + frame.index * referenceSize
    if frame.isDictionary, !frame.isAfterKey {
      frame.isAfterKey = true
      open[open.count - 1] = frame
      guard case .scalar(let text) = try object(try integer(position, referenceSize)) else {
        throw damaged("a key is no text")
      }
      return .key(text)
    }
    if frame.isDictionary { position += frame.count * referenceSize }
    frame.isAfterKey = false
    frame.index += 1
    open[open.count - 1] = frame
    return try object(try integer(position, referenceSize))
  }

  func skipContainer() { open.removeLast() }

  /// Objects may refer to others over and over: to follow them all could take for ever.
  func finish() { open.removeAll() }

  private func object(_ reference: Int) throws(ImageListError) -> TreeToken {
    guard reference < objectCount else { throw damaged("it refers to an object that it does not have") }
    var at = try integer(offsetTable + reference * offsetSize, offsetSize)
    guard at >= 8, at < offsetTable else { throw damaged("an object lies outside of it") }
    lastOffset = at
    let marker = bytes[at]
    at += 1
    let low = Int(marker & 0x0F)
    switch marker >> 4 {
    case 0x0: return low == 8 ? .scalar("false") : low == 9 ? .scalar("true") : .nothing
    case 0x1:
      guard low <= 4 else { throw damaged("an integer has an impossible size") }
      return .scalar(try integerText(at, 1 << low))
    case 0x2:
      guard low == 2 || low == 3 else { throw damaged("a number has an impossible size") }
      let bits = try unsigned(at, 1 << low)
      let value =
        low == 2 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
      return .scalar(value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)")
    case 0x5:
      let count = try length(low, &at, elementSize: 1)
      guard count <= limits.maximumRowLength else { return .unusable(RowText.tooLong(limits)) }
      return RowText.string(bytes[at..<(at + count)]).map(TreeToken.scalar) ?? .unusable("is not ASCII")
    case 0x6:
      let count = try length(low, &at, elementSize: 2)
      guard count <= limits.maximumRowLength else { return .unusable(RowText.tooLong(limits)) }
      let units = (0..<count).map { UInt16(bytes[at + $0 * 2]) << 8 | UInt16(bytes[at + $0 * 2 + 1]) }
      return .scalar(String(decoding: units, as: UTF16.self))
    case 0xA, 0xB, 0xC: return try begin(low, &at, isDictionary: false)
    case 0xD: return try begin(low, &at, isDictionary: true)
    default: return .nothing
    }
  }

  private func begin(_ low: Int, _ at: inout Int, isDictionary: Bool) throws(ImageListError) -> TreeToken {
    guard open.count < limits.maximumDepth else {
      throw ImageListError(
        list: name, place: place,
        reason: "is nested deeper than \(limits.maximumDepth) levels, or holds itself")
    }
    let count = try length(low, &at, elementSize: isDictionary ? referenceSize * 2 : referenceSize)
    open.append(Frame(isDictionary: isDictionary, start: at, count: count))
    return isDictionary ? .beginDictionary : .beginArray
  }

  /// A count of elements that all lie inside the file.
  private func length(_ low: Int, _ at: inout Int, elementSize: Int) throws(ImageListError) -> Int {
    var count = low
    if low == 0x0F {
      guard at < offsetTable, bytes[at] >> 4 == 1, bytes[at] & 0x0F <= 3 else {
        throw damaged("a length is wrong")
      }
      let size = 1 << Int(bytes[at] & 0x0F)
      count = try integer(at + 1, size)
      at += 1 + size
    }
    let (length, overflow) = count.multipliedReportingOverflow(by: elementSize)
    guard !overflow, at <= offsetTable, length <= offsetTable - at else {
      throw damaged("a value reaches beyond its end")
    }
    return count
  }

  private func integer(_ at: Int, _ size: Int) throws(ImageListError) -> Int {
    guard let value = Int(exactly: try unsigned(at, size)) else { throw damaged("a number is too large") }
    return value
  }

  private func unsigned(_ at: Int, _ size: Int) throws(ImageListError) -> UInt64 {
    guard at >= 0, at <= bytes.count - size else { throw damaged("it is cut off") }
    var value: UInt64 = 0
    for index in at..<(at + size) { value = value << 8 | UInt64(bytes[index]) }
    return value
  }

  /// Integers of 8 bytes are signed, shorter ones are not; of 16 bytes the lower half counts.
  private func integerText(_ at: Int, _ size: Int) throws(ImageListError) -> String {
    if size < 8 { return String(try unsigned(at, size)) }
    let value = try unsigned(size == 16 ? at + 8 : at, 8)
    return size == 16 ? String(value) : String(Int64(bitPattern: value))
  }

  private func damaged(_ what: String) -> ImageListError { Self.damaged(name, what, at: place) }

  private static func damaged(_ name: String, _ what: String, at place: ImageListPlace = .init())
    -> ImageListError
  {
    ImageListError(list: name, place: place, reason: "the binary property list is damaged: \(what)")
  }
}
