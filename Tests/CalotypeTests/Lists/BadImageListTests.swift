import Foundation
import Testing

@testable import Calotype

@Suite struct BadImageListTests {
  /// The list's text, its name, and what the one error must say, with its place.
  static let badLists: [(list: String, name: String, message: String)] = [
    ("[{\"icon\":\"http://h/1\"},", "l.json", "l.json: line 1: the JSON ends before it is complete"),
    ("[{\"icon\":\"http://h/1\"},\n{\"icon\":", "l", "l: line 2: the JSON ends before it is complete"),
    ("{\"a\":[1,2]}", "l", "no rows with an address were found (its arrays are a)"),
    ("{\"a\":1}", "l.json", "no rows with an address were found (it has no array)"),
    ("[{\"icon\":\"http://h/1\"}\n{}]", "l", "line 2: expected a comma or \"]\", found \"{\""),
    ("[{\"icon\" \"x\"}]", "l", "line 1: expected a colon"),
    ("[tru]", "l", "line 1: expected true"),
    ("[1e]", "l", "line 1: 1e is not a number"),
    ("[\"\\x\"]", "l", "line 1: a string holds an unknown escape, \\\"x\""),
    ("[\"\\u12\"]", "l", "is not followed by four hexadecimal digits"),
    ("[\"a\nb\"]", "l", "a string holds a control character"),
    ("[{\"icon\":\"http://h/1\"},]", "l", "a comma stands before \"]\""),
    ("[] []", "l", "the JSON has ended, and \"[\" follows it"),
    ("", "l.json", "there is no JSON in it"),
    ("\"text\"", "l.json", "the whole list is a single value"),
    ("null", "l.json", "the whole list is null; an array of rows is needed, or a dictionary that holds one"),
    ("<html><body>", "l.json", "l.json: is a web page, not a list"),
    ("%PDF-1.4", "l", "is a PDF, not a list"),
    ("a\0b", "l", "is binary data"),
    ("<plist><array><dict><key>icon</key>", "l", "line 1: the property list ends before it is complete"),
    (
      "<plist><array>\n<string>http://h/1</string>", "l",
      "line 2: the property list ends before it is complete"
    ),
    ("<plist><array><string>http://h/1", "l", "<string> is cut off"),
    ("<plist><string>x</string></plist>", "l", "the whole list is a single value"),
    ("<plist></plist>", "l", "the property list is empty"),
    ("<plist><array><dict><string>x</string></dict></array></plist>", "l", "<string> has no <key> before it"),
    ("<plist><array><dict><key>a</key><key>b</key></dict></array></plist>", "l", "a <key> follows another"),
    ("<plist><array><dict></array></plist>", "l", "</array> ends nothing that is open"),
    ("<plist><array>text</array></plist>", "l", "text stands where a tag should"),
    ("<plist><array><b>x</b></array></plist>", "l", "<b> is not part of a property list"),
    ("<plist><array><string>&lol;</string></array></plist>", "l", "the entity &lol; is not XML's own"),
    (
      "<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [<!ENTITY lol \"lol\">]><plist><array/></plist>", "l",
      "line 2: declares entities of its own"
    ),
    ("<?xml version=\"1.0\" encoding=\"GB2312\"?><plist><array/></plist>", "l", "is written in GB2312"),
    ("name,icon\n\"a,http://h/1\nb,http://h/2\n", "l", "line 2: the quote that opens here is never closed"),
    ("http://h/1.png,x\nhttp://h/2.png,y\n", "l.csv", "line 1: the first line is no header"),
    ("bplist00", "l", "the binary property list is damaged"),
    ("bplist00" + String(repeating: "\u{1}", count: 60), "l", "its trailer is wrong"),
  ]

