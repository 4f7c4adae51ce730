import Calotype
import Foundation

/// Draws one sheet with a print of every processor, mode, orientation, encoder and placeholder, to be looked at.
///
///     print-gallery PHOTO ICON ANIMATION OUTPUT.png
@main
enum PrintGallery {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 4 else {
      FileHandle.standardError.write(Data("print-gallery: PHOTO ICON ANIMATION OUTPUT.png\n".utf8))
      exit(2)
    }
    let files = arguments.map { URL(fileURLWithPath: $0) }
    let subject = try Subject(photo: Data(contentsOf: files[0]), icon: Data(contentsOf: files[1]))
    var sheet = Sheet(title: "Calotype \(CalotypeVersion.string): prints")
    try sheet.add(Section("Sizes and modes", subject.modes()))
    try sheet.add(Section("Processors on a photo", subject.processors()))
    try sheet.add(Section("Processors on an icon", subject.iconProcessors()))
    try sheet.add(Section("Chains", subject.chains()))
    try sheet.add(Section("Orientations: all upright", subject.orientations()))
    try sheet.add(Section("Encoders", subject.encoders()))
    try sheet.add(
      Section("From a larger print: left from the original, right from the print", subject.larger()))
    try sheet.add(Section("Placeholders", subject.placeholders()))
    try await sheet.add(Section("An animation's frames", subject.frames(Data(contentsOf: files[2]))))
    let data = try ImageEncoder().encode(try sheet.draw(), options: ImageEncodingOptions(format: .png))
    try data.write(to: files[3])
  }
}

/// Pictures under a heading.
struct Section {
  let title: String
  let cells: [Cell]

  init(_ title: String, _ cells: [Cell]) {
    self.title = title
    self.cells = cells
  }
}

/// A picture and what it is.
struct Cell {
  let name: String
  let bitmap: Bitmap
}
