import CGtk
import XCTest

@testable import CalotypeGTK

final class ObjectTests: DesktopTestCase {
  func testSignalsBringTheirArgumentsAndTakeAnAnswer() throws {
    try onMain {
      let adjustment = gtk_adjustment_new(1, 0, 10, 1, 1, 1)!
      g_object_ref_sink(adjustment.address)
      defer { g_object_unref(adjustment.address) }
      var count = 0
      let handler = connect(adjustment, "value-changed") { count += 1 }
      gtk_adjustment_set_value(adjustment, 2)
      handler.block()
      gtk_adjustment_set_value(adjustment, 3)
      handler.unblock()
      gtk_adjustment_set_value(adjustment, 4)
      handler.disconnect()
      gtk_adjustment_set_value(adjustment, 5)
      XCTAssertEqual(count, 2)

      let model = gtk_string_list_new(nil)!
      defer { g_object_unref(model.address) }
      var change: [Int] = []
      connect(model, "items-changed") { change = [$0.uint(0), $0.uint(1), $0.uint(2)] }
      gtk_string_list_append(model, "one")
      XCTAssertEqual(change, [0, 0, 1])

      let window = gtk_window_new()!
      gtk_window_present(window.cast())
      try pump("the window") { gtk_widget_get_mapped(window) != 0 }
      var closes = 0
      connectAnswering(window, "close-request") { _ in
        closes += 1
        return true
      }
      gtk_window_close(window.cast())
      gtk_window_close(window.cast())
      XCTAssertEqual(closes, 2, "the answer kept the window open")
      gtk_window_destroy(window.cast())
    }
  }

  func testPropertiesAreReadAndSet() {
    onMain {
      let label = gtk_label_new("a")!
      g_object_ref_sink(label.address)
      defer { g_object_unref(label.address) }
      setProperty(label, "label", to: "b & c")
      setProperty(label, "width-chars", to: 7)
      setProperty(label, "xalign", to: 0.25)
      setProperty(label, "visible", to: false)
      XCTAssertEqual(property(label, "label", as: String.self), "b & c")
      XCTAssertEqual(property(label, "width-chars", as: Int.self), 7)
      XCTAssertEqual(property(label, "xalign", as: Double.self), 0.25)
      XCTAssertEqual(property(label, "visible", as: Bool.self), false)
    }
  }

  private final class Owner: WidgetPeer {
    var onEnd: (@MainActor () -> Void)?
    override func willLetGo() { onEnd?() }
  }

  func testAPeerLivesWithItsWidgetAndAWidgetWithItsPeer() {
    onMain {
      var ended = 0
      var owner: Owner? = Owner(of: gtk_label_new("a")!)
      owner?.onEnd = { ended += 1 }
      weak let weakOwner = owner
      let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!
      g_object_ref_sink(box.address)
      gtk_box_append(box.cast(), owner!.widget)
      owner = nil
      XCTAssertNotNil(weakOwner, "the widget is in a box")
      gtk_box_remove(box.cast(), weakOwner!.widget)
      XCTAssertNil(weakOwner)
      XCTAssertEqual(ended, 1)

      let kept = Owner(of: gtk_label_new("b")!)
      gtk_box_append(box.cast(), kept.widget)
      g_object_unref(box.address)
      XCTAssertEqual(
        property(kept.widget, "label", as: String.self), "b", "the box has gone, the label has not")
    }
  }
}
