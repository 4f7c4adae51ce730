import Calotype
import Foundation

/// Writes GIFs block by block, so that a test says each of them.
package struct MadeGIF {
  private var data: Data
  private let size: PixelSize

  /// Four colours: black, red, green, blue.
  private static let palette: [UInt8] = [0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255]

  /// - Parameter loops: What the loop block says, or `nil` for none.
  package init(width: Int, height: Int, loops: Int? = nil) {
    size = PixelSize(width: width, height: height)
    data = Data("GIF89a".utf8)
    word(width)
    word(height)
    data += [0x91, 0, 0] + Self.palette
    if let loops {
      data += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1]
      word(loops)
      data += [0]
    }
  }

  /// Adds a frame, by default of one colour and the size of the screen.
  package mutating func add(
    color: UInt8 = 1, x: Int = 0, y: Int = 0, width: Int? = nil, height: Int? = nil, delay: Int? = 10,
    disposal: UInt8 = 0, clear: UInt8? = nil, isInterlaced: Bool = false,
    indices: ((_ x: Int, _ y: Int) -> UInt8)? = nil
  ) {
    let width = width ?? size.width, height = height ?? size.height
    if delay != nil || disposal != 0 || clear != nil {
      data += [0x21, 0xF9, 4, disposal << 2 | (clear == nil ? 0 : 1)]
      word(delay ?? 0)
      data += [clear ?? 0, 0]
    }
    data += [0x2C]
    for number in [x, y, width, height] { word(number) }
    data += [isInterlaced ? 0x40 : 0]
    let rows =
      isInterlaced
      ? [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { Array(stride(from: $0, to: height, by: $1)) }
      : Array(0..<height)
    var pixels: [UInt8] = []
    pixels.reserveCapacity(width * height)
    for row in rows { for column in 0..<width { pixels.append(indices?(column, row) ?? color) } }
    let packed = Self.packed(pixels)
    data += [2]
    for start in stride(from: 0, to: packed.count, by: 255) {
      let block = packed[start..<min(start + 255, packed.count)]
      data += [UInt8(block.count)]
      data += block
    }
    data += [0]
  }

  /// The file, ended.
  package var file: Data { data + [0x3B] }

  /// Indices below 4 as GIF packs them (GIF 89a, appendix F).
  private static func packed(_ indices: [UInt8]) -> [UInt8] {
    let clear = 4, end = 5
    var bytes: [UInt8] = [], current = 0, bitCount = 0, codeSize = 3
    func write(_ code: Int) {
      current |= code << bitCount
      bitCount += codeSize
      while bitCount >= 8 {
        bytes.append(UInt8(current & 0xFF))
        current >>= 8
        bitCount -= 8
      }
    }
    var table: [Int: Int] = [:], next = 6
    write(clear)
    var prefix: Int?
    for index in indices {
      guard let known = prefix else {
        prefix = Int(index)
        continue
      }
      if let longer = table[known << 8 | Int(index)] {
        prefix = longer
        continue
      }
      write(known)
      table[known << 8 | Int(index)] = next
      if next == 1 << codeSize, codeSize < 12 { codeSize += 1 }
      next += 1
      if next == 4096 {
        write(clear)
        (table, next, codeSize) = ([:], 6, 3)
      }
      prefix = Int(index)
    }
    if let prefix { write(prefix) }
    write(end)
    if bitCount > 0 { bytes.append(UInt8(current & 0xFF)) }
    return bytes
  }

  private mutating func word(_ number: Int) {
    data += [UInt8(number & 0xFF), UInt8(number >> 8 & 0xFF)]
  }
}
