import Foundation

@testable import Calotype

/// Progressive JPEGs to be sent in pieces.
enum ProgressivePictures {
  /// A picture with soft and hard parts.
  static func bitmap(width: Int = 400, height: Int = 300) throws -> Bitmap {
    try Bitmap(size: PixelSize(width: width, height: height), isOpaque: true) { pixels in
      for y in 0..<height {
        for x in 0..<width {
          let at = (y * width + x) * 4
          let ring = (x - 150) * (x - 150) + (y - 120) * (y - 120) < 6400
          pixels[at] = UInt8(truncatingIfNeeded: x * 255 / width)
          pixels[at + 1] = ring ? 220 : UInt8(truncatingIfNeeded: y * 255 / height)
          pixels[at + 2] = UInt8(truncatingIfNeeded: (x * 7 ^ y * 5) & 0x3F) + 60
          pixels[at + 3] = 255
        }
      }
    }
  }

  static func jpeg(width: Int = 400, height: Int = 300) throws -> [UInt8] {
    Array(
      try ImageEncoder().encode(
        try bitmap(width: width, height: height),
        options: .init(format: .jpeg, quality: 85, isProgressive: true)))
  }

  /// Where each scan is known to have ended: behind the marker that follows it.
  static func scanEnds(_ file: [UInt8]) -> [Int] {
    var ends: [Int] = []
    var at = 2, isInScan = false
    while at + 1 < file.count {
      guard file[at] == 0xFF, file[at + 1] != 0, !(0xD0...0xD7).contains(file[at + 1]) else {
        at += 1
        continue
      }
      if isInScan { ends.append(at + 2) }
      isInScan = file[at + 1] == 0xDA
      if file[at + 1] == 0xD9 { break }
      at += 2 + Int(file[at + 2]) << 8 + Int(file[at + 3])
    }
    return ends
  }

  /// The same file with an EXIF orientation and a comment of some length.
  static func turned(_ file: [UInt8], _ orientation: UInt8) -> [UInt8] {
    let exif: [UInt8] =
      Array("Exif\0\0MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]
      + [0, 0, 0, 0]
    let comment = [UInt8](repeating: 0x41, count: 5000)
    func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
      let length = body.count + 2
      return [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)] + body
    }
    return Array(file[..<2]) + segment(0xE1, exif) + segment(0xFE, comment) + file[2...]
  }
}
