import CGtk
import Calotype
import Foundation
import TestSupport
import XCTest

@testable import CalotypeGTK

/// A picture in a window, and the server that it comes from.
@MainActor
private final class Frame {
  let server: ScriptedServer
  let picture: RemotePicture
  let window: TestWindow
  let pipeline: ImagePipeline

  init(
    width: Double = 96, height: Double = 96, animates: Bool = false, pipeline: ImagePipeline = .forTests(),
    shows url: String? = "/1", answer: @escaping @Sendable (ScriptedServer.Request) -> Script
  ) throws {
    server = try ScriptedServer(answer)
    self.pipeline = pipeline
    picture = RemotePicture(width: width, height: height, pipeline: pipeline)
    picture.accessibleName = "A picture"
    gtk_widget_set_halign(picture.widget, GTK_ALIGN_START)
    gtk_widget_set_valign(picture.widget, GTK_ALIGN_START)
    picture.url = url.map(server.url)
    window = try TestWindow(picture.widget, width: 300, height: 200, animates: animates)
  }

  var hasPicture: Bool { picture.picture.bitmap != nil }

  /// What the screen shows in the middle of the picture.
  func middle(_ name: String) throws -> [UInt8] {
    // Not in the very middle, where a test's pointer may be.
    let pixel = try window.screenshot(name)[24, 24]
    return [pixel.red, pixel.green, pixel.blue]
  }
}

private func png(_ red: UInt8, _ green: UInt8, _ blue: UInt8, width: Int = 300, height: Int = 300) -> Script {
  let bytes = try? TestPicture.png(red: red, green: green, blue: blue, width: width, height: height)
  return bytes.map { .ok($0, type: "image/png") } ?? .status(500)
}

final class RemotePictureTests: DesktopTestCase {
  func testItIsShownInThePixelsThatItTakes() throws {
    try onMain {
      let frame = try Frame { _ in png(200, 30, 40) }
      try pump("the picture") { frame.hasPicture }
      XCTAssertEqual(frame.picture.picture.bitmap?.size, PixelSize(width: 96, height: 96))
      XCTAssertEqual(try frame.middle("picture"), [200, 30, 40])
      guard case .image(_, .network) = frame.picture.picture else { return XCTFail("from the network") }
    }
  }

  func testWhatIsInMemoryIsThereAtOnceAndWhatComesFadesIn() throws {
    try onMain {
      let frame = try Frame(animates: true) { _ in png(200, 30, 40) }
      try pump("the picture") { frame.hasPicture }
      XCTAssertNotNil(frame.picture.appearing, "it fades in")
      try pump("the fade's end") { frame.picture.appearing == nil }
      let second = RemotePicture(width: 96, height: 96, pipeline: frame.pipeline)
      second.url = frame.server.url("/1")
      var changes = 0
      second.onChange = { _ in changes += 1 }
      let window = try TestWindow(second.widget, animates: true)
      XCTAssertEqual(changes, 1)
      XCTAssertNotNil(second.picture.bitmap)
      XCTAssertNil(second.appearing)
      XCTAssertEqual(frame.server.requests.count, 1)
      try window.frames(1)
    }
  }

  func testNothingIsAskedForUntilItIsOnScreen() throws {
    try onMain {
      let server = try ScriptedServer { _ in png(1, 2, 3) }
      let stack = gtk_stack_new()!
      let picture = RemotePicture(width: 48, height: 48, pipeline: .forTests())
      picture.url = server.url("/1")
      gtk_stack_add_named(stack.opaque, gtk_label_new("first")!, "first")
      gtk_stack_add_named(stack.opaque, picture.widget, "second")
      let window = try TestWindow(stack)
      try window.frames(10)
      XCTAssertEqual(server.requests.count, 0)
      gtk_stack_set_visible_child_name(stack.opaque, "second")
      try pump("the picture") { picture.picture.bitmap != nil }
    }
  }

  func testAFailureOffersAnotherTryByClickAndByKey() throws {
    try onMain {
      let answers = Lock(0)
      let frame = try Frame { _ in
        answers.withLock { count in
          count += 1
          return count < 3 ? .status(500) : png(20, 200, 40)
        }
      }
      try pump("the failure") { frame.picture.picture.hasFailed }
      try frame.window.screenshot("picture-failed")
      try frame.window.input("mousemove", "48", "48", "click", "1")
      try pump("the second failure") { frame.server.requests.count == 2 && frame.picture.picture.hasFailed }
      gtk_widget_grab_focus(frame.picture.widget)
      try frame.window.input("key", "Return")
      try pump("the picture") { frame.hasPicture }
      XCTAssertEqual(try frame.middle("picture-retried"), [20, 200, 40])
    }
  }

