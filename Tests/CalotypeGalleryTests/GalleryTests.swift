import Calotype
import Foundation
import TestSupport
import XCTest

/// The app as a person meets it: with real servers, by keyboard and screen reader.
final class GalleryTests: XCTestCase {
  private static let desktop = Result { try DesktopSession() }

  override func setUp() { continueAfterFailure = false }

  private func start(
    _ arguments: String..., home: GalleryProgram.Home? = nil, environment: [String: String] = [:]
  ) throws -> GalleryProgram {
    precondition(arguments.count <= 1)
    let (desktop, home) = (try Self.desktop.get(), try home ?? GalleryProgram.Home())
    return if let argument = arguments.first {
      try GalleryProgram(argument, on: desktop, home: home, environment: environment)
    } else {
      try GalleryProgram(on: desktop, home: home, environment: environment)
    }
  }

  /// Without an argument there is something to look at, search, sort and open.
  func testTheBundledListIsSearchedSortedAndOpened() async throws {
    let gallery = try start()
    try await gallery.find("78 pictures")
    try await gallery.findRows("the bundled list") { $0.first == "Calculator" && $0.count > 20 }
    try gallery.screenshot("list")

    try await gallery.keys("ctrl+f")
    try await gallery.type("DRIVE")
    try await gallery.findRows("a search") { $0.sorted() == ["Optical Drive", "Removable Drive"] }
    try await gallery.find("2 of 78 pictures")
    try await gallery.keys("ctrl+a", "BackSpace")
    try await gallery.type("nothing like it")
    try await gallery.find("Nothing found")
    try await gallery.keys("Escape")
    try await gallery.findRows("no search") { $0.count > 20 }

    try await gallery.press("Sort")
    try await gallery.press("Figure", role: "menu item")
    try await gallery.findRows("sorted by size") { $0.first == "窗口" }
    try await gallery.press("Sort")
    try await gallery.press("Descending", role: "menu item")
    try await gallery.findRows("the largest first") { $0.first == "Disc" }

    try await gallery.keys("Home", "Return")
    try await gallery.find("1 of 78")
    try await gallery.find("Disc", role: "image")
    try await gallery.keys("Right")
    try await gallery.find("2 of 78")
    try await gallery.keys("F9")
    try await gallery.find("Size: 128 × 128 pixels")
    try await gallery.find("Format: PNG")
    try await gallery.keys("plus")
    try await gallery.find("150 %")
    try await gallery.press("Copy")
    try await gallery.find("Copied")
    try gallery.screenshot("picture")
    try await gallery.keys("Escape")
    try await gallery.findRows("the list again") { $0.first == "Disc" }
  }

  /// A row that never comes and one that fails keep nobody from the others, and there is a way out of both.
  func testSlowBrokenAndFineRowsTogether() async throws {
    let gate = Gate()
    let png = try Self.png()
    let list = """
      [{"name":"Fine","icon":"/fine.png"},{"name":"Slow","icon":"/slow.png"},
       {"name":"Broken","icon":"/broken.png"},{"name":"Nameless"}]
      """
    let slow: Script = [
      .head(200, [("Content-Length", "\(png.count)")]), .body(Array(png[..<40])), .wait(gate),
      .body(Array(png[40...])),
    ]
    let server = try ScriptedServer(routes: ["/list.json": [.ok(Array(list.utf8))], "/slow.png": [slow]])
    server.route("/fine.png", .ok(png))
    server.route("/broken.png", .status(404))
    let gallery = try start(server.url("/list.json").absoluteString)
    try await gallery.findRows("three of four") { $0 == ["Fine", "Slow", "Broken"] }
    try await gallery.find("1 row without a picture")
    try await gallery.find("", role: "image", description: "Could not be loaded: the server answered 404…")
    try gallery.screenshot("mixed")

    try await gallery.keys("End", "Return")
    try await gallery.find("Could not be loaded: the server answered 404")
    server.route("/broken.png", .ok(png))
    try await gallery.press("Try again")
    try await gallery.find("100 %")

    try await gallery.keys("Left")
    try await gallery.find("Loading the picture…")
    try gallery.screenshot("waiting")
    gate.open()
    try await gallery.findGone("Loading the picture…")
    try await gallery.find("100 %")
  }

