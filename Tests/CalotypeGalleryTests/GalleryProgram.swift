import Calotype
import Foundation
import TestSupport
import XCTest

/// The built app on a screen of its own, seen and used as a person does who has a keyboard and a screen reader.
final class GalleryProgram {
  /// Settings and caches, which outlive a run where a test wants that.
  struct Home {
    let folder: TemporaryFolder
    init() throws { folder = try TemporaryFolder() }
    var settings: URL { folder.file("config/calotype/gallery.json") }
  }

  /// What was waited for in vain.
  struct Failure: Error, CustomStringConvertible { let description: String }

  let desktop: DesktopSession
  private let program: SpawnedProgram
  private let reader: ScreenReader

  /// Starts it.
  init(
    _ arguments: String..., on desktop: DesktopSession, home: Home, environment: [String: String] = [:]
  ) throws {
    self.desktop = desktop
    var variables = desktop.environment
    variables["XDG_CONFIG_HOME"] = home.folder.file("config").path
    variables["XDG_CACHE_HOME"] = home.folder.file("cache").path
    variables["LANG"] = "C.UTF-8"
    variables["LC_ALL"] = ""
    variables["LANGUAGE"] = "en"
    variables.merge(environment) { $1 }
    program = try SpawnedProgram(Self.path, arguments, environment: variables)
    reader = try ScreenReader(of: program.processIdentifier, environment: variables)
  }

  deinit {
    program.signal(SIGKILL)
    program.wait()
  }

  /// The program beside the tests' own.
  private static let path =
    Bundle.allBundles.map { $0.bundleURL.deletingLastPathComponent() }
    .map { $0.appendingPathComponent("calotype-gallery").path }
    .first { FileManager.default.isExecutableFile(atPath: $0) }
    ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    .appendingPathComponent("calotype-gallery").path

  // MARK: Looking

  /// Waits for something with a role, any by default, and a name or text, which may be cut with an ellipsis.
  @discardableResult
  func find(
    _ name: String, role: String? = nil, description: String? = nil, file: StaticString = #filePath,
    line: UInt = #line
  ) async throws -> ScreenReader.Answer {
    let answer = try await reader.ask(.init(do: "find", role: role, name: name, description: description))
    if !answer.found { try await fail("\(role ?? "") \(name) is not there", file, line) }
    return answer
  }

  /// Waits until something is there no more.
  func findGone(_ name: String, role: String? = nil, file: StaticString = #filePath, line: UInt = #line)
    async throws
  {
    let answer = try await reader.ask(.init(do: "gone", role: role, name: name))
    if !answer.found { try await fail("\(role ?? "") \(name) is still there", file, line) }
  }

  /// Does what a thing is for, such as pressing a button.
  func press(_ name: String, role: String = "push button", file: StaticString = #filePath, line: UInt = #line)
    async throws
  {
    let answer = try await reader.ask(.init(do: "press", role: role, name: name))
    if !answer.found { try await fail("\(role) \(name) cannot be pressed", file, line) }
  }

  /// Waits until the list's first rows have these names.
  func findRows(
    _ what: String, file: StaticString = #filePath, line: UInt = #line, until isMet: ([String]) -> Bool
  ) async throws {
    let end = ContinuousClock.now + .seconds(20)
    var rows: [String] = []
    while ContinuousClock.now < end {
      rows = try await reader.ask(.init(do: "rows", seconds: 2)).rows ?? []
      if isMet(rows) { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    try await fail("\(what): the rows are \(rows.prefix(12))", file, line)
  }

  private func fail(_ text: String, _ file: StaticString, _ line: UInt) async throws {
    let tree = try await reader.ask(.init(do: "tree", seconds: 2)).lines ?? ["nothing"]
    XCTFail("\(text). What is there:\n\(tree.joined(separator: "\n"))", file: file, line: line)
    throw GalleryProgram.Failure(description: text)
  }

  // MARK: Using

  /// Presses keys, by X's names, in the newest window.
  func keys(_ keys: String...) async throws {
    try await desktop.focusWindow(title: nil)
    try await desktop.input(["key", "--delay", "20"] + keys)
  }

  /// Types a text where the keyboard is.
  func type(_ text: String) async throws { try await desktop.input("type", "--delay", "20", text) }

  /// Waits for its end and gives its exit status; a program that does not end is ended.
  func ended(within seconds: Double = 10) async -> Int32 {
    let program = program
    let killer = Task {
      try await Task.sleep(for: .seconds(seconds))
      program.signal(SIGKILL)
    }
    defer { killer.cancel() }
    return await program.ended()
  }

  /// Ends it as a terminal does.
  func interrupt() { program.signal(SIGTERM) }

  /// Writes what is on the screen into `.build/screenshots`, for people to look at.
  func screenshot(_ name: String) throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    try desktop.writeScreenshot(to: root.appendingPathComponent(".build/screenshots/gallery-\(name).png"))
  }
}

/// Reads another program's accessibility tree: `screen_reader.py`, kept running.
final class ScreenReader {
  struct Wish: Encodable {
    var `do`: String
    var role: String?
    var name: String?
    var description: String?
    var seconds = 20.0
  }

  struct Answer: Decodable, Sendable {
    var found: Bool
    var role: String?
    var name: String?
    var text: String?
    var description: String?
    var rows: [String]?
    var lines: [String]?
  }

  private let script: SpawnedProgram
  private let input: FileHandle
  private let output: FileHandle

  init(of program: pid_t, environment: [String: String]) throws {
    let (wishes, answers) = (Pipe(), Pipe())
    (input, output) = (wishes.fileHandleForWriting, answers.fileHandleForReading)
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "screen_reader.py")
    // Debian's own Python has the module.
    script = try SpawnedProgram(
      "/usr/bin/python3", [path.path, "\(program)"], environment: environment,
      input: wishes.fileHandleForReading.fileDescriptor, output: answers.fileHandleForWriting.fileDescriptor)
    try wishes.fileHandleForReading.close()
    try answers.fileHandleForWriting.close()
  }

  deinit {
    try? input.close()
    script.signal(SIGTERM)
    script.wait()
  }

  func ask(_ wish: Wish) async throws -> Answer {
    let line = try JSONEncoder().encode(wish) + [UInt8(ascii: "\n")]
    let (input, output) = (input, output)
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            try input.write(contentsOf: line)
            var answer = Data()
            while answer.last != UInt8(ascii: "\n") {
              guard let byte = try output.read(upToCount: 1), !byte.isEmpty else {
                throw GalleryProgram.Failure(
                  description: "the screen reader has ended; scripts/setup installs it")
              }
              answer += byte
            }
            return try JSONDecoder().decode(Answer.self, from: answer)
          })
      }
    }
  }
}
