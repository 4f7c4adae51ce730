import Foundation
import Testing

@testable import Calotype

/// Reads a whole list: its rows, and the error that ended it.
func readList(
  _ data: Data, name: String = "list", options: ImageListOptions = .init()
) async -> (items: [ImageListItem], problems: [ImageListProblem], error: ImageListError?) {
  await collect(ImageList(data: data, name: name, options: options))
}

func readList(
  _ text: String, name: String = "list", options: ImageListOptions = .init()
) async -> (items: [ImageListItem], problems: [ImageListProblem], error: ImageListError?) {
  await readList(Data(text.utf8), name: name, options: options)
}

func collect(
  _ list: ImageList
) async -> (items: [ImageListItem], problems: [ImageListProblem], error: ImageListError?) {
  var items: [ImageListItem] = [], problems: [ImageListProblem] = []
  do throws(ImageListError) {
    for try await row in list {
      switch row {
      case .item(let item): items.append(item)
      case .problem(let problem): problems.append(problem)
      }
    }
  } catch {
    return (items, problems, error)
  }
  return (items, problems, nil)
}

@Suite struct ImageListTests {
  static var apps: [[String: Any]] {
    [
      ["name": "Calculator", "icon": "http://h/calculator.png", "download": 1042],
      ["name": "计算器", "icon": "http://h/%E8%AE%A1.png", "download": "8万"],
      ["name": "A & B <c> \"d\"", "icon": "http://h/a?x=1&y=2", "download": 7, "price": 1.5],
    ]
  }

