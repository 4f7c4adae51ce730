import CGtk
import Calotype
import Foundation
import TestSupport
import XCTest

@testable import CalotypeGTK

/// A window at the screen's corner, with something in it. It goes when it is let go.
@MainActor
final class TestWindow {
  let window: UnsafeMutablePointer<GtkWindow>

  /// Shows something. Animations are off unless a test is about them: a picture is there or it is not.
  init(
    _ child: UnsafeMutablePointer<GtkWidget>, width: Int32 = 600, height: Int32 = 700, animates: Bool = false
  ) throws {
    setProperty(gtk_settings_get_default()!, "gtk-enable-animations", to: animates)
    let widget = gtk_window_new()!
    window = widget.cast()
    gtk_window_set_title(window, "Calotype test")
    gtk_window_set_default_size(window, width, height)
    gtk_window_set_decorated(window, 0)
    gtk_window_set_child(window, child)
    gtk_window_present(window)
    try pump("the window") { gtk_widget_get_mapped(widget) != 0 && gtk_widget_get_width(widget) > 1 }
    // Nobody manages windows here, so nobody gives it the keyboard.
    let desktop = try DesktopTestCase.desktop.get()
    try pump("the pointer") { try await desktop.input("mousemove", "300", "350") }
    try pump("the keyboard") { try await desktop.focusWindow(title: "Calotype test") }
    try frames(3)
  }

  isolated deinit { gtk_window_destroy(window) }

  /// Lets so many frames be drawn.
  func frames(_ count: Int) throws {
    var left = count
    onEachFrame(window.asWidget) { _ in
      left -= 1
      return left > 0
    }
    try pump("\(count) frames") { left <= 0 }
  }

  /// Writes what is on the screen into `.build/screenshots`, for people to look at, and gives it.
  @discardableResult
  func screenshot(_ name: String) throws -> Bitmap {
    try frames(2)
    let desktop = try DesktopTestCase.desktop.get()
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent(".build/screenshots")
    try desktop.writeScreenshot(to: folder.appendingPathComponent("\(name).png"))
    return try desktop.screenshot()
  }

  /// Turns the wheel, presses keys, moves the pointer.
  func input(_ words: String...) throws {
    let desktop = try DesktopTestCase.desktop.get()
    try pump("xdotool") { try await desktop.input(words) }
  }

  /// The same with no frame drawn until it is over, as on a machine that is busy.
  func inputAtOnce(_ words: String...) throws { try DesktopTestCase.desktop.get().inputAtOnce(words) }
}

/// Pictures of one colour, each its own.
enum TestPicture {
  static func png(red: UInt8, green: UInt8, blue: UInt8, width: Int = 64, height: Int = 64) throws -> [UInt8]
  {
    let bitmap = try Bitmap(size: PixelSize(width: width, height: height), isOpaque: true) { pixels in
      for at in stride(from: 0, to: pixels.count, by: 4) {
        (pixels[at], pixels[at + 1], pixels[at + 2], pixels[at + 3]) = (red, green, blue, 255)
      }
    }
    return Array(
      try ImageEncoder().encode(bitmap, options: .init(format: .png), cancellation: CancellationFlag()))
  }

  /// A colour that tells a number from others: never that of a placeholder.
  static func color(_ number: Int) -> (red: UInt8, green: UInt8, blue: UInt8) {
    (UInt8(40 + number % 200), UInt8(40 + number / 200 % 200), 20)
  }

  static func png(number: Int) throws -> [UInt8] {
    let color = color(number)
    return try png(red: color.red, green: color.green, blue: color.blue)
  }
}

extension ImagePipeline {
  /// A pipeline of a test's own: real parts, nothing on disk.
  static func forTests(
    memory: MemoryCache? = MemoryCache(), configure: (inout Configuration) -> Void = { _ in }
  ) -> ImagePipeline {
    var configuration = Configuration(
      transport: CurlTransport(), memoryCache: memory, diskCache: nil, decoder: ImageDecoder(),
      encoder: ImageEncoder())
    configuration.retry = .never
    configuration.respondsToMemoryPressure = false
    configure(&configuration)
    return ImagePipeline(configuration: configuration)
  }
}
