import Calotype
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A screen that nobody sees (Xvfb) with a session bus of its own, for programs that show windows. Both end with
/// it, and when the process that started it dies.
public final class DesktopSession: Sendable {
  /// What a program needs to find the screen and the bus, and to draw the same everywhere.
  public let environment: [String: String]
  /// The screen's size in pixels.
  public let size: PixelSize

  private let folder: TemporaryFolder
  private let screen: Service
  private let bus: Service

  /// Starts a screen and a bus.
  ///
  /// - Throws: ``Failure`` where one of the two is missing or says nothing.
  public init(size: PixelSize = PixelSize(width: 1280, height: 1024)) throws {
    self.size = size
    folder = try TemporaryFolder()
    // The screen's pixels lie in a file there, so that a picture of it needs no program.
    screen = try Service(
      "Xvfb",
      [
        "-displayfd", "1", "-screen", "0", "\(size.width)x\(size.height)x24", "-fbdir", folder.path,
        "-nolisten",
        "tcp", "-noreset",
      ])
    var environment = [
      "DISPLAY": ":\(screen.firstLine)", "GDK_BACKEND": "x11", "GSK_RENDERER": "cairo",
      "GSETTINGS_BACKEND": "memory", "XDG_RUNTIME_DIR": folder.path, "GTK_THEME": "", "NO_AT_BRIDGE": "0",
    ]
    environment["GTK_THEME"] = nil
    bus = try Service(
      "dbus-daemon", ["--session", "--nofork", "--nopidfile", "--print-address=1"], environment: environment)
    environment["DBUS_SESSION_BUS_ADDRESS"] = bus.firstLine
    self.environment = environment
  }

  /// Makes this process, and the programs that it starts from now on, show its windows here.
  public func adopt() {
    for (name, value) in environment { setenv(name, value, 1) }
  }

  /// Turns the wheel, presses keys, moves the pointer: xdotool's own words.
  public func input(_ words: String...) async throws { try await input(words) }

  /// Turns the wheel, presses keys, moves the pointer: xdotool's own words.
  public func input(_ words: [String]) async throws {
    let result = try await runProcess("xdotool", words, environment: environment)
    guard result.status == 0 else {
      throw Failure(description: "xdotool \(words.joined(separator: " ")): \(result.errorText)")
    }
  }

  /// The same, while this thread waits: whatever it would draw meanwhile is drawn after all of it.
  public func inputAtOnce(_ words: [String]) throws {
    let status = try SpawnedProgram("xdotool", words, environment: environment).wait()
    guard status == 0 else {
      throw Failure(description: "xdotool \(words.joined(separator: " ")): \(status)")
    }
  }

  /// Gives a window the keyboard: no window manager does it here. The newest, or the newest with a title.
  public func focusWindow(title: String?) async throws {
    let search = ["search", "--sync", "--onlyvisible", "--name", title ?? "."]
    let result = try await runProcess("xdotool", search, environment: environment)
    guard let window = result.text.split(separator: "\n").last.map(String.init) else {
      throw Failure(description: "there is no window \(title ?? "")")
    }
    try await input("windowfocus", "--sync", window)
  }

  /// What is on the screen now.
  public func screenshot() throws -> Bitmap {
    // The format is xwd's: a header of big-endian words, a colour table, then rows of BGRX pixels.
    let data = try Data(contentsOf: folder.file("Xvfb_screen0"))
    func word(_ index: Int) -> Int {
      data.count < index * 4 + 4 ? 0 : data[(index * 4)..<(index * 4 + 4)].reduce(0) { $0 << 8 | Int($1) }
    }
    let (headerSize, width, height, bytesPerRow, colors) = (word(0), word(4), word(5), word(12), word(19))
    let start = headerSize + colors * 12
    guard width > 0, height > 0, bytesPerRow >= width * 4, data.count >= start + bytesPerRow * height else {
      throw Failure(description: "Xvfb's picture of the screen is not as expected")
    }
    return try Bitmap(size: PixelSize(width: width, height: height), isOpaque: true) { pixels in
      data.withUnsafeBytes { (source: UnsafeRawBufferPointer) in
        for y in 0..<height {
          for x in 0..<width {
            let from = start + y * bytesPerRow + x * 4, to = (y * width + x) * 4
            pixels[to] = source[from + 2]
            pixels[to + 1] = source[from + 1]
            pixels[to + 2] = source[from]
            pixels[to + 3] = 255
          }
        }
      }
    }
  }

  /// Writes what is on the screen now as a PNG.
  public func writeScreenshot(to file: URL) throws {
    let png = try ImageEncoder().encode(
      try screenshot(), options: .init(format: .png), cancellation: CancellationFlag())
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try png.write(to: file)
  }

  /// Why a screen could not be had or used.
  public struct Failure: Error, CustomStringConvertible {
    /// What went wrong.
    public let description: String
  }

  /// A program that says in its first line where it is to be found.
  private final class Service: Sendable {
    let firstLine: String
    private let process: SpawnedProgram
    private let lifeline: Lifeline

    init(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
      lifeline = try Lifeline()
      let output = Pipe()
      let writer = output.fileHandleForWriting
      process = try SpawnedProgram(
        "/bin/sh",
        [
          "-c", #"exec 3<&0 </dev/null; (read -r _ <&3; kill $$) >/dev/null 2>&1 & exec "$@" 3<&-"#, "sh",
          program,
        ] + arguments, environment: environment, input: lifeline.readEnd.fileDescriptor,
        output: writer.fileDescriptor)
      lifeline.closeReadEnd()
      try writer.close()
      var line: [UInt8] = []
      while line.last != UInt8(ascii: "\n"),
        let byte = try output.fileHandleForReading.read(upToCount: 1)?.first
      {
        line.append(byte)
      }
      firstLine = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
      guard !firstLine.isEmpty else {
        throw Failure(description: "\(program) did not start; scripts/setup installs it")
      }
    }

    deinit {
      _ = lifeline.cut()
      process.wait()
    }
  }
}
