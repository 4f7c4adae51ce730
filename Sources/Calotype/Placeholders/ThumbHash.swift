#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// ThumbHash, after its author's description: the low frequencies of brightness, two colour differences and
/// alpha, four bits each.
enum ThumbHash {
  /// A channel's waves: those in the upper left triangle of `columns` × `rows`.
  private struct Waves {
    let columns: Int, rows: Int
    /// Row by row; the first, which is the mean, among them.
    var values: [Float]

    init(columns: Int, rows: Int) {
      self.columns = columns
      self.rows = rows
      values = []
      values.reserveCapacity(columns * rows)
    }

    /// How many waves there are in a row.
    func count(_ row: Int) -> Int { (columns * (rows - row) + rows - 1) / rows }

    /// What is left of the waves at a certain height: one number for each column.
    func atHeight(_ cosines: UnsafePointer<Float>) -> [Float] {
      var sums = [Float](repeating: 0, count: columns)
      var at = 0
      for row in 0..<rows {
        for column in 0..<count(row) {
          sums[column] += values[at] * cosines[row] * (row == 0 && column == 0 ? 1 : 2)
          at += 1
        }
      }
      return sums
    }
  }

  // MARK: Decoding

  /// - Throws: Where the bytes are too few to be a hash.
  static func decode(_ hash: [UInt8], aspectRatio: Double?) throws(ImagePlaceholderError) -> Bitmap {
    guard hash.count >= 5 else {
      throw ImagePlaceholderError(reason: "a ThumbHash has at least 5 bytes, not \(hash.count)")
    }
    let first = UInt32(hash[0]) | UInt32(hash[1]) << 8 | UInt32(hash[2]) << 16
    let second = UInt32(hash[3]) | UInt32(hash[4]) << 8
    let hasAlpha = first >> 23 != 0, isLandscape = second >> 15 != 0
    guard !hasAlpha || hash.count >= 6 else {
      throw ImagePlaceholderError(reason: "the ThumbHash is cut short")
    }
    let most = hasAlpha ? 5 : 7, least = Int(second & 7)
    let ratio = isLandscape ? Double(most) / Double(max(1, least)) : Double(max(1, least)) / Double(most)

    var place = hasAlpha ? 12 : 10
    var isCutShort = false
    func waves(_ columns: Int, _ rows: Int, mean: Float, scale: Float) -> Waves {
      var waves = Waves(columns: columns, rows: rows)
      waves.values.append(mean)
      for row in 0..<rows {
        for _ in (row == 0 ? 1 : 0)..<waves.count(row) {
          if place / 2 >= hash.count { isCutShort = true }
          let byte = place / 2 < hash.count ? hash[place / 2] : 0
          waves.values.append((Float(byte >> (place & 1 == 0 ? 0 : 4) & 15) / 7.5 - 1) * scale)
          place += 1
        }
      }
      return waves
    }
    func signed(_ bits: UInt32) -> Float { Float(bits & 63) / 31.5 - 1 }
    let light = waves(
      max(3, isLandscape ? most : least), max(3, isLandscape ? least : most), mean: Float(first & 63) / 63,
      scale: Float(first >> 18 & 31) / 31)
    // The colours are made a little stronger, since their numbers are coarse.
    let yellow = waves(3, 3, mean: signed(first >> 6), scale: Float(second >> 3 & 63) / 63 * 1.25)
    let red = waves(3, 3, mean: signed(first >> 12), scale: Float(second >> 9 & 63) / 63 * 1.25)
    let alpha =
      hasAlpha ? waves(5, 5, mean: Float(hash[5] & 15) / 15, scale: Float(hash[5] >> 4) / 15) : nil
    if isCutShort { throw ImagePlaceholderError(reason: "the ThumbHash is cut short") }

    let size = ImagePlaceholder.size(aspectRatio: aspectRatio ?? ratio)
    let across = cosines(size.width), down = cosines(size.height)
    return try ImagePlaceholder.bitmap(size, isOpaque: !hasAlpha) { pixels in
      across.withUnsafeBufferPointer { across in
        down.withUnsafeBufferPointer { down in
          guard let across = across.baseAddress, let down = down.baseAddress else { return }
          for y in 0..<size.height {
            let rows = [light, yellow, red].map { $0.atHeight(down + y * waveLimit) }
            let alphaRow = alpha?.atHeight(down + y * waveLimit)
            for x in 0..<size.width {
              let cosines = across + x * waveLimit
              let (l, p, q) = (value(rows[0], cosines), value(rows[1], cosines), value(rows[2], cosines))
              let blue = l - 2 / 3 * p
              let red = (3 * l - blue + q) / 2
              let shown = alphaRow.map { cut(value($0, cosines)) } ?? 1
              pixels[y * size.width + x] =
                byte(cut(red) * shown) | byte(cut(red - q) * shown) << 8 | byte(cut(blue) * shown) << 16
                | byte(shown) << 24
            }
          }
        }
      }
    }
  }

