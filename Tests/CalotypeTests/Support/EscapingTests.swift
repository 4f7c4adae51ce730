import Foundation
import Testing

@testable import Calotype

@Suite struct EscapingTests {
  @Test(arguments: [
    ("plain text – 计算器 é 👩‍👩‍👧", "plain text – 计算器 é 👩‍👩‍👧"),
    ("\u{1B}[31mred\u{07}", "\\u{1B}[31mred\\u{7}"),
    ("two\nlines\r\ttab", "two\\nlines\\r\\ttab"),
    ("\u{9B}31m \u{7F}", "\\u{9B}31m \\u{7F}"),
    ("a\u{202E}gnp.exe\u{2066}\u{200F}", "a\\u{202E}gnp.exe\\u{2066}\\u{200F}"),
    ("\u{2028}\u{2029}\u{FEFF}\u{E0041}", "\\u{2028}\\u{2029}\\u{FEFF}\\u{E0041}"),
  ])
  func displaySafe(text: String, shown: String) {
    #expect(Escaping.displaySafe(text) == shown)
    #expect(Escaping.displaySafe(bytes: Array(text.utf8)) == shown)
  }

  @Test func everyControlIsWrittenOut() {
    for value in Array(UInt32(0)...0x1F) + Array(0x7F...0x9F) + Array(0x202A...0x202E)
      + Array(0x2066...0x2069)
    {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let shown = Escaping.displaySafe("a\(Character(scalar))b")
      #expect(!shown.unicodeScalars.contains(scalar), "U+\(String(value, radix: 16))")
      #expect(
        Escaping.html("\(Character(scalar))").unicodeScalars.allSatisfy { $0 == " " || $0 == "\u{FFFD}" })
    }
  }

  @Test func bytesThatAreNotUTF8AreWrittenOut() {
    #expect(Escaping.displaySafe(bytes: [0x61, 0xFF, 0xC3, 0x28, 0xE2, 0x82]) == "a\\xFF\\xC3(\\xE2\\x82")
  }

  @Test(arguments: [
    ("https://user:secret@host/a.png?x=1#y", "https://user:***@host/a.png?x=1#y"),
    ("HTTP://user:se:c@ret@host:81", "HTTP://user:***@host:81"),
    ("//user:secret@host/a", "//user:***@host/a"),
    ("https://user:@host/", "https://user:***@host/"),
    ("https://user@host/a:b@c", "https://user@host/a:b@c"),
    ("http://host:8080/@a:b@c", "http://host:8080/@a:b@c"),
    ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
    // Passwords that make no address of the whole.
    ("https://user:se/cret@host/", "https://user:***@host/"),
    ("https://user:p#?@host/a@b", "https://user:***@b"),
    ("ftp://user:{page}@host/", "ftp://user:***@host/"),
    ("user:secret", "user:secret"), ("C:\\a", "C:\\a"), ("", ""), (":", ":"), ("//", "//"),
    ("http://", "http://"), ("http://:@", "http://:***@"),
    ("data:,short", "data:,short"),
  ])
  func addressesAreShownWithoutTheirPasswords(address: String, shown: String) {
    #expect(Escaping.address(address) == shown)
  }

  @Test func addressesOfDataAreShownShort() {
    let address = "data:image/png;base64," + String(repeating: "QUJD", count: 303)
    #expect(Escaping.address(address) == "data:image/png;base64,… (1,234 characters)")
    #expect(Escaping.address("DATA:" + String(repeating: "x", count: 95)) == "DATA:… (100 characters)")
    let name = Escaping.dataAddressName(address)
    #expect(name.wholeMatch(of: /data-[0-9a-f]{8}/) != nil)
    #expect(Escaping.dataAddressName(address) == name)
    #expect(Escaping.dataAddressName(address + "A") != name)
  }

  @Test func errorsNameAddressesWithoutTheirPasswords() throws {
    let url = try #require(URL(string: "http://user:secret@host/a.png"))
    let errors: [any Error] = [
      HTTPTransportError(.timedOut, url: url, message: "late"),
      ImagePipeline.Error(
        url: url, stage: .download, cause: .status(404),
        alternatives: [.init(url: url, stage: .download, cause: .notCached)]),
    ]
    for error in errors {
      #expect("\(error)".contains("http://user:***@host/a.png: "))
      #expect(!"\(error)".contains("secret"))
    }
    #expect(ImageList(url: url).name == "http://user:***@host/a.png")
    #expect(
      ImageList(pages: ImageListPages(address: "http://u:secret@h/{page}")).name == "http://u:***@h/{page}")
  }

  @Test func html() {
    #expect(
      Escaping.html("<a href='x' b=\"y\">&</a>")
        == "&lt;a href=&#39;x&#39; b=&quot;y&quot;&gt;&amp;&lt;/a&gt;")
    #expect(Escaping.html("a\u{202E}b\u{0}c\nd 计") == "ab\u{FFFD}c d 计")
  }

  @Test(arguments: [
    ("Calculator", "Calculator"), ("计算器", "计算器"), ("../../etc/passwd", "_.._etc_passwd"), ("..", "unnamed"),
    ("", "unnamed"), ("///", "unnamed"), ("-rf", "rf"), (".bashrc", "bashrc"), ("~root", "root"),
    ("a\\b:c*d?e\"f<g>h|i", "a_b_c_d_e_f_g_h_i"), ("name. . ", "name"), ("CON", "_CON"),
    ("nul.txt", "_nul.txt"),
    ("com1", "_com1"), ("COM10", "COM10"), ("LPT¹", "_LPT¹"), ("CONSOLE", "CONSOLE"),
    ("a\u{0}b\nc\u{202E}d", "a_b_c_d"),
    ("Papirus (64).icon-2_b", "Papirus (64).icon-2_b"), ("papirus 64.icon-2_b+c", "papirus 64.icon-2_b+c"),
    ("a.", "a"), ("a ", "a"), ("_a", "_a"), ("-", "unnamed"), ("Nul", "_Nul"),
    ("c o m 7.tar.gz", "_c o m 7.tar.gz"),
    ("Aux", "_Aux"), ("prn.a", "_prn.a"), ("lpt10", "lpt10"), ("Communication", "Communication"),
    ("e\u{301}", "é"), ("a\u{2215}b\u{FF0F}c", "a_b_c"),
  ])
  func fileName(text: String, name: String) {
    #expect(Escaping.fileName(text) == name)
  }

  @Test(arguments: [
    String(repeating: "长", count: 500), String(repeating: "a", count: 100_000),
    "e" + String(repeating: "\u{301}", count: 5000),
  ])
  func longFileNamesAreCutBetweenCharacters(text: String) {
    let name = Escaping.fileName(text, reservedBytes: 16)
    #expect(name.utf8.count <= 184)
    #expect(name.utf8.count > 150)
    #expect(text.precomposedStringWithCanonicalMapping.unicodeScalars.starts(with: name.unicodeScalars))
  }

  @Test func namesThatAreOneNameSomewhereHaveOneKey() {
    #expect(Escaping.fileNameCollisionKey("Icon") == Escaping.fileNameCollisionKey("ICON"))
    #expect(Escaping.fileNameCollisionKey("é") == Escaping.fileNameCollisionKey("E\u{301}"))
    #expect(Escaping.fileNameCollisionKey("straße") == Escaping.fileNameCollisionKey("STRASSE"))
    #expect(Escaping.fileNameCollisionKey("a") != Escaping.fileNameCollisionKey("b"))
  }
}
