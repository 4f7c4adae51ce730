import CGtk
import Calotype
import Foundation
import TestSupport
import XCTest

@testable import CalotypeGTK

/// Rows that load in a window, from a server that answers as the test says.
@MainActor
private final class Gallery {
  let server: ScriptedServer
  let pipeline: ImagePipeline
  let memory = MemoryCache()
  let list: PictureList
  let window: TestWindow
  /// What each row is to show; the row's number at first.
  var numbers: [Int]

  init(
    count: Int, layout: PictureList.Layout = .list, options: PictureListOptions = PictureListOptions(),
    configure: (inout ImagePipeline.Configuration) -> Void = { _ in },
    answer: @escaping @Sendable (Int) -> Script
  ) throws {
    let server = try ScriptedServer { request in
      answer(Int(request.path.split(separator: "/").last ?? "") ?? 0)
    }
    self.server = server
    pipeline = .forTests(memory: memory, configure: configure)
    numbers = Array(0..<count)
    weak var owner: Gallery?
    list = PictureList(layout: layout, count: count, pipeline: pipeline) { position in
      let number = owner?.numbers[position] ?? position
      return PictureListItem(
        title: "Row \(number)", subtitle: "Subtitle \(number)", url: server.url("/\(number)"))
    }
    list.options = options
    window = try TestWindow(list.widget)
    owner = self
    try pump("the rows") { self.list.visibleRange != nil }
  }

  /// The number of the picture that a row shows.
  func shown(at position: Int) -> Int? {
    guard let bitmap = list.cell(at: position)?.picture.picture.bitmap else { return nil }
    let pixel = bitmap[bitmap.width / 2, bitmap.height / 2]
    return (Int(pixel.red) - 40) + (Int(pixel.green) - 40) * 200
  }

  var visible: [Int] { list.visibleRange.map(Array.init) ?? [] }

  /// Waits until every row on screen shows its own picture.
  func waitForVisible() throws {
    try pump("the rows on screen") { !visible.isEmpty && visible.allSatisfy { shown(at: $0) == numbers[$0] } }
  }

  var asked: [Int] { server.requests.compactMap { Int($0.path.dropFirst()) } }
}

private func picture(_ number: Int) -> Script {
  (try? TestPicture.png(number: number)).map { .ok($0, type: "image/png") } ?? .status(500)
}

final class PictureListTests: DesktopTestCase {
  func testRowsOnScreenAreAskedForAndShown() throws {
    try onMain {
      for layout in PictureList.Layout.allCases {
        var options = PictureListOptions()
        options.prefetchDistance = 0
        let gallery = try Gallery(count: 10_000, layout: layout, options: options) { picture($0) }
        try gallery.waitForVisible()
        try gallery.window.frames(3)
        let screen = try gallery.window.screenshot("list-\(layout.rawValue)")
        // GTK has bound some two hundred rows; those on screen alone were asked for.
        XCTAssertEqual(Set(gallery.asked), Set(gallery.visible), "\(layout)")
        if layout == .list {
          let color = TestPicture.color(3)
          let pixel = screen[12 + 24, 64 * 3 + 32]
          XCTAssertEqual([pixel.red, pixel.green, pixel.blue], [color.red, color.green, color.blue])
        }
      }
    }
  }

  /// P9, on a screen: a thousand rebinds at random, and each row shows its last address.
  func testAfterAThousandRebindsEachRowShowsItsLastAddress() throws {
    try onMain {
      let gallery = try Gallery(count: 8) { picture($0).after(milliseconds: $0 % 7) }
      var generator = SystemRandomNumberGenerator()
      for step in 0..<1000 {
        gallery.numbers[Int.random(in: 0..<8, using: &generator)] = Int.random(in: 0..<300, using: &generator)
        gallery.list.refresh()
        if step % 20 == 0 { try gallery.window.frames(1) }
        for position in 0..<8 {
          if let shown = gallery.shown(at: position) { XCTAssertEqual(shown, gallery.numbers[position]) }
        }
      }
      try gallery.waitForVisible()
    }
  }

  /// P9: A is slow, B is fast, then nothing.
  func testALatePictureNeverAppearsInARowThatShowsAnother() throws {
    try onMain {
      let gate = Gate()
      let gallery = try Gallery(count: 1) { $0 == 0 ? picture(0).after(gate) : picture($0) }
      try pump("A's request") { gallery.asked == [0] }
      gallery.numbers[0] = 1
      gallery.list.refresh()
      try gallery.waitForVisible()
      gate.open()
      try gallery.window.frames(20)
      XCTAssertEqual(gallery.shown(at: 0), 1)
      gallery.list.count = 0
      try pump("no rows") { gallery.list.visibleRange == nil }
      XCTAssertEqual(gallery.list.loadingCount, 0)
    }
  }

