import CGtk
import Calotype
import Foundation
import TestSupport
import XCTest

@testable import CalotypeGTK

/// A box over nothing much, and a picture that comes as the test says.
@MainActor
private final class Waiting {
  let server: ScriptedServer
  let pipeline = ImagePipeline.forTests()
  let box: WaitingBox
  let window: TestWindow
  var responses: [ImageResponse] = []
  var cancels = 0

  init(answer: @escaping @Sendable (ScriptedServer.Request) -> Script) throws {
    server = try ScriptedServer(answer)
    let content = gtk_label_new("What is behind")!
    gtk_widget_set_vexpand(content, 1)
    box = WaitingBox(over: content)
    window = try TestWindow(box.widget, width: 600, height: 400)
    box.onCancel = { [weak self] in self?.cancels += 1 }
    let (pipeline, url) = (pipeline, server.url("/1"))
    box.wait("A picture", for: { pipeline.task(for: url) }) { [weak self] in self?.responses.append($0) }
  }
}

final class WaitingBoxTests: DesktopTestCase {
  private static let body = (try? TestPicture.png(number: 7)) ?? []

  func testItShowsTheFigureThenGoesAndGivesThePicture() throws {
    let (half, body) = (Gate(), Self.body)
    try onMain {
      let waiting = try Waiting { _ in
        [
          .head(200, [("Content-Length", "\(body.count)")]), .body(Array(body.prefix(body.count / 2))),
          .wait(half), .body(Array(body.dropFirst(body.count / 2))),
        ]
      }
      try pump("the box") { waiting.box.state == .waiting }
      var tree = try AccessibleNode.tree()
      try pump("the half") { () -> Bool in
        tree = (try? AccessibleNode.tree()) ?? tree
        return tree.first { ["49 %", "50 %"].contains($0.name) } != nil
      }
      XCTAssertNotNil(tree.first { $0.name == "A picture" })
      XCTAssertEqual(tree.first { $0.role == "progress bar" }?.value ?? 0, 0.5, accuracy: 0.02)
      XCTAssertEqual(tree.first { $0.name == "Cancel" }?.states.contains("focused"), true)
      try waiting.window.screenshot("waiting")
      half.open()
      try pump("the picture") { waiting.responses.count == 1 }
      XCTAssertEqual(waiting.box.state, .hidden)
      XCTAssertNil(try AccessibleNode.tree().first { $0.name == "Cancel" })
    }
  }

  func testWithoutALengthItPulsesAndShowsBytes() throws {
    let (half, body) = (Gate(), Self.body)
    try onMain {
      let waiting = try Waiting { _ in
        [.head(200, [("Transfer-Encoding", "chunked")]), .chunk(Array(body.prefix(50))), .wait(half), .hang]
      }
      try pump("the box") { waiting.box.state == .waiting }
      var tree = try AccessibleNode.tree()
      try pump("the bytes") { () -> Bool in
        tree = (try? AccessibleNode.tree()) ?? tree
        return tree.first { $0.name.hasSuffix("bytes") } != nil
      }
      try waiting.window.screenshot("waiting-pulse")
      half.open()
      waiting.box.cancel()
      XCTAssertEqual(waiting.cancels, 1)
      try pump("the connection's end") { waiting.server.openConnectionCount == 0 }
    }
  }

  func testTheButtonAndEscapeCancel() throws {
    try onMain {
      let byButton = try Waiting { _ in .hang }
      try pump("the box") { byButton.box.state == .waiting }
      try AccessibleNode.press("push button", "Cancel")
      try pump("the cancel") { byButton.cancels == 1 && byButton.box.state == .hidden }
      try pump("the connection's end") { byButton.server.openConnectionCount == 0 }

      let byKey = try Waiting { _ in .hang }
      try pump("the box") { byKey.box.state == .waiting }
      try byKey.window.input("key", "Escape")
      try pump("the cancel") { byKey.cancels == 1 && byKey.box.state == .hidden }
      XCTAssertTrue(byKey.responses.isEmpty)
    }
  }

  func testAFailureSaysWhyAndCanBeTriedAgain() throws {
    let (fails, body) = (Lock(true), Self.body)
    try onMain {
      let waiting = try Waiting { _ in fails.withLock { $0 } ? .status(503) : .ok(body) }
      try pump("the failure") { waiting.box.state == .failed }
      try waiting.window.screenshot("waiting-failed")
      XCTAssertNotNil(try AccessibleNode.tree().first { $0.name.contains("503") })
      fails.withLock { $0 = false }
      try AccessibleNode.press("push button", "Try again")
      try pump("the picture") { waiting.responses.count == 1 }
      XCTAssertEqual(waiting.box.state, .hidden)
      XCTAssertEqual(waiting.cancels, 0)
    }
  }

  func testTheDesktopsWordOfLowMemoryReachesTheLibrary() throws {
    try onMain {
      try pump("the monitor") { MemoryWarnings.monitor != nil }
      let warned = Lock(false)
      let observation = MemoryPressureMonitor.shared.observe {
        warned.withLock { $0 = true }
        DispatchQueue.main.async {}
      }
      let monitor = try XCTUnwrap(MemoryWarnings.monitor)
      var values = [GValue(), GValue()]
      g_value_init(&values[0], g_type_from_name("GMemoryMonitor"))
      g_value_set_object(&values[0], monitor.address)
      g_value_init(&values[1], g_memory_monitor_warning_level_get_type())
      g_value_set_enum(&values[1], 100)
      g_signal_emitv(
        &values, g_signal_lookup("low-memory-warning", g_type_from_name("GMemoryMonitor")), 0, nil)
      try pump("the warning") { warned.withLock { $0 } }
      withExtendedLifetime(observation) {}
    }
  }
}
