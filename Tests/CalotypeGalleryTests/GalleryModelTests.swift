import Calotype
import Foundation
import TestSupport
import Testing

@testable import calotype_gallery

/// What the app knows of lists, apart from any window.
@Suite struct GalleryModelTests {
  @Test(arguments: [
    ("7.1 KB", 7100), ("1,234 downloads", 1234), ("downloads: 1 234 567", 1), ("8万", 80000), ("1.5亿", 1.5e8),
    ("-3", -3), ("12.5M", 1.25e7), ("5 Mars bars", 5), ("2 MiB", 2_097_152), ("1'000", 1000), ("v1.2.3", 1.2),
  ])
  func figures(_ text: String, _ value: Double) { #expect(Figure.value(of: text) == value) }

  @Test(arguments: ["", "none", "KB", "."]) func noFigures(_ text: String) {
    #expect(Figure.value(of: text) == nil)
  }

  private func index(_ rows: [(String, String?)]) async throws -> RowIndex {
    let index = RowIndex()
    let url = try #require(URL(string: "http://h/a.png"))
    // In two portions, as lists come.
    let items = rows.map { ImageListItem(title: $0.0, subtitle: $0.1, url: url) }
    await index.append(Array(items.prefix(2)))
    await index.append(Array(items.dropFirst(2)))
    return index
  }

  @Test func search() async throws {
    let index = try await index([
      ("Éclair Editor", "Makes cakes"), ("计算器", nil), ("Ｆｕｌｌ width", "12 KB"), ("Cake 12", "7"),
      ("a\0b", nil),
    ])
    func found(_ text: String) async -> [Int32] { await index.select(RowQuery(text: text)) }
    #expect(await found("eclair") == [0])
    #expect(await found("CAKE") == [0, 3])
    #expect(await found("cake  editor") == [0])
    #expect(await found("算") == [1])
    #expect(await found("full") == [2])
    // A figure in the second line is no name.
    #expect(await found("12") == [3])
    #expect(await found("b") == [4])
    #expect(await found("cake calculator") == [])
    #expect(await found(" ") == [0, 1, 2, 3, 4])
  }

  @Test func order() async throws {
    let index = try await index([("file 10", "9 KB"), ("File 2", nil), ("alpha", "1 MB"), ("beta", "9 KB")])
    func sorted(_ order: RowOrder, _ isDescending: Bool = false) async -> [Int32] {
      await index.select(RowQuery(order: order, isDescending: isDescending))
    }
    #expect(await sorted(.list) == [0, 1, 2, 3])
    #expect(await sorted(.list, true) == [3, 2, 1, 0])
    // Equal figures stay in the list's order, rows without one come last either way.
    #expect(await sorted(.figure) == [0, 3, 2, 1])
    #expect(await sorted(.figure, true) == [2, 0, 3, 1])
    let names = await sorted(.name)
    #expect(names.firstIndex(of: 2)! < names.firstIndex(of: 3)!)
    #expect(await sorted(.name, true) == Array(names.reversed()))
  }

  @Test func sources() throws {
    #expect(GallerySource("list.csv", folder: "/tmp/a") == .file("/tmp/a/list.csv"))
    #expect(GallerySource("/x/../y.json") == .file("/y.json"))
    #expect(GallerySource("file:///a%20b.plist") == .file("/a b.plist"))
    #expect(
      try GallerySource("https://h/apps.json") == .address(#require(URL(string: "https://h/apps.json"))))
    #expect(GallerySource("http://h/a?n={page}") == .pages(template: "http://h/a?n={page}", first: 1))
    #expect(
      GallerySource("http://h/a?x=1&page=3&y=2")
        == .pages(template: "http://h/a?x=1&page={page}&y=2", first: 3))
    // What a desktop's drag and drop makes of braces.
    #expect(GallerySource("http://h/a?n=%7Bpage%7D") == .pages(template: "http://h/a?n={page}", first: 1))
    for text in ["", "  ", "ftp://h/a", "javascript://x", "http://"] {
      #expect(GallerySource(text) == nil, "\(text)")
    }
  }

  @Test func preferencesTakeWhatMakesSense() throws {
    let text = """
      {"downloadsAtOnce": 1000, "cacheMegabytes": "much", "freshness": "immutable", "appearance": "purple",
       "layout": "grid", "windowWidth": -5, "somethingNew": [1]}
      """
    let preferences = try JSONDecoder().decode(Preferences.self, from: Data(text.utf8))
    #expect(preferences.downloadsAtOnce == 64)
    #expect(preferences.cacheMegabytes == 0)
    #expect(preferences.freshness == .immutable)
    #expect(preferences.appearance == .system)
    #expect(preferences.layout == .grid)
    #expect(preferences.windowWidth == 360)
    let again = try JSONDecoder().decode(Preferences.self, from: try JSONEncoder().encode(preferences))
    #expect(again == preferences)
  }

  /// A list from a server that names this computer's files gets none of them shown.
  @Test func listsFromServersHaveNoFiles() async throws {
    let list = #"[{"name":"Mine","icon":"file:///etc/hostname"},{"name":"Theirs","icon":"/a.png"}]"#
    let server = try ScriptedServer(routes: ["/l.json": [.ok(Array(list.utf8))]])
    let reading = ListReading(.address(server.url("/l.json")), page: nil)
    var all: [ListReading.Portion] = []
    for await portion in reading.portions { all.append(portion) }
    #expect(try await reading.result.get() == 2)
    #expect(all.flatMap(\.items).map(\.title) == ["Theirs"])
    #expect(all.flatMap(\.problems).map(\.place.row) == [1])
  }

  @Test func storedLists() async throws {
    let folder = try TemporaryFolder()
    let lists = StoredLists(folder: folder.url)
    let source = try #require(GallerySource("http://h/l.json"))
    let url = try #require(URL(string: "http://h/a.png"))
    let item = ImageListItem(
      title: "A", subtitle: "b", url: url, fields: [.init(name: "c", value: "d")],
      place: ImageListPlace(row: 1))
    #expect(await lists.load(source) == nil)
    await lists.store([item], of: source)
    #expect(await lists.load(source)?.items == [item])
    let other = try #require(GallerySource("http://h/m.json"))
    #expect(await lists.load(other) == nil)
    for file in try FileManager.default.contentsOfDirectory(at: folder.url, includingPropertiesForKeys: nil) {
      try Data("{".utf8).write(to: file)
    }
    #expect(await lists.load(source) == nil)
  }
}
