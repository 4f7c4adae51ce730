import Calotype
import Foundation

/// The photo and the icon that prints are made of.
struct Subject {
  private let photo: Data
  private let icon: Data
  private let decoder = ImageDecoder()
  private static let side = 120.0

  init(photo: Data, icon: Data) {
    self.photo = photo
    self.icon = icon
  }

  private func print(_ data: Data, _ target: TargetSize?, _ processors: [any ImageProcessing] = []) throws
    -> Bitmap
  {
    try ImageProcessors.apply(processors, to: decoder.decode(data, targetSize: target).bitmap)
  }

  private func fit(_ side: Double = Subject.side) -> TargetSize { TargetSize(width: side, height: side) }

  func modes() throws -> [Cell] {
    var cells: [Cell] = []
    for mode in TargetSize.Mode.allCases {
      for (width, height) in [(120.0, 120.0), (120, 60), (50, 120)] {
        let target = TargetSize(width: width, height: height, mode: mode)
        cells.append(Cell(name: "\(mode) \(Int(width))×\(Int(height))", bitmap: try print(photo, target)))
      }
    }
    for anchor in ImageProcessors.Resize.Anchor.allCases {
      for (width, height) in [(120, 40), (40, 120)] {
        let resize = ImageProcessors.Resize(
          TargetSize(width: Double(width), height: Double(height), mode: .fill), anchor: anchor)
        cells.append(
          Cell(name: "\(anchor.rawValue) \(width)×\(height)", bitmap: try print(photo, nil, [resize])))
      }
    }
    let enlarged = TargetSize(width: 120, height: 120, allowsUpscaling: true)
    let small = try ImageEncoder().encode(print(icon, fit(24)), options: ImageEncodingOptions(format: .png))
    cells.append(Cell(name: "24 enlarged to 120", bitmap: try print(small, enlarged)))
    cells.append(Cell(name: "24 not enlarged", bitmap: try print(small, fit())))
    for filter in ResamplingFilter.allCases {
      let resize = ImageProcessors.Resize(fit(), filter: filter)
      cells.append(Cell(name: "filter \(filter)", bitmap: try print(photo, nil, [resize])))
    }
    return cells
  }

  func processors() throws -> [Cell] {
    let badge = try print(icon, fit(36))
    let white = ImageBorder(width: 4, color: .white)
    let blue = ImageBorder(width: 6, color: ColorValue(0x1C, 0x71, 0xD8))
    let list: [(String, any ImageProcessing)] = [
      ("circle", .circle), ("circle, border", .circle(border: blue)),
      ("round 16", .roundedCorners(radius: 16)),
      ("round, each corner", .roundedCorners(topLeft: 0, topRight: 12, bottomRight: 24, bottomLeft: 40)),
      ("round, border", .roundedCorners(radius: 16, border: blue)),
      ("round, white border", .roundedCorners(radius: 16, border: white)),
      ("border 3", .border(width: 3, color: .black)),
      ("blur 0", .blur(radius: 0)), ("blur 1", .blur(radius: 1)), ("blur 4", .blur(radius: 4)),
      ("blur 20", .blur(radius: 20)),
      ("tint red 50 %", .tint(ColorValue(255, 0, 0, alpha: 128))),
      ("tint blue", .tint(ColorValue(0, 0, 255))),
      ("grey", .grey), ("brightness 0.5", .brightness(0.5)), ("brightness 1.6", .brightness(1.6)),
      ("contrast 0.5", .contrast(0.5)), ("contrast 1.8", .contrast(1.8)),
      ("sharpen", .sharpen()), ("sharpen 2, 2", .sharpen(amount: 2, radius: 2)),
      ("flip h", .flip(.horizontal)), ("flip v", .flip(.vertical)), ("rotate 90", .rotate(quarters: 1)),
      ("rotate 180", .rotate(quarters: 2)), ("rotate 270", .rotate(quarters: 3)),
      ("crop 40,20,60,40", .crop(x: 40, y: 20, width: 60, height: 40)),
      ("background", .background(ColorValue(255, 230, 150))),
      (
        "own: swap red and blue",
        .custom(identifier: "swap") { image, _ in
          try Bitmap(size: image.size, isOpaque: image.isOpaque) { target in
            image.withUnsafeBytes { source in
              for at in 0..<source.count {
                target[at] = source[at % 4 == 0 ? at + 2 : at % 4 == 2 ? at - 2 : at]
              }
            }
          }
        }
      ),
    ]
    var cells = try list.map { Cell(name: $0.0, bitmap: try print(photo, fit(), [$0.1])) }
    for position in ImageProcessors.Overlay.Position.allCases {
      let overlay = ImageProcessors.Overlay(
        badge, position: position, margin: 5, opacity: position == .center ? 0.5 : 1)
      cells.append(Cell(name: "overlay \(position.rawValue)", bitmap: try print(photo, fit(), [overlay])))
    }
    return cells
  }

