import Foundation
import TestSupport
import Testing

@testable import Calotype

@Suite struct ImageListLimitTests {
  @Test func rowsEndAtTheLimit() async {
    var options = ImageListOptions()
    for (limit, count) in [(1000, 1001), (256, 257), (3, 600)] {
      options.limits.maximumRowCount = limit
      let list = (1...count).map { "http://h/\($0)\n" }.joined()
      let result = await readList(list, options: options)
      #expect(result.items.count == limit)
      #expect(result.error?.reason == "has more than \(limit) rows")
    }
    options.limits.maximumRowCount = 600
    let whole = await readList((1...600).map { "http://h/\($0)\n" }.joined(), options: options)
    #expect(whole.items.count == 600)
    #expect(whole.error == nil)
  }

  /// A character may be of any number of scalars, and is then cut too.
  @Test func aTitleOfOneEndlessCharacterIsCut() async {
    let endless = "a" + String(repeating: "\u{301}", count: 100_000)
    let plain = String(repeating: "b", count: 1001)
    let list = #"[{"title":"\#(endless)","url":"http://h/1"},{"title":"\#(plain)","url":"http://h/2"}]"#
    let titles = await readList(list).items.map(\.title)
    #expect(titles.count == 2)
    #expect(titles.first.map { $0.unicodeScalars.count <= 4001 && $0.unicodeScalars.first == "a" } ?? false)
    #expect(titles.last == String(plain.prefix(999)) + "…")
  }

  /// A service that always has another page is gone through up to the limit and no further.
  @Test func aPageIsAskedForAgainOnlyWhereThatMayHelp() async throws {
    let server = try ScriptedServer(routes: [
      "/gone/1": [.status(404)], "/busy/1": [.status(503)], "/late/1": [.status(503), .ok(Array("[]".utf8))],
    ])
    func read(_ path: String, tries: Int) async -> String? {
      let pages = ImageListPages(address: server.url(path).absoluteString + "/{page}", maximumTries: tries)
      do {
        _ = try await ImageList(pages: pages, transport: CurlTransport.forTests()).items()
        return nil
      } catch {
        return error.reason
      }
    }
    #expect(await read("/gone", tries: 4) == "the server answered 404")
    #expect(server.requests("/gone/1").count == 1)
    #expect(await read("/busy", tries: 1) == "the server answered 503")
    #expect(await read("/busy", tries: 2) == "the server answered 503 (tried 2 times)")
    #expect(server.requests("/busy/1").count == 3)
    #expect(await read("/late", tries: 2) == nil)
    #expect(server.requests("/late/1").count == 2)
  }

  @Test func pagesWithoutEndEnd() async throws {
    let server = try ScriptedServer { _ in .ok(Array(#"[{"icon":"/a.png"},{"icon":"/b.png"}]"#.utf8)) }
    var options = ImageListOptions()
    options.limits.maximumRowCount = 21
    let pages = ImageListPages(address: server.url("/p").absoluteString + "?n={page}")
    let list = ImageList(pages: pages, transport: CurlTransport.forTests(), options: options)
    var count = 0
    let error = await #expect(throws: ImageListError.self) {
      for try await case .item in list { count += 1 }
    }
    #expect(error?.reason == "has more than 21 rows")
    #expect(count == 21)
    #expect(server.requests.count == 11)
  }

  @Test func longTitlesAreCut() async {
    let long = String(repeating: "é", count: 5000)
    let result = await readList(#"[{"name":"\#(long)","subtitle":"\#(long)","icon":"http://h/1"}]"#)
    #expect(result.items.first?.title.count == 1000)
    #expect(result.items.first?.title.hasSuffix("é…") == true)
    #expect(result.items.first?.subtitle?.count == 1000)
    let exact = String(repeating: "é", count: 1000)
    let whole = await readList(#"[{"name":"\#(exact)","icon":"http://h/1"}]"#)
    #expect(whole.items.first?.title == exact)
  }

  @Test func aDownloadedListEndsAtTheLimit() async throws {
    let server = try ScriptedServer { _ in .endless() }
    var options = ImageListOptions()
    options.limits.maximumDownloadLength = 1 << 20
    let list = ImageList(url: server.url("/l"), transport: CurlTransport.forTests(), options: options)
    let error = await #expect(throws: ImageListError.self) { for try await _ in list {} }
    #expect(error?.reason.contains("larger than 1048576 bytes") == true, "\(error?.reason ?? "")")
  }

  /// Ten entities of ten of each other, nine deep: what a reader that expands them takes gigabytes for.
  @Test func entitiesAreNotExpanded() async {
    var text = "<?xml version=\"1.0\"?><!DOCTYPE plist [<!ENTITY a0 \"ha\">"
    for level in 1...9 {
      text += "<!ENTITY a\(level) \"" + String(repeating: "&a\(level - 1);", count: 10) + "\">"
    }
    text += "]><plist><array><dict><key>name</key><string>&a9;</string></dict></array></plist>"
    let result = await readList(text, name: "l.plist")
    #expect(result.error?.reason.contains("declares entities of its own") == true)
    let external = await readList(
      "<!DOCTYPE plist SYSTEM \"file:///etc/passwd\"><plist><array><string>&x;</string></array></plist>")
    #expect(external.items.isEmpty)
  }
}