  /// As when a program cancels all that its pipeline loads.
  func testWhatWasCancelledIsAskedForWhenItIsBackOnScreen() throws {
    try onMain {
      let requests = Lock(0)
      let frame = try Frame { _ in
        requests.withLock { count in
          count += 1
          return count == 1 ? .hang : png(200, 30, 40)
        }
      }
      try pump("the request") { frame.server.requests.count == 1 }
      frame.pipeline.cancelAll()
      try frame.window.frames(3)
      gtk_widget_set_visible(frame.picture.widget, 0)
      try frame.window.frames(2)
      gtk_widget_set_visible(frame.picture.widget, 1)
      try pump("the picture") { frame.hasPicture }
    }
  }

  /// P9 and O10.
  func testALatePictureNeverShowsAndALetGoOneIsCancelled() throws {
    try onMain {
      let gate = Gate()
      var frame: Frame? = try Frame { request in
        switch request.path {
        case "/1": png(1, 1, 1).after(gate)
        case "/2": png(0, 0, 250)
        default: .hang
        }
      }
      let server = frame!.server
      try pump("the first request") { server.requests.count == 1 }
      frame?.picture.url = server.url("/2")
      try pump("the second picture") { frame?.hasPicture == true }
      gate.open()
      try frame?.window.frames(10)
      XCTAssertEqual(try frame?.middle("picture-second"), [0, 0, 250])
      frame?.picture.url = nil
      XCTAssertEqual(frame?.hasPicture, false)
      frame?.picture.url = server.url("/3")
      try pump("the third request") { server.requests.count == 3 }
      weak let picture = frame?.picture
      frame = nil
      XCTAssertNil(picture)
      try pump("the connections' end") { server.openConnectionCount == 0 }
    }
  }

  func testAssistiveTechnologyIsToldWhatItShowsAndWhatGoesOn() throws {
    try onMain {
      let frame = try Frame { _ in .status(404) }
      frame.picture.accessibleDescription = "of a cat"
      try pump("the failure") { frame.picture.picture.hasFailed }
      let node = try XCTUnwrap(try AccessibleNode.tree().first { $0.name == "A picture" })
      XCTAssertTrue(["image", "icon"].contains(node.role), node.role)
      XCTAssertTrue(node.description.contains("404"), node.description)
      XCTAssertTrue(node.description.contains("Try again"), node.description)
      XCTAssertTrue(node.description.contains("of a cat"), node.description)
    }
  }

  func testContentFits() {
    let whole = Rectangle(x: 0, y: 0, width: 100, height: 50)
    func place(_ fit: RemotePicture.ContentFit, _ width: Double, _ height: Double) -> Rectangle {
      fit.place(of: (width, height), in: whole)
    }
    XCTAssertEqual(place(.contain, 20, 20), Rectangle(x: 25, y: 0, width: 50, height: 50))
    XCTAssertEqual(place(.cover, 20, 20), Rectangle(x: 0, y: -25, width: 100, height: 100))
    XCTAssertEqual(place(.fill, 20, 20), whole)
    XCTAssertEqual(place(.scaleDown, 20, 20), Rectangle(x: 40, y: 15, width: 20, height: 20))
    XCTAssertEqual(place(.scaleDown, 200, 200), Rectangle(x: 25, y: 0, width: 50, height: 50))
    XCTAssertEqual(place(.contain, 0, 20), whole)
  }

  func testShapesAndBadgeAreDrawn() throws {
    try onMain {
      let frame = try Frame { _ in png(200, 30, 40) }
      frame.picture.shape = .circle
      frame.picture.showsSource = true
      try pump("the picture") { frame.hasPicture }
      let screen = try frame.window.screenshot("picture-circle")
      XCTAssertGreaterThan(screen[2, 2].green, 200, "the corner is the window's")
      XCTAssertEqual(screen[48, 2].red, 200)
      let badge = screen[96 - 12, 96 - 7]
      XCTAssertEqual(badge.red, 204, accuracy: 2)
      XCTAssertEqual(badge.green, 92, accuracy: 2)
    }
  }
}