  /// O7: through five thousand rows whose pictures are stored, fast.
  func testFlungThroughNothingIsAskedForButWhereItComesToRest() throws {
    try onMain {
      // One at a time, so that they come to the server in the order in which they were begun.
      let gallery = try Gallery(
        count: 5000, configure: { $0.maximumConcurrentDownloads = 1 }, answer: { picture($0) })
      try gallery.waitForVisible()
      try pump("the prefetches") { gallery.asked.count == gallery.visible.count + 30 }
      let before = Set(gallery.asked)
      var flings: [Bool] = []
      gallery.list.onFling = { flings.append($0) }
      // 9,000 points a second and more; held, as a hand at the scrollbar does, for two seconds.
      var frame = 0
      onEachFrame(gallery.list.view) { _ in
        frame += 1
        gallery.list.scrollOffset = Double(frame) * 2400
        return frame < 120
      }
      try pump("the fling") { flings == [true] }
      let started = gallery.asked.count
      try pump("its end") { frame >= 120 }
      XCTAssertEqual(gallery.asked.count, started, "a download started during the fling")
      XCTAssertEqual(gallery.list.loadingCount, 0, "nothing is queued")
      try gallery.waitForVisible()
      XCTAssertEqual(flings, [true, false])
      XCTAssertFalse(gallery.pipeline.isSuspended)
      // The rows on screen before what is prefetched.
      let after = gallery.asked.filter { !before.contains($0) }
      XCTAssertEqual(Set(after.prefix(gallery.visible.count)), Set(gallery.visible))
      XCTAssertLessThanOrEqual(after.count, gallery.visible.count + 30)
    }
  }

  func testRowsWhoseLoadsWereCancelledAreAskedForAgain() throws {
    try onMain {
      let isHeld = Lock(true)
      var options = PictureListOptions()
      options.prefetchDistance = 0
      let gallery = try Gallery(count: 100, options: options) { number in
        isHeld.withLock { $0 } ? .hang : picture(number)
      }
      try pump("the requests") { gallery.list.loadingCount == gallery.visible.count }
      isHeld.withLock { $0 = false }
      gallery.pipeline.cancelAll()
      try gallery.window.frames(3)
      gallery.list.scrollOffset = 1
      try gallery.waitForVisible()
    }
  }

  /// Whoever else waits for the pipeline must not wait for a list that nobody sees any more.
  func testAListThatIsHiddenInAFlingHoldsNobodyBack() throws {
    try onMain {
      let gallery = try Gallery(count: 5000) { picture($0) }
      try gallery.waitForVisible()
      var frame = 0
      onEachFrame(gallery.list.view) { _ in
        frame += 1
        gallery.list.scrollOffset = Double(frame) * 2400
        return frame < 60
      }
      try pump("the fling") { gallery.pipeline.isSuspended }
      gtk_widget_set_visible(gallery.list.widget, 0)
      try pump("the end of it") { !gallery.list.isFlinging }
      XCTAssertFalse(gallery.pipeline.isSuspended)
    }
  }

  func testWhatTheProgramHoldsBackStaysHeldBackAfterAFling() throws {
    try onMain {
      let gallery = try Gallery(count: 5000) { picture($0) }
      try gallery.waitForVisible()
      gallery.pipeline.isSuspended = true
      var flings: [Bool] = []
      gallery.list.onFling = { flings.append($0) }
      gallery.list.scrollOffset = 100_000
      try pump("the fling's end") { flings == [true, false] }
      XCTAssertTrue(gallery.pipeline.isSuspended)
    }
  }

  func testSettledTheRowsAreAskedForInTheOrderThatIsSet() throws {
    try onMain {
      for order in PictureListOptions.SettleOrder.allCases {
        var options = PictureListOptions()
        options.prefetchDistance = 0
        options.settleOrder = order
        let gallery = try Gallery(
          count: 5000, options: options, configure: { $0.maximumConcurrentDownloads = 1 },
          answer: { picture($0) })
        try gallery.waitForVisible()
        let before = gallery.asked.count
        gallery.list.scrollOffset = 200_000
        try pump("the rest") { !gallery.list.isFlinging && gallery.list.visibleRange?.contains(3130) == true }
        try gallery.waitForVisible()
        let after = Array(gallery.asked.dropFirst(before)), visible = gallery.visible
        let middle = visible.count / 2
        switch order {
        case .fromTop: XCTAssertEqual(after, visible)
        case .newestFirst: XCTAssertEqual(after, visible.reversed())
        case .fromMiddle:
          XCTAssertEqual(after.first, visible[middle])
          XCTAssertEqual(Set(after), Set(visible))
        }
      }
    }
  }

