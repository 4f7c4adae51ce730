import Calotype
import Foundation

/// `calotype thumbnail`.
enum ThumbnailCommand {
  static func command() -> Command {
    Command(
      name: "thumbnail", summary: "Resize and process files or addresses", operands: "FILE|URL...",
      details: """
        Each picture is made upright, converted to sRGB, brought to the size, processed and written. With one picture -o may name a file, whose extension chooses the format, or be - for standard output; with several it is a folder.
        A picture of which nothing is asked stays as it is, byte by byte, in its own format. One that is changed is written in its own format where that can be written; a GIF becomes a WebP with all its frames, or a PNG with --still. --format chooses another, also for -o -.
        """,
      groups: [
        OptionGroup(
          title: "Output",
          options: [
            Option(
              "output", "o", "FILE|DIR", isPath: true,
              "The file or the folder to write to; - for standard output"),
            Option("json", help: "Write a line of JSON for each picture"),
            Option("quiet", help: "Show failures only"),
          ]),
        SharedOptions.picture, SharedOptions.processors, SharedOptions.network, SharedOptions.addresses,
        SharedOptions.cache, SharedOptions.safety,
      ],
      examples: [
        ("calotype thumbnail photo.jpg -o small.webp --size 256", "At most 256 pixels a side, as WebP"),
        ("calotype thumbnail *.jpg -o thumbs --size 96 --mode fill", "A folder of squares"),
      ],
      run: run)
  }

  @Sendable private static func run(_ arguments: Arguments) async throws -> Int32 {
    guard !arguments.operands.isEmpty else { throw UsageError("name a FILE or a URL") }
    guard let path = arguments["output"] else { throw UsageError("-o FILE|DIR is missing") }
    if path == "-" {
      if arguments.operands.count > 1 {
        throw UsageError("-o - takes one picture: several would run into each other; name a folder")
      }
      if arguments.has("json") { throw UsageError("-o - and --json exclude each other: both write there") }
    }
    var isFolder = ObjCBool(false)
    let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
    let toFolder = arguments.operands.count > 1 || (exists && isFolder.boolValue) || path.hasSuffix("/")
    if arguments.operands.count > 1, exists, !isFolder.boolValue {
      throw UsageError("\(path) is a file, and there are several pictures to write")
    }
    let output = try PictureOutput(arguments, path: toFolder ? nil : path)
    let session = try Session(arguments, keepsPrints: true)
    let interruption = Interruption()
    let toOutput = path == "-"
    let url = URL(fileURLWithPath: path)
    let folder = toFolder ? try OutputFolder(path: path) : nil
    if !toFolder, !toOutput { try OutputFolder.prepare(path) }
    let work = Task { () -> Int32 in
      var names = NameTable(), failures = 0
      for operand in arguments.operands where !Task.isCancelled {
        let source = PictureSource(operand: operand)
        do {
          let (data, container, format) = try await make(source, session, output)
          if toOutput {
            Terminal.standardOutput.write(bytes: Array(data))
            continue
          }
          let name =
            toFolder ? PictureFile.name(names.reserve(source.title), format) : url.lastPathComponent
          if toFolder {
            try folder?.write(data, to: name)
          } else {
            try OutputFolder.write(data, toPath: path)
          }
          report(
            source.shown, toFolder ? OutputFolder.path(path, name) : path, data, container, format, arguments,
            session.isolationName)
        } catch {
          if Task.isCancelled { break }
          failures += 1
          Terminal.standardError.line(
            Escaping.displaySafe("failed: \(source.shown): \(FetchJob.describe(error).message)"))
        }
      }
      return failures > 0 ? 1 : 0
    }
    interruption.whenInterrupted { work.cancel() }
    let status = await work.value
    if interruption.isInterrupted { return Interruption.exitStatus }
    await session.pipeline.flush()
    session.diskCache?.flush()
    return status
  }

  private static func make(
    _ source: PictureSource, _ session: Session, _ output: PictureOutput
  ) async throws -> (Data, PixelSize, ImageFormat) {
    if output.format == .original {
      let data = try await source.data(session)
      let info = try session.decoder.inspect(data)
      return (data, info.displaySize, info.format)
    }
    let container = try await source.picture(session, output)
    let (data, format) = try output.file(container)
    return (data, container.bitmap.size, format)
  }

  private static func report(
    _ input: String, _ path: String, _ data: Data, _ size: PixelSize, _ format: ImageFormat,
    _ arguments: Arguments, _ isolation: String
  ) {
    if arguments.has("json") {
      var json = JSONText()
      json.add("input", input)
      json.add("file", path)
      json.add("width", size.width)
      json.add("height", size.height)
      json.add("format", format.rawValue)
      json.add("bytes", data.count)
      json.add("isolation", isolation)
      Terminal.standardOutput.line(json.object)
    } else if !arguments.has("quiet") {
      Terminal.standardOutput.line(
        Escaping.displaySafe("\(path): \(size) \(format.rawValue), \(Format.bytes(data.count))"))
    }
  }
}
