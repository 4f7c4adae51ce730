import Foundation
import TestSupport
import Testing

@Suite struct UsageTests {
  static let wrong: [(line: [String], says: String)] = [
    (["fecth"], "there is no command fecth; did you mean fetch?"),
    (["--verison"], "there is no option --verison; did you mean --version?"),
    (["fetch"], "a LIST is missing"),
    (["fetch", "l", "--siez", "4"], "there is no option --siez; did you mean --size?"),
    (["fetch", "l", "--qality=4"], "did you mean --quality?"),
    (["fetch", "l", "--cache"], "--cache may be --cache-dir or --cache-mode"),
    (["fetch", "l", "--zzzzzz"], "there is no option --zzzzzz"),
    (["fetch", "l", "-Z"], "there is no option -Z"),
    (["fetch", "l", "--quiet=yes"], "--quiet takes no argument"),
    (["fetch", "l", "--size"], "--size needs an argument"),
    (["fetch", "l", "-s"], "-s (--size) needs an argument"),
    (["fetch", "l", "--size", "0"], "--size takes a number of pixels"),
    (["fetch", "l", "--size", "axb"], "--size takes a number of pixels"),
    (["fetch", "l", "--size", "1x2x3"], "--size takes a number of pixels"),
    (["fetch", "l", "--size", "99999999"], "--size takes a number of pixels"),
    (["fetch", "l", "--size", "9", "--mode", "big"], "--mode is fit, fill or exact, not big"),
    (["fetch", "l", "--mode", "fit"], "--mode and --upscale need a --size"),
    (["fetch", "l", "--upscale"], "--mode and --upscale need a --size"),
    (["fetch", "l", "--format", "gif"], "--format is original, png, jpeg, webp or avif, not gif"),
    (["fetch", "l", "--format", "original", "--size", "4"], "--format original keeps the bytes as they are"),
    (["fetch", "l", "--quality", "101"], "--quality takes a whole number from 1 to 100, not 101"),
    (["fetch", "l", "--concurrency", "0"], "--concurrency takes a whole number from 1 to 256"),
    (["fetch", "l", "--per-host", "x"], "--per-host takes a whole number"),
    (["fetch", "l", "--retries", "-1"], "--retries takes a whole number"),
    (["fetch", "l", "--timeout", "0"], "--timeout takes a number"),
    (["fetch", "l", "--header", "novalue"], "--header takes 'Name: value'"),
    (["fetch", "l", "--header", "X: a\r\nY: b"], "the header X has a line break in its value"),
    (["fetch", "l", "--header", "Hé: 1"], "a header's name has no spaces and no accents in it: Hé"),
    (["fetch", "l", "--cache-mode", "fresh"], "--cache-mode is default, reload, no-cache"),
    (["fetch", "l", "--no-cache", "--cache-dir", "x"], "--no-cache and --cache-dir exclude each other"),
    (["fetch", "l", "--list-format", "xls"], "--list-format is plist, bplist"),
    (["fetch", "l", "--base-url", "here"], "--base-url takes an absolute address"),
    (["fetch", "--page-url", "http://h/"], "--page-url takes an address with {page} in it"),
    (["fetch", "l", "--first-page", "2"], "--first-page and --last-page need a --page-url"),
    (["get"], "get takes one URL"),
    (["get", "ftp://h/"], "ftp://h/ is not an address"),
    (["get", "http://h/", "--method", "A B"], "--method takes a word such as GET"),
    (["thumbnail", "x"], "-o FILE|DIR is missing"),
    (["thumbnail", "-o", "x"], "name a FILE or a URL"),
    (["info"], "name a FILE or a URL"),
    (["show"], "name a FILE or a URL"),
    (["show", "x", "--as", "ascii"], "--as is auto, symbols"),
    (["show", "x", "--columns", "0"], "--columns takes a whole number"),
    (["show", "x", "--rows", "0"], "--rows takes a whole number"),
    (["cache"], "say what: info, list, path"),
    (["cache", "lsit"], "cache has no lsit; did you mean list?"),
    (["cache", "trim"], "trim takes a SIZE"),
    (["cache", "trim", "much"], "much is no size"),
    (["cache", "remove"], "remove takes a URL"),
    (["cache", "clear", "x"], "clear takes no arguments"),
    (["doctor", "x"], "doctor takes no arguments"),
    (["man", "x"], "man takes no arguments"),
    (["completions", "tcsh"], "name a shell: bash, zsh or fish"),
  ]

  @Test(arguments: wrong.indices)
  func aWrongCommandLineSaysWhatIsWrong(index: Int) async throws {
    let (line, says) = Self.wrong[index]
    let result = try await Tool().run(line)
    #expect(result.status == 2, "\(line)")
    #expect(result.errorText.contains(says), "\(line): \(result.errorText)")
    #expect(result.output.isEmpty)
    #expect(result.errorText.contains("--help"))
  }

  @Test func anArgumentThatIsNoTextIsRefused() async throws {
    let tool = try Tool()
    let result = try await runProcess(
      "sh", ["-c", "'\(Tool.path)' info \"$(printf 'n\\377\\033.png')\""], folder: tool.folder.url)
    #expect(result.status == 2)
    #expect(
      result.errorText.contains("an argument is not UTF-8: n\\xFF\\u{1B}.png;"), "\(result.errorText)")
  }

  @Test func aHostileArgumentIsShownHarmless() async throws {
    let result = try await Tool()("fetch", "--\u{1B}[2Jx")
    #expect(result.status == 2)
    #expect(!result.errorText.contains("\u{1B}"))
  }
}
