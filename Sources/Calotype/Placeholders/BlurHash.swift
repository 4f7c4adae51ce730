#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// BlurHash, after its authors' description of the format: waves in linear light, written in 83 characters.
enum BlurHash {
  private static let digits = Array(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8)

  /// From a byte of sRGB to linear light.
  private static let linear: [Float] = (0...255).map { byte in
    let value = Float(byte) / 255
    return value <= 0.04045 ? value / 12.92 : powf((value + 0.055) / 1.055, 2.4)
  }

  /// From linear light, in steps of 1/4095, to a byte of sRGB.
  private static let bytes: [UInt8] = (0...4095).map { step in
    let value = Float(step) / 4095
    let curved = value <= 0.0031308 ? value * 12.92 : 1.055 * powf(value, 1 / 2.4) - 0.055
    return UInt8((curved * 255).rounded())
  }

  private static func byte(_ light: Float) -> UInt32 {
    UInt32(bytes[Int((max(0, min(1, light)) * 4095).rounded())])
  }

  // MARK: Decoding

  static func decode(_ text: String, aspectRatio: Double?) throws(ImagePlaceholderError) -> Bitmap {
    // 9 × 9 waves are the most that there can be.
    let characters = Array(text.utf8.prefix(200))
    let values = characters.compactMap { character in digits.firstIndex(of: character) }
    guard values.count == characters.count, values.count >= 6 else {
      throw ImagePlaceholderError(reason: "a BlurHash is at least 6 characters of its own 83")
    }
    // Of the 83 digits the last two would be ten rows.
    guard values[0] < 81 else { throw ImagePlaceholderError(reason: "a BlurHash has at most 9×9 waves") }
    let columns = values[0] % 9 + 1, rows = values[0] / 9 + 1
    guard values.count == 4 + 2 * columns * rows else {
      throw ImagePlaceholderError(
        reason:
          "a BlurHash of \(columns)×\(rows) waves has \(4 + 2 * columns * rows) characters, not \(values.count)"
      )
    }
    let mean = values[2..<6].reduce(0) { $0 * 83 + $1 }
    guard mean < 1 << 24 else { throw ImagePlaceholderError(reason: "the BlurHash's mean colour is none") }
    var waves = [SIMD3(linear[mean >> 16], linear[mean >> 8 & 255], linear[mean & 255])]
    let most = Float(values[1] + 1) / 166
    for index in 1..<max(1, columns * rows) {
      let value = values[4 + index * 2] * 83 + values[5 + index * 2]
      func component(_ part: Int) -> Float {
        let share = Float(part - 9) / 9
        return share * abs(share) * most
      }
      waves.append(SIMD3(component(min(18, value / 361)), component(value / 19 % 19), component(value % 19)))
    }
    let size = ImagePlaceholder.size(aspectRatio: aspectRatio ?? Double(columns) / Double(rows))
    let across = cosines(size.width), down = cosines(size.height)
    return try ImagePlaceholder.bitmap(size, isOpaque: true) { pixels in
      for y in 0..<size.height {
        let row = (0..<columns).map { column in
          (0..<rows).reduce(SIMD3<Float>.zero) { $0 + waves[$1 * columns + column] * down[y * 9 + $1] }
        }
        for x in 0..<size.width {
          var color = SIMD3<Float>.zero
          for column in 0..<columns { color += row[column] * across[x * 9 + column] }
          pixels[y * size.width + x] = byte(color.x) | byte(color.y) << 8 | byte(color.z) << 16 | 0xFF00_0000
        }
      }
    }
  }

  /// For each place along a side, the cosines of all waves.
  private static func cosines(_ length: Int) -> [Float] {
    (0..<length * 9).map { cosf(Float.pi * Float($0 / 9) * Float($0 % 9) / Float(length)) }
  }

  // MARK: Encoding

  /// - Parameter image: Opaque, and small.
  static func encode(_ image: Bitmap, components: (x: Int, y: Int)) -> String {
    let across = cosines(image.width), down = cosines(image.height)
    let lights = image.withUnsafeBytes { bytes in
      (0..<image.width * image.height).map { at in
        SIMD3(linear[Int(bytes[at * 4])], linear[Int(bytes[at * 4 + 1])], linear[Int(bytes[at * 4 + 2])])
      }
    }
    var waves: [SIMD3<Float>] = []
    for row in 0..<components.y {
      for column in 0..<components.x {
        var sum = SIMD3<Float>.zero
        for y in 0..<image.height {
          var line = SIMD3<Float>.zero
          for x in 0..<image.width { line += lights[y * image.width + x] * across[x * 9 + column] }
          sum += line * down[y * 9 + row]
        }
        waves.append(sum * ((row + column == 0 ? 1 : 2) / Float(image.width * image.height)))
      }
    }
    let rest = waves.dropFirst()
    let strongest = rest.map { max(abs($0.x), abs($0.y), abs($0.z)) }.max() ?? 0
    let step = rest.isEmpty ? 0 : max(0, min(82, Int((strongest * 166 - 0.5).rounded(.down))))
    let most = Float(step + 1) / 166
    var text: [UInt8] = []
    func write(_ value: Int, _ count: Int) {
      var value = value, characters: [UInt8] = []
      for _ in 0..<count {
        characters.append(digits[value % 83])
        value /= 83
      }
      text += characters.reversed()
    }
    write(components.x - 1 + (components.y - 1) * 9, 1)
    write(step, 1)
    write(Int(byte(waves[0].x) << 16 | byte(waves[0].y) << 8 | byte(waves[0].z)), 4)
    for wave in rest {
      func part(_ value: Float) -> Int {
        let share = value / most
        let root = (abs(share)).squareRoot() * (share < 0 ? -1 : 1)
        return max(0, min(18, Int((root * 9 + 9.5).rounded(.down))))
      }
      write(part(wave.x) * 361 + part(wave.y) * 19 + part(wave.z), 2)
    }
    return String(decoding: text, as: UTF8.self)
  }
}