  func iconProcessors() throws -> [Cell] {
    let list: [(String, any ImageProcessing)] = [
      ("as it is", .rotate(quarters: 0)), ("circle", .circle),
      ("round, border", .roundedCorners(radius: 20, border: ImageBorder(width: 3, color: .black))),
      ("blur 3", .blur(radius: 3)), ("tint", .tint(ColorValue(0x26, 0xA2, 0x69))), ("grey", .grey),
      ("brightness 1.5", .brightness(1.5)), ("contrast 0.4", .contrast(0.4)),
      ("sharpen 2", .sharpen(amount: 2)),
      ("flip h", .flip(.horizontal)), ("rotate 90", .rotate(quarters: 1)),
      ("background white", .background(.white)),
      ("background half clear", .background(ColorValue(255, 0, 0, alpha: 128))),
    ]
    return try list.map { Cell(name: $0.0, bitmap: try print(icon, fit(), [$0.1])) }
  }

  func chains() throws -> [Cell] {
    let shadow = ImageBorder(width: 2, color: ColorValue(0, 0, 0, alpha: 120))
    let list: [(String, Data, [any ImageProcessing])] = [
      ("grey, tint, circle", photo, [.grey, .tint(ColorValue(180, 100, 0, alpha: 90)), .circle]),
      ("blur, brightness, round", photo, [.blur(radius: 3), .brightness(0.7), .roundedCorners(radius: 20)]),
      ("rotate, circle, border", photo, [.rotate(quarters: 1), .circle(border: shadow)]),
      (
        "crop, sharpen, flip", photo,
        [.crop(x: 30, y: 10, width: 60, height: 60), .sharpen(), .flip(.horizontal)]
      ),
      (
        "background, round, border", icon, [.background(.white), .roundedCorners(radius: 24, border: shadow)]
      ),
      ("circle, then background", photo, [.circle, .background(ColorValue(200, 220, 255))]),
    ]
    return try list.map { Cell(name: $0.0, bitmap: try print($0.1, fit(), $0.2)) }
  }