  @Test(arguments: badLists.indices)
  func aBadListIsOneClearError(index: Int) async {
    let bad = Self.badLists[index]
    let result = await readList(bad.list, name: bad.name)
    let message = result.error?.description ?? "no error"
    #expect(message.contains(bad.message), "\(message)")
    #expect(message.hasPrefix(bad.name))
  }

  @Test(arguments: ["[", "{\"a\":", "[{\"a\":"])
  func jsonNestedTenThousandDeep(opening: String) async {
    let deep = String(repeating: opening, count: 10_000)
    for text in [deep, "[{\"icon\":\"http://h/1\",\"x\":" + deep] {
      let result = await readList(text, name: "l.json")
      #expect(result.error?.description == "l.json: line 1: is nested deeper than 256 levels")
    }
    let lines = await readList(
      "{\"icon\":\"http://h/1\"}\n\(deep)\n{\"icon\":\"http://h/2\"}\n", name: "l.jsonl")
    #expect(lines.items.count == 2)
    #expect(lines.problems.map(\.place.line) == [2])
  }

  @Test func propertyListsNestedTenThousandDeep() async {
    let xml = "<plist>" + String(repeating: "<array>", count: 10_000)
    #expect(await readList(xml).error?.reason == "is nested deeper than 256 levels")
    // A dictionary in a dictionary, 10,000 times, and one that holds itself.
    for selfReference in [false, true] {
      let data = BinaryPropertyList.nested(levels: 10_000, holdsItself: selfReference)
      let result = await readList(
        data, options: .init(itemsKeyPath: Array(repeating: "k", count: 9_000).joined(separator: ".")))
      #expect(result.error?.reason == "is nested deeper than 256 levels, or holds itself")
    }
  }

  @Test func aBinaryPropertyListThatIsCutOff() async throws {
    let whole = try PropertyListSerialization.data(
      fromPropertyList: ImageListTests.apps, format: .binary, options: 0)
    for length in 0..<whole.count {
      let result = await readList(whole.prefix(length), name: "l.plist")
      #expect(result.error != nil, "\(length) of \(whole.count) bytes")
    }
  }

  /// A list in which an array holds ten of the next, and so on: 10^60 rows deep down.
  /// A few kilobytes that would be gigabytes of rows.
  @Test func aRowThatUnfoldsIsNotRead() async throws {
    let long = await readList(BinaryPropertyList.repeating(rows: 250, fields: 800, length: 20_000))
    #expect(long.items.isEmpty && long.error == nil)
    #expect(long.problems.count == 250)
    #expect(long.problems.first?.reason == "is longer than 1048576 bytes")
    // Each of them may be a megabyte; they do not come all at once.
    let allowed = BinaryPropertyList.repeating(rows: 250, fields: 50, length: 20_000)
    let cursor = ImageListCursor(
      ImageListFields(.init(), listName: "l"), source: { DataSource(allowed) }, name: "l",
      options: .init())
    #expect(try await cursor.batch().count == 5)
  }

  /// Names of containers are part of the names of all that is in them.
  @Test func longNamesAreNotJoinedWithoutEnd() async {
    let name = String(repeating: "n", count: 100_000)
    let fields = (0..<900).map { "\"\($0)\":\"v\"" }.joined(separator: ",")
    let text =
      "[" + String(repeating: "{\"\(name)\":", count: 8) + "{\(fields)}" + String(repeating: "}", count: 8)
      + ",{\"icon\":\"http://h/1\"}]"
    let result = await readList(text)
    #expect(result.problems.map(\.reason) == ["is longer than 1048576 bytes"])
    #expect(result.items.map(\.url.absoluteString) == ["http://h/1"])
  }

  @Test func aBinaryPropertyListThatUnfolds() async {
    let result = await readList(BinaryPropertyList.unfolding(levels: 60), options: .init(limits: .init()))
    #expect(result.items.isEmpty)
    #expect(result.problems.count == 10)
  }

