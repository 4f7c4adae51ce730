import Calotype
import Foundation
import TestSupport
import XCTest

@testable import CalotypeGTK

/// The program of the documentation, as a person meets it.
final class PictureWindowTests: DesktopTestCase {
  private static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Where Swift puts programs: beside the tests.
  private static var program: String {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    while folder.path != "/" {
      folder.deleteLastPathComponent()
      let program = folder.appendingPathComponent("PictureWindow").path
      if FileManager.default.isExecutableFile(atPath: program) { return program }
    }
    return "PictureWindow"
  }

  func testTheDocumentationShowsTheProgramThatIsBuilt() throws {
    let page = Self.repository.appendingPathComponent("Sources/CalotypeGTK/CalotypeGTK.docc/CalotypeGTK.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let shown = try XCTUnwrap(text.components(separatedBy: "```swift\n").dropFirst().first)
      .components(separatedBy: "```")[0]
    let snippet = Self.repository.appendingPathComponent("Snippets/PictureWindow.swift")
    let built = try String(contentsOf: snippet, encoding: .utf8)
      .components(separatedBy: "#if canImport(CalotypeGTK)\n")[1].components(separatedBy: "#else")[0]
      .split(separator: "\n", omittingEmptySubsequences: false).map {
        $0.hasPrefix("  ") ? $0.dropFirst(2) : $0
      }
      .joined(separator: "\n")
    XCTAssertEqual(shown, built)
  }

  func testRowsShowTheirNamesAndIconsAndOneOpensLarge() throws {
    try onMain {
      let desktop = try Self.desktop.get()
      for (name, settings) in [
        ("light", [:]), ("dark", ["GTK_THEME": "Adwaita:dark"]), ("light-2x", ["GDK_SCALE": "2"]),
      ] {
        let folder = try TemporaryFolder()
        let list = Self.repository.appendingPathComponent("Examples/apps.plist").path
        let environment = desktop.environment.merging(["XDG_CACHE_HOME": folder.path]) { $1 }
          .merging(settings) { $1 }
        let program = try SpawnedProgram(Self.program, [list], environment: environment)
        defer {
          program.signal(SIGTERM)
          program.wait()
        }
        let process = program.processIdentifier
        var tree: AccessibleNode?
        try pump("the rows") { () -> Bool in
          tree = try? AccessibleNode.tree(of: process)
          return tree?.first { $0.name == "Calculator" && $0.role == "list item" } != nil
        }
        try pump("the keyboard") { try await desktop.focusWindow(title: "Pictures") }
        try pump("a click") { try await desktop.input("mousemove", "150", "40", "click", "1") }
        try pump("the row's selection") { () -> Bool in
          tree = (try? AccessibleNode.tree(of: process)) ?? tree
          return tree?.first { $0.role == "list item" && $0.states.contains("selected") } != nil
        }
        // Something in the pane that was empty.
        let scale = Int(settings["GDK_SCALE"] ?? "1") ?? 1
        func isOpen() -> Bool {
          guard let screen = try? desktop.screenshot() else { return false }
          let empty = screen[340 * scale, 20 * scale]
          return stride(from: 400 * scale, to: min(780 * scale, screen.width), by: 8).contains { x in
            stride(from: 100 * scale, to: min(580 * scale, screen.height), by: 8).contains { y in
              screen[x, y] != empty
            }
          }
        }
        // On a busy machine the keyboard comes to the window late.
        for _ in 0..<10 where !isOpen() {
          try pump("Enter") { try await desktop.input("key", "Return") }
          var isLate = false
          after(milliseconds: 2000) {
            isLate = true
            return false
          }
          try pump("the picture, or another try") { isOpen() || isLate }
        }
        XCTAssertTrue(isOpen(), name)
        try desktop.writeScreenshot(
          to: Self.repository.appendingPathComponent(".build/screenshots/window-\(name).png"))
      }
    }
  }
}
