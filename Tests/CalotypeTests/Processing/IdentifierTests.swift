import Testing

@testable import Calotype

@Suite struct IdentifierTests {
  /// K5, and its kind: what gives another picture has another identifier.
  @Test func differentParametersHaveDifferentIdentifiers() throws {
    let wide = ColorValue(red: 1.2, green: 0, blue: -0.1)
    let colors: [ColorValue] = [
      .black, .white, .clear, wide, ColorValue(red: 1.2000000000000002, green: 0, blue: -0.1),
      ColorValue(red: 1, green: 0, blue: 0), ColorValue(red: 1.1, green: 0, blue: 0),
      ColorValue(red: 1, green: 0, blue: 0, alpha: 0.5), ColorValue(red: 1, green: 0, blue: 0, alpha: 1.5),
      ColorValue(red: 0.501, green: 0, blue: 0), ColorValue(128, 0, 0), ColorValue(127, 0, 0),
    ]
    var processors: [any ImageProcessing] = []
    for color in colors {
      processors += [
        .tint(color), .background(color), .border(width: 2, color: color),
        .circle(border: ImageBorder(width: 2, color: color)),
      ]
    }
    processors += [
      .circle, .grey, .border(width: 2.5, color: .black), .roundedCorners(radius: 2),
      .roundedCorners(topLeft: 2),
      .roundedCorners(topRight: 2), .roundedCorners(radius: 2.25), .blur(radius: 0), .blur(radius: 1),
      .blur(radius: 1.0000000000000002),
      .sharpen(), .sharpen(amount: 1), .sharpen(amount: 1, radius: 0.5), .brightness(1.5), .contrast(1.5),
      .flip(.horizontal), .flip(.vertical), .rotate(quarters: 1), .rotate(quarters: 2), .rotate(quarters: 0),
      .crop(x: 1, y: 2, width: 3, height: 4), .crop(x: 12, y: 3, width: 4, height: 4),
      .resize(width: 48, height: 48), .resize(width: 48, height: 48, mode: .fill),
      .resize(width: 48, height: 48, mode: .fill, anchor: .attention),
      .resize(width: 48, height: 48, filter: .area),
      .resize(width: 48, height: 48, allowsUpscaling: true),
      .overlay(try noise(width: 3, height: 4, isOpaque: true)),
      .overlay(try noise(width: 4, height: 3, isOpaque: true)),
      .overlay(try noise(width: 3, height: 4, isOpaque: false)),
      .overlay(try noise(width: 3, height: 4, isOpaque: true), opacity: 0.5),
      .overlay(try noise(width: 3, height: 4, isOpaque: true), margin: 1),
      .custom(identifier: "grey") { image, _ in image },
      .custom(identifier: "a|circle") { image, _ in image },
      .custom(identifier: "a%7Ccircle") { image, _ in image },
      .custom(identifier: "a)|custom(b") { image, _ in image },
      ImageProcessors.Composition([
        .custom(identifier: "a") { image, _ in image }, .custom(identifier: "b") { image, _ in image },
      ]),
    ]
    let identifiers = processors.map(\.identifier)
    #expect(Set(identifiers).count == identifiers.count)
  }

  @Test func equalParametersHaveOneIdentifier() throws {
    #expect(ImageProcessors.Blur(radius: 8).identifier == "blur(8)")
    #expect(ImageProcessors.Blur(radius: -0.0).identifier == ImageProcessors.Blur(radius: 0).identifier)
    #expect(
      ImageProcessors.RoundedCorners(radius: 4).identifier
        == ImageProcessors.RoundedCorners(topLeft: 4, topRight: 4, bottomRight: 4, bottomLeft: 4).identifier)
    #expect(ImageProcessors.Rotate(quarters: 5).identifier == ImageProcessors.Rotate(quarters: 1).identifier)
    #expect(ColorValue(255, 128, 0).description == "#ff8000")
    #expect(ColorValue(red: 1, green: 128.0 / 255, blue: 0) == ColorValue(255, 128, 0))
    let badge = try noise(width: 3, height: 4, isOpaque: true)
    let same = try noise(width: 3, height: 4, isOpaque: true)
    #expect(ImageProcessors.Overlay(badge).identifier == ImageProcessors.Overlay(same).identifier)
  }

  /// What cannot be drawn is cut where it is drawn, not before.
  @Test func coloursOutsideOfTheRangeAreCut() throws {
    let picture = try bitmap(width: 2, height: 2) { _, _ in .init(red: 5, green: 6, blue: 7) }
    let strange = ColorValue(red: 1.7, green: -3, blue: .nan, alpha: .infinity)
    let result = try ImageProcessors.apply([.tint(strange)], to: picture)
    #expect(result[0, 0] == .init(red: 255, green: 0, blue: 0))
  }
}