  /// O9: what runs goes on, what waits starts when the fling has ended, and the most urgent first.
  func testAFlingLetsRunningDownloadsFinish() throws {
    try onMain {
      let gate = Gate()
      var options = PictureListOptions()
      options.prefetchDistance = 0
      options.leaving = .lower
      let gallery = try Gallery(count: 5000, options: options) { picture($0).after(gate) }
      try pump("six downloads") { gallery.asked.count == 6 }
      gallery.pipeline.isSuspended = true
      gate.open()
      try pump("six pictures") { gallery.visible.count { gallery.shown(at: $0) != nil } == 6 }
      XCTAssertEqual(gallery.asked.count, 6)
      gallery.pipeline.isSuspended = false
      try gallery.waitForVisible()
    }
  }

  func testRowsThatLeaveLetGoOfTheirPixelsAndOfTheirDownloads() throws {
    try onMain {
      let gate = Gate()
      var options = PictureListOptions()
      options.prefetchDistance = 0
      let gallery = try Gallery(count: 300, options: options) {
        $0 < 60 ? picture($0) : picture($0).after(gate)
      }
      try gallery.waitForVisible()
      let shown = gallery.visible
      gallery.list.scrollOffset = 64 * 100
      try pump("the others") {
        gallery.list.visibleRange?.contains(105) == true && gallery.list.loadingCount > 0
      }
      try pump("the first rows' end") { shown.allSatisfy { gallery.shown(at: $0) == nil } }
      XCTAssertEqual(Texture.livingCount, 0)
      gallery.list.scrollOffset = 0
      try gallery.waitForVisible()
      XCTAssertEqual(gallery.list.loadingCount, 0)
      try pump("the connections' end") { gallery.server.openConnectionCount <= 6 }
      gate.open()
    }
  }

  func testAFailedRowIsTriedAgainByAClick() throws {
    try onMain {
      let fails = Lock(true)
      let gallery = try Gallery(count: 3) { number in
        number == 1 && fails.withLock { $0 } ? .status(500) : picture(number)
      }
      try pump("the failure") { gallery.list.cell(at: 1)?.picture.picture.hasFailed == true }
      try gallery.window.screenshot("list-failed")
      fails.withLock { $0 = false }
      var activations = 0
      gallery.list.onActivate = { _ in activations += 1 }
      try gallery.window.input("mousemove", "36", "96", "click", "1")
      try gallery.waitForVisible()
      XCTAssertEqual(gallery.asked.filter { $0 == 1 }.count, 2)
      XCTAssertNil(gallery.list.selection, "the click was the picture's, not the row's")
      XCTAssertEqual(activations, 0)
    }
  }

  /// O10: a list that is let go in the middle of everything cancels, and nothing of it stays.
  func testAListThatIsLetGoCancelsAndLeavesNothing() throws {
    try onMain {
      var gallery: Gallery? = try Gallery(count: 1000) { _ in .hang }
      let server = gallery!.server
      weak let list = gallery?.list
      try pump("requests") { server.requests.count >= 6 }
      gallery = nil
      try pump("the end of the list") { list == nil }
      try pump("the connections' end") { server.openConnectionCount == 0 }
    }
  }

  func testTheNearEndIsToldOnceForEachPage() throws {
    try onMain {
      let gallery = try Gallery(count: 100) { picture($0) }
      var pages = 0
      gallery.list.onNearEnd = { pages += 1 }
      gallery.list.scrollOffset = 64 * 75
      try pump("the end's nearness") { pages == 1 }
      gallery.list.scrollOffset = 64 * 80
      try gallery.window.frames(20)
      XCTAssertEqual(pages, 1)
      gallery.numbers = Array(0..<200)
      gallery.list.append(100)
      XCTAssertEqual(gallery.list.scrollOffset, 64 * 80, accuracy: 64, "it stays where it was")
      gallery.list.scrollOffset = 64 * 175
      try pump("the next end's") { pages == 2 }
      XCTAssertEqual(gallery.list.count, 200)
    }
  }
}
