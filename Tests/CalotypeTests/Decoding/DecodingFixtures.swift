import Foundation
import Testing

@testable import Calotype

/// The pictures beside this file, and what their pixels should be. `make-fixtures.py` makes them.
enum DecodingFixtures {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")
  static let size = PixelSize(width: 48, height: 32)
  static let halfSize = PixelSize(width: 24, height: 16)

  static func data(_ name: String) throws -> Data {
    try Data(contentsOf: folder.appending(path: name))
  }

  /// Every picture that this build decodes, by its file name.
  static func names(withSuffix suffix: String = "") -> [String] {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return all.filter { !$0.hasSuffix(".rgba") && $0.hasSuffix(suffix) }.sorted()
  }

  /// The pixels that a picture should have, as a bitmap.
  static func reference(_ name: String, size: PixelSize = size) throws -> Bitmap {
    let file = size == halfSize ? "\(name).half.rgba" : "\(name).rgba"
    let pixels = try data(file)
    try #require(pixels.count == size.pixelCount * 4)
    return try Bitmap(size: size, isOpaque: false) { target in _ = pixels.copyBytes(to: target) }
  }

  static func decode(
    _ data: Data, target: TargetSize? = nil, limits: ImageDecodingLimits = .init()
  ) throws -> ImageContainer {
    try ImageDecoder().decode(
      data, options: ImageDecodingOptions(targetSize: target, limits: limits),
      cancellation: CancellationFlag())
  }

  static func decode(_ name: String, target: TargetSize? = nil) throws -> ImageContainer {
    try decode(data(name), target: target)
  }

  static let half = TargetSize(width: 24, height: 16)
}

/// How far two pictures are apart.
enum PixelDifference {
  /// The mean of CIE76 colour differences, both over black; alpha counts as lightness would.
  static func meanDeltaE(_ left: Bitmap, _ right: Bitmap) -> Double {
    var sum = 0.0
    for y in 0..<left.height {
      for x in 0..<left.width {
        let a = left[x, y], b = right[x, y]
        let (l1, a1, b1) = lab(a), (l2, a2, b2) = lab(b)
        let alpha = Double(Int(a.alpha) - Int(b.alpha)) / 2.55
        sum += sqrt(pow(l1 - l2, 2) + pow(a1 - a2, 2) + pow(b1 - b2, 2) + alpha * alpha)
      }
    }
    return sum / Double(left.width * left.height)
  }

  /// The mean difference of a channel, 0 to 255.
  static func meanAbsoluteError(_ left: Bitmap, _ right: Bitmap) -> Double {
    left.withUnsafeBytes { a in
      right.withUnsafeBytes { b in
        Double(zip(a, b).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }) / Double(max(1, a.count))
      }
    }
  }

  /// The mean difference of each channel, 0 to 255: red, green, blue, alpha.
  static func channelErrors(_ left: Bitmap, _ right: Bitmap) -> [Double] {
    left.withUnsafeBytes { a in
      right.withUnsafeBytes { b in
        (0..<4).map { channel in
          let places = stride(from: channel, to: min(a.count, b.count), by: 4)
          let sum = places.reduce(0) { $0 + abs(Int(a[$1]) - Int(b[$1])) }
          return Double(sum) / Double(max(1, a.count / 4))
        }
      }
    }
  }

  private static func lab(_ pixel: Bitmap.Pixel) -> (Double, Double, Double) {
    func linear(_ value: UInt8) -> Double {
      let v = Double(value) / 255
      return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4)
    }
    let (r, g, b) = (linear(pixel.red), linear(pixel.green), linear(pixel.blue))
    func f(_ t: Double) -> Double { t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116 }
    let x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505)
    let y = f(0.2126 * r + 0.7152 * g + 0.0722 * b)
    let z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089)
    return (116 * y - 16, 500 * (x - y), 200 * (y - z))
  }
}
