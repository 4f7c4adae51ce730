import CGtk
import Calotype
import Foundation
import TestSupport
import XCTest

@testable import CalotypeGTK

final class AnimationTests: DesktopTestCase {
  private static let animation = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("CalotypeTests/Decoding/Fixtures/animated.gif")

  /// Two pages, an animation on the second.
  @MainActor
  private final class Pages {
    let stack = gtk_stack_new()!
    let picture = RemotePicture(width: 48, height: 48, pipeline: .forTests())
    let window: TestWindow

    init(animates: Bool, server: ScriptedServer) throws {
      picture.url = server.url("/1")
      gtk_stack_add_named(stack.opaque, picture.widget, "picture")
      gtk_stack_add_named(stack.opaque, gtk_label_new("another page")!, "other")
      window = try TestWindow(stack, animates: animates)
    }

    /// The pixels that are shown now.
    var shown: ObjectIdentifier? { picture.texture.map { ObjectIdentifier($0) } }

    func show(_ page: String) { gtk_stack_set_visible_child_name(stack.opaque, page) }
  }

  func testItMovesWhileItIsSeenAndOnlyThen() throws {
    let body = Array(try Data(contentsOf: Self.animation))
    try onMain {
      let server = try ScriptedServer { _ in .ok(body, type: "image/gif") }
      let pages = try Pages(animates: true, server: server)
      try pump("the picture") { pages.picture.picture.bitmap != nil }
      let first = pages.picture.picture.bitmap
      try pump("the second frame") { pages.picture.texture?.bitmap != first }
      XCTAssertNotNil(pages.picture.player)
      pages.show("other")
      try pump("the page's end") { gtk_widget_get_mapped(pages.picture.widget) == 0 }
      try pump("the animation's rest") { pages.picture.player?.isTicking == false }
      let left = pages.shown
      try pages.window.frames(40)
      XCTAssertEqual(pages.shown, left, "out of sight it stands still")
      pages.show("picture")
      try pump("the next frame") { pages.shown != left }
    }
  }

  func testWhereAnimationsAreTurnedOffTheFirstFrameStays() throws {
    let body = Array(try Data(contentsOf: Self.animation))
    try onMain {
      let server = try ScriptedServer { _ in .ok(body, type: "image/gif") }
      let pages = try Pages(animates: false, server: server)
      try pump("the picture") { pages.picture.picture.bitmap != nil }
      try pages.window.frames(20)
      XCTAssertEqual(pages.picture.texture?.bitmap, pages.picture.picture.bitmap)
      XCTAssertNil(pages.picture.player)
    }
  }
}
