import Calotype
import Foundation
import TestSupport

/// The built program, in a folder of its own with a cache of its own.
struct Tool: Sendable {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// The program beside the tests' own.
  static let path =
    Bundle.allBundles.map(\.bundleURL).map { $0.deletingLastPathComponent() }
    .appending(URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent())
    .map { $0.appendingPathComponent("calotype").path }
    .first { FileManager.default.isExecutableFile(atPath: $0) } ?? "calotype"

  /// Runs it to its end.
  func callAsFunction(
    _ arguments: String..., input: Data = Data(), environment: [String: String] = [:]
  ) async throws -> ProcessResult {
    try await run(arguments, input: input, environment: environment)
  }

  func run(
    _ arguments: [String], input: Data = Data(), environment: [String: String] = [:]
  ) async throws -> ProcessResult {
    try await runProcess(
      Self.path, arguments, input: input,
      environment: ["XDG_CACHE_HOME": folder.file("xdg").path, "NO_COLOR": ""].merging(environment) { $1 },
      folder: folder.url)
  }

  /// The names in a folder, sorted, hidden ones too.
  func names(_ path: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.file(path).path)) ?? []).sorted()
  }

  func data(_ path: String) throws -> Data { try Data(contentsOf: folder.file(path)) }

  /// A file's lines of JSON.
  func lines(_ path: String) throws -> [[String: Any]] { try jsonLines(try data(path)) }

  func info(_ path: String) throws -> ImageInfo { try ImageDecoder().inspect(try data(path)) }
}

extension Array {
  func appending(_ element: Element) -> [Element] { self + [element] }
}

/// Lines of JSON.
func jsonLines(_ data: Data) throws -> [[String: Any]] {
  try data.split(separator: 0x0A).map { line in
    try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] ?? [:]
  }
}

/// Pictures to serve.
enum Picture {
  /// A PNG of one colour, 64×48 unless said otherwise.
  static func png(red: UInt8 = 200, green: UInt8 = 40, blue: UInt8 = 40, width: Int = 64, height: Int = 48)
    throws -> Data
  {
    try encoded(.png, red: red, green: green, blue: blue, width: width, height: height)
  }

  static func encoded(
    _ format: ImageFormat, red: UInt8 = 200, green: UInt8 = 40, blue: UInt8 = 40, width: Int = 64,
    height: Int = 48
  ) throws -> Data {
    let bitmap = try Bitmap(size: PixelSize(width: width, height: height), isOpaque: true) { pixels in
      for at in stride(from: 0, to: pixels.count, by: 4) {
        (pixels[at], pixels[at + 1], pixels[at + 2], pixels[at + 3]) = (red, green, blue, 255)
      }
    }
    return try ImageEncoder().encode(bitmap, options: .init(format: format), cancellation: CancellationFlag())
  }
}