  @Test func everyFlippedByteGivesRowsOrAnError() async throws {
    for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
      let whole = try PropertyListSerialization.data(
        fromPropertyList: ImageListTests.apps, format: format, options: 0)
      for index in whole.indices {
        var flipped = whole
        flipped[index] ^= 0x55
        let result = await readList(flipped)
        #expect(result.items.count <= 3)
      }
    }
  }

  /// The first line holds what a table's header would, and is an address.
  @Test func addressesAreNoHeader() async {
    let options = ImageListOptions(baseURL: URL(string: "http://h/d/"))
    for line in ["data:image/png;base64,QUJD", "http://h/a,b.png", "../a.png\tName", "./a;b.png", "/a,b.png"]
    {
      let list = await readList("\(line)\n\(line)\n", options: options)
      #expect(list.items.count == 2, "\(line): \(list.problems)")
    }
  }

  @Test func rowsThatAreWrongAreSkippedWithTheirPlace() async {
    let json = await readList(
      "[{\"icon\":\"http://h/1\"},\n{\"name\":\"no address\"},\n7.5,\nnull,\n[],\n{\"icon\":\"http://h/2\"}]")
    #expect(json.items.count == 2)
    #expect(json.problems.map(\.place.row) == [2, 3, 4, 5])
    #expect(json.problems.map(\.place.line) == [2, 3, 4, 5])
    #expect(json.problems.first?.reason.contains("its fields with a value are: name") == true)
    let empty = await readList("[{\"icon\":null},{\"icon\":\"\"}]")
    #expect(
      empty.problems.map(\.reason) == [
        "has no address: it is empty, or all its values are",
        "has no address: it is empty, or all its values are",
      ])
    let csv = await readList("name,icon\na,http://h/1\nb\nc,x,http://h/2\n,\nd,http://h/3\n")
    #expect(csv.items.map(\.title) == ["a", "d"])
    #expect(csv.problems.map(\.place.line) == [3, 4, 5])
    let lines = await readList(
      "{\"icon\":\"http://h/1\"}\n{\"icon\":\n{\"icon\":\"http://h/2\"} x\n{\"icon\":\"http://h/3\"}\n")
    #expect(lines.items.map(\.url.lastPathComponent) == ["1", "3"])
    #expect(lines.problems.map(\.place.line) == [2, 3])
  }

  @Test func wrongEncoding() async {
    let latin = Data("name,icon\nCaf".utf8) + Data([0xE9]) + Data(",http://h/1\nTea,http://h/2\n".utf8)
    let csv = await readList(latin)
    #expect(csv.items.map(\.title) == ["Tea"])
    #expect(csv.problems.map(\.place.line) == [2])
    #expect(csv.problems.first?.reason.contains("is not UTF-8") == true)
    let json = await readList(
      Data("[{\"name\":\"".utf8) + Data([0xC3, 0x28]) + Data("\",\"icon\":\"http://h/1\"}]".utf8))
    #expect(json.problems.first?.reason.contains("its name is not UTF-8") == true)
    let utf16 = await readList(Data("n\0a\0m\0e\0".utf8))
    #expect(utf16.error?.reason.contains("UTF-16 without a byte order mark") == true)
  }

  @Test func aDuplicateColumnMeansTheFirst() async {
    let result = await readList("name,icon,name\na,http://h/1,b\n")
    #expect(result.items.map(\.title) == ["a"])
    #expect(result.items.first?.fields == [.init(name: "name.2", value: "b")])
  }

  @Test func quotesInSeparatedValues() async {
    let result = await readList(
      "name,icon\r\n\"a, \"\"b\"\"\r\nc\",http://h/1\r\n\"\",http://h/2\r\nsay \"hi\",http://h/3\r\n\"x\"y,http://h/4\r\n"
    )
    #expect(result.items.map(\.title) == ["a, \"b\"\r\nc", "2", "say \"hi\"", "xy"])
    #expect(result.items.map(\.place.line) == [2, 4, 5, 6])
    #expect(result.error == nil)
  }

  @Test(arguments: ["l.txt", "l.csv", "l.jsonl", "l.json", "l.plist"])
  func aLineFarOverTheLimit(name: String) async throws {
    let long = Data(repeating: 0x61, count: 3_000_000)
    let (before, start, end, after) =
      switch name {
      case "l.txt": ("http://h/1\n", "http://h/", "\n", "http://h/2\n")
      case "l.csv": ("name,icon\nx,http://h/1\n", "y,", "\n", "z,http://h/2\n")
      case "l.jsonl": ("{\"icon\":\"http://h/1\"}\n", "{\"icon\":\"", "\"}\n", "{\"icon\":\"http://h/2\"}\n")
      case "l.json": ("[{\"icon\":\"http://h/1\"},", "{\"icon\":\"", "\"},", "{\"icon\":\"http://h/2\"}]")
      default:
        (
          "<plist><array><string>http://h/1</string>", "<string>", "</string>",
          "<string>http://h/2</string></array></plist>"
        )
      }
    let result = await readList(
      Data(before.utf8) + Data(start.utf8) + long + Data(end.utf8) + Data(after.utf8), name: name)
    #expect(result.items.map(\.url.absoluteString) == ["http://h/1", "http://h/2"])
    #expect(result.problems.map(\.place.row) == [2])
    #expect(result.problems.first?.reason.contains("is longer than 1048576 bytes") == true)
    #expect(result.error == nil)
  }
}

