import Calotype
import Foundation

/// `calotype info`.
enum InfoCommand {
  static func command() -> Command {
    Command(
      name: "info", summary: "Say what pictures are", operands: "FILE|URL...",
      details:
        "The format is told by the bytes, never by the name. Width and height are those that are shown, after the orientation is applied.",
      groups: [
        OptionGroup(
          title: "Output",
          options: [
            Option("json", help: "Write an object of JSON a line"),
            Option(
              "placeholder",
              help: "Make compact placeholders: a ThumbHash (in Base64), a BlurHash and the average colour"),
          ]),
        SharedOptions.network, SharedOptions.addresses,
        SharedOptions.cache,
        SharedOptions.safety,
      ],
      examples: [("calotype info --json *.jpg", "A line for each picture")],
      run: run)
  }

  @Sendable private static func run(_ arguments: Arguments) async throws -> Int32 {
    guard !arguments.operands.isEmpty else { throw UsageError("name a FILE or a URL") }
    let session = try Session(arguments)
    var failures = 0
    for operand in arguments.operands {
      let source = PictureSource(operand: operand)
      do {
        let data = try await source.data(session)
        let info = try session.decoder.inspect(data)
        let placeholders = arguments.has("placeholder") ? try Placeholders(data, session.decoder) : nil
        Terminal.standardOutput.line(
          arguments.has("json")
            ? json(source.shown, info, data.count, placeholders, session.isolationName)
            : text(source.shown, info, data.count, placeholders))
      } catch {
        failures += 1
        let (code, message) = FetchJob.describe(error)
        if arguments.has("json") {
          var json = JSONText()
          json.add("input", source.shown)
          json.add("error", code)
          json.add("message", message)
          Terminal.standardOutput.line(json.object)
        }
        Terminal.standardError.line(Escaping.displaySafe("failed: \(source.shown): \(message)"))
      }
    }
    await session.pipeline.flush()
    session.diskCache?.flush()
    return failures > 0 ? 1 : 0
  }

  /// What can stand in a picture's place until it is here.
  private struct Placeholders {
    var thumbHash = ""
    var blurHash = ""
    var color: ColorValue

    init(_ data: Data, _ decoder: IsolatedImageDecoder) throws {
      // Neither hash looks at more than this.
      let options = ImageDecodingOptions(targetSize: TargetSize(width: 100, height: 100))
      let bitmap = try decoder.decode(data, options: options).bitmap
      if case .thumbHash(let hash) = try ImagePlaceholder.thumbHash(of: bitmap) {
        thumbHash = hash.base64EncodedString()
      }
      if case .blurHash(let hash) = try ImagePlaceholder.blurHash(of: bitmap) { blurHash = hash }
      color = ImagePlaceholder.averageColor(of: bitmap)
    }
  }

  private static func json(
    _ input: String, _ info: ImageInfo, _ bytes: Int, _ placeholders: Placeholders?,
    _ isolation: String
  ) -> String {
    var json = JSONText()
    json.add("input", input)
    json.add("format", info.format.rawValue)
    json.add("width", info.displaySize.width)
    json.add("height", info.displaySize.height)
    json.add("frames", info.frameCount)
    json.add("orientation", Int(info.orientation.rawValue))
    json.add("profile", info.profile)
    json.add("bytes", bytes)
    json.add("alpha", info.hasAlpha)
    json.add("bits", info.bitsPerChannel)
    json.add("loops", info.loopCount)
    if let placeholders {
      json.add("thumbhash", placeholders.thumbHash)
      json.add("blurhash", placeholders.blurHash)
      json.add("color", placeholders.color.description)
    }
    json.add("isolation", isolation)
    return json.object
  }

  private static func text(
    _ input: String, _ info: ImageInfo, _ bytes: Int, _ placeholders: Placeholders?
  ) -> String {
    var parts = ["\(info.format.rawValue) \(info.displaySize)"]
    if info.frameCount > 1 { parts.append("\(info.frameCount) frames") }
    if info.orientation != .up { parts.append("orientation \(info.orientation.rawValue)") }
    parts.append("\(info.bitsPerChannel) bits\(info.hasAlpha ? " with alpha" : "")")
    if let profile = info.profile { parts.append("profile \(profile)") }
    parts.append(Format.bytes(bytes))
    if let placeholders {
      parts.append("ThumbHash \(placeholders.thumbHash)")
      parts.append("BlurHash \(placeholders.blurHash)")
      parts.append("average \(placeholders.color)")
    }
    return Escaping.displaySafe("\(input): \(parts.joined(separator: ", "))")
  }
}