  private func expectApps(
    _ result: (items: [ImageListItem], problems: [ImageListProblem], error: ImageListError?),
    _ comment: Comment? = nil
  ) {
    #expect(result.error == nil, comment)
    #expect(result.problems == [], comment)
    #expect(result.items.map(\.title) == ["Calculator", "计算器", "A & B <c> \"d\""], comment)
    #expect(result.items.map(\.subtitle) == ["1042", "8万", "7"], comment)
    #expect(
      result.items.map(\.url.absoluteString) == [
        "http://h/calculator.png", "http://h/%E8%AE%A1.png", "http://h/a?x=1&y=2",
      ],
      comment)
    #expect(result.items.last?.fields == [.init(name: "price", value: "1.5")], comment)
    #expect(result.items.map(\.place.row) == [1, 2, 3], comment)
  }

  @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
  func propertyListsThatFoundationWrites(format: PropertyListSerialization.PropertyListFormat) async throws {
    let list = try PropertyListSerialization.data(fromPropertyList: Self.apps, format: format, options: 0)
    expectApps(await readList(list))
    let nested = try PropertyListSerialization.data(
      fromPropertyList: ["version": 2, "data": ["list": Self.apps]], format: format, options: 0)
    expectApps(await readList(nested), "found")
    expectApps(await readList(nested, options: .init(itemsKeyPath: "data.list")), "given")
  }

  @Test func jsonThatFoundationWrites() async throws {
    for options: JSONSerialization.WritingOptions in [[], .prettyPrinted, .withoutEscapingSlashes] {
      expectApps(await readList(try JSONSerialization.data(withJSONObject: Self.apps, options: options)))
      let nested = try JSONSerialization.data(
        withJSONObject: ["code": 0, "tags": ["x", "y"], "data": ["total": 3, "list": Self.apps]],
        options: options)
      expectApps(await readList(nested))
      expectApps(await readList(nested, options: .init(itemsKeyPath: "data.list")))
    }
  }

  /// As on the page behind a service's last.
  @Test(arguments: [#"{"status":0,"data":{"page":9,"list":[]}}"#, "[]"])
  func emptyArraysAreAnEmptyList(_ text: String) async {
    let result = await readList(text)
    #expect(result.items == [])
    #expect(result.error == nil)
  }

  @Test func jsonLines() async throws {
    let lines = try Self.apps.map { try JSONSerialization.data(withJSONObject: $0) }
    expectApps(await readList(Data(lines.joined(separator: Data("\n".utf8)))))
    expectApps(await readList(Data(lines.joined(separator: Data("\r\n\r\n".utf8))), name: "a.jsonl"))
  }

  @Test(arguments: [",", ";", "\t"], ["\n", "\r\n"])
  func separatedValues(separator: String, lineEnd: String) async {
    let rows = [
      ["name", "icon", "download", "price"], ["Calculator", "http://h/calculator.png", "1042", ""],
      ["计算器", "http://h/%E8%AE%A1.png", "8万"],
      ["\"A & B <c> \"\"d\"\"\"", "\"http://h/a?x=1&y=2\"", "7", "1.5"],
    ]
    let text = rows.map { $0.joined(separator: separator) }.joined(separator: lineEnd)
    expectApps(await readList(text))
    expectApps(await readList("\u{FEFF}" + text + lineEnd + lineEnd, name: "apps.csv"))
  }

  @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian])
  func utf16WithAByteOrderMark(encoding: String.Encoding) async throws {
    let text = "\u{FEFF}name\ticon\nCalculator 😀\thttp://h/a.png\n"
    let result = await readList(try #require(text.data(using: encoding)))
    #expect(result.items.map(\.title) == ["Calculator 😀"])
    #expect(result.error == nil)
  }

  @Test func textOfAddresses() async {
    let result = await readList(
      """
      # icons
      http://h/one.png

        http://h/two.tar.png
      http://h/3.png\tThree\t10 MB
      http://h/\r
      """)
    #expect(result.items.map(\.title) == ["one", "two.tar", "Three", "h"])
    #expect(result.items.map(\.subtitle) == [nil, nil, "10 MB", nil])
    #expect(result.items.map(\.place.line) == [2, 4, 5, 6])
    #expect(result.error == nil)
  }

  @Test func aFileAPipeAndAFolder() async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("list-\(UUID()).txt").path
    try Data("http://h/a.png\n".utf8).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(await collect(ImageList(path: path)).items.count == 1)
    let missing = await collect(ImageList(path: path + "-not"))
    #expect(missing.error?.description == "\(path)-not: No such file or directory")
    #expect(await collect(ImageList(path: "/tmp")).error?.reason.contains("folder") == true)

    let pipe = Pipe()
    var iterator = ImageList(fileDescriptor: pipe.fileHandleForReading.fileDescriptor).makeAsyncIterator()
    try pipe.fileHandleForWriting.write(
      contentsOf: Data(repeating: 0x23, count: 70) + Data("\nhttp://h/1.png\n".utf8))
    // The first row is given while the pipe is still open.
    guard case .item(let item) = try await iterator.next() else { return #expect(Bool(false)) }
    #expect(item.url.absoluteString == "http://h/1.png")
    try pipe.fileHandleForWriting.close()
    #expect(try await iterator.next() == nil)
  }

  @Test func givenAndUsualFieldNames() async {
    let json = """
      [{"url":"http://h/page","user":{"nickname":"Ann","avatar":"http://h/ann.png"},"images":["http://h/1.png"]},
       {"Title":"T","Photo_URL":"http://h/t.png","Description":"D"}]
      """
    let usual = await readList(json)
    #expect(usual.items.map(\.title) == ["Ann", "T"])
    #expect(usual.items.map(\.url.absoluteString) == ["http://h/1.png", "http://h/t.png"])
    #expect(usual.items.last?.subtitle == "D")
    let given = await readList(json, options: .init(titleKey: "url", imageKey: "user.avatar"))
    #expect(given.items.map(\.url.absoluteString) == ["http://h/ann.png"])
    #expect(given.items.map(\.title) == ["http://h/page"])
    #expect(
      given.problems.map(\.description) == [
        "list: row 2, line 2: has no user.avatar (its fields with a value are: Title, Photo_URL, Description)"
      ])
    #expect(
      await readList(json, options: .init(imageKey: "images.0")).items.first?.url.lastPathComponent == "1.png"
    )
  }

  @Test func relativeAddresses() async {
    let text = "a.png\n/b.png\nhttp://other/c.png\n"
    let alone = await readList(text)
    #expect(alone.items.count == 1)
    #expect(alone.problems.map(\.place.line) == [1, 2])
    #expect(alone.problems.first?.reason.contains("--base-url") == true)
    let based = await readList(text, options: .init(baseURL: URL(string: "https://h/d/list.txt")))
    #expect(
      based.items.map(\.url.absoluteString) == ["https://h/d/a.png", "https://h/b.png", "http://other/c.png"])
  }
}