  /// The photo stored in each of the eight ways that a camera may be held, as JPEG with the tag that says so.
  func orientations() throws -> [Cell] {
    let upright = try print(photo, fit(240))
    return try ImageOrientation.allCases.map { orientation in
      // Turned back, so that turning it as the tag says makes it upright.
      let inverse: ImageOrientation =
        switch orientation {
        case .left: .right
        case .right: .left
        default: orientation
        }
      let plain = try ImageEncoder().encode(
        upright.oriented(inverse), options: ImageEncodingOptions(format: .jpeg, quality: 92))
      // A JPEG's start, then an EXIF segment with that one tag (TIFF 6.0, section 2), then the rest.
      let exif: [UInt8] =
        [0xFF, 0xE1, 0, 34] + Array("Exif\0\0MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1]
        + [0, orientation.rawValue, 0, 0, 0, 0, 0, 0]
      let data = plain.prefix(2) + Data(exif) + plain.dropFirst(2)
      let info = try decoder.inspect(data)
      return Cell(
        name: "\(orientation.rawValue): \(info.storedSize) stored", bitmap: try print(data, fit()))
    }
  }

  func encoders() throws -> [Cell] {
    let small = try print(photo, fit())
    let clear = try print(icon, fit())
    let list: [(String, Bitmap, ImageEncodingOptions)] = [
      ("png", small, .init(format: .png)), ("jpeg 10", small, .init(format: .jpeg, quality: 10)),
      ("jpeg 85", small, .init(format: .jpeg)),
      ("jpeg 85 full chroma", small, .init(format: .jpeg, chroma: .full)),
      ("jpeg progressive", small, .init(format: .jpeg, isProgressive: true)),
      ("webp 10", small, .init(format: .webp, quality: 10)), ("webp 85", small, .init(format: .webp)),
      ("webp lossless", small, .init(format: .webp, isLossless: true)),
      ("avif 20", small, .init(format: .avif, quality: 20)), ("avif 85", small, .init(format: .avif)),
      ("avif lossless", small, .init(format: .avif, isLossless: true)),
      ("icon png", clear, .init(format: .png)), ("icon jpeg: on white", clear, .init(format: .jpeg)),
      ("icon webp", clear, .init(format: .webp)), ("icon avif", clear, .init(format: .avif)),
    ]
    return try list.map { name, bitmap, options in
      let data = try ImageEncoder().encode(bitmap, options: options)
      return Cell(name: "\(name), \(data.count) B", bitmap: try print(data, nil))
    }
  }

  /// Prints that a pipeline makes from a larger one in memory, beside those from the original.
  func larger() throws -> [Cell] {
    let large = try print(photo, fit(240)), circle = try print(photo, fit(240), [.circle])
    var cells: [Cell] = []
    for side in [120.0, 48] {
      cells.append(Cell(name: "\(Int(side)) from the photo", bitmap: try print(photo, fit(side))))
      let size = try print(photo, fit(side)).size
      cells.append(Cell(name: "\(Int(side)) from 240", bitmap: try large.resampled(to: size)))
      cells.append(Cell(name: "circle \(Int(side))", bitmap: try print(photo, fit(side), [.circle])))
      let round = try print(photo, fit(side), [.circle]).size
      cells.append(Cell(name: "circle \(Int(side)) from 240", bitmap: try circle.resampled(to: round)))
    }
    return cells
  }

  func placeholders() throws -> [Cell] {
    try [("photo", photo), ("icon", icon)].flatMap { name, data in
      let bitmap = try print(data, fit())
      let made: [(String, ImagePlaceholder)] = [
        ("ThumbHash", try .thumbHash(of: bitmap)), ("BlurHash", try .blurHash(of: bitmap)),
        ("average", .color(ImagePlaceholder.averageColor(of: bitmap))),
      ]
      return try made.map { kind, placeholder in
        let ratio = Double(bitmap.width) / Double(bitmap.height)
        return Cell(
          name: "\(name): \(kind)",
          bitmap: try placeholder.bitmap(aspectRatio: ratio).resampled(to: bitmap.size))
      }
    }
  }

  /// The frames as a player gets them, whole and at a smaller size with a processor.
  func frames(_ data: Data) async throws -> [Cell] {
    guard var animation = decoder.animation(of: data) else {
      return [Cell(name: "it has one frame", bitmap: try print(data, nil))]
    }
    var cells: [Cell] = []
    for name in ["", "circle "] {
      if !name.isEmpty {
        animation.targetSize = fit(24)
        animation.processors = [.circle]
      }
      let source = ImageFrameSource(animation)
      for _ in 0..<min(animation.frameCount, 8) {
        guard let frame = try await source.nextFrame() else { break }
        cells.append(
          Cell(name: "\(name)\(frame.index + 1): \(Int(frame.delay * 1000)) ms", bitmap: frame.bitmap))
      }
    }
    return cells
  }
}