  private static let waveLimit = 8

  /// For each place along a side, the cosines of all waves.
  private static func cosines(_ length: Int) -> [Float] {
    (0..<length * waveLimit).map { index in
      cosf(Float.pi / Float(length) * (Float(index / waveLimit) + 0.5) * Float(index % waveLimit))
    }
  }

  private static func value(_ waves: [Float], _ cosines: UnsafePointer<Float>) -> Float {
    var sum: Float = 0
    for index in 0..<waves.count { sum += waves[index] * cosines[index] }
    return sum
  }

  private static func cut(_ value: Float) -> Float { max(0, min(1, value)) }
  private static func byte(_ value: Float) -> UInt32 { UInt32((value * 255).rounded()) }

  // MARK: Encoding

  /// - Parameter image: At most 100 pixels a side.
  static func encode(_ image: Bitmap) -> [UInt8] {
    let (width, height) = (image.width, image.height)
    var colors = [SIMD4<Float>](repeating: .zero, count: width * height)
    var sum = SIMD4<Float>.zero
    image.withUnsafeBytes { bytes in
      for at in 0..<width * height {
        colors[at] = SIMD4(
          Float(bytes[at * 4]), Float(bytes[at * 4 + 1]), Float(bytes[at * 4 + 2]), Float(bytes[at * 4 + 3]))
        colors[at] /= 255
        sum += colors[at]
      }
    }
    let hasAlpha = !image.isOpaque && sum.w < Float(width * height)
    // Behind what is transparent lies the mean of what is not.
    let mean = sum.w > 0 ? sum / sum.w : .zero
    let channels = colors.map { color -> SIMD4<Float> in
      let shown = color + mean * (1 - color.w)
      return SIMD4(
        (shown.x + shown.y + shown.z) / 3, (shown.x + shown.y) / 2 - shown.z, shown.x - shown.y, color.w)
    }
    let limit = Float(hasAlpha ? 5 : 7), longest = Float(max(width, height))
    let columns = max(1, Int((limit * Float(width) / longest).rounded()))
    let rows = max(1, Int((limit * Float(height) / longest).rounded()))
    let light = waves(channels, 0, image.size, max(3, columns), max(3, rows))
    let yellow = waves(channels, 1, image.size, 3, 3)
    let red = waves(channels, 2, image.size, 3, 3)
    let isLandscape = width > height

    func bits(_ value: Float, _ most: Float) -> UInt32 { UInt32(max(0, min(most, (value * most).rounded()))) }
    func signed(_ value: Float) -> UInt32 { UInt32(max(0, min(63, (31.5 + 31.5 * value).rounded()))) }
    let first =
      bits(light.mean, 63) | signed(yellow.mean) << 6 | signed(red.mean) << 12 | bits(light.scale, 31) << 18
      | (hasAlpha ? 1 << 23 : 0)
    let second =
      UInt32(isLandscape ? rows : columns) | bits(yellow.scale, 63) << 3 | bits(red.scale, 63) << 9
      | (isLandscape ? 1 << 15 : 0)
    var hash = [first, first >> 8, first >> 16, second, second >> 8].map { UInt8(truncatingIfNeeded: $0) }
    var rest = light.rest + yellow.rest + red.rest
    if hasAlpha {
      let alpha = waves(channels, 3, image.size, 5, 5)
      hash.append(UInt8(bits(alpha.mean, 15) | bits(alpha.scale, 15) << 4))
      rest += alpha.rest
    }
    for index in stride(from: 0, to: rest.count, by: 2) {
      let high = index + 1 < rest.count ? bits(rest[index + 1], 15) : 0
      hash.append(UInt8(bits(rest[index], 15) | high << 4))
    }
    return hash
  }

  /// A channel's mean, its strongest wave, and all waves from 0 for that strength downwards to 1 upwards.
  private static func waves(
    _ channels: [SIMD4<Float>], _ channel: Int, _ size: PixelSize, _ columns: Int, _ rows: Int
  ) -> (mean: Float, scale: Float, rest: [Float]) {
    let shape = Waves(columns: columns, rows: rows)
    let across = cosines(size.width), down = cosines(size.height)
    var values: [Float] = []
    for row in 0..<rows {
      for column in 0..<shape.count(row) {
        var sum: Float = 0
        for y in 0..<size.height {
          var line: Float = 0
          for x in 0..<size.width {
            line += channels[y * size.width + x][channel] * across[x * waveLimit + column]
          }
          sum += line * down[y * waveLimit + row]
        }
        values.append(sum / Float(size.width * size.height))
      }
    }
    let rest = values.dropFirst()
    let scale = rest.map(abs).max() ?? 0
    return (values[0], scale, rest.map { scale > 0 ? 0.5 + 0.5 / scale * $0 : $0 })
  }
}
