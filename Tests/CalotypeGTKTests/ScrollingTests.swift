import CGtk
import Calotype
import Foundation
import TestSupport
import XCTest

@testable import CalotypeGTK

/// Where a list lands that is scrolled faster than it is drawn.
final class ScrollingTests: DesktopTestCase {
  private static let rowCount = 10_000

  @MainActor
  private static func show(_ layout: PictureList.Layout = .list) throws -> (
    list: PictureList, window: TestWindow
  ) {
    let list = PictureList(layout: layout, count: rowCount, pipeline: .forTests()) {
      PictureListItem(title: "Row \($0)", subtitle: "of \(rowCount)", request: nil)
    }
    let window = try TestWindow(list.widget)
    try pump("the rows") { list.visibleRange != nil && list.isWhole }
    return (list, window)
  }

  @MainActor
  private static func rowHeight(of list: PictureList) throws -> Double {
    let cell = try XCTUnwrap(list.cell(at: try XCTUnwrap(list.visibleRange).lowerBound))
    let next = try XCTUnwrap(list.cell(at: try XCTUnwrap(list.visibleRange).lowerBound + 1))
    var (first, second) = (graphene_rect_t(), graphene_rect_t())
    guard gtk_widget_compute_bounds(cell.widget, list.widget, &first) != 0,
      gtk_widget_compute_bounds(next.widget, list.widget, &second) != 0
    else { throw Failure(description: "no place") }
    // Of a grid's tiles the two lie side by side.
    let height = Double(second.origin.y - first.origin.y)
    return height > 0 ? height : Double(first.size.height) + 16
  }

  /// Lets the list come to rest.
  @MainActor
  private static func settle(_ list: PictureList, _ window: TestWindow) throws {
    var (last, still) = (-1.0, 0)
    while still < 20 {
      try window.frames(1)
      still = list.scrollOffset == last ? still + 1 : 0
      last = list.scrollOffset
    }
  }

  /// What a row at the top shows must be what belongs at the offset: both may be wrong together.
  @MainActor
  private static func topRow(of list: PictureList) -> Int { list.visibleRange?.lowerBound ?? -1 }

  func testTheWheelTurnedFastLandsWhereTheSameClicksLandSlowly() throws {
    try onMain {
      for layout in PictureList.Layout.allCases {
        let (list, window) = try Self.show(layout)
        try window.input("click", "5")
        try Self.settle(list, window)
        let step = list.scrollOffset
        XCTAssertGreaterThan(step, 20, "the wheel scrolls")
        let height = try Self.rowHeight(of: list)
        try window.input("click", "--repeat", "38", "--delay", "4", "5")
        try Self.settle(list, window)
        XCTAssertEqual(list.scrollOffset, 39 * step, accuracy: height, "\(layout)")
        if layout == .list {
          XCTAssertEqual(Double(Self.topRow(of: list)), (39 * step / height).rounded(.down), accuracy: 1)
        }
        try window.input("click", "--repeat", "38", "--delay", "4", "4")
        try Self.settle(list, window)
        XCTAssertEqual(list.scrollOffset, step, accuracy: height, "back, \(layout)")
        try window.inputAtOnce("click", "--repeat", "38", "--delay", "1", "5")
        try Self.settle(list, window)
        XCTAssertEqual(list.scrollOffset, 39 * step, accuracy: height, "in one frame, \(layout)")
      }
    }
  }

  func testManyChangesBetweenTwoFramesLandWhereTheLastOneSays() throws {
    try onMain {
      for layout in PictureList.Layout.allCases {
        let (list, window) = try Self.show(layout)
        let height = try Self.rowHeight(of: list)
        // A scrollbar that is dragged, or a program, says where; no frame is drawn between.
        for step in 1...40 { list.scrollOffset = Double(step) * 83 }
        try Self.settle(list, window)
        XCTAssertEqual(list.scrollOffset, 40 * 83, accuracy: height, "\(layout)")
        for step in 1...40 { list.scrollOffset = 40 * 83 + Double(step) * 1000 }
        try Self.settle(list, window)
        XCTAssertEqual(list.scrollOffset, 40 * 1083, accuracy: height, "\(layout)")
        if layout == .list {
          XCTAssertEqual(
            Double(Self.topRow(of: list)), (list.scrollOffset / height).rounded(.down), accuracy: 1)
        }
      }
    }
  }

  func testKeysHeldDownLandOnTheRowThatTheyCount() throws {
    try onMain {
      let (list, window) = try Self.show()
      let height = try Self.rowHeight(of: list)
      gtk_widget_grab_focus(list.view)
      try window.input("key", "Home")
      try Self.settle(list, window)
      try window.input("key", "--repeat", "60", "--delay", "3", "Down")
      try Self.settle(list, window)
      XCTAssertEqual(list.selection, 60)
      XCTAssertTrue(try XCTUnwrap(list.visibleRange).contains(60))
      try window.inputAtOnce("key", "--repeat", "60", "--delay", "1", "Down")
      try Self.settle(list, window)
      XCTAssertEqual(list.selection, 120)
      XCTAssertTrue(try XCTUnwrap(list.visibleRange).contains(120))
      try window.input("key", "Home")
      try Self.settle(list, window)
      try window.input("key", "Next")
      try Self.settle(list, window)
      let page = Double(try XCTUnwrap(list.selection))
      XCTAssertGreaterThan(page, 4)
      XCTAssertLessThanOrEqual(page * height, 700)
      try window.input("key", "--repeat", "19", "--delay", "3", "Next")
      try Self.settle(list, window)
      XCTAssertEqual(Double(try XCTUnwrap(list.selection)), 20 * page, accuracy: 40)
      try window.input("key", "Home")
      try Self.settle(list, window)
      try window.inputAtOnce("key", "--repeat", "20", "--delay", "1", "Next")
      try Self.settle(list, window)
      XCTAssertEqual(Double(try XCTUnwrap(list.selection)), 20 * page, accuracy: 40, "in one frame")
      try window.input("key", "End")
      try Self.settle(list, window)
      XCTAssertEqual(list.visibleRange?.upperBound, Self.rowCount - 1)
    }
  }

  func testSentStraightToTheMiddleItShowsTheMiddle() throws {
    try onMain {
      let (list, window) = try Self.show()
      let height = try Self.rowHeight(of: list)
      let middle = height * Double(Self.rowCount) / 2
      list.scrollOffset = middle
      try Self.settle(list, window)
      XCTAssertEqual(list.scrollOffset, middle, accuracy: height)
      XCTAssertEqual(Double(Self.topRow(of: list)), Double(Self.rowCount / 2), accuracy: 1)
    }
  }
}