/// Binary property lists that no library writes.
enum BinaryPropertyList {
  /// Dictionaries, each the only value of the one before, under the key `k`.
  static func nested(levels: Int, holdsItself: Bool) -> Data {
    var objects: [[UInt8]] = [[0x51, UInt8(ascii: "k")]]
    for level in 1...levels {
      let next = level == levels || holdsItself ? level % levels : level + 1
      objects.append([0xD1, 0, 0] + reference(holdsItself ? 1 : next))
    }
    return file(objects, top: 1)
  }

  /// Arrays that each hold the next ten times.
  static func unfolding(levels: Int) -> Data {
    var objects: [[UInt8]] = []
    for level in 1...levels {
      objects.append([0xAA] + Array(repeating: reference(level), count: 10).joined())
    }
    objects.append([0x51, UInt8(ascii: "x")])
    return file(objects, top: 0)
  }

  /// Rows that are all one dictionary, all the values of which are one text.
  static func repeating(rows: Int, fields: Int, length: Int) -> Data {
    var objects: [[UInt8]] = [[0xAF, 0x11] + [UInt8(rows >> 8), UInt8(rows & 0xFF)]]
    for _ in 0..<rows { objects[0] += reference(1) }
    objects.append([0xDF, 0x11, UInt8(fields >> 8), UInt8(fields & 0xFF)])
    for field in 0..<fields { objects[1] += reference(3 + field) }
    for _ in 0..<fields { objects[1] += reference(2) }
    objects.append(
      [0x5F, 0x12] + (0..<4).reversed().map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
        + [UInt8](repeating: UInt8(ascii: "x"), count: length))
    for field in 0..<fields {
      objects.append([0x54] + Array("\(1000 + field)".utf8))
    }
    return file(objects, top: 0)
  }

  private static func reference(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

  private static func file(_ objects: [[UInt8]], top: UInt8) -> Data {
    var data = Array("bplist00".utf8), offsets: [Int] = []
    for object in objects {
      offsets.append(data.count)
      data += object
    }
    let table = data.count
    for offset in offsets { data += (0..<4).reversed().map { UInt8(truncatingIfNeeded: offset >> ($0 * 8)) } }
    func number(_ value: Int) -> [UInt8] {
      (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
    data += [0, 0, 0, 0, 0, 0, 4, 2] + number(objects.count) + number(Int(top)) + number(table)
    return Data(data)
  }
}