  /// The next page comes as the end nears; where it does not, it says so and can be tried again.
  func testPages() async throws {
    let png = try Self.png()
    @Sendable func page(_ number: Int) -> Script {
      let rows = (0..<25).map { #"{"name":"Row \#(number)-\#($0)","icon":"/icon.png"}"# }
      return .ok(Array(#"{"data":{"list":[\#(number < 3 ? rows.joined(separator: ",") : "")]}}"#.utf8))
    }
    let failures = Lock(2)
    let server = try ScriptedServer { request in
      switch request.target {
      case "/apps?page=2"
      where failures.withLock({
        $0 -= 1; return $0 >= 0
      }): .status(503)
      case let target where target.hasPrefix("/apps?page="): page(Int(target.dropFirst(11)) ?? 0)
      default: .ok(png)
      }
    }
    let gallery = try start(server.url("/apps?page=1").absoluteString)
    try await gallery.findRows("the first page") { $0.first == "Row 1-0" }
    try await gallery.find("Page 2 could not be loaded…")
    try gallery.screenshot("pages")
    try await gallery.press("Try Again")
    try await gallery.find("50 pictures")
    try await gallery.keys("End")
    try await server.waitForRequests(on: "/apps?page=3")
    try await gallery.findGone("Page…")
  }

  /// What was chosen holds in the next run; what was stored is shown although the server is gone.
  func testSettingsAreKeptAndStoredListsShownOffline() async throws {
    let folder = try TemporaryFolder()
    let rows = (0..<12).map { #"{"name":"Kept \#($0)","icon":"\#($0).png"}"# }
    _ = try folder.write("[\(rows.joined(separator: ","))]", to: "list.json")
    for number in 0..<12 { _ = try folder.write(Data(try Self.png(number)), to: "\(number).png") }
    let server = try NginxServer(serving: folder.url)
    let home = try GalleryProgram.Home()
    let address = server.url("fresh/list.json").absoluteString
    do {
      let gallery = try start(address, home: home)
      try await gallery.findRows("the list") { $0.count == 12 }
      try await gallery.keys("ctrl+2")
      try await gallery.find("Pictures", role: "table")
      _ = try await server.requests(atLeast: 13)
      try await gallery.keys("Home", "Return")
      try await gallery.find("100 %")
      try await gallery.keys("ctrl+q")
      let status = await gallery.ended()
      XCTAssertEqual(status, 0)
    }
    let settings = try String(contentsOf: home.settings, encoding: .utf8)
    XCTAssertTrue(settings.contains(#""layout" : "grid""#), settings)
    server.stop()
    let gallery = try start(address, home: home)
    try await gallery.find("Pictures", role: "table")
    try await gallery.find("The server could not be asked…")
    try await gallery.findRows("the stored list") { $0.first == "Kept 0" && $0.count == 12 }
    try gallery.screenshot("offline")
    try await gallery.keys("Home", "Return", "F9")
    try await gallery.find("Source: Disk cache")
  }

  /// A window that is closed while all is under way goes at once, whatever servers do, and leaves a sound cache.
  func testClosingInTheMiddleOfEverything() async throws {
    let png = try Self.png()
    let rows = (0..<300).map { #"{"name":"Row \#($0)","icon":"/\#($0).png"}"# }.joined(separator: ",")
    let server = try ScriptedServer { request in
      if request.path == "/list.json" { return .ok(Array("[\(rows)]".utf8)) }
      // Every third is there at once; the others give some and then nothing.
      let number = Int(request.path.dropFirst().prefix { $0.isNumber }) ?? 0
      return number % 3 == 0
        ? .ok(png) : [.head(200, [("Content-Length", "\(png.count)")]), .body(Array(png[..<40])), .hang]
    }
    let home = try GalleryProgram.Home()
    for end in [0, 1] {
      let gallery = try start(server.url("/list.json").absoluteString, home: home)
      try await gallery.find("300 pictures")
      try await server.waitForRequests(6 + end * 7)
      if end == 0 { try await gallery.keys("ctrl+w") } else { gallery.interrupt() }
      let status = await gallery.ended()
      XCTAssertEqual(status, 0)
    }
    let report = DiskCache(directory: home.folder.file("cache/calotype")).verify()
    XCTAssertTrue(report.isClean, "\(report)")
    XCTAssertGreaterThan(report.entries, 0)
  }

  /// All texts are there in Chinese, and the keyboard's letters are not read out with them.
  func testChinese() async throws {
    let gallery = try start(environment: ["LANGUAGE": "zh_CN"])
    try await gallery.find("78 张图片")
    try await gallery.find("主菜单", role: "push button")
    try await gallery.keys("ctrl+comma")
    try await gallery.find("首选项", role: "frame")
    try await gallery.find("快速滚动时暂停(P)…")
  }

  /// Dark, and two pixels to a point.
  func testLooksOnADarkSharpScreen() async throws {
    let desktop = try DesktopSession(size: PixelSize(width: 1600, height: 1720))
    let home = try GalleryProgram.Home()
    _ = try home.folder.write(
      #"{"appearance":"dark","layout":"grid","downloadsAtOnce":"many"}"#, to: "config/calotype/gallery.json")
    let gallery = try GalleryProgram(on: desktop, home: home, environment: ["GDK_SCALE": "2"])
    try await gallery.find("Pictures", role: "table")
    try await gallery.find("78 pictures")
    // A screen reader hears of the rows before they are drawn.
    try await Self.wait("the dark picture of the screen") {
      let screen = try desktop.screenshot()
      let corner = screen[40, 1500], icon = screen[160, 260]
      return corner.red < 90 && corner.red > 10 && icon != corner
    }
    try gallery.screenshot("dark-2x")
  }

  // MARK: Helpers

  private static func wait(_ what: String, until isMet: () throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(20)
    while try !isMet() {
      guard ContinuousClock.now < end else { return XCTFail("waited for \(what)") }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// A picture of 64×48, each number's its own.
  static func png(_ number: Int = 0) throws -> [UInt8] {
    let bitmap = try Bitmap(size: PixelSize(width: 64, height: 48), isOpaque: true) { pixels in
      for at in stride(from: 0, to: pixels.count, by: 4) {
        (pixels[at], pixels[at + 1], pixels[at + 2], pixels[at + 3]) = (
          UInt8(40 + number % 200), 90, 160, 255
        )
      }
    }
    return Array(
      try ImageEncoder().encode(bitmap, options: .init(format: .png), cancellation: CancellationFlag()))
  }
}

extension ScriptedServer {
  /// Waits for a request for one target.
  fileprivate func waitForRequests(on target: String) async throws {
    let end = ContinuousClock.now + .seconds(20)
    while !requests.contains(where: { $0.target == target }) {
      guard ContinuousClock.now < end else { return XCTFail("\(target) was not asked for") }
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}
